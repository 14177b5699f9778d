"""``fit(ddf, target="y")`` and ``score(ddf, target="y")``: from the arguments of a method to work on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arboretum.cluster.inputs import given_columns, partitions_of
from arboretum.cluster.spooling import GIVEN
from arboretum.data.dask_rows import is_distributed
from arboretum.model.members import take_up

VALIDATION = "_val"


def on_cluster(model: Any, method: str, X: Any, arguments: Mapping[str, Any]) -> Any:
    """Call a method of an estimator with a collection of Dask in the place of X."""
    name = type(model).__name__
    if method == "score":
        return _score(model, X, arguments)
    if method != "fit":
        raise TypeError(
            f"{name}.{method}: X is a Dask collection, which only fit, score and predictions take; use X.compute()"
        )
    model.check_parameters()
    if obstacle := model.cluster_obstacle():
        raise TypeError(f"X is a Dask collection, but {name} cannot be fitted on a cluster: {obstacle}")
    arguments = dict(arguments)
    checkpoint = arguments.pop("checkpoint", None)
    journal = None if checkpoint is None else model.journal(checkpoint)
    take_up(model, _fitted(model, X, arguments, journal))
    return model


def _fitted(model: Any, X: Any, arguments: Mapping[str, Any], journal: Any) -> Any:
    from arboretum.cluster.fitting import ClusterFit

    client = current_client()
    _require_columns(arguments)
    own = {name: value for name, value in arguments.items() if not name.endswith(VALIDATION)}
    of_held = {name: value for name, value in arguments.items() if name.endswith(VALIDATION) and name != "X_val"}
    columns, plain = given_columns(own)
    held_columns, held_plain = given_columns(of_held, VALIDATION)
    training, held = partitions_of(X, columns), arguments.get("X_val")
    beside = {name.removesuffix(VALIDATION): column for name, column in held_columns.items()}
    validation = None if held is None else partitions_of(held, beside)
    found = ClusterFit(client, model, training, validation, {**plain, **held_plain}, journal).run()
    aside = tuple(name for name in found.schema.set_aside if not name.startswith(GIVEN))
    return replace(found, schema=replace(found.schema, set_aside=aside))


def _score(model: Any, X: Any, arguments: Mapping[str, Any]) -> float:
    from arboretum.cluster.scoring import scored

    _require_columns(arguments)
    columns, plain = given_columns(arguments)
    if "target" in plain:
        if "y" in plain:
            raise TypeError("both y and target are given: give the name of the target, or its values")
        plain["y"] = plain.pop("target")
    elif "y" not in plain:
        raise ValueError("a Dask collection needs target=, the name of the column to predict, or y, another collection")
    return scored(model, partitions_of(X, columns), plain)


def _require_columns(arguments: Mapping[str, Any]) -> None:
    """Reject rows of this process beside those of a collection."""
    for name, value in arguments.items():
        if not (value is None or isinstance(value, str | int | float | list) or is_distributed(value)):
            raise TypeError(
                f"X is a Dask collection, but {name} is a {type(value).__name__}: name a column of X, as "
                f"{'target' if name == 'y' else name}='…', or give a Dask collection with the same partitions"
            )


def current_client() -> Any:
    """Return the client of the cluster in use."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "X is a Dask collection, and there is no cluster to fit on: make one first, as "
            "client = dask.distributed.Client(); or fit Dataset.from_dask(X), which computes one partition at a time, "
            "or X.compute()"
        ) from None
