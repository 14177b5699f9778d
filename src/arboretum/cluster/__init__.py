"""Fits on a Dask cluster: rows stay where they are, and the model is that of one machine, to the bit.

::

    driver     fitting.py      which place has which partitions; starts fits, hears of rounds, replaces lost places
                  │
    workers    spooling.py     a partition is read once, to the disk of the worker that fits to it
               place.py        an actor: runs the fit on its rows, and exchanges parts with other places (../places.py)

inputs.py reads Dask's collections, predicting.py makes lazy predictions, scoring.py scores them. Only Dask carries
messages.
"""
