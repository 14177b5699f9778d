"""Growing: calls of the kernel that grow one tree, and what they are told: samples, constraints, projections."""
