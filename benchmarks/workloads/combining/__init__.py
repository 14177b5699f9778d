"""Models of different kinds, combined: one file per workload."""
