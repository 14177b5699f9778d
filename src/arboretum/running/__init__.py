"""Running: threads, progress, interruption and forks of the process that fits."""
