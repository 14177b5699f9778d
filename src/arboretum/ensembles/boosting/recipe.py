"""Boosting as a recipe: parameters, a goal and rows make a Model.

::

    X, y, weight, offset ──read──► Problem, Target
                                      │ held out · encoded · cut into bins            prepare
                                      ▼
                                   Training ──rounds─► Forest, History ──freeze──► Model
                                      ▲                                             │
                                      └── all rows again, for the rounds found best ┘  refit
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.data import targets
from arboretum.data.binning import BinMap, assign_bins, learn_bins
from arboretum.data.queries import Queries
from arboretum.data.schema import Schema
from arboretum.data.splits import deal_out, deal_out_groups
from arboretum.data.table import Table, conform, read_table
from arboretum.encoding.category_encoding import CategoryEncoding, learn_encoding
from arboretum.ensembles.bagging.resampling import Bag, columns_of_bins, with_schema
from arboretum.ensembles.boosting.automatic import Automatic, of_release
from arboretum.ensembles.boosting.average_rounds import AverageRounds, average_of, weighted_rounds
from arboretum.ensembles.boosting.folded import FoldedRuns
from arboretum.ensembles.boosting.goals import Goal
from arboretum.ensembles.boosting.history import History
from arboretum.ensembles.boosting.judging import TreesInTraining, judge_of, knowing
from arboretum.ensembles.boosting.linear_leaves import number_columns
from arboretum.ensembles.boosting.model_notes import BoostingNotes, is_vector, trees_of_round
from arboretum.ensembles.boosting.parameters import (
    BoostingParameters,
    boosting_params,
    check_continuing,
    check_groups,
    check_linear_loss,
    check_parted,
    has_vector_leaves,
    is_set,
    racing_parameters_set,
    share_of_rows,
    suited,
    tree_params,
)
from arboretum.ensembles.boosting.problem import HeldRows, Problem, Run, Shared, Target, Training
from arboretum.ensembles.boosting.racing import (
    FOLDS,
    HELD_FOLDS,
    Changes,
    Lap,
    RaceResult,
    contestants,
    race,
    search_pace,
)
from arboretum.ensembles.boosting.rounds import BoostingParams, BoostingRun, Keep, Progress
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw, user_shape
from arboretum.ensembles.boosting.training_rows import TrainingRows, beside_offset
from arboretum.ensembles.recipe import Recipe
from arboretum.ensembles.training_memory import boosting_bytes, check_counts
from arboretum.exact_sums import exact_mean
from arboretum.losses import Cox, EachOutput, Loss
from arboretum.metrics.named import Metric, named_metrics
from arboretum.metrics.scoring import Scorer, find_scoring
from arboretum.model.forest import Forest
from arboretum.model.heads import Head, LossHead
from arboretum.model.model import Model, encoded
from arboretum.parameters.checking import check_columns, seed_of
from arboretum.parameters.shared import MAX_BINS
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import ProgressBar, followers
from arboretum.running.threads import n_threads

FloatArray: TypeAlias = NDArray[np.float64]
Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows to train and to validate on

NO_ROWS = HeldRows()
SMALL_FIT = 10_000  # rows × columns below which a second thread costs more than it saves


@dataclass(frozen=True)
class Found:
    """What a search on held-out rows has found for the fit of all rows."""

    n_rounds: int
    learning_rate: float
    history: History
    race: RaceResult | None = None  # what chose the parameters, if settings raced
    shift: FloatArray | None = None  # of the constant, found by the rows held out (Loss.recentres)


@dataclass(frozen=True, eq=False)
class Searched:
    """A model, and the rows held out of its training rows, if any."""

    model: Model
    held: Problem | None


@dataclass(frozen=True)
class Resumed:
    """Trees of an earlier process, and its progress."""

    forest: Forest
    seed: int
    progress: Progress

    def followed_by(self, later: Forest, history: History, *, keeps_best: bool) -> Forest:
        """Append the trees that followed; there are none if the best round is among these."""
        best = history.best_round if keeps_best else None
        if best is None or best > self.progress.rounds:
            return Forest.concat([self.forest, later])
        return self.forest[: best * (self.forest.n_trees // self.progress.rounds)]


@dataclass(frozen=True, eq=False)
class Phase:
    """A run of rounds that a journal records: the search, or the second fit of all rows.

    Parameters
    ----------
    again : bool
        Whether all rows are being fitted again.
    seed : int
        Seed of the fit.
    parts : sequence of Rows
        Rows with the raw predictions of the rounds so far.
    resumed : Resumed, optional
        Where the phase was resumed.
    trees_per_round : int
        Trees of a round and output.
    """

    again: bool
    seed: int
    parts: Sequence[Rows | None]
    resumed: Resumed | None
    trees_per_round: int = 1


@runtime_checkable
class Journal(Protocol):
    """A checkpoint: records the progress of a fit, and lets it resume."""

    found: Found | None

    def check_target(self, problem: Problem, held: HeldRows) -> None:
        """Reject the journal of a fit with other targets."""

    @property
    def finished(self) -> Model | None:
        """The fitted model, if an earlier process has finished."""

    def resumed(self, again: bool) -> Resumed | None:
        """Return where a phase resumes."""

    def keeper(self, phase: Phase, freeze: Callable[[Forest, History], Model]) -> Keep:
        """Return the callback for each round of a phase; ``freeze`` makes a model of its trees."""

    def write_end(self, model: Model) -> None:
        """Write the fitted model."""


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where rounds start.

    Parameters
    ----------
    earlier : Model, optional
        A fitted model, to which they are added.
    held : HeldRows
        Validation rows as they were given.
    bin_map : BinMap, optional
        Bins that are known already.
    again : Found, optional
        Result of an earlier search: its learning rate is kept, and no rows are held out.
    resumed : Resumed, optional
        Trees of an earlier process.
    journal : Journal, optional
        What later processes go on from.
    split : tuple of ndarray, optional
        Rows to train and to validate on, in place of a share drawn here.
    """

    earlier: Model | None = None
    held: HeldRows = NO_ROWS
    bin_map: BinMap | None = None
    again: Found | None = None
    resumed: Resumed | None = None
    journal: Journal | None = None
    split: Split | None = None


ANEW = Beginning()


@dataclass(frozen=True, eq=False)
class RawStart:
    """Raw predictions before the first round.

    Parameters
    ----------
    base : ndarray
        Constant of all rows.
    forest : Forest, optional
        Trees that are added to it.
    """

    base: FloatArray
    forest: Forest | None = None


@dataclass(frozen=True, eq=False)
class Boosting(Recipe[BoostingParameters, Goal]):
    """Gradient boosting of trees.

    Parameters
    ----------
    estimator : callable
        Makes an estimator for scorers from a fitted model.
    """

    estimator: Callable[[Model], Any]

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self,
        n_rounds: int,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        held: HeldRows = NO_ROWS,
        earlier: Model | None = None,
        journal: Journal | None = None,
        groups: Any = None,
    ) -> Model:
        """Boost ``n_rounds`` rounds, after those of an earlier model if there is one."""
        if earlier is not None:
            check_continuing(self.given, notes_of(earlier))
        threads = n_threads(self.given.n_jobs)
        problem, target = self.read(X, y, sample_weight, offset, earlier, groups)
        if journal is not None:
            journal.check_target(problem, held)
            if journal.finished is not None:
                return journal.finished
        model = self.learn(n_rounds, problem, target, threads, Beginning(earlier, held, journal=journal))
        model = self.goal.finished(model, problem, threads)
        if journal is not None:
            journal.write_end(model)
        return model

    def learn(self, n_rounds: int, problem: Problem, target: Target, threads: int, start: Beginning = ANEW) -> Model:
        """Boost a problem, with the parameters that win a race if there is one."""
        found = None if start.journal is None else start.journal.found
        result, laps = None if found is None else found.race, list[Lap]()
        if start.earlier is not None:
            result = notes_of(start.earlier).race
        elif found is None and (field := self._field(problem, target, start.held)):
            with places.among(None):  # as on one machine, even if this is the only place of a cluster
                result, laps = self.race(field, n_rounds, problem, target, threads, start.held)
        if result is None:
            return self.search(n_rounds, problem, target, threads, start)
        model = self.changed(result.changes).search(n_rounds, problem, target, threads, start, result, laps)
        return replace(model, notes=replace(notes_of(model), race=result))

    def changed(self, changes: Changes) -> Boosting:
        """Return the recipe with some parameters changed."""
        given = copy(self.given)
        vars(given).update(changes)
        return replace(self, given=given)

    def behind(self, model: Model) -> Boosting:
        """Return the recipe with the parameters that a model was fitted with, those that a race chose included."""
        race = notes_of(model).race
        return self if race is None else self.changed(race.changes)

    def _field(self, problem: Problem, target: Target, held: HeldRows) -> dict[str, Changes]:
        """Return the settings that race; none where rounds are not sought on rows held out."""
        given, loss = self.given, target.loss
        if not given.race or given.scoring != "loss" or given.time_limit is not None or given.dart_rate:
            return {}
        if places.are_several() or not self.automatic.races(problem.count_rows()):
            return {}
        searches = given.early_stopping is not False if held.is_given else self._wants_validation(problem, False)
        if not searches or not (loss.row_wise and loss.has_values) or problem.y.ndim > 1:
            return {}
        if not held.is_given and not self.race_folds(problem):  # each group holds all rows of a class
            return {}
        unit = 1.0 if problem.weight is None else exact_mean(problem.weight)
        n_outputs = 1 if loss.parts else loss.n_outputs
        field = suited(given, problem, held, loss, contestants(racing_parameters_set(given), n_outputs, unit))
        return field if len(field) > 1 else {}

    def race(
        self,
        field: Mapping[str, Changes],
        n_rounds: int,
        problem: Problem,
        target: Target,
        threads: int,
        held: HeldRows,
    ) -> tuple[RaceResult, list[Lap]]:
        """Find the setting that suits the rows (racing.py)."""
        starts = [Beginning(held=held)]
        if not held.is_given:
            starts = [Beginning(split=split) for split in self.race_folds(problem)]
        has_slopes = any(changes.get("leaf_model") == "linear" for changes in field.values())
        reading = self.changed({"leaf_model": "linear"}) if has_slopes else self  # columns as slopes need them
        prepared = (reading.prepare(n_rounds, problem, target, threads, start) for start in starts)
        n_rows = problem.count_rows()

        def entered(training: Training, name: str, threads_each: int) -> Training:
            return self.changed(field[name]).entered(training, n_rows, threads_each)

        return race(field, prepared, entered, threads)

    def race_folds(self, problem: Problem) -> list[Split]:
        """Return the folds that are held out in turn; the last ones, which have no row of a class of few rows."""
        strata, seed = self.goal.strata(problem.y), seed_of(self.given.random_state)
        if problem.group is not None:
            fold = deal_out_groups(problem.group, strata, FOLDS, seed)
        else:
            fold = deal_out(np.zeros(len(problem.y)) if strata is None else strata, FOLDS, seed)
        held = [one for one in range(FOLDS) if np.any(fold == one)][-HELD_FOLDS:]
        return [(np.flatnonzero(fold != one), np.flatnonzero(fold == one)) for one in held]

    def entered(self, training: Training, n_rows: int, threads: int) -> Training:
        """Return prepared rows with these parameters, and raw predictions of their own."""
        run = training.run
        params = self._params(
            run.target,
            run.problem,
            training.rows.data.bin_map,
            run.encoding,
            n_rounds=run.params.n_rounds,
            n_rows=n_rows,
            rate=run.params.learning_rate,
            seed=run.params.seed,
            threads=threads,
            validates=True,
        )
        rows, validation, *reordered = (
            None if one is None else replace(one, raw=one.raw.copy())
            for one in (training.rows, training.validation, *training.reordered)
        )
        return replace(
            training,
            run=replace(run, params=params),
            rows=cast(Rows, rows),
            validation=validation,
            reordered=cast("list[Rows]", reordered),
        )

    def search(
        self,
        n_rounds: int,
        problem: Problem,
        target: Target,
        threads: int,
        start: Beginning,
        race: RaceResult | None = None,
        laps: Sequence[Lap] = (),
    ) -> Model:
        """Boost a problem; if rows were held out of it to find the number of rounds, perhaps all rows again."""
        journal, model = start.journal, None
        found = None if journal is None else journal.found
        if found is None:
            folds = self._folds(problem, target, start, race is not None)
            if folds:
                searches, pace = self.train_folds(folds, n_rounds, problem, target, threads, laps)
            else:
                searches, pace = [self.train(n_rounds, problem, target, threads, start)], 1
            model = searches[0].model
            notes = notes_of(model)
            searched = bool(notes.history.curve) and notes.history.stopped_by != "interrupt"
            if start.held.is_given or start.earlier is not None or not searched:
                return model
            history, shift = replace(notes.history, stride=pace), constant_beside(searches, target.loss, threads)
            model = shifted(model, shift)
            found = Found(pace * notes.n_rounds, notes.learning_rate / pace, history, race, shift)
        if model is not None and not self._fits_again(problem.count_rows()):
            return model
        if journal is not None:
            journal.found = found
        again = self.train(found.n_rounds, problem, target, threads, Beginning(again=found, journal=journal)).model
        if model is not None and notes_of(again).history.stopped_by != "rounds":  # stopped before the search ended
            return model
        return shifted(replace(again, notes=replace(notes_of(again), history=found.history)), found.shift)

    def _fits_again(self, n_rows: int) -> bool:
        """Whether all rows are fitted again; a model that will be trained further keeps the rows that it holds out."""
        refit = self.given.refit
        return refit is True or (refit == "auto" and not self.given.warm_start and self.automatic.fits_again(n_rows))

    def train(self, n_rounds: int, problem: Problem, target: Target, threads: int, start: Beginning = ANEW) -> Searched:
        """Boost once."""
        earlier, again, journal = start.earlier, start.again is not None, start.journal
        if journal is not None:
            start = replace(start, resumed=journal.resumed(again))
        places.begin("again" if again else "search")
        training = self.prepare(n_rounds, problem, target, threads, start)
        places.begin(None)
        run, resumed, keep = training.run, start.resumed, None
        if journal is not None:
            parts = [training.rows, *training.reordered, training.validation]

            def frozen(forest: Forest, history: History) -> Model:
                return self.goal.finished(self.freeze(forest, history, run), problem, run.params.threads)

            keep = journal.keeper(Phase(again, run.params.seed, parts, resumed, run.params.trees_per_round), frozen)
        with ProgressBar(n_rounds) if self.given.verbose else nullcontext() as bar:
            rounds = BoostingRun(**training.arguments(), done=None if resumed is None else resumed.progress)
            forest, history = rounds.complete([*(self.given.callbacks or []), *followers(bar)], keep)
        if resumed is not None:
            forest = resumed.followed_by(forest, history, keeps_best=run.params.patience is not None)
        if history.stopped_by == "interrupt":
            warn_interrupted(forest.n_trees // trees_of_round(forest, run.params.trees_per_round), "rounds")
        if earlier is not None:
            notes = notes_of(earlier)
            forest = Forest.concat([earlier.forest, forest])
            history = notes.history.followed_by(history, notes.n_rounds)
        return Searched(self.freeze(forest, history, run, self.average), training.held)

    def _folds(self, problem: Problem, target: Target, start: Beginning, raced: bool) -> list[Split]:
        """Return folds to find the number of rounds by, if all rows will be fitted again; none: a share will do."""
        given = self.given
        if start.held.is_given or start.earlier is not None or not self._fits_again(problem.count_rows()):
            return []
        if not (self._wants_validation(problem, False) and (given.scoring is not None or target.loss.has_values)):
            return []
        if raced and not is_set(given, "validation_fraction"):
            return self.race_folds(problem)
        seed = seed_of(given.random_state)
        return self.goal.folds(problem, float(given.validation_fraction), seed, self.automatic)

    def train_folds(
        self,
        folds: Sequence[Split],
        n_rounds: int,
        problem: Problem,
        target: Target,
        threads: int,
        laps: Sequence[Lap] = (),
    ) -> tuple[list[Searched], int]:
        """Find the number of rounds by folds; return models of the folds, and what their rounds stand for.

        Laps of a race, of the first folds, go on if their steps are as long as those of a search; others begin here.
        """
        pace = search_pace(laps[0].training.run.params) if laps else 1
        known = [lap for lap in laps if lap.pace == pace]
        places.begin("search")
        each = max(1, threads // max(1, len(folds) - len(known)))
        prepared = [
            self.prepare(n_rounds, problem, target, each, Beginning(split=split)) for split in folds[len(known) :]
        ]
        places.begin(None)
        known += [Lap(training, pace) for training in prepared]
        first, shares = known[0], [lap.training.count_held() for lap in known]
        with ProgressBar(first.run.params.n_rounds) if self.given.verbose else nullcontext() as bar:
            folded = FoldedRuns([lap.run for lap in known], shares, first.patience, min(threads, len(known)))
            history = folded.complete([*(self.given.callbacks or []), *followers(bar)])
        if history.stopped_by == "interrupt":
            warn_interrupted(len(first.run.rounds[: history.best_round]), "rounds")
        searches = []
        for lap in known if target.loss.recentres else [first]:
            forest = lap.run.forest_of(lap.run.rounds[: history.best_round])
            run = replace(lap.training.run, params=lap.run.params)
            searches.append(Searched(self.freeze(forest, history, run, self.average), lap.training.held))
        return searches, pace

    def freeze(self, forest: Forest, history: History, run: Run, average: AverageRounds | None = None) -> Model:
        """Return the model of some rounds, or the mean of its snapshots."""
        problem, params, is_averaged = run.problem, run.params, False
        n_rounds = forest.n_trees // trees_of_round(forest, params.trees_per_round)
        if average is not None:
            forest, is_averaged = weighted_rounds(forest, params.trees_per_round, average)
        model = Model(forest, run.schema, run.encoding, **self._policy)
        head = self.goal.head(_fitted(run.target.loss, model, problem, params.threads), run.target.classes)
        rate, per_round = params.learning_rate, params.trees_per_round
        notes = BoostingNotes(n_rounds, history, rate, per_round, run.has_offset, is_averaged=is_averaged)
        return replace(model, head=head, notes=notes)

    @property
    def automatic(self) -> Automatic:
        """The automatic choices of the release that is asked for."""
        return of_release(self.given.defaults)

    @property
    def average(self) -> AverageRounds | None:
        """Which snapshots are averaged after the last round."""
        return None if self.given.average_rounds is None else average_of(self.given.average_rounds)

    def relearned(self, model: Model, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Model:
        """Learn from rows what follows from raw predictions: thresholds of ordered classes, baseline hazards."""
        threads = n_threads(self.given.n_jobs)
        problem, target = self.read(X, y, sample_weight, offset, model)
        head = self.goal.head(_fitted(target.loss, model, problem, threads), target.classes)
        return self.goal.finished(replace(model, head=head), problem, threads)

    @property
    def _policy(self) -> dict[str, Any]:
        return {"unknown": self.given.unknown, "missing": self.given.missing, "name": self.name}

    # ---- from a problem to rows for the engine ---------------------------------------------------------------------

    def prepare(
        self, n_rounds: int, problem: Problem, target: Target, threads: int, start: Beginning = ANEW
    ) -> Training:
        """Hold out, encode and cut the rows, and find the parameters of the engine."""
        earlier, held, again, resumed = start.earlier, start.held, start.again, start.resumed
        given, goal, loss = self.given, self.goal, target.loss
        scoring = find_scoring(given.scoring, goal.task(target).name)
        check_linear_loss(given, loss)
        if places.are_several():
            check_parted(given, loss)
        if earlier is not None:
            self._check_leaves(earlier.forest, loss)
        seed = seed_of(given.random_state) if resumed is None else resumed.seed
        n_rows, validation = problem.count_rows(), None
        if again is None:
            self._check_followed(loss, scoring, held)
            if scoring is not None or loss.has_values:
                if start.split is None:
                    problem, validation = self._hold_out(problem, held, seed, earlier is not None)
                else:
                    problem, validation = (problem.take(part) for part in start.split)
        if problem.table.n_rows * problem.table.schema.n_features < SMALL_FIT:
            threads = 1
        responses = problem.y if given.category_levels is None else goal.responses(problem, loss)
        encoding = self._encoding(problem, responses, target, seed, threads) if earlier is None else earlier.encoding
        n_orders = 1 if given.ordered_boosting else int(given.category_orders)  # ordered boosting has one
        training = TrainingRows(problem, responses, encoding, n_orders, seed, threads)
        before = None if earlier is None else earlier.forest
        base = start_raw(loss, problem.y, problem.weight, problem.offset) if before is None else before.base
        origin = RawStart(base, before)
        if resumed is not None:
            origin = RawStart(base, resumed.forest)
        reserve = self._reserve(training, loss)
        rows, *reordered = self._cut(training, start.bin_map if encoding is None else None, origin, reserve)
        bin_map = rows.data.bin_map
        schema = training.marked_schema(rows.data)
        if held.is_given:
            validation = self._read_validation(held, schema, target, problem.offset is not None)
        rate = None if earlier is None else notes_of(earlier).learning_rate
        params = self._params(
            target,
            problem,
            bin_map,
            encoding,
            n_rounds=n_rounds,
            n_rows=n_rows,
            rate=rate if again is None else again.learning_rate,
            seed=seed,
            threads=threads,
            validates=validation is not None,
        )
        held_rows = judge = None
        if validation is not None:
            table = encoded(encoding, validation.table, threads, unknown_is_missing=given.unknown == "missing")
            held_rows = self._rows_of(table, validation, bin_map, origin, threads, reserve, "X_val")
            judged = goal.judged(validation, held_rows, target)
            judge = judge_of(
                scoring, judged, lambda loss: goal.head(loss, target.classes), self._answering(validation.table)
            )
        first_round = 0 if earlier is None else notes_of(earlier).n_rounds
        has_offset = problem.offset is not None or (earlier is not None and notes_of(earlier).has_offset)
        run = Run(problem, target, schema, encoding, params, has_offset)
        drawn = None if held.is_given else validation
        return Training(run, rows, reordered, held_rows, judge, base, first_round, drawn)

    def _params(
        self, target: Target, problem: Problem, bin_map: BinMap, encoding: CategoryEncoding | None, **about: Any
    ) -> BoostingParams:
        """Return the parameters of the engine, for rows that are encoded and cut."""
        given, goal = self.given, self.goal
        tree = tree_params(given, goal, target, problem, bin_map.order, encoding, about["n_rows"])
        return boosting_params(given, goal, target.loss, problem, tree, **about)

    def _answering(self, table: Table) -> Callable[[FloatArray, Head], Any]:
        """Return a function that makes an estimator for scorers from raw predictions of validation rows."""

        def model_at(raw: FloatArray, head: Head) -> Any:
            forest, known = cast(Forest, TreesInTraining()), knowing(table, raw)
            model = Model(forest, table.schema, head=head, notes=BoostingNotes(0), table=table, known=known)
            return self.estimator(model)

        return model_at

    def _check_leaves(self, forest: Forest, loss: Loss) -> None:
        """Reject rounds whose leaves differ in kind from those of the fitted model."""
        if forest.n_trees and is_vector(forest) != has_vector_leaves(self.given, loss):
            has = "has" if is_vector(forest) else "lacks"
            raise ValueError(
                f"vector_leaves={self.given.vector_leaves!r}, but the fitted model {has} vector leaves: use the same, "
                "or fit anew with warm_start=False"
            )

    def _check_followed(self, loss: Loss, scoring: Metric | Scorer | None, held: HeldRows) -> None:
        """Reject early stopping by a loss that has gradients only."""
        if scoring is not None or loss.has_values or self.given.early_stopping is False:
            return
        if held.is_given or self.given.early_stopping is True:
            raise ValueError(
                f"{loss!r} gives gradients but no loss values, which early stopping needs: give scoring=, such as "
                f"{named_metrics('regression')[0]!r}, or derive a class with values from arboretum.losses.Loss"
            )

    def _reserve(self, training: TrainingRows, loss: Loss) -> int:
        """Return the bytes that boosting needs besides codes; reject a memory limit that is smaller."""
        table = training.problem.table
        n_features = table.schema.n_features if training.encoding is None else training.encoding.schema.n_features
        needed = training_bytes(self.given, max(table.n_rows, 1), n_features, loss.n_outputs, training.n_versions)
        table.require_memory(needed)
        return needed

    def _encoding(
        self, problem: Problem, responses: FloatArray, target: Target, seed: int, threads: int
    ) -> CategoryEncoding | None:
        given = self.given
        if given.category_levels is None or responses.ndim > 1:  # statistics need a single target
            return None
        return learn_encoding(
            problem.table,
            responses,
            category_levels=int(given.category_levels),
            n_classes=None if target.classes is None else len(target.classes),
            class_names=target.classes,
            weight=problem.weight,
            max_combination=int(given.category_combinations),
            seed=seed,
            threads=threads,
        )

    def _cut(self, training: TrainingRows, bin_map: BinMap | None, origin: RawStart, reserve: int) -> list[Rows]:
        """Cut all versions of the training rows into the bins of the first."""
        problem, threads = training.problem, training.threads
        versions = []
        for table in training.tables():
            if bin_map is None:
                bin_map = learn_bins(table, max_bins=self.given.max_bins, weight=problem.weight, threads=threads)
            versions.append(self._rows_of(table, problem, bin_map, origin, threads, reserve))
        return versions

    def _rows_of(
        self,
        table: Table,
        problem: Problem,
        bin_map: BinMap,
        origin: RawStart,
        threads: int,
        reserve: int,
        name: str = "X",
    ) -> Rows:
        """Return rows for the engine, from a table as trees read it; fits need ``reserve`` bytes besides codes."""
        data = assign_bins(table, bin_map, bundle=True, reserve=reserve, threads=threads)
        numbers = number_columns(table, bin_map, name) if self.given.leaf_model == "linear" else None
        queries = None if problem.query is None else Queries.of_sorted(problem.query, threads)
        offset = None if problem.offset is None else np.ascontiguousarray(np.atleast_2d(problem.offset.T))
        raw = self._start(table, origin, offset, threads)
        return Rows(data, problem.y, problem.weight, raw, numbers, queries, offset)

    def _start(self, table: Table, origin: RawStart, offset: FloatArray | None, threads: int) -> FloatArray:
        """Return raw predictions (outputs × rows) before the first round, for a table as trees read it."""
        base, earlier = origin.base, origin.forest
        if earlier is None:
            raw = filled_raw(base, table.n_rows)
            return raw if offset is None else raw + offset
        model = Model(earlier, table.schema, unknown=self.given.unknown)
        if offset is None:
            return np.ascontiguousarray(model.raw_of_read(table, threads).T)
        # Add in the order of boosting, offset first: another order would change the last bits.
        total = filled_raw(base, table.n_rows).T + offset.T
        for tree in range(earlier.n_trees):
            total += model.raw_of_read(table, threads, without_base(earlier[tree : tree + 1]))
        return np.ascontiguousarray(total.T)

    # ---- reading -------------------------------------------------------------------------------------------------

    def read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        earlier: Model | None = None,
        groups: Any = None,
    ) -> tuple[Problem, Target]:
        """Check rows and their target, against those of an earlier model if there is one."""
        given, goal = self.given, self.goal
        check_columns(given.categorical_features)
        columns = given.categorical_features
        table = read_table(X, categorical_features=columns) if earlier is None else earlier.conform(X)
        column = goal.as_column(y, table.n_rows)
        weight = targets.training_weights(sample_weight, table.n_rows)
        target = goal.read(column, weight, None if earlier is None else earlier.head.classes)
        target.loss.check_target(target.y)
        if earlier is not None:
            fitted = loss_of(earlier)
            if not target.loss.continues(fitted):
                raise ValueError(
                    f"the fitted model has loss {fitted.to_json()}, not {target.loss.to_json()}: "
                    "rounds of another loss cannot be added to it; fit anew with warm_start=False"
                )
            if notes_of(earlier).has_offset and offset is None:
                raise ValueError(
                    f"this {self.name} was fitted with an offset, and none is given to train it further: "
                    "give the offset of each row, or offset=0"
                )
        offsets = targets.row_offsets(offset, table.n_rows, target.loss.n_outputs)
        if offsets is not None and isinstance(target.loss, EachOutput):
            target = replace(target, loss=target.loss.in_units_of(target.y, target.weight, offsets))
        group = targets.read_groups(groups, table.n_rows)
        if group is not None:
            check_groups(group)
        problem = Problem(table, target.y, target.weight, goal.queries(column), offsets, group)
        return goal.arranged(problem.without_zero_weights() if earlier is None else problem), target

    def _hold_out(
        self, problem: Problem, held: HeldRows, seed: int, continuing: bool
    ) -> tuple[Problem, Problem | None]:
        """Return training rows, and the rows held out for early stopping, if any.

        A model that is trained further holds none out by default: it may have seen them already.
        """
        given, n_rows = self.given, problem.count_rows()
        if held.is_given or not self._wants_validation(problem, continuing):
            return problem, None
        kept, out = self.goal.split(problem, float(given.validation_fraction), seed)
        if not places.total(len(out)) or not places.total(len(kept)):
            if given.early_stopping == "auto":
                return problem, None
            raise ValueError(
                f"early_stopping=True, but validation_fraction={given.validation_fraction} of {n_rows} rows leaves "
                "no row to train or to validate on: give X_val or set early_stopping=False"
            )
        return problem.take(kept), problem.take(out)

    def _wants_validation(self, problem: Problem, continuing: bool) -> bool:
        """Whether rows are held out if none are given."""
        given = self.given
        if given.early_stopping != "auto":
            return bool(given.early_stopping)
        if continuing or given.warm_start:
            return False
        n_rows = problem.count_rows()
        return self.automatic.holds_out(n_rows) or (
            self._fits_again(n_rows) and self.goal.seeks_rounds(problem, self.automatic)
        )

    def _read_validation(self, held: HeldRows, schema: Schema, target: Target, has_offset: bool) -> Problem:
        if held.y is None:
            raise ValueError("X_val is given without y_val: give both")
        if has_offset != (held.offset is not None):
            given, absent = ("offset", "offset_val") if has_offset else ("offset_val", "offset")
            raise ValueError(f"{given} is given without {absent}: give both, or neither")
        goal, policy = self.goal, self._policy
        table = conform(held.X, schema, estimator_name=policy.pop("name"), **policy)
        column = goal.as_column(held.y, table.n_rows, "y_val", "X_val")
        weight = targets.row_weights(held.weight, table.n_rows, "sample_weight_val", "X_val")
        offset = targets.row_offsets(held.offset, table.n_rows, target.loss.n_outputs, "offset_val", "X_val")
        y, weight = goal.read_validation(column, weight, target)
        try:
            target.loss.check_target(y)
        except ValueError as error:
            raise ValueError(str(error).replace("y[", "y_val[", 1)) from None
        return goal.arranged_validation(Problem(table, y, weight, goal.queries(column), offset))

    # ---- as a member of an ensemble that reads and cuts the table once -------------------------------------------

    def share(self, table: Table, column: NDArray[Any], weight: FloatArray | None, threads: int) -> Shared:
        """Prepare the table that all members share; ``weight``, all above 0, only affects cuts and class weights."""
        target = self.goal.read(column, weight)
        target.loss.check_target(target.y)
        missing = [bool(np.isnan(values).any()) for _, batch in table.column_batches() for values in batch]
        bin_map = learn_bins(table, max_bins=self.given.max_bins, weight=target.weight, threads=threads)
        of_classes = targets.times_factors(None, target.factors, target.y)
        marked = with_schema(table, table.schema.with_missing(missing))
        return Shared(Problem(marked, target.y, of_classes), target, bin_map)

    def fit_shared(self, shared: Shared, bag: Bag, threads: int) -> Model:
        """Fit a member to its bag, with the constraints of the columns that it sees."""
        bin_map = shared.bin_map if bag.columns is None else columns_of_bins(shared.bin_map, bag.columns)
        start = Beginning(bin_map=bin_map)
        return self.train(int(self.given.n_estimators), shared.part(bag), shared.target, threads, start).model


def notes_of(model: Model) -> BoostingNotes:
    """Return the notes of a boosted model."""
    assert isinstance(model.notes, BoostingNotes)
    return model.notes


def loss_of(model: Model) -> Loss:
    """Return the loss of a boosted model."""
    assert isinstance(model.head, LossHead)
    return model.head.loss


def learns_from_raw(model: Model) -> bool:
    """Return whether part of a boosted model follows from the raw predictions of its training rows."""
    loss = loss_of(model)
    return isinstance(loss, Cox) or loss.learns_from_raw


def _fitted(loss: Loss, model: Model, problem: Problem, threads: int) -> Loss:
    """Return a loss with what it learns from the raw predictions of a model."""
    if not loss.learns_from_raw:
        return loss
    raw = beside_offset(model.raw(problem.table, threads), problem.offset)
    return loss.fitted(problem.y, user_shape(np.ascontiguousarray(raw.T)), problem.weight)


def constant_beside(searches: Sequence[Searched], loss: Loss, threads: int) -> FloatArray | None:
    """Return the best constant beside the predictions for rows held out, if the loss wants it.

    Trees fit their training rows too closely: fewer of new rows lie between two quantiles. The best constant of a level
    is the quantile of the residuals (Romano, Patterson & Candès 2019 correct intervals in the same way).
    """
    parts = [(one.model, one.held) for one in searches if one.held is not None]
    if not loss.recentres or not parts:
        return None
    raw = np.concatenate([beside_offset(model.raw(held.table, threads), held.offset) for model, held in parts])
    y = np.concatenate([held.y for _, held in parts])
    weights = [held.weight for _, held in parts if held.weight is not None]
    return loss.start_from(y, user_shape(np.ascontiguousarray(raw.T)), np.concatenate(weights) if weights else None)


def shifted(model: Model, shift: FloatArray | None) -> Model:
    """Return a model with another constant."""
    if shift is None:
        return model
    return replace(model, forest=replace(model.forest, base=model.forest.base + shift))


def without_base(forest: Forest) -> Forest:
    """Return trees whose sums start at 0."""
    return replace(forest, base=np.zeros(forest.n_outputs))


def first_rounds(model: Model, n_rounds: int) -> Model:
    """Return the model of the first rounds alone."""
    notes = notes_of(model)
    if n_rounds == notes.n_rounds:
        return replace(model, notes=replace(notes, checkpoint=None))
    kept = model.forest[: n_rounds * trees_of_round(model.forest, notes.trees_per_round)]
    return replace(
        model,
        forest=kept,
        head=model.head.of_first_rounds(),
        notes=replace(notes, n_rounds=n_rounds, history=notes.history.first(n_rounds), checkpoint=None),
    )


def averaged_rounds(model: Model, average: AverageRounds) -> Model:
    """Return the mean of the snapshots of a model, without what was learned from its raw predictions."""
    notes = notes_of(model)
    forest, is_averaged = weighted_rounds(model.forest, notes.trees_per_round, average)
    head = model.head.of_first_rounds() if is_averaged else model.head
    return replace(model, forest=forest, head=head, notes=replace(notes, checkpoint=None, is_averaged=is_averaged))


def training_bytes(
    given: BoostingParameters, n_rows: int, n_features: int, n_outputs: int = 1, versions: int = 1
) -> int:
    """Return the memory that boosting needs besides codes; trees read ``versions`` tables in turn."""
    check_counts(n_rows=n_rows, n_features=n_features, n_outputs=n_outputs, versions=versions)
    leaves = given.max_leaf_nodes or (31 if given.growth == "leaf" else 2 ** min(given.max_depth or 6, 30))
    return boosting_bytes(
        n_rows,
        n_outputs,
        n_features,
        n_bins=1 + (given.max_bins or min(n_rows, MAX_BINS)),
        leaves=min(leaves, n_rows),
        share=share_of_rows(given, n_rows),
        versions=versions,
        threads=n_threads(given.n_jobs),
    )
