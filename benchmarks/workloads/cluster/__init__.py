"""Fits on a Dask cluster of processes on this machine: one file per workload."""
