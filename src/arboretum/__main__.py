"""The command, as ``python -m arboretum``."""

from arboretum.cli import main

main()
