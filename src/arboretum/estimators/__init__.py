"""scikit-learn estimators: check, pack parameters, call an ensemble, keep the Forest."""
