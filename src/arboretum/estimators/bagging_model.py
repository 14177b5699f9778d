"""What the bagged classifier and the bagged regressor share (Breiman 1996).

::

    y, weight ──► classes or numbers
    X ──► rows by content ──► bag 0, bag 1, …      ensembles/bagging/resampling.py
              ┌──────────────────┴──┐
       SharedTable              GivenTable         bagging_members.py
       read and cut once,       rows and columns taken from the
       for members of ours      user's own container, for any other
"""

from __future__ import annotations

import numbers
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.data import selection, targets
from arboretum.data.schema import Schema
from arboretum.data.table import Table, conform
from arboretum.ensembles.bagging.out_of_bag import score_out_of_bag
from arboretum.ensembles.bagging.parameters import OutOfBagRule
from arboretum.ensembles.bagging.resampling import Bag, Positions, RowDraws, draw_columns
from arboretum.estimators.bagging_members import (
    FloatArray,
    GivenTable,
    SharedTable,
    default_estimator,
    in_fit_order,
    is_classifier,
    run_beside,
    seeded,
    set_input_names,
    shares,
    some_columns,
    unfitted,
)
from arboretum.estimators.base import ForestModel
from arboretum.estimators.classes import own_class
from arboretum.estimators.files import call_to_json, from_plain, model_class, write_file
from arboretum.estimators.protocol import Estimator, not_fitted
from arboretum.model import model_file
from arboretum.parameters.checking import seed_of
from arboretum.parameters.declaring import COUNT, FLAG, Anything, CountOrShare, like, parameter, parameter_group
from arboretum.parameters.shared import Progress, Seed, Threads, WarmStart
from arboretum.running.interruption import keeps_part, warn_interrupted
from arboretum.running.progress import ProgressBar, RoundReport
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

Bagging = TypeVar("Bagging", bound="BaggingModel")

MEMBER_PURPOSE = 0x6D656D626572  # "member": keeps the seeds of members apart from all other draws


class RowsOfMember(CountOrShare):
    """Draws of a member; without replacement there are no more than rows."""

    def check(self, owner: Any, name: str) -> None:
        """Reject shares above 1 of draws without replacement."""
        if owner.bootstrap:
            super().check(owner, name)
        else:
            AT_MOST_ONCE.check(owner, name)


AT_MOST_ONCE = CountOrShare(by_integer=True)


@parameter_group("Ensemble")
class Members:
    """What is bagged, and how often."""

    estimator: Any = parameter(
        None,
        Anything("estimator"),
        "What to bag, of arboretum, scikit-learn or any other that follows its protocol; by default an unpruned tree.",
    )
    n_estimators: int = parameter(10, COUNT, "Number of members.")


@parameter_group("Rows and columns of each member")
class MemberDraws:
    """What members are fitted to."""

    max_samples: float | int = parameter(
        1.0, RowsOfMember(most=1e6, by_integer=True), "Number of rows that each member draws, or their share."
    )
    max_features: float | int = parameter(
        1.0, CountOrShare(by_integer=True), "Number of columns that each member uses, or their share."
    )
    bootstrap: bool = parameter(True, FLAG, "Draw rows with replacement, by weight.")
    bootstrap_features: bool = parameter(
        False, FLAG, "Draw columns with replacement; one that is drawn twice is there once."
    )
    oob_score: Any = parameter(
        False,
        OutOfBagRule(),
        "Score each row by the members that did not draw it: True by accuracy or R², or a scorer's name, or a "
        "function of (y, prediction).",
    )


@parameter_group()
class BaggingParameters(Members, MemberDraws, WarmStart, Seed, Threads, Progress):
    """Parameters of bagging."""

    random_state: Any = like(Seed, doc="Seed of all draws, and of the members that have a ``random_state``.")


class BaggingModel(BaggingParameters, Estimator):
    """Members fitted to draws of rows and columns, whatever the target.

    Attributes
    ----------
    estimators_ : list
        The members.
    estimators_features_ : list of ndarray
        Columns of each member, rising.
    estimators_samples_ : list of ndarray
        Rows of each member, as often as drawn.
    estimator_ : estimator
        What was bagged.
    oob_score_ : float
        With ``oob_score``.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    estimator_: Any
    estimators_: list[Any]
    estimators_features_: list[Positions]
    oob_score_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _draws: list[RowDraws | None]  # of each member; None once read from a file
    _schema: Schema | None
    _seed: int
    _classifies: bool

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self: Bagging, X: Any, y: Any, sample_weight: Any = None) -> Bagging:
        """Fit the members; nothing of the model changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows, of any kind that the members take.
        y : array-like
            Target, one value a row.
        sample_weight : array-like, optional
            Weight of each row: a row of weight 3 is the same as three equal rows.

        Returns
        -------
        self
        """
        self.check_parameters()
        earlier = len(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else 0
        if earlier >= self.n_estimators:
            if earlier == self.n_estimators:
                return self
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {earlier} members already fitted "
                "(warm_start=True); raise it or set warm_start=False"
            )
        threads, base = n_threads(self.n_jobs), self._base()
        seed = self._seed if earlier else seed_of(self.random_state)
        source: Any = (SharedTable if shares(base) else GivenTable)(base, X)
        column = self._as_target(y, source.n_rows)
        weight = targets.training_weights(sample_weight, source.n_rows)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        facts, numbers = self._read_target(column[kept], bool(earlier))
        source.prepare(column[kept], None if weight is None else weight[kept], kept, threads)
        draws = self._row_draws(source, numbers, weight, kept)
        columns = [self._draw_columns(source, seed, member) for member in range(earlier, self.n_estimators)]
        if earlier:
            self._require_like(base, source.schema)
        members: list[Any] = []
        try:
            members.extend(self._fit_members(base, source, draws, columns, seed, earlier, threads))
        except KeyboardInterrupt:
            if not keeps_part(len(members)):
                raise
            warn_interrupted(len(members), "members")
            columns = columns[: len(members)]
        everything = np.arange(source.n_columns or 0)
        features = [everything if chosen is None else chosen for chosen in columns]
        drawn: list[RowDraws | None] = [draws] * len(columns)
        if earlier:
            members, features = self.estimators_ + members, self.estimators_features_ + features
            drawn = self._draws + drawn
        self.estimator_, self.estimators_, self.estimators_features_ = base, members, features
        self._draws, self._seed, self._schema = drawn, seed, source.schema
        self._take_facts(facts)
        set_input_names(self, source.n_columns, self._schema)
        if self.oob_score is not False:
            self._set_out_of_bag(source, column, weight, kept, threads)
        return self

    def _require_like(self, base: Any, schema: Schema | None) -> None:
        """Refuse to add members that could not be asked together with those there are."""
        if type(base) is not type(self.estimator_):
            was, now = type(self.estimator_).__name__, type(base).__name__
            raise ValueError(f"estimator is a {now}, the members so far are of {was}: set warm_start=False")
        if schema != self._schema:
            raise ValueError(
                "the columns of X, or their categories, are not those of the members so far: give the same table "
                "or set warm_start=False"
            )

    def _fit_members(
        self,
        base: Any,
        source: Any,
        draws: RowDraws,
        columns: list[Positions | None],
        seed: int,
        earlier: int,
        threads: int,
    ) -> Iterator[Any]:
        """Fit members one beside the other; threads that are left over go into each."""
        beside = min(threads, len(columns)) if shares(base) or not isinstance(base, Estimator) else 1

        def fit(number: int) -> Any:
            member = earlier + number
            bag = replace(draws.bag(seed, member), columns=columns[number])
            return source.fit(self._member(base, source, bag, seed, member), bag, max(1, threads // beside))

        started = time.monotonic()
        with ProgressBar(len(columns), "member") if self.verbose else nullcontext() as bar:
            for number, model in enumerate(run_beside(fit, range(len(columns)), beside, ours=shares(base)), 1):
                if bar is not None:
                    bar(RoundReport(number, len(columns), time.monotonic() - started, None, None))
                yield model

    def _member(self, base: Any, source: Any, bag: Bag, seed: int, member: int) -> Any:
        """Return an unfitted member with a seed of its own."""
        return seeded(unfitted(base), _kernel.draw(seed, MEMBER_PURPOSE, member))

    def _row_draws(self, source: Any, target: FloatArray, weight: FloatArray | None, kept: Positions) -> RowDraws:
        keys = np.zeros(source.n_rows, dtype=np.uint64)
        keys[kept] = source.keys(target, kept)
        size = int(self.max_samples) if isinstance(self.max_samples, numbers.Integral) else float(self.max_samples)
        draws = RowDraws.of(keys, weight, size, replace=bool(self.bootstrap))
        if self.oob_score is not False and draws.takes_all:
            raise ValueError(
                f"oob_score={shown(self.oob_score)}, but every member sees every row, none is out of the bag: "
                "set bootstrap=True, max_samples below 1 or oob_score=False"
            )
        if draws.weight is not None and not draws.replace and not source.takes_weights:
            raise ValueError(
                "bootstrap=False with a sample_weight that is no whole numbers needs members whose fit takes "
                "sample_weight: set bootstrap=True, then rows are drawn by weight"
            )
        return draws

    def _draw_columns(self, source: Any, seed: int, member: int) -> Positions | None:
        wanted, total = self.max_features, source.n_columns
        counted = isinstance(wanted, numbers.Integral)
        if wanted == 1 and not counted and not self.bootstrap_features:
            return None
        if total is None:
            raise ValueError(f"max_features={wanted!r} needs a table of rows and columns: use 1.0")
        if counted and wanted > total:
            raise ValueError(f"max_features={wanted!r}, but X has {total} columns: use fewer or a share")
        size = int(wanted) if counted else max(1, int(wanted * total))
        places = draw_columns(total, size, replace=bool(self.bootstrap_features), seed=seed, member=member)
        if source.schema is not None and source.schema.named:  # draws are the same for any order of the columns
            names = source.schema.names
            places = np.sort(np.array(sorted(range(total), key=names.__getitem__), dtype=np.intp)[places])
        return places

    def _base(self) -> Any:
        base = default_estimator(self._classifies) if self.estimator is None else self.estimator
        for method in ("fit", "predict", "get_params"):
            if isinstance(base, type) or not hasattr(base, method):
                raise ValueError(f"estimator={shown(base)}: use an estimator object, with fit, predict and get_params")
        if is_classifier(base) != self._classifies:
            other = "BaggingClassifier" if is_classifier(base) else "BaggingRegressor"
            raise ValueError(f"estimator={shown(base)} cannot be bagged by {type(self).__name__}: use {other}")
        return base

    def _as_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return the target, one value a row."""
        return targets.as_column(y, n_rows)

    def _read_target(self, column: NDArray[Any], continuing: bool) -> tuple[Any, FloatArray]:
        """Check the target; return what the model keeps of it, and numbers that tell rows apart."""
        raise NotImplementedError

    def _take_facts(self, facts: Any) -> None:
        """Keep what was found in the target."""

    @property
    def estimators_samples_(self) -> list[Positions]:
        """Rows of each member, as often as it has drawn them; made again from the seed."""
        self._fitted()
        if None in self._draws:
            raise AttributeError("estimators_samples_ needs the training rows: a model file does not keep them")
        bags = [draws.bag(self._seed, member) for member, draws in enumerate(self._draws) if draws is not None]
        return [np.repeat(bag.rows, bag.copies) for bag in bags]

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _fitted(self) -> list[Any]:
        try:
            return self.estimators_
        except AttributeError:
            raise not_fitted(self) from None

    @property
    def judged_as_(self) -> Any:
        """A member: its loss judges the whole."""
        return self._fitted()[0]

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._fitted())

    def __bool__(self) -> bool:
        """Return True, fitted or not."""
        return True

    def _mean(self, X: Any) -> FloatArray:
        """Mean of the members."""
        members, threads = self._fitted(), n_threads(self.n_jobs)
        if shares(self.estimator_):
            policy = {"unknown": members[0].unknown, "missing": members[0].missing}
            assert self._schema is not None
            rows: Any = conform(X, self._schema, **policy, estimator_name=type(self).__name__)
        else:
            rows = in_fit_order(X, self._schema, type(self).__name__)

        take: Any = some_columns if isinstance(rows, Table) else selection.take_columns

        def outcome(member: int) -> FloatArray:
            return self._outcome(members[member], take(rows, self._chosen(member)), threads)

        beside = 1 if isinstance(self.estimator_, Estimator) else min(threads, len(members))
        total: FloatArray | None = None
        for prediction in run_beside(outcome, range(len(members)), beside, ours=False):
            total = prediction if total is None else total + prediction
        assert total is not None
        return total / len(members)

    def _chosen(self, member: int) -> Positions | None:
        """Columns of a member; None is all of them."""
        columns = self.estimators_features_[member]
        return None if len(columns) == getattr(self, "n_features_in_", 0) else columns

    def _outcome(self, model: Any, part: Any, threads: int) -> FloatArray:
        """Return what a member adds to the mean."""
        raise NotImplementedError

    # ---- out of the bag ------------------------------------------------------------------------------------------

    def _out_of_bag(self, source: Any, kept: Positions, threads: int) -> FloatArray:
        """Mean of the members that never saw a row; NaN where there is none, and where a row has no weight."""
        sums: Any = 0.0
        counts = np.zeros(source.n_rows, dtype=np.int64)
        for member, model in enumerate(self.estimators_):
            draws = self._draws[member]
            if draws is None or not np.array_equal(draws.pool, self._draws[-1].pool):  # type: ignore[union-attr]
                raise ValueError(
                    "oob_score needs members that were all fitted to the same rows: "
                    "give these, or set warm_start=False or oob_score=False"
                )
            out = np.setdiff1d(kept, draws.bag(self._seed, member).rows)
            if len(out):
                found = self._outcome(model, source.part(out, self._chosen(member)), threads)
                if not np.ndim(sums):
                    sums = np.zeros((source.n_rows, *found.shape[1:]))
                sums[out] += found
                counts[out] += 1
        if not counts[kept].all():
            n = int((counts[kept] == 0).sum())
            if n == len(kept):
                raise ValueError("oob_score: every row is in the bag of every member; raise n_estimators")
            warn_user(
                f"{n} of {len(kept)} rows are in the bag of every member and have no out-of-bag prediction (NaN): "
                f"raise n_estimators={self.n_estimators}"
            )
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts.reshape(-1, *[1] * (sums.ndim - 1)))

    def _set_out_of_bag(
        self, source: Any, column: NDArray[Any], weight: FloatArray | None, kept: Positions, threads: int
    ) -> None:
        means = self._out_of_bag(source, kept, threads)
        known = ~np.isnan(means.reshape(len(means), -1)[:, 0])
        prediction, proba = self._keep_out_of_bag(means, known)
        weight = None if weight is None else weight[known]
        self.oob_score_ = score_out_of_bag(self, self.oob_score, column[known], prediction, proba, weight)

    def _keep_out_of_bag(self, means: FloatArray, known: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Keep the means; return prediction and probabilities of the rows that have one."""
        raise NotImplementedError

    # ---- files: the members' own, one after the other -------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, compact: bool = True) -> None:
        """Write the model, if its members are arboretum's, to a file that ``arboretum.load`` reads.

        Draws and out-of-bag predictions are not kept: they are facts of the training rows.

        Parameters
        ----------
        path : path
            Where to write.
        compact : bool, default=True
            Store arrays in as few bytes as hold them exactly.
        """
        self._require_own("save", "pickle or skops keep other estimators")
        files = [model_file.to_bytes(*member.to_file(), compact=compact) for member in self.estimators_]
        assert self._schema is not None
        header = {
            **call_to_json(self),
            "estimator": call_to_json(self.estimator_),
            "seed": self._seed,
            "schema": self._schema.to_json(),
            "columns": [columns.tolist() for columns in self.estimators_features_],
            **self._facts(),
        }
        arrays = {f"member {member}": np.frombuffer(file, np.uint8) for member, file in enumerate(files)}
        write_file(self, path, header, arrays, compact=False)

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions; members must be arboretum's."""
        self._require_own("fingerprint", "other estimators have none")
        members = [member.fingerprint() for member in self.estimators_]
        assert self._schema is not None
        names = self._schema.names
        columns = [sorted(names[column] for column in chosen) for chosen in self.estimators_features_]
        facts = {"model": own_class(type(self)).__name__, "members": members, "columns": columns, **self._facts()}
        return model_file.fingerprint(facts, {})

    def _require_own(self, method: str, cure: str) -> None:
        strangers = [member for member in self._fitted() if not isinstance(member, ForestModel)]
        if strangers:
            raise TypeError(f"{method} needs members of arboretum, not {type(strangers[0]).__name__}: {cure}")

    def _facts(self) -> dict[str, Any]:
        """Return what determines predictions besides the members."""
        return {}

    def restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        with model_file.as_damage():
            self.estimator = self.estimator_ = base_from_json(header["estimator"])
            self.check_parameters()
            self._schema = Schema.from_json(header["schema"])
            self.estimators_features_ = [np.array(columns, dtype=np.intp) for columns in header["columns"]]
            self.estimators_ = [
                read_member(arrays[f"member {member}"]) for member in range(len(self.estimators_features_))
            ]
            self._seed = header["seed"]
            if type(self._seed) is not int or not 0 <= self._seed < 2**64 or not self.estimators_:
                raise ValueError("no seed or no members")
            self._check_members(header)
        self._draws = [None] * len(self.estimators_)
        set_input_names(self, self._schema.n_features, self._schema)

    def _check_members(self, header: dict[str, Any]) -> None:
        assert self._schema is not None
        for model, columns in zip(self.estimators_, self.estimators_features_, strict=True):
            if type(model) is not type(self.estimator_) or is_classifier(model) != self._classifies:
                raise ValueError(f"a member of class {type(model).__name__}")
            if columns.shape != (model.schema_.n_features,):
                raise ValueError(f"a member of {model.schema_.n_features} columns, not {len(columns)}")
            if (np.diff(columns, prepend=-1, append=self._schema.n_features) < 1).any():
                raise ValueError("columns that do not rise, or that there are not")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        base = get_tags(default_estimator(self._classifies) if self.estimator is None else self.estimator)
        tags.input_tags = base.input_tags
        return tags


def base_from_json(entry: dict[str, Any]) -> ForestModel:
    """Undo ``call_to_json``."""
    cls = model_class(entry["model"])
    if not issubclass(cls, ForestModel):
        raise ValueError(f"members of class {cls.__name__}")
    model: ForestModel = cls(**{name: from_plain(value) for name, value in entry["params"].items()})
    return model


def read_member(file: NDArray[Any]) -> ForestModel:
    """Return the fitted model whose file these bytes are."""
    if file.dtype != np.uint8 or file.ndim != 1:
        raise ValueError("a member that is no file")
    header, arrays = model_file.from_bytes(file.data)
    model = base_from_json({"model": header["model"], "params": header["params"]})
    model.restore(header, arrays)
    return model
