"""Fits of named members: to all rows, and to parts of them that leave rows to be predicted.

::

    member × split ──┐
    member × all rows ├── tasks, run beside each other ──► fitted copies, answers to rows that they have not seen
    member, out of bag┘     each with its share of the threads

A member that fails is named in the error, or left out with ``on_error="skip"``.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data import selection
from arboretum.data.table import has_missing
from arboretum.ensembles.bagging.model_notes import notes_of
from arboretum.ensembles.bagging.trees import is_whole
from arboretum.ensembles.combining.asking import answer, checked
from arboretum.ensembles.combining.folds import Split
from arboretum.ensembles.combining.member_rows import MemberRows, Positions, reads_tables
from arboretum.ensembles.members.estimators import MEMBER_PURPOSE, run_beside, unfitted, weight_argument
from arboretum.ensembles.members.goals import Goal
from arboretum.model.members import Base, is_ours
from arboretum.running.interruption import inner_fits
from arboretum.running.progress import ProgressBar, RoundReport
from arboretum.running.warning import warn_user

FloatArray: TypeAlias = NDArray[np.float64]

WHOLE = -1  # the split that is all rows
ENOUGH_TREES = 50  # for out-of-bag predictions; fewer are too few for each row


@dataclass(frozen=True, eq=False)
class Training:
    """Rows that have weight, with their targets.

    Parameters
    ----------
    rows : MemberRows
        The rows.
    y : ndarray
        Targets as the user gave them.
    weight : ndarray or None
        Weight of each row.
    also : mapping of str to ndarray
        Other arguments of ``fit``, one value per row.
    groups : ndarray, optional
        Groups of rows, for members that are stacks themselves.
    """

    rows: MemberRows
    y: NDArray[Any]
    weight: FloatArray | None
    also: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    groups: NDArray[np.intp] | None = None

    def take(self, places: Positions, rows: MemberRows | None = None) -> Training:
        """Return the rows at these positions, or other columns of these rows."""
        weight = None if self.weight is None else self.weight[places]
        groups = None if self.groups is None else self.groups[places]
        also = {name: values[places] for name, values in self.also.items()}
        return Training(self.rows.take(places) if rows is None else rows, self.y[places], weight, also, groups)


@dataclass(eq=False)
class Fitted:
    """The copies of one member, and its answers to rows that they have not seen.

    ``unseen`` is (rows, width), the mean over the copies that have not seen a row, NaN where there is none.
    """

    name: str
    method: str
    whole: Any = None
    of_splits: list[Any] = field(default_factory=list)
    unseen: FloatArray | None = None


class MemberError(Exception):
    """A member could not be fitted or asked; ``__cause__`` says why."""

    def __init__(self, name: str, member: Any, doing: str, hint: str) -> None:
        super().__init__(name)
        self.name, self.member, self.doing, self.hint = name, member, doing, hint

    def error(self) -> Exception:
        """Return the error that users see."""
        return _error(self.name, self.member, self.doing, self.__cause__, self.hint)


@dataclass(frozen=True, eq=False)
class Workshop:
    """Fits members beside each other.

    Parameters
    ----------
    goal : Goal
        What is predicted, with its classes.
    training : Training
        All rows.
    seed : int
        Seed of members that have none of their own.
    threads : int
        Threads of all fits together.
    skips : bool
        Whether a member that fails is left out.
    verbose : bool
        Whether to show progress.
    time_ordered : bool
        Whether rows are in the order of time, which members that are stacks must know.
    """

    goal: Goal
    training: Training
    seed: int
    threads: int
    skips: bool = False
    verbose: bool = False
    time_ordered: bool = False

    def fit(
        self,
        members: Sequence[Base],
        methods: Mapping[str | int, str],
        splits: Sequence[Split],
        *,
        whole: bool,
        out_of_bag: Sequence[str | int] = (),
    ) -> tuple[list[Fitted], dict[str, str]]:
        """Fit copies of the members; return them, and what went wrong with those that were left out.

        Parameters
        ----------
        members : sequence of (name, estimator)
            What is fitted.
        methods : mapping of str to str
            What each is asked by.
        splits : sequence of (training rows, held-out rows)
            Parts of the rows; none to leave no rows out.
        whole : bool
            Whether a copy is fitted to all rows.
        out_of_bag : sequence of str
            Forests whose out-of-bag predictions take the place of splits.
        """
        by_bag = [name in out_of_bag for name, _ in members]
        tasks = [(number, WHOLE) for number, own in enumerate(by_bag) if whole or own]
        tasks += [(number, split) for split in range(len(splits)) for number, own in enumerate(by_bag) if not own]
        parts = Parts(self.training, splits, Counter(split for _, split in tasks))
        holes = self._holes() if splits else None
        beside = min(self.threads, len(tasks))
        within = max(1, self.threads // beside)

        def run(task: int) -> Any:
            number, split = tasks[task]
            name, base = members[number]
            try:
                with self._named(name, base, "fitted"), parts.rows(split) as rows:
                    model = fit_member(self.copy(base, number, oob=by_bag[number]), rows, within)
                if split == WHOLE:
                    return model, None
                if holes is not None and reads_tables(model):
                    model.expect_missing(holes)  # of rows that its part happened to miss
                with self._named(name, base, f"asked for {methods[name]}"):
                    held = self.training.rows.to_predict(model, splits[split][1])
                    return model, checked(answer(self.goal, model, held, methods[name]), len(splits[split][1]))
            except MemberError as failure:
                if self.skips:
                    return failure
                raise failure.error() from failure.__cause__

        ours = all(is_ours(base) for _, base in members)
        results = dict(zip(tasks, self._beside(run, len(tasks), beside, ours=ours), strict=True))
        return self._gathered(members, methods, splits, results, by_bag)

    def _gathered(
        self,
        members: Sequence[Base],
        methods: Mapping[str | int, str],
        splits: Sequence[Split],
        results: dict[tuple[int, int], Any],
        by_bag: list[bool],
    ) -> tuple[list[Fitted], dict[str, str]]:
        found, skipped = [], {}
        for number, (name, base) in enumerate(members):
            own = {split: result for (member, split), result in results.items() if member == number}
            failure = next((result for result in own.values() if isinstance(result, MemberError)), None)
            if failure is not None:
                skipped[str(name)] = str(failure.error())
                continue
            fitted = Fitted(str(name), methods[name])
            if WHOLE in own:
                fitted.whole = own[WHOLE][0]
            fitted.of_splits = [own[split][0] for split in range(len(splits)) if split in own]
            if by_bag[number]:
                known = self.goal.out_of_bag(fitted.whole)
                fitted.unseen = known.reshape(len(known), -1)
                forget_bags(fitted.whole, base)
            elif splits:
                fitted.unseen = _mean_unseen(len(self.training.y), splits, [own[s][1] for s in range(len(splits))])
            found.append(fitted)
        if not found:
            first, why = next(iter(skipped.items()))
            raise ValueError(f"every member failed, so none is left; {first!r}: {why}")
        for why in skipped.values():
            warn_user(f"{why}; it is left out (on_error='skip')")
        return found, skipped

    def _beside(self, run: Callable[[int], Any], n_tasks: int, beside: int, *, ours: bool) -> Iterator[Any]:
        started, alone = time.monotonic(), ours or beside == 1 or not in_main_thread()
        with (
            ProgressBar(n_tasks, "fit") if self.verbose else nullcontext() as bar,
            nullcontext() if alone else one_thread("blas"),
        ):
            for number, result in enumerate(run_beside(run, range(n_tasks), beside, ours=ours), 1):
                if bar is not None:
                    bar(RoundReport(number, n_tasks, time.monotonic() - started, None, None))
                yield result

    def _holes(self) -> list[bool] | None:
        """Return which columns have missing values; None if the rows are not a table."""
        table = self.training.rows.readable()
        return (
            None if table is None else [has_missing(values) for _, batch in table.column_batches() for values in batch]
        )

    def copy(self, base: Any, number: int, *, oob: bool = False) -> Any:
        """Return an unfitted copy; random states that the user left open get a seed, and stacks the order of time."""
        model = unfitted(base)
        seed = _kernel.draw(self.seed, MEMBER_PURPOSE, number)
        own = model.get_params()
        names = [name for name in sorted(own) if name.rpartition("__")[2] == "random_state" and own[name] is None]
        seeds = {name: _kernel.draw(seed, place, 0) & 0x7FFFFFFF for place, name in enumerate(names)}
        ordered = {"time_ordered": True} if self.time_ordered and is_ours(model) and "time_ordered" in own else {}
        if seeds or ordered:
            model.set_params(**seeds, **ordered)
        return model.set_params(oob_score=True) if oob else model

    @contextmanager
    def _named(self, name: str | int, base: Any, doing: str) -> Iterator[None]:
        """Name the member in errors of the body."""
        try:
            yield
        except (MemoryError, MemberError):
            raise
        except Exception as error:
            hint = "" if is_ours(base) else self._hint()
            raise MemberError(str(name), base, doing, hint) from error

    def _hint(self) -> str:
        """Return what to do about columns that most estimators of other libraries cannot read."""
        table, missing = self.training.rows.readable(), self._holes()
        if table is None or missing is None:
            return ""
        text = [column.name for column in table.schema.columns if column.kind == "categorical"]
        holes = [column.name for column, has in zip(table.schema.columns, missing, strict=True) if has]
        if not text and not holes:
            return ""
        why = [f"categories ({', '.join(text[:3])})"] if text else []
        why += [f"missing values ({', '.join(holes[:3])})"] if holes else []
        return (
            f"; X has {' and '.join(why)}: give this member in a pipeline that encodes them, such as "
            "sklearn.pipeline.make_pipeline(encoder, estimator)"
        )


@contextmanager
def named(name: str, model: Any, doing: str) -> Iterator[None]:
    """Name a member in errors of the body."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise _error(name, model, doing, error, "") from error


def _error(name: str, member: Any, doing: str, cause: BaseException | None, hint: str) -> Exception:
    """Return the error that users see: of the kind of its cause, with the name of the member."""
    kind = next((kind for kind in (ValueError, TypeError) if isinstance(cause, kind)), RuntimeError)
    return kind(f"member {name!r} ({type(member).__name__}) cannot be {doing}: {cause}{hint}")


def _mean_unseen(n_rows: int, splits: Sequence[Split], answers: Sequence[FloatArray]) -> FloatArray:
    """Return the mean answer to each row over the splits that held it out; NaN if none did."""
    total, count = np.zeros((n_rows, answers[0].shape[1])), np.zeros(n_rows)
    for (_, held), found in zip(splits, answers, strict=True):
        total[held] += found
        count[held] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count[:, None])


def fit_member(model: Any, training: Training, threads: int) -> Any:
    """Fit an unfitted copy to rows, with their weights if it takes them, else to copies of rows."""
    X, y, weight = training.rows.of(model), training.y, training.weight
    argument, given = weight_argument(model), dict(training.also)
    if training.groups is not None and is_ours(model) and "groups" in inspect.signature(model.fit).parameters:
        given["groups"] = training.groups
    if weight is not None and argument is not None:
        given |= {argument: weight}
    elif weight is not None:
        if not is_whole(weight):
            why = "are too many copies of rows" if (weight == np.rint(weight)).all() else "are not whole numbers"
            raise ValueError(
                f"sample_weight is given, but its fit does not take it, and these weights {why}: leave the weights or "
                "the member out"
            )
        copies = np.repeat(np.arange(len(y)), weight.astype(np.int64))
        X, y = selection.take_rows(X, copies), y[copies]
        given = {name: values[copies] for name, values in given.items()}
    with inner_fits(), _threads_of(model, threads):
        return model.fit(X, y, **given)


@contextmanager
def _threads_of(model: Any, threads: int) -> Iterator[None]:
    """Let a member use its share of the threads; a parameter of ours is the user's again afterwards."""
    if not is_ours(model):
        with nullcontext() if in_main_thread() else one_thread("openmp"):
            yield
        return
    if "n_jobs" not in model.get_params(deep=False):
        yield
        return
    own, model.n_jobs = model.n_jobs, threads
    try:
        yield
    finally:
        model.n_jobs = own


def one_thread(of: str) -> Any:
    """Keep BLAS, of the process, or OpenMP, of the calling thread, to one thread, in members of other libraries."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=of).limit(limits=1)


def in_main_thread() -> bool:
    """Whether this is the main thread: fits of others must not change limits of the process, which they share."""
    return threading.current_thread() is threading.main_thread()


class Parts:
    """Training rows of splits: made when the first member asks, and dropped after the last."""

    def __init__(self, training: Training, splits: Sequence[Split], users: Counter[int]) -> None:
        self.training, self.splits, self.users = training, splits, users
        self.made: dict[int, Training] = {}
        self.lock = threading.Lock()

    @contextmanager
    def rows(self, split: int) -> Iterator[Training]:
        """Lend the rows of a split, or all."""
        if split == WHOLE:
            yield self.training
            return
        with self.lock:
            if split not in self.made:
                self.made[split] = self.training.take(self.splits[split][0])
        try:
            yield self.made[split]
        finally:
            with self.lock:
                self.users[split] -= 1
                if not self.users[split]:
                    del self.made[split]


def takes_bags(member: Any) -> bool:
    """Whether out-of-bag predictions of a forest are good enough to take the place of folds."""
    if not reads_tables(member) or not {"oob_score", "bootstrap", "n_estimators"} <= set(member.get_params(deep=False)):
        return False
    return bool(member.bootstrap) and int(member.n_estimators) >= ENOUGH_TREES


def forget_bags(forest: Any, base: Any) -> None:
    """Drop the out-of-bag predictions of a forest that the user did not ask for: they are as long as the table."""
    if base.oob_score is False:
        model = forest.model_
        forest.model_ = replace(model, notes=replace(notes_of(model), oob_score=None, oob_mean=None))
        forest.oob_score = False
