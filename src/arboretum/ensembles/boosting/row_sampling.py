"""The parameters of boosted trees that say which rows a tree sees: from checked values to a sampler."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.ensembles.boosting.automatic import of_release
from arboretum.growing.sampling import Bayesian, Bootstrap, Goss, Mvs, Sampler, Stratified, Subsample

FloatArray: TypeAlias = NDArray[np.float64]

SAMPLINGS = ("subsample", "bootstrap", "stratified", "goss", "mvs", "bayesian")
SAMPLING_OF = {
    "top_rate": "goss",
    "other_rate": "goss",
    "bagging_temperature": "bayesian",
}  # parameters of one sampling


def check_sampling(model: Any) -> None:
    """Reject parameters of another sampling, and shares that add up to more than all rows."""
    for name, sampling in SAMPLING_OF.items():
        if getattr(model, name) is not None and model.sampling != sampling:
            raise ValueError(
                f"{name}={getattr(model, name)!r} has no effect with sampling={model.sampling!r}: "
                f"use sampling={sampling!r}, or {name}=None"
            )
    own = [name for name, sampling in SAMPLING_OF.items() if sampling == model.sampling]
    if own and model.subsample not in (1, "auto"):
        raise ValueError(
            f"subsample={model.subsample!r} has no effect with sampling={model.sampling!r}: "
            f"use {' and '.join(own)}, and subsample=1.0"
        )
    if model.sampling == "goss":
        shares = _goss(model)
        if shares.top + shares.other > 1:
            raise ValueError(
                f"top_rate={shares.top:g} and other_rate={shares.other:g} are more than all rows: use shares whose "
                "sum is at most 1"
            )


def _goss(model: Any) -> Goss:
    given = {"top": model.top_rate, "other": model.other_rate}
    return Goss(**{name: float(rate) for name, rate in given.items() if rate is not None})


def sampler_of(model: Any, goal: Any, y: FloatArray, n_rows: int) -> Sampler:
    """Return the sampling that parameters describe, for a table of ``n_rows`` rows."""
    given = model.subsample
    share = of_release(model.defaults).share_of_rows(model.sampling, n_rows) if isinstance(given, str) else float(given)
    if model.sampling == "goss":
        return _goss(model)
    if model.sampling == "bayesian":
        return Bayesian(1.0 if model.bagging_temperature is None else float(model.bagging_temperature))
    if model.sampling == "stratified":
        strata = goal.strata(y)
        if strata is None and y.ndim > 1:
            raise ValueError(
                f"sampling='stratified' needs one target, but y has {y.shape[1]} outputs: use sampling='subsample'"
            )
        return Stratified.of_numbers(share, y) if strata is None else Stratified.of_classes(share, strata)
    if model.sampling == "bootstrap":
        return Bootstrap(share)
    return Mvs(share) if model.sampling == "mvs" else Subsample(share)
