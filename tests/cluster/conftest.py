"""A cluster for the tests: processes on this machine, real connections between them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=":0", memory_limit=0, protocol="tcp"
        )
    with cluster, distributed.Client(cluster) as one:
        yield one
