"""Combining as a recipe: members, a goal and rows make Members of one answer.

::

    X, y, weight, groups ──goal──► Training ──► splits ──Workshop──► copies, answers to rows not seen
                                                                      │
                 voting: fixed weights ───────────────────────────────┤
                 stacking, blending: a linear combiner, or any estimator
                 ensemble selection: greedy weights ──────────────────┴──► Members, joined by Combined
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.data import selection, targets
from arboretum.data.queries import Queries
from arboretum.ensembles.bagging.resampling import content_keys
from arboretum.ensembles.combining import folds
from arboretum.ensembles.combining.asking import Asked, answer, method_of
from arboretum.ensembles.combining.combiners import Combiner, LinearSum, LogPool, Mean, Votes
from arboretum.ensembles.combining.fitting import Fitted, Training, Workshop, fit_member, takes_bags
from arboretum.ensembles.combining.folds import DealtRows, Split
from arboretum.ensembles.combining.greedy import Greed, select
from arboretum.ensembles.combining.joint import FINAL, Combined, knowing
from arboretum.ensembles.combining.member_rows import MemberRows
from arboretum.ensembles.members.estimators import is_classifier, require_estimator, unfitted
from arboretum.ensembles.members.goals import Classes, Goal
from arboretum.ensembles.recipe import Recipe
from arboretum.metrics.named import Answered, Metric, find_metric
from arboretum.metrics.scoring import Scorer, find_scoring
from arboretum.model.members import Base, Members
from arboretum.parameters.checking import seed_of
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Given:
    """Rows of a fit, read.

    Parameters
    ----------
    X, y
        Table and target, as the user gave them, without rows of weight 0.
    goal : Goal
        With its classes.
    codes : ndarray
        Codes of classes, or numbers (rows,) or (rows, outputs).
    training : Training
        The rows, as members read them.
    weight : ndarray
        Weight of each row.
    dealt : DealtRows
        What rows are dealt by.
    asked : tuple
        Table, target and groups with all rows, for splitters of scikit-learn.
    kept : ndarray
        Positions among them of the rows that have weight.
    """

    X: Any
    y: NDArray[Any]
    goal: Goal
    codes: FloatArray
    training: Training
    weight: FloatArray
    dealt: DealtRows
    asked: tuple[Any, Any, Any]
    kept: NDArray[np.intp]

    def splits(self, given: Any, name: str) -> list[Split]:
        """Return splits that the user gave, of all rows, as those of the rows that have weight."""
        n_rows = len(self.asked[1])
        place = np.full(n_rows, -1)
        place[self.kept] = np.arange(len(self.kept))
        found = folds.given_splits(given, *self.asked, n_rows, name)
        return [tuple(one[one >= 0] for one in (place[fit], place[held])) for fit, held in found]  # type: ignore[misc]

    @property
    def task(self) -> str:
        """Name of the task, for metrics."""
        return self.goal.task.name

    @property
    def query(self) -> NDArray[np.intp] | None:
        """Number of the query of each row, if rows are compared within queries."""
        return self.dealt.groups if self.goal.by_query else None

    def answering(self, rows: NDArray[np.intp]) -> Callable[[FloatArray], Answered]:
        """Return what adds the truth to answers (rows, width), for metrics; rows as ``learned_from`` orders them."""
        queries = None if self.query is None else Queries.of_sorted(self.query[rows])
        truth = Answered(self.codes[rows], None, self.weight[rows], queries)

        def answered(found: FloatArray) -> Answered:
            narrow = not self.goal.classifies and found.shape[1] == 1
            return replace(truth, answer=found[:, 0] if narrow else found)

        return answered


@dataclass(frozen=True, eq=False)
class CombiningRecipe(Recipe[Any, Goal]):
    """What all combined models share.

    Parameters
    ----------
    members : list of (name, estimator)
        What is combined.
    estimator : callable
        Makes an estimator for scorers from a fitted model.
    """

    members: list[Base]
    estimator: Callable[[Members], Any]

    # ---- rows ----------------------------------------------------------------------------------------------------

    def read(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Given:
        """Check rows, targets, weights and groups, and leave out rows of weight 0."""
        rows = MemberRows(X)
        column = self.goal.as_column(y, rows.n_rows)
        weight = targets.training_weights(sample_weight, rows.n_rows)
        number = folds.read_groups(groups, rows.n_rows)
        asked, kept = (rows.container, self.goal.arguments(column)[0], groups), np.arange(rows.n_rows)
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            rows = MemberRows(selection.take_rows(rows.container, kept))
            column, weight = column[kept], weight[kept]
            number = None if number is None else folds.read_groups(number[kept], len(kept))
        goal, codes = self.goal.read(column)
        table = rows.readable()
        keys = np.arange(rows.n_rows, dtype=np.uint64) if table is None else content_keys(table, codes)
        dealt = DealtRows(keys, goal.strata(codes), goal.labels, number, weight)
        flat = np.ones(rows.n_rows) if weight is None else weight
        target, also = goal.arguments(column)
        training = Training(rows, target, weight, also)
        return Given(rows.container, target, goal, codes, training, flat, dealt, asked, kept)

    def workshop(self, given: Given) -> Workshop:
        """Return what fits members."""
        own = self.given
        skips, verbose = own.on_error == "skip", bool(own.verbose)
        return Workshop(given.goal, given.training, seed_of(own.random_state), n_threads(own.n_jobs), skips, verbose)

    # ---- results ---------------------------------------------------------------------------------------------------

    def joined(
        self,
        given: Given,
        found: Sequence[Fitted],
        combiner: Combiner | None,
        skipped: dict[str, str],
        *,
        final: Any = None,
        passthrough: bool = False,
        by_splits: bool = False,
    ) -> Members:
        """Return the model: copies of all rows, or of the splits, and what combines them."""
        parts: dict[str, Any] = {}
        asked = []
        for one in found:
            copies = one.of_splits if by_splits and one.of_splits else [one.whole]
            names = tuple(f"member {len(parts) + copy}" for copy in range(len(copies)))
            parts |= dict(zip(names, copies, strict=True))
            asked.append(Asked(one.name, one.method, names))
        if final is not None:
            parts[FINAL] = final
        unseen = {one.name: one.unseen for one in found if one.unseen is not None}
        scoring, scores = self.member_scores(given, found)
        joint = Combined(given.goal, tuple(asked), combiner, passthrough, scores, scoring, skipped, unseen)
        rows = given.training.rows
        return Members(parts, joint, self.bases(), rows.schema(), rows.n_columns, self.name)

    def bases(self) -> list[Base]:
        """Return what members were made from."""
        return self.members

    def member_scores(self, given: Given, found: Sequence[Fitted]) -> tuple[str, dict[str, float]]:
        """Return the log loss or accuracy, or the error, of each member on rows that it has not seen."""
        if any(one.unseen is None for one in found):
            return "", {}
        by_probability = all(one.method == "predict_proba" for one in found)
        name = ("log_loss" if by_probability else "accuracy") if given.goal.classifies else "rmse"
        metric = find_metric(name, given.task)
        assert metric is not None
        scores = {}
        for one in found:
            assert one.unseen is not None
            known = ~np.isnan(one.unseen[:, 0])
            answers = one.unseen[known]
            if one.method == "decision_function" and answers.shape[1] == 1:
                answers = np.concatenate([-answers, answers], axis=1)
            elif not given.goal.classifies and answers.shape[1] == 1:
                answers = answers[:, 0]
            scores[one.name] = metric.value(Answered(given.codes[known], answers, given.weight[known]))
        return name, scores


@dataclass(frozen=True, eq=False)
class VotingRecipe(CombiningRecipe):
    """Members of all rows, with fixed weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Members:
        """Fit the members."""
        own = self.given
        votes = getattr(own, "voting", "soft") == "hard"
        given = self.read(X, y, sample_weight)
        methods = {name: self._method(name, base, given.goal, votes) for name, base in self.members}
        weights, skipped = self._weights(), dict[str, str]()
        if own.prefit:
            found = prefit(self.members, methods, given.goal)
        else:
            found, skipped = self.workshop(given).fit(self.members, methods, [], whole=True)
        left = {one.name for one in found}
        kept = np.array([weight for (name, _), weight in zip(self.members, weights, strict=True) if name in left])
        if not kept.any():
            raise ValueError(f"weights={shown(own.weights)}: the members that are left weigh nothing")
        return self.joined(given, found, Votes(kept) if votes else Mean(kept), skipped)

    def _method(self, name: str | int, base: Any, goal: Goal, votes: bool) -> str:
        if not goal.classifies or votes:
            return "predict"
        if not hasattr(base, "predict_proba"):
            raise ValueError(
                f'member {name!r} ({type(base).__name__}) has no predict_proba: use voting="hard", or another member'
            )
        return "predict_proba"

    def _weights(self) -> FloatArray:
        given, n_members = self.given.weights, len(self.members)
        if given is None:
            return np.ones(n_members)
        weights = np.asarray(given)
        if weights.shape != (n_members,) or weights.dtype.kind not in "biuf":
            raise ValueError(f"weights={shown(given)}: give a number for each of the {n_members} members")
        weights = weights.astype(np.float64)
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(f"weights={shown(given)}: use finite numbers of at least 0, not all 0")
        return weights


def prefit(members: Sequence[Base], methods: dict[str | int, str], goal: Goal) -> list[Fitted]:
    """Return members that are fitted already."""
    for name, model in members:
        if isinstance(goal, Classes) and not np.isin(goal.classes, getattr(model, "classes_", [])).all():
            raise ValueError(
                f"member {name!r} ({type(model).__name__}) was fitted to the classes "
                f"{shown(getattr(model, 'classes_', None))}, but y has {shown(goal.classes.tolist())}"
            )
    return [Fitted(str(name), methods[name], whole=model) for name, model in members]


@dataclass(frozen=True, eq=False)
class StackingRecipe(CombiningRecipe):
    """Members, and a combination that is learned from their answers to rows that they have not seen."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Members:
        """Fit members to parts of the rows, then what combines them, then members to all rows."""
        own, final = self.given, self._checked_final()
        given = self.read(X, y, sample_weight, groups)
        methods = {name: method_of(str(name), base, own.stack_method, given.goal) for name, base in self.members}
        splits, bags = self.splits(given)
        found, skipped = self.workshop(given).fit(self.members, methods, splits, whole=bool(own.refit), out_of_bag=bags)
        rows = learned_from(found, given)
        answers = [one.unseen[rows] for one in found if one.unseen is not None]
        combiner, fitted = self.combine(given, found, answers, rows, final)
        members = self.joined(
            given,
            found,
            combiner,
            skipped,
            final=fitted,
            passthrough=fitted is not None and bool(own.passthrough),
            by_splits=not own.refit,
        )
        return members

    def splits(self, given: Given) -> tuple[list[Split], list[str | int]]:
        """Return the parts of the rows, and the forests whose out-of-bag predictions take their place."""
        own, dealt, seed = self.given, given.dealt, seed_of(self.given.random_state)
        if not folds.is_count(own.cv):
            if own.time_ordered:
                raise ValueError(f"time_ordered=True with cv={shown(own.cv)}: give a number of blocks as cv")
            return given.splits(own.cv, "cv"), []
        n_folds = folds.number_of_folds(dealt, own.cv)
        if own.time_ordered:
            if given.query is not None:
                return folds.blocks_of_units(given.query, n_folds), []
            if dealt.groups is not None:
                raise ValueError("groups with time_ordered=True: give a splitter as cv that keeps both")
            return folds.blocks(dealt.n_rows, n_folds), []
        bags = []
        by_share = not given.goal.classifies or own.stack_method in ("auto", "predict_proba")
        if own.out_of_bag == "auto" and dealt.groups is None and own.refit and by_share:
            bags = [name for name, base in self.members if takes_bags(base)]
        if len(bags) == len(self.members):
            return [], bags
        repeats = range(int(own.n_repeats))
        return [split for repeat in repeats for split in folds.folds(dealt, n_folds, seed, repeat)], bags

    def combine(
        self, given: Given, found: Sequence[Fitted], answers: Sequence[FloatArray], rows: NDArray[np.intp], final: Any
    ) -> tuple[Combiner | None, Any]:
        """Return the combiner, or the fitted final estimator."""
        if final is None:
            return linear(given, found, answers, rows), None
        asked = tuple(Asked(one.name, one.method, ()) for one in found)
        joint = Combined(given.goal, asked, passthrough=bool(self.given.passthrough))
        back = np.argsort(rows)  # as the rows were given
        table = joint.features([one[back] for one in answers], selection.take_rows(given.X, rows[back]))
        weight = None if given.training.weight is None else given.training.weight[rows[back]]
        training = Training(MemberRows(table), given.y[rows[back]], weight)
        return None, fit_member(unfitted(final), training, n_threads(self.given.n_jobs))

    def bases(self) -> list[Base]:
        """Return the members and, if one was given, the final estimator."""
        final = self.given.final_estimator
        return [*self.members, *([] if final is None else [(FINAL, final)])]

    def _checked_final(self) -> Any:
        final = self.given.final_estimator
        if final is None:
            if self.given.passthrough:
                raise ValueError("passthrough=True needs a final_estimator, which sees the columns of X: give one")
            return None
        require_estimator(final)
        if is_classifier(final) != self.goal.classifies:
            wanted = "classifier" if self.goal.classifies else "regressor"
            raise ValueError(f"final_estimator={shown(final)} is not a {wanted}, which {self.name} needs")
        return final


@dataclass(frozen=True, eq=False)
class BlendingRecipe(StackingRecipe):
    """Members of one part of the rows, combined on the other."""

    def splits(self, given: Given) -> tuple[list[Split], list[str | int]]:
        """Return the two parts."""
        own, dealt = self.given, given.dealt
        if isinstance(own.cv, numbers.Real):
            if own.time_ordered and dealt.groups is not None:
                raise ValueError("groups with time_ordered=True: give pairs of rows as cv that keep both")
            seed = seed_of(own.random_state)
            return [folds.share(dealt, float(own.cv), seed, last=bool(own.time_ordered))], []
        if own.time_ordered:
            raise ValueError(f"time_ordered=True with cv={shown(own.cv)}: give a share as cv")
        return given.splits(own.cv, "cv"), []


@dataclass(frozen=True, eq=False)
class SelectionRecipe(StackingRecipe):
    """Members, and greedy weights that are learned from their answers to rows that they have not seen."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Members:
        """Select from members that are fitted already, or by folds from members that are not."""
        own = self.given
        if not own.prefit:
            return super().fit(X, y, sample_weight, groups)
        given = self.read(X, y, sample_weight)
        methods = {name: method_of(str(name), base, own.stack_method, given.goal) for name, base in self.members}
        found = prefit(self.members, methods, given.goal)
        for one in found:
            one.unseen = answer(given.goal, one.whole, given.X, one.method)
        rows = learned_from(found, given)
        answers = [one.unseen[rows] for one in found if one.unseen is not None]
        combiner, _ = self.combine(given, found, answers, rows, None)
        return self.joined(given, found, combiner, {})

    def combine(
        self, given: Given, found: Sequence[Fitted], answers: Sequence[FloatArray], rows: NDArray[np.intp], final: Any
    ) -> tuple[Combiner | None, Any]:
        """Return the mean with greedy weights."""
        own, scoring = self.given, find_scoring(self.given.scoring, given.task)
        score = self._score(given, scoring, rows)
        greed = Greed(
            int(own.n_steps), int(own.n_best), int(own.n_bags), float(own.bag_share), seed_of(own.random_state)
        )
        return Mean(select(answers, score, greed)), None

    def _score(
        self, given: Given, scoring: Metric | Scorer | None, rows: NDArray[np.intp]
    ) -> Callable[[FloatArray], float]:
        """Return the function that scores answers to the rows that weights are learned from."""
        answered = given.answering(rows)
        if isinstance(scoring, Scorer):
            X, y = selection.take_rows(given.X, rows), given.y[rows]
            weighted = None if given.training.weight is None else given.weight[rows]
            blank, also = Combined(given.goal), {name: values[rows] for name, values in given.training.also.items()}

            def by_scorer(found: FloatArray) -> float:
                known = knowing(blank, answered(found).answer)
                model = self.estimator(Members({}, known, name=self.name))
                return scoring.score(model, X, y, sample_weight=weighted, **also)

            return by_scorer
        metric = scoring or find_metric(given.goal.metric, given.task)
        assert isinstance(metric, Metric)
        sign = 1.0 if metric.greater_is_better else -1.0
        return lambda found: sign * metric.value(answered(found))


def learned_from(found: Sequence[Fitted], given: Given) -> NDArray[np.intp]:
    """Return the rows that every member has answered unseen, in the order of their content."""
    known = np.ones(len(given.y), dtype=bool)
    for one in found:
        assert one.unseen is not None
        known &= ~np.isnan(one.unseen[:, 0])
    if not known.any():
        raise ValueError("no row was predicted by a model that has not seen it: use more folds, or more trees")
    within = () if given.query is None else (given.query,)
    order = np.lexsort((given.weight, given.dealt.keys, *within))
    return order[known[order]]


def linear(given: Given, found: Sequence[Fitted], answers: Sequence[FloatArray], rows: NDArray[np.intp]) -> Combiner:
    """Return the linear combination that fits rows best: of numbers, or of log probabilities."""
    codes, weight = given.codes[rows], given.weight[rows]
    if not isinstance(given.goal, Classes):
        return LinearSum.fit(answers, codes.reshape(len(rows), -1), weight)
    scored = [one.method == "decision_function" for one in found]
    return LogPool.fit(answers, scored, codes, len(given.goal.classes), weight)
