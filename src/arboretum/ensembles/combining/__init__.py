"""Different models, combined: voting, blending, stacking and ensemble selection."""
