"""What the boosted regressor and the boosted classifier share: from checked input to a fitted forest."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import losses
from arboretum.arguments import check_integer
from arboretum.data import targets
from arboretum.data.binning import BinMap, assign_bins, learn_bins
from arboretum.data.queries import Queries
from arboretum.data.schema import Schema
from arboretum.data.table import Table, conform, read_table
from arboretum.encoding.category_encoding import CategoryEncoding, learn_encoding
from arboretum.ensembles.bagging.resampling import Bag, columns_of_bins, with_schema
from arboretum.ensembles.boosting import goals
from arboretum.ensembles.boosting.history import History, Judge
from arboretum.ensembles.boosting.linear_leaves import number_columns
from arboretum.ensembles.boosting.problem import HeldRows, Problem, Run, Shared, Target, Training
from arboretum.ensembles.boosting.rounds import boost
from arboretum.ensembles.boosting.rows import Rows, filled_raw, start_raw, user_shape
from arboretum.ensembles.boosting.training_rows import TrainingRows, beside_offset
from arboretum.ensembles.training_memory import boosting_bytes, check_counts
from arboretum.estimators import boosting_automatic as automatic
from arboretum.estimators.base import FloatArray
from arboretum.estimators.boosting_parameters import BoostingParameters
from arboretum.estimators.checkpoints import Checkpoint, Found, Journal, Resumed
from arboretum.estimators.dataset_arguments import offset_of
from arboretum.estimators.protocol import not_fitted
from arboretum.estimators.scoring import JudgedRows, judge_of
from arboretum.estimators.shared_parameters import MAX_BINS
from arboretum.estimators.standing_in import after_round, twin
from arboretum.estimators.validation import check_columns, check_rounds, seed_of
from arboretum.growing.constraints import interaction_sets, monotone_directions
from arboretum.growing.grower import ALL_OUTPUTS
from arboretum.losses import EachOutput, Loss
from arboretum.metrics.named import Metric, named_metrics
from arboretum.metrics.scoring import Scorer, find_scoring
from arboretum.model.forest import Forest
from arboretum.model.heads import LossHead
from arboretum.model.model import Model, encoded
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import ProgressBar
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

Boosted = TypeVar("Boosted", bound="BoostedTrees")

NO_ROWS = HeldRows()
SMALL_FIT = 10_000  # rows × columns below which a second thread costs more than it brings


class BoostedTrees(BoostingParameters):
    """Gradient-boosted trees, whatever the target.

    Attributes
    ----------
    n_iter_ : int
        Rounds kept.
    learning_rate_ : float
        The learning rate in use; rounds added under "auto" keep it.
    trees_per_round_ : int
        Trees of a round and output.
    history_ : History
        Losses and scores after each round, and why the fit ended.
    has_offset_ : bool
        Whether the model was fitted with an ``offset``, which ``predict`` then expects too.
    loss_ : Loss
        The loss in use.
    """

    loss_: Loss
    history_: History
    n_iter_: int
    classes_: Any
    has_offset_: bool = False
    checkpoint_: dict[str, Any] | None = None  # of a model from a checkpoint: what fit it is part of

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self: Boosted,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        offset: Any = None,
        offset_val: Any = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> Boosted:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like
            Target, one value per row; of several outputs, one column each.
        sample_weight : array-like, optional
            Weight of each row.
        X_val, y_val, sample_weight_val, offset_val : optional
            Rows to stop early on, in place of a held-out share of the training rows.
        offset : array-like, optional
            What the raw prediction of each row starts from, to which constant and trees are added: the logarithm of its
            exposure for losses of counts and amounts, or the raw prediction of another model. Of several outputs or
            more than two classes, one column each.
        checkpoint : path or Checkpoint, optional
            File that keeps how far the fit is, written every minute: the same call goes on from it after a crash, to
            the same model. It stays when the fit ends.

        Returns
        -------
        self
        """
        self._check_parameters()
        n_rounds = int(self.n_estimators)
        earlier = self.forest_ if self.warm_start and hasattr(self, "forest_") else None
        if earlier is not None:
            n_rounds -= self.n_iter_
            if n_rounds < 0:
                raise ValueError(
                    f"n_estimators={self.n_estimators} is less than the {self.n_iter_} rounds already fitted "
                    "(warm_start=True); raise it or set warm_start=False"
                )
            if n_rounds == 0:
                return self
        held = HeldRows(X_val, y_val, sample_weight_val, offset_val)
        journal = self._journal(checkpoint, earlier)
        return self._fit(n_rounds, earlier, X, y, sample_weight, offset, held, journal)

    def fit_more(
        self: Boosted,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_estimators: int,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
    ) -> Boosted:
        """Add rounds to a fitted model, on the same rows or on others with the same columns.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, offset, offset_val
            As for ``fit``.
        n_estimators : int
            Rounds to add.

        Returns
        -------
        self
        """
        earlier = self._fitted()
        check_integer("n_estimators", n_estimators)
        self._check_parameters()
        held = HeldRows(X_val, y_val, sample_weight_val, offset_val)
        return self._fit(n_estimators, earlier, X, y, sample_weight, offset, held)

    def _fit(
        self: Boosted,
        n_rounds: int,
        earlier: Forest | None,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        held: HeldRows,
        journal: Journal | None = None,
    ) -> Boosted:
        if earlier is not None:
            self._check_continuing()
        threads = n_threads(self.n_jobs)
        problem, target = self._read_problem(X, y, sample_weight, offset, earlier)
        if journal is not None:
            journal.check_target(problem, held)
            if journal.is_done:
                journal.hand_over()
                return self
        if journal is None or journal.found is None:
            self._train(n_rounds, problem, target, threads, earlier=earlier, held=held, journal=journal)
        if not held.is_given and self._has_searched(journal) and self._fits_again(problem.table.n_rows):
            self._train_again(problem, target, threads, journal)
        self._after_training(problem, threads)
        if journal is not None:
            journal.write_end()
        return self

    def _journal(self, checkpoint: Any, earlier: Forest | None) -> Journal | None:
        if checkpoint is None:
            return None
        if earlier is not None:
            raise ValueError("checkpoint: a fit that goes on with warm_start=True has none; fit anew or leave it out")
        for name in ("dart_rate", "ordered_boosting"):
            if value := getattr(self, name):
                raise ValueError(
                    f"checkpoint with {name}={value!r}: its rounds are not all that such a run knows; use {name}=0 "
                    "or no checkpoint"
                )
        return Journal(checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint), self)

    def _has_searched(self, journal: Journal | None) -> bool:
        """Whether held-out rows have told the number of rounds, here or in the process that a checkpoint is from."""
        if journal is not None and journal.found is not None:
            return True
        return bool(self.history_.curve) and self.history_.stopped_by != "interrupt"

    def _fits_again(self, n_rows: int) -> bool:
        """Whether all rows are fitted again; a model that will be trained further keeps the rows that it holds out."""
        return self.refit is True or (self.refit == "auto" and not self.warm_start and automatic.fits_again(n_rows))

    def _after_training(self, problem: Problem, threads: int) -> None:
        """Keep what else a model wants of its rows, those held out included."""

    def _train_again(self, problem: Problem, target: Target, threads: int, journal: Journal | None = None) -> None:
        """Fit all rows for the rounds that held-out rows found best; what ends too soon leaves the model as it is."""
        searched = dict(self.__dict__)
        if journal is None:
            found = Found(self.n_iter_, self.learning_rate_, self.history_)
        else:
            found = journal.found = journal.found or Found(self.n_iter_, self.learning_rate_, self.history_)
        self.learning_rate_ = found.learning_rate
        self._train(found.n_rounds, problem, target, threads, again=True, journal=journal)
        if self.history_.stopped_by == "rounds" or "forest_" not in searched:
            self.history_ = found.history
        else:
            self.__dict__.update(searched)

    def _train(
        self: Boosted,
        n_rounds: int,
        problem: Problem,
        target: Target,
        threads: int,
        *,
        earlier: Forest | None = None,
        held: HeldRows = NO_ROWS,
        bin_map: BinMap | None = None,
        again: bool = False,
        journal: Journal | None = None,
    ) -> Boosted:
        """Fit; nothing of the estimator changes before all has gone well.

        ``again``: with the learning rate of the fit before, and without holding rows out.
        """
        resumed = None if journal is None else journal.resumed(again)
        training = self._prepare(
            n_rounds,
            problem,
            target,
            threads,
            earlier=earlier,
            held=held,
            bin_map=bin_map,
            again=again,
            resumed=resumed,
        )
        run, keep = training.run, None
        if journal is not None:
            parts = [training.rows, *training.reordered, training.validation]
            keep = journal.keeper(again, run, problem, parts, resumed)
        with ProgressBar(n_rounds) if self.verbose else nullcontext() as bar:
            forest, history = boost(
                **training.arguments(),
                callbacks=[*(self.callbacks or []), *([bar] if bar is not None else [])],
                done=None if resumed is None else resumed.progress,
                keep=keep,
            )
        if resumed is not None:
            forest = resumed.followed_by(forest, history, keeps_best=run.params.patience is not None)
        if history.stopped_by == "interrupt":
            rounds = forest.n_trees // trees_of_round(forest, run.params.trees_per_round)
            warn_interrupted(rounds, "rounds")
        if earlier is not None:
            forest, history = Forest.concat([earlier, forest]), self.history_.followed_by(history, self.n_iter_)
        self._become(forest, history, run)
        return self

    def _prepare(
        self,
        n_rounds: int,
        problem: Problem,
        target: Target,
        threads: int,
        *,
        earlier: Forest | None = None,
        held: HeldRows = NO_ROWS,
        bin_map: BinMap | None = None,
        again: bool = False,
        resumed: Resumed | None = None,
    ) -> Training:
        """Hold out, encode and cut the rows, and find the parameters of the engine."""
        goal = self.goal()
        loss, scoring = target.loss, find_scoring(self.scoring, goal.task(target).name)
        self._check_linear_loss(loss)
        if earlier is not None and earlier.n_trees and _is_vector(earlier) != self._has_vector_leaves(loss):
            has = "has" if _is_vector(earlier) else "lacks"
            raise ValueError(
                f"vector_leaves={self.vector_leaves!r}, but the fitted model {has} vector leaves: use the same, or "
                "fit anew with warm_start=False"
            )
        seed = seed_of(self.random_state) if resumed is None else resumed.seed
        n_rows, validation = problem.table.n_rows, None
        if not again:
            self._check_followed(loss, scoring, held)
            if scoring is not None or loss.has_values:
                problem, validation = self._hold_out(problem, held, seed, earlier is not None)
        schema = problem.table.schema
        if problem.table.n_rows * schema.n_features < SMALL_FIT:
            threads = 1
        responses = problem.y if self.category_levels is None else goal.responses(problem, loss)
        encoding = (
            self.encoding_
            if earlier is not None
            else self._learn_encoding(problem.table, responses, problem.weight, target, seed, threads)
        )
        training = TrainingRows(problem, responses, encoding, self._n_category_orders, seed, threads)
        base = start_raw(loss, problem.y, problem.weight, problem.offset) if earlier is None else earlier.base
        before = earlier if resumed is None else resumed.forest
        reserve = self._reserve(training, loss)
        rows, *reordered = self._cut(training, bin_map if encoding is None else None, base, before, reserve)
        bin_map = rows.data.bin_map
        schema = training.marked_schema(rows.data)
        if held.is_given:
            validation = self._read_validation(held, schema, target, problem.offset is not None)
        directions = goal.directions(monotone_directions(self.monotonic_cst, problem.table.schema), target)
        params = self._boosting_params(
            n_rounds,
            n_rows,
            problem.y,
            loss,
            self._tree_params(problem, n_rows, directions, bin_map.order, encoding),
            seed=seed,
            threads=threads,
            validates=validation is not None,
            keeps_rate=again or earlier is not None,
        )
        held_rows = judge = None
        if validation is not None:
            table = encoded(encoding, validation.table, threads, unknown_is_missing=self.unknown == "missing")
            held_rows = self._rows_of(table, validation, bin_map, base, before, threads, reserve, "X_val")
            judge = self._judge(scoring, validation, held_rows, target)
        first_round = 0 if earlier is None else self.n_iter_
        has_offset = problem.offset is not None or (earlier is not None and self.has_offset_)
        run = Run(problem, target, schema, encoding, params, has_offset)
        return Training(run, rows, reordered, held_rows, judge, base, first_round)

    # ---- what rounds are compared by -------------------------------------------------------------------------------

    def goal(self) -> goals.Goal:
        """Return how the target is read, and which loss is minimised."""
        return goals.Numbers(self.loss)

    def _check_followed(self, loss: Loss, scoring: Metric | Scorer | None, held: HeldRows) -> None:
        """Reject early stopping by a loss that has no value."""
        if scoring is not None or loss.has_values or self.early_stopping is False:
            return
        if held.is_given or self.early_stopping is True:
            raise ValueError(
                f"{loss!r} is a function of gradients, which early stopping cannot follow: give scoring=, such as "
                f"{named_metrics('regression')[0]!r}, or derive a class with values from arboretum.losses.Loss"
            )

    def _judge(self, scoring: Metric | Scorer | None, validation: Problem, rows: Rows, target: Target) -> Judge | None:
        def model_at(raw: FloatArray, loss: Loss) -> Any:
            return after_round(self, validation.table, raw, loss_=loss, classes_=target.classes, has_offset_=False)

        return judge_of(scoring, self._judged_rows(validation, rows, target), model_at)

    def _judged_rows(self, validation: Problem, rows: Rows, target: Target) -> JudgedRows:
        columns: dict[str, Any] = {} if validation.query is None else {"group": validation.query}
        truth = self.goal().truth(validation.y, target)
        return JudgedRows(validation.table, validation.y, truth, rows.weight, rows.queries, columns)

    def _become(self, forest: Forest, history: History, run: Run) -> None:
        """Take up what was learnt."""
        loss, problem, threads = run.target.loss, run.problem, run.params.threads
        if type(loss).fitted is not Loss.fitted:
            raw = Model(forest, run.schema, run.encoding, self.unknown).raw(problem.table, threads)
            raw = beside_offset(raw, problem.offset)
            loss = loss.fitted(problem.y, user_shape(np.ascontiguousarray(raw.T)), problem.weight)
        self.forest_, self.schema_, self.loss_, self.history_ = forest, run.schema, loss, history
        self.has_offset_ = run.has_offset
        self.encoding_ = run.encoding
        if run.target.classes is not None:
            self.classes_ = run.target.classes
        self.trees_per_round_, self.learning_rate_ = run.params.trees_per_round, run.params.learning_rate
        self.n_iter_ = forest.n_trees // trees_of_round(forest, self.trees_per_round_)
        self._set_input_names()

    def _reserve(self, training: TrainingRows, loss: Loss) -> int:
        """Return the bytes that boosting will hold besides codes; reject a memory limit that does not hold them."""
        table = training.problem.table
        n_features = table.schema.n_features if training.encoding is None else training.encoding.schema.n_features
        needed = self.training_bytes(table.n_rows, n_features, loss.n_outputs, training.n_versions)
        table.require_memory(needed)
        return needed

    def training_bytes(self, n_rows: int, n_features: int, n_outputs: int = 1, versions: int = 1) -> int:
        """Return the memory that boosting takes besides codes; trees read ``versions`` tables in turn."""
        check_counts(n_rows=n_rows, n_features=n_features, n_outputs=n_outputs, versions=versions)
        leaves = self.max_leaf_nodes or (31 if self.growth == "leaf" else 2 ** min(self.max_depth or 6, 30))
        return boosting_bytes(
            n_rows,
            n_outputs,
            n_features,
            n_bins=1 + (self.max_bins or min(n_rows, MAX_BINS)),
            leaves=min(leaves, n_rows),
            share=self._share_of_rows(n_rows),
            versions=versions,
            threads=n_threads(self.n_jobs),
        )

    def _share_of_rows(self, n_rows: int) -> float:
        if self.sampling == "goss" or not isinstance(self.subsample, str):
            return 1.0 if self.sampling in ("goss", "bayesian", "bootstrap") else float(self.subsample)
        return automatic.share_of_rows(self.sampling, n_rows)

    # ---- as a member of an ensemble that reads and cuts the table once -------------------------------------------

    def _share(self, table: Table, column: NDArray[Any], weight: FloatArray | None, threads: int) -> Shared:
        """Prepare what all members are fitted to; ``weight``, all above 0, moves the cuts and class weights alone."""
        self._check_parameters()
        target = self.goal().read(column, weight)
        target.loss.check_target(target.y)
        missing = [bool(np.isnan(values).any()) for _, batch in table.column_batches() for values in batch]
        bin_map = learn_bins(table, max_bins=self.max_bins, weight=target.weight, threads=threads)
        of_classes = targets.times_factors(None, target.factors, target.y)
        marked = with_schema(table, table.schema.with_missing(missing))
        return Shared(Problem(marked, target.y, of_classes), target, bin_map)

    def _fit_shared(self: Boosted, shared: Shared, bag: Bag, threads: int) -> Boosted:
        """Fit a member; its constraints become those of the columns that it sees."""
        bin_map = shared.bin_map
        if bag.columns is not None:
            self._narrow_constraints(shared.problem.table.schema, bag.columns.tolist())
            bin_map = columns_of_bins(bin_map, bag.columns)
        return self._train(int(self.n_estimators), shared.part(bag), shared.target, threads, bin_map=bin_map)

    def _narrow_constraints(self, schema: Schema, columns: list[int]) -> None:
        place = {column: position for position, column in enumerate(columns)}
        directions = monotone_directions(self.monotonic_cst, schema)
        sets = interaction_sets(self.interaction_cst, schema)
        self.monotonic_cst = [directions[column] for column in columns] if directions else None
        kept = [[place[column] for column in one if column in place] for one in sets]
        self.interaction_cst = [one for one in kept if one] or None

    def _predict_table(self, table: Table, threads: int) -> FloatArray:
        """Probabilities of a classifier, (rows, classes); what a regressor predicts, (rows,)."""
        head, raw = self._head(), self.model_.raw(table, threads)
        return head.numbers(raw) if head.classes is None else np.asarray(head.probabilities(raw))

    def _head(self) -> LossHead:
        if not hasattr(self, "loss_"):
            raise not_fitted(self)
        return LossHead(self.loss_, self.__dict__.get("classes_"))

    # ---- input ---------------------------------------------------------------------------------------------------

    def _read_problem(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, earlier: Forest | None
    ) -> tuple[Problem, Target]:
        check_columns(self.categorical_features)
        table = (
            read_table(X, categorical_features=self.categorical_features) if earlier is None else self.model_.conform(X)
        )
        goal = self.goal()
        column = goal.as_column(y, table.n_rows)
        weight = targets.training_weights(sample_weight, table.n_rows)
        target = goal.read(column, weight, None if earlier is None else self.__dict__.get("classes_"))
        target.loss.check_target(target.y)
        if earlier is not None and not target.loss.continues(self.loss_):
            raise ValueError(
                f"the fitted model has loss {self.loss_.to_json()}, not {target.loss.to_json()}: "
                "rounds of another loss cannot be added to it; fit anew with warm_start=False"
            )
        if earlier is not None and self.has_offset_ and offset is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted with an offset, and none is given to train it further: "
                "give the offset of each row, or offset=0"
            )
        offsets = targets.row_offsets(offset, table.n_rows, target.loss.n_outputs)
        if offsets is not None and isinstance(target.loss, EachOutput):
            target = replace(target, loss=target.loss.in_units_of(target.y, target.weight, offsets))
        problem = Problem(table, target.y, target.weight, goal.queries(column), offsets)
        return goal.arranged(problem.without_zero_weights() if earlier is None else problem), target

    def _hold_out(
        self, problem: Problem, held: HeldRows, seed: int, continuing: bool
    ) -> tuple[Problem, Problem | None]:
        """Training rows, and those held out of them to stop early on, if any.

        Unless it is asked for, a model that is trained further holds none out: it may have seen them.
        """
        n_rows = problem.table.n_rows
        goes_on = continuing or self.warm_start
        wanted = self.early_stopping is True or (
            self.early_stopping == "auto" and not goes_on and automatic.holds_out(n_rows)
        )
        if held.is_given or not wanted:
            return problem, None
        kept, out = self.goal().split(problem, float(self.validation_fraction), seed)
        if not len(out) or not len(kept):
            if self.early_stopping == "auto":
                return problem, None
            raise ValueError(
                f"early_stopping=True, but validation_fraction={self.validation_fraction} of {n_rows} rows leaves "
                "no row to train or to validate on: give X_val or set early_stopping=False"
            )
        return problem.take(kept), problem.take(out)

    def _read_validation(self, held: HeldRows, schema: Schema, target: Target, has_offset: bool) -> Problem:
        if held.y is None:
            raise ValueError("X_val is given without y_val: give both")
        if has_offset != (held.offset is not None):
            given, absent = ("offset", "offset_val") if has_offset else ("offset_val", "offset")
            raise ValueError(f"{given} is given without {absent}: give both, or neither")
        name = type(self).__name__
        table = conform(held.X, schema, unknown=self.unknown, missing=self.missing, estimator_name=name)
        goal = self.goal()
        column = goal.as_column(held.y, table.n_rows, "y_val", "X_val")
        weight = targets.row_weights(held.weight, table.n_rows, "sample_weight_val", "X_val")
        offset = targets.row_offsets(held.offset, table.n_rows, target.loss.n_outputs, "offset_val", "X_val")
        y, weight = goal.read_validation(column, weight, target)
        try:
            target.loss.check_target(y)
        except ValueError as error:
            raise ValueError(str(error).replace("y[", "y_val[", 1)) from None
        return goal.arranged_validation(Problem(table, y, weight, goal.queries(column), offset))

    def _learn_encoding(
        self,
        table: Table,
        responses: FloatArray,
        weight: FloatArray | None,
        target: Target,
        seed: int,
        threads: int,
    ) -> CategoryEncoding | None:
        if self.category_levels is None or responses.ndim > 1:  # statistics are those of one target
            return None
        return learn_encoding(
            table,
            responses,
            category_levels=int(self.category_levels),
            n_classes=None if target.classes is None else len(target.classes),
            class_names=target.classes,
            weight=weight,
            max_combination=int(self.category_combinations),
            seed=seed,
            threads=threads,
        )

    def _cut(
        self, training: TrainingRows, bin_map: BinMap | None, base: FloatArray, earlier: Forest | None, reserve: int
    ) -> list[Rows]:
        """Cut all versions of the training rows into the bins of the first."""
        problem, threads = training.problem, training.threads
        versions = []
        for table in training.tables():
            if bin_map is None:
                bin_map = learn_bins(table, max_bins=self.max_bins, weight=problem.weight, threads=threads)
            versions.append(self._rows_of(table, problem, bin_map, base, earlier, threads, reserve))
        return versions

    def _rows_of(
        self,
        table: Table,
        problem: Problem,
        bin_map: BinMap,
        base: FloatArray,
        earlier: Forest | None,
        threads: int,
        reserve: int,
        name: str = "X",
    ) -> Rows:
        """Rows for the engine, from a table as trees read it; ``reserve`` bytes will be needed besides their codes."""
        data = assign_bins(table, bin_map, bundle=True, reserve=reserve, threads=threads)
        numbers = number_columns(table, bin_map, name) if self.leaf_model == "linear" else None
        queries = None if problem.query is None else Queries.of_sorted(problem.query, threads)
        offset = None if problem.offset is None else np.ascontiguousarray(np.atleast_2d(problem.offset.T))
        raw = self._start(table, base, earlier, offset, threads)
        return Rows(data, problem.y, problem.weight, raw, numbers, queries, offset)

    def _start(
        self, table: Table, base: FloatArray, earlier: Forest | None, offset: FloatArray | None, threads: int
    ) -> FloatArray:
        """Raw predictions (outputs × rows) before the first round, of a table as trees read it."""
        if earlier is None:
            raw = filled_raw(base, table.n_rows)
            return raw if offset is None else raw + offset
        if offset is None:
            return np.ascontiguousarray(self._sums(earlier, table, threads).T)
        # In the order of boosting, offset first: sums of other orders would differ in their last bits.
        total = filled_raw(base, table.n_rows).T + offset.T
        for tree in range(earlier.n_trees):
            total += self._sums(_without_base(earlier[tree : tree + 1]), table, threads)
        return np.ascontiguousarray(total.T)

    def _sums(self, forest: Forest, table: Table, threads: int) -> FloatArray:
        """Return the sums of trees, (rows, outputs), of a table as they read it."""
        return Model(forest, table.schema, unknown=self.unknown).raw_of_read(table, threads)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _raw_beside(self, X: Any, offset: Any) -> FloatArray:
        """Raw predictions (rows, outputs), offsets included."""
        raw = self.predict_raw(X)
        return raw if offset is None and not self.has_offset_ else self._with_offset(raw, X, offset)

    def _with_offset(self, raw: FloatArray, X: Any, offset: Any) -> FloatArray:
        if offset is None:
            warn_user(
                f"this {type(self).__name__} was fitted with an offset, and none is given: predictions are those of "
                "offset 0, such as an exposure of 1; give the offset of each row, or offset=0"
            )
        return beside_offset(raw, targets.row_offsets(offset_of(X, offset), *raw.shape))

    def _asked(self: Boosted, X: Any, offset: Any) -> Boosted:
        """Return a model that predicts these rows with these offsets, and is asked about no others."""
        if offset is None:
            return self
        raw = self._raw_beside(X, offset)
        return twin(self, predict_raw=lambda asked: raw, has_offset_=False)

    def first_rounds(self: Boosted, n_rounds: int) -> Boosted:
        """Return the model of the first rounds alone: it predicts, explains and saves as any model does.

        Thresholds of ``loss="ordinal"`` and weights of DART rounds are those of all rounds.

        Parameters
        ----------
        n_rounds : int
            How many rounds to keep, from 1 to ``n_iter_``.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters, which shares nothing that a further fit would change.

        Examples
        --------
        >>> import numpy as np, arboretum as arb
        >>> X = np.linspace(0, 1, 200)[:, None]
        >>> model = arb.BoostedTreesRegressor(n_estimators=50, learning_rate=0.1).fit(X, X[:, 0] ** 2)
        >>> early = model.first_rounds(10)
        >>> early.n_iter_, early.forest_.n_trees
        (10, 10)
        """
        forest = self._fitted()
        check_rounds(n_rounds, self.n_iter_)
        kept = forest[: int(n_rounds) * trees_of_round(forest, self.trees_per_round_)]
        history = self.history_.first(int(n_rounds))
        return twin(self, forest_=kept, history_=history, n_iter_=int(n_rounds), checkpoint_=None)

    def _staged_raw(self, X: Any, offset: Any = None) -> Iterator[FloatArray]:
        forest, threads = self._fitted(), n_threads(self.n_jobs)
        model = self.model_
        table = model.as_read(model.conform(X), threads)
        total = np.repeat(forest.base[None, :], table.n_rows, axis=0)
        start = np.zeros_like(total)
        if offset is not None or self.has_offset_:
            start = self._with_offset(start, X, offset)
        step = trees_of_round(forest, self.trees_per_round_)
        for begin in range(0, forest.n_trees, step):
            total += model.raw_of_read(table, threads, _without_base(forest[begin : begin + step]))
            yield total + start

    # ---- files ---------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        return {"loss": self.loss_.to_json()}

    def _notes(self) -> dict[str, Any]:
        return {
            "history": self.history_.to_json(),
            **({} if self.trees_per_round_ == 1 else {"trees_per_round": self.trees_per_round_}),
            **({} if self.learning_rate_ == self.learning_rate else {"learning_rate": self.learning_rate_}),
            **({"has_offset": True} if self.has_offset_ else {}),
            **({} if self.checkpoint_ is None else {"checkpoint": self.checkpoint_}),
        }

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        self.loss_ = losses.from_json(header["loss"])
        self.history_ = History.from_json(header["history"])
        self.has_offset_ = header.get("has_offset", False)
        if not isinstance(self.has_offset_, bool):
            raise ValueError(f"has_offset is {self.has_offset_!r:.80}: expected true or false")
        self.checkpoint_ = header.get("checkpoint")
        if forest.n_outputs != self.loss_.n_outputs:
            raise ValueError(f"{forest.n_outputs} outputs, but the loss has {self.loss_.n_outputs}")
        self.trees_per_round_ = header.get("trees_per_round", 1)
        if type(self.trees_per_round_) is not int or self.trees_per_round_ < 1:
            raise ValueError(f"trees_per_round {self.trees_per_round_!r} is no positive integer")
        self.learning_rate_ = _read_rate(header.get("learning_rate", self.learning_rate))
        if len(np.unique(forest.tree_output < 0)) > 1:
            raise ValueError("some trees are of one output, others of all")
        self.n_iter_, rest = divmod(forest.n_trees, trees_of_round(forest, self.trees_per_round_))
        if rest:
            raise ValueError(f"{forest.n_trees} trees are no whole rounds of {self.trees_per_round_} an output")

    def __getstate__(self) -> dict[str, Any]:
        """Add the loss object itself: a file cannot hold one that the user wrote."""
        state = super().__getstate__()
        return {**state, "loss": self.loss_} if "file" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "loss" in state:
            self.loss_ = state["loss"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.leaf_model == "constant"
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _without_base(forest: Forest) -> Forest:
    return replace(forest, base=np.zeros(forest.n_outputs))


def _is_vector(forest: Forest) -> bool:
    return bool((forest.tree_output == ALL_OUTPUTS).any())


def trees_of_round(forest: Forest, trees_per_round: int) -> int:
    """Return how many trees each round has added."""
    return trees_per_round * (1 if _is_vector(forest) else forest.n_outputs)


def _read_rate(entry: Any) -> float:
    if isinstance(entry, bool) or not isinstance(entry, numbers.Real) or not 0 < float(entry) <= 1e300:
        raise ValueError(f"learning_rate {entry!r} is no positive number")
    return float(entry)
