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
from arboretum.ensembles.combining.asking import Asked, answer, checked, method_of
from arboretum.ensembles.combining.combiners import Combiner, LinearSum, LogPool, Mean, Votes
from arboretum.ensembles.combining.fitting import Fitted, Training, Workshop, fit_member, named, takes_bags
from arboretum.ensembles.combining.folds import DealtRows, Split
from arboretum.ensembles.combining.greedy import Greed, select
from arboretum.ensembles.combining.joint import FINAL, Combined, knowing
from arboretum.ensembles.combining.member_rows import MemberRows
from arboretum.ensembles.members.estimators import is_classifier, require_estimator
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
        parts = [(place[fit], place[held]) for fit, held in found]
        left = [(fit[fit >= 0], held[held >= 0]) for fit, held in parts]
        left = [(fit, held) for fit, held in left if len(fit) and len(held)]
        if not left:
            raise ValueError(f"{name}: no split has training rows and held-out rows of a weight above 0")
        return left

    def among_all(self, answers: FloatArray) -> FloatArray:
        """Return answers to the rows that have weight among all rows, NaN for the others."""
        if len(self.kept) == len(self.asked[1]):
            return answers
        whole = np.full((len(self.asked[1]), answers.shape[1]), np.nan)
        whole[self.kept] = answers
        return whole

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

    def read(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, prefit: bool = False) -> Given:
        """Check rows, targets, weights and groups, and leave out rows of weight 0; y may lack classes of members."""
        rows = MemberRows(X)
        column = self.goal.as_column(y, rows.n_rows)
        weight = targets.training_weights(sample_weight, rows.n_rows)
        number = targets.read_groups(groups, rows.n_rows)
        asked, kept = (rows.container, self.goal.arguments(column)[0], groups), np.arange(rows.n_rows)
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            rows = MemberRows(selection.take_rows(rows.container, kept))
            column, weight = column[kept], weight[kept]
            number = None if number is None else targets.read_groups(number[kept], len(kept))
        goal, codes = (self._goal_of_members(rows) if prefit else self.goal).read(column)
        table = rows.readable()
        keys = np.arange(rows.n_rows, dtype=np.uint64) if table is None else content_keys(table, codes)
        dealt = DealtRows(keys, goal.strata(codes), goal.labels, number, weight)
        flat = np.ones(rows.n_rows) if weight is None else weight
        target, also = goal.arguments(column)
        training = Training(rows, target, weight, also, None if goal.by_query else number)
        return Given(rows.container, target, goal, codes, training, flat, dealt, asked, kept)

    def _goal_of_members(self, rows: MemberRows) -> Goal:
        """Return the goal of members that are fitted, with all classes that they know."""
        for name, model in self.members:
            require_fitted(name, model, rows.n_columns)
        if not isinstance(self.goal, Classes):
            return self.goal
        return replace(self.goal, classes=np.unique(np.concatenate([model.classes_ for _, model in self.members])))

    def workshop(self, given: Given) -> Workshop:
        """Return what fits members."""
        own = self.given
        return Workshop(
            given.goal,
            given.training,
            seed_of(own.random_state),
            n_threads(own.n_jobs),
            skips=own.on_error == "skip",
            verbose=bool(own.verbose),
            time_ordered=bool(getattr(own, "time_ordered", False)),
        )

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
        unseen = {one.name: given.among_all(one.unseen) for one in found if one.unseen is not None}
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
        given = self.read(X, y, sample_weight, prefit=bool(own.prefit))
        methods = {name: self._method(name, base, given.goal, votes) for name, base in self.members}
        weights, skipped = self._weights(), dict[str, str]()
        if own.prefit:
            found = [Fitted(str(name), methods[name], whole=model) for name, model in self.members]
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
        weights, names = np.asarray(given), [name for name, _ in self.given.estimators or self.members]
        if weights.shape == (len(names),):  # those of members that are dropped count, too, as in scikit-learn
            kept = {name for name, _ in self.members}
            weights = weights[[name in kept for name in names]]
        if weights.shape != (n_members,) or weights.dtype.kind not in "biuf":
            raise ValueError(f"weights={shown(given)}: give a number for each of the {n_members} members")
        weights = weights.astype(np.float64)
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(f"weights={shown(given)}: use finite numbers of at least 0, not all 0")
        return weights


def require_fitted(name: str | int, model: Any, n_columns: int | None) -> None:
    """Reject a member that is not fitted, or was fitted to another number of columns."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    who = f"member {name!r} ({type(model).__name__})"
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ValueError(
            f"{who} is not fitted: fit it first, or set prefit=False. Copies of this ensemble, as clone and "
            "cross_val_score make them, lose the fits of members; sklearn.frozen.FrozenEstimator keeps them"
        ) from None
    width = getattr(model, "n_features_in_", n_columns)
    if n_columns is not None and width != n_columns:
        raise ValueError(f"{who} was fitted to {width} columns, but X has {n_columns}: give the same columns")


@dataclass(frozen=True, eq=False)
class StackingRecipe(CombiningRecipe):
    """Members, and a combination that is learned from their answers to rows that they have not seen."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Members:
        """Fit members to parts of the rows, then what combines them, then members to all rows."""
        own, final = self.given, self._checked_final()
        given = self.read(X, y, sample_weight, groups)
        methods = self.methods(given.goal)
        splits, bags = self.splits(given)
        for number, (fit, _) in enumerate(splits):
            self._check_part(given, fit, number)
        found, skipped = self.workshop(given).fit(self.members, methods, splits, whole=bool(own.refit), out_of_bag=bags)
        rows = learned_from(found, given)
        answers = [one.unseen[rows] for one in found if one.unseen is not None]
        combiner, fitted = self.combine(given, found, answers, rows, final)
        return self.joined(
            given,
            found,
            combiner,
            skipped,
            final=fitted,
            passthrough=fitted is not None and bool(own.passthrough),
            by_splits=not own.refit,
        )

    def methods(self, goal: Goal) -> dict[str | int, str]:
        """Return what each member is asked by."""
        wanted = self.given.stack_method
        return {name: method_of(str(name), base, wanted, goal) for name, base in self.members}

    def _check_part(self, given: Given, fit: NDArray[np.intp], number: int) -> None:
        """Reject training rows of one class."""
        if given.goal.has_one_class(given.y[fit]) and len(given.goal.labels or ()) > 1:
            raise ValueError(
                f"the training rows of split {number} are all of class {given.y[fit].tolist()[0]!r}: use other folds, "
                "or fewer groups or blocks"
            )

    def splits(self, given: Given) -> tuple[list[Split], list[str | int]]:
        """Return the parts of the rows, and the forests whose out-of-bag predictions take their place."""
        own, dealt, seed = self.given, given.dealt, seed_of(self.given.random_state)
        if own.n_repeats > 1 and (own.time_ordered or not folds.is_count(own.cv)):
            why = "time_ordered=True" if own.time_ordered else f"cv={shown(own.cv)}"
            raise ValueError(f"n_repeats={own.n_repeats} with {why}: only folds by content can be dealt out anew")
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
        # A row of weight 20 is in almost every bag.
        honest = dealt.groups is None and dealt.weight is None
        by_share, bags = not given.goal.classifies or own.stack_method in ("auto", "predict_proba"), []
        if own.out_of_bag == "auto" and honest and own.refit and by_share:
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
        workshop, training = self.workshop(given), given.training.take(rows[back], MemberRows(table))
        return None, fit_member(workshop.copy(final, len(self.members)), training, workshop.threads)

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
        if isinstance(own.scoring, str):  # a name that is none is an error before any fit
            find_scoring(own.scoring, "binary" if self.goal.classifies else self.goal.task.name)
        if not own.prefit:
            return super().fit(X, y, sample_weight, groups)
        given = self.read(X, y, sample_weight, prefit=True)
        methods = self.methods(given.goal)
        found = [Fitted(str(name), methods[name], whole=model) for name, model in self.members]
        for one in found:
            with named(one.name, one.whole, f"asked for {one.method}"):
                one.unseen = checked(answer(given.goal, one.whole, given.X, one.method), len(given.y))
        rows = learned_from(found, given)
        answers = [one.unseen[rows] for one in found if one.unseen is not None]
        combiner, _ = self.combine(given, found, answers, rows, None)
        return self.joined(given, found, combiner, {})

    def methods(self, goal: Goal) -> dict[str | int, str]:
        """Return what each member is asked by: probabilities, or its vote if it has none; scores have no mean."""
        if not goal.classifies:
            return super().methods(goal)
        return {name: "predict_proba" if hasattr(base, "predict_proba") else "predict" for name, base in self.members}

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
