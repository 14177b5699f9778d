"""What random forests, extra trees and single CART trees share: from checked input to a fitted forest."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.data import targets
from arboretum.data.binning import BinnedData, assign_bins, bin_values, code_edges, learn_bins
from arboretum.data.schema import Schema
from arboretum.data.table import Table, read_table
from arboretum.ensembles.bagging.oblique import check_oblique, projections_of, refuse_monotone
from arboretum.ensembles.bagging.out_of_bag import score_out_of_bag
from arboretum.ensembles.bagging.parameters import NodeColumns, TreeLimits, features_a_node
from arboretum.ensembles.bagging.trees import BaggedTarget, BaggingParams, Draws, bag, out_of_bag_mean
from arboretum.ensembles.training_memory import bagging_bytes, check_counts, forest_bytes
from arboretum.estimators.base import FloatArray, ForestModel
from arboretum.growing.constraints import in_binned_order, monotone_directions
from arboretum.growing.grower import NO_LIMIT, SplitRules
from arboretum.model.forest import Forest
from arboretum.model.heads import MeanHead
from arboretum.parameters.checking import check_columns, read_seed, seed_of
from arboretum.parameters.shared import Bins, Categories, Seed, Threads
from arboretum.running.interruption import warn_interrupted
from arboretum.running.progress import ProgressBar
from arboretum.running.threads import n_threads
from arboretum.running.warning import warn_user

Bagged = TypeVar("Bagged", bound="BaggedTrees")


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows with their target, as they were read; ``numbers`` tells which of the table that was given."""

    table: Table
    target: BaggedTarget
    numbers: NDArray[np.intp]
    n_given: int

    def take(self, rows: NDArray[np.intp]) -> GivenRows:
        """Return some of the rows, under the schema of all."""
        return replace(
            self, table=self.table.take(rows), target=_rows_of(self.target, rows), numbers=self.numbers[rows]
        )

    def relearn(self) -> GivenRows:
        """Return the rows under the schema that they would have given by themselves."""
        return replace(self, table=self.table.relearn())


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Binned rows with their target, as trees are grown from them.

    ``rows`` are their numbers in the table that was given: those without weight take no part.
    """

    table: Table
    schema: Schema
    target: BaggedTarget
    data: BinnedData
    edges: _kernel.CodeEdges
    bootstrap: _kernel.Bootstrap
    rows: NDArray[np.intp]
    n_given: int
    projections: _kernel.Projections | None


class BaggedTrees(TreeLimits, NodeColumns, Bins, Categories, Seed, Threads, ForestModel):
    """Trees of impurity, each grown by itself; a prediction is their mean.

    Attributes
    ----------
    feature_importances_ : ndarray
        Fall of impurity by each feature, normalised.
    """

    # Parameters of some; those that lack one have a value for it.
    n_estimators: int
    criterion: str
    min_samples_split: int | float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    oblique: bool = False
    n_projections: int | None = None
    projection_density: float | None = None
    bootstrap: Any  # bool; of classes, perhaps "balanced"
    max_samples: float | int | None
    oob_score: Any
    monotonic_cst: Any
    warm_start: bool
    verbose: int

    n_outputs_: int
    oob_score_: float
    _oob_mean: FloatArray
    _seed: int
    _random_thresholds = False

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self: Bagged, X: Any, y: Any, sample_weight: Any = None) -> Bagged:
        """Fit the model; nothing of it changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows: numbers, text, categories, dates, with holes.
        y : array-like, (n_rows,) or (n_rows, n_outputs)
            Target.
        sample_weight : array-like, optional
            Weight of each row: a row of weight 3 is the same as three equal rows.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self: Bagged, X: Any, y: Any, sample_weight: Any) -> Bagged:
        self.check_parameters()
        n_trees = int(self.n_estimators)
        earlier = self.forest_ if self.warm_start and hasattr(self, "forest_") else None
        if earlier is not None:
            n_trees -= earlier.n_trees
            if n_trees < 0:
                raise ValueError(
                    f"n_estimators={self.n_estimators} is less than the {earlier.n_trees} trees already fitted "
                    "(warm_start=True); raise it or set warm_start=False"
                )
            if n_trees == 0:
                return self
        threads = n_threads(self.n_jobs)
        seed = seed_of(self.random_state) if earlier is None else self._seed
        given, facts = self._read_rows(X, y, sample_weight)
        training = self._bin(given, threads)
        if earlier is not None:
            self._refuse_others(training.schema, facts)
        forest = self._grow(training, n_trees, earlier, seed, threads)
        self._take_facts(facts)
        self.schema_, self.forest_, self._seed = training.schema, forest, seed
        self._set_input_names()
        self._after_growing(training, threads)
        for name in ("_oob_mean", "oob_score_"):
            self.__dict__.pop(name, None)
        if self.oob_score is not False:
            self._set_out_of_bag(training, y, sample_weight, threads)
        return self

    def training_bytes(self, n_rows: int, n_features: int) -> int:
        """Return the memory that growing takes besides codes and trees."""
        check_counts(n_rows=n_rows, n_features=n_features)
        return bagging_bytes(n_rows, bootstrap=self.bootstrap is not False, threads=n_threads(self.n_jobs))

    def _refuse_others(self, schema: Schema, facts: Any) -> None:
        """Refuse to add trees that read columns, or name classes, otherwise than those there are."""
        if not schema.describes_like(self.schema_) or not self._has_facts(facts):
            raise ValueError(
                "warm_start=True, but columns, categories or classes are not those of the fitted trees: "
                "give the same rows or set warm_start=False"
            )

    def _has_facts(self, facts: Any) -> bool:
        raise NotImplementedError

    def _after_growing(self, training: TrainingSet, threads: int) -> None:
        """Keep what else a model wants of its training rows."""

    def _grow(self, training: TrainingSet, n_trees: int, earlier: Forest | None, seed: int, threads: int) -> Forest:
        params = BaggingParams(
            n_trees=n_trees,
            rules=self._rules(training),
            seed=seed,
            threads=threads,
            first_tree=0 if earlier is None else earlier.n_trees,
        )
        with ProgressBar(n_trees, "tree") if self.verbose else nullcontext() as bar:
            callbacks = [bar] if bar is not None else []
            forest, interrupted = bag(
                training.data,
                training.edges,
                training.target,
                training.bootstrap,
                params,
                callbacks,
                training.projections,
                partial(_check_size, training, n_trees),
            )
        if interrupted:
            warn_interrupted(forest.n_trees, "trees")
        return forest if earlier is None else Forest.concat([earlier, forest])

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[GivenRows, Any]:
        """Rows that have weight, and what is to be known of the target."""
        check_columns(self.categorical_features)
        table = read_table(X, categorical_features=self.categorical_features)
        columns = self._as_columns(y, table.n_rows)
        weight = targets.training_weights(sample_weight, table.n_rows)
        target, facts = self._read_target(columns, weight)
        given = GivenRows(table, target, np.arange(table.n_rows), table.n_rows)
        if target.weight is not None and not target.weight.all():
            given = given.take(np.flatnonzero(target.weight)).relearn()
        return given, facts

    def _as_columns(self, y: Any, n_rows: int) -> Any:
        """Return a target of any container as an array, (rows, outputs)."""
        return targets.as_columns(y, n_rows)

    def _bin(self, given: GivenRows, threads: int) -> TrainingSet:
        table, target = given.table, given.target
        if self.max_bins is None:
            data = bin_values(table, threads=threads)
        else:
            bin_map = learn_bins(table, max_bins=self.max_bins, weight=target.weight, threads=threads)
            reserve = self.training_bytes(table.n_rows, table.schema.n_features)
            table.require_memory(reserve)
            data = assign_bins(table, bin_map, reserve=reserve, threads=threads)
        missing = np.zeros(table.schema.n_features, dtype=bool)
        missing[list(data.bin_map.order)] = data.has_missing
        schema = table.schema.with_missing(missing.tolist())
        visits = features_a_node(self.max_features, schema.n_features)
        projected = projections_of(self, table, data.bin_map, target.weight, visits)
        edges = code_edges(table, data.bin_map)
        bootstrap = self._draws().bootstrap(data, target, threads, projected, edges)
        return TrainingSet(table, schema, target, data, edges, bootstrap, given.numbers, given.n_given, projected)

    def _read_target(self, columns: Any, weight: FloatArray | None) -> tuple[BaggedTarget, Any]:
        raise NotImplementedError

    def _take_facts(self, facts: Any) -> None:
        raise NotImplementedError

    def _draws(self) -> Draws:
        if self.bootstrap is False:
            return Draws()
        return Draws(1.0 if self.max_samples is None else self.max_samples, balanced=self.bootstrap == "balanced")

    def _rules(self, training: TrainingSet) -> SplitRules:
        schema, order, n_rows = training.schema, training.data.bin_map.order, training.target.n_rows
        weight = training.target.weight
        drawn = training.bootstrap.n_draws
        total = float(drawn or (n_rows if weight is None else weight.sum()))
        return SplitRules(
            random_thresholds=self._random_thresholds,
            max_depth=self.max_depth or NO_LIMIT,
            max_leaf_nodes=self.max_leaf_nodes or NO_LIMIT,
            min_samples_split=max(2, rows_of_share(self.min_samples_split, n_rows)),
            min_samples_leaf=self._least_rows_of_leaf(training),
            min_weight_leaf=float(self.min_weight_fraction_leaf) * total,
            min_impurity_decrease=float(self.min_impurity_decrease),
            max_features=features_a_node(self.max_features, schema.n_features),
            monotone=in_binned_order(self._monotone(schema, training.target), order),
        )

    def _least_rows_of_leaf(self, training: TrainingSet) -> int:
        return rows_of_share(self.min_samples_leaf or 1, training.target.n_rows)

    def _monotone(self, schema: Schema, target: BaggedTarget) -> tuple[int, ...]:
        directions = monotone_directions(self.monotonic_cst, schema)
        if directions and self.oblique:
            refuse_monotone()
        if directions and target.width > 1:
            raise ValueError(
                f"monotonic_cst is not supported for leaves of {target.width} values (several outputs, or "
                "multiclass): fit one model an output, or one class against the rest"
            )
        return directions

    def check_parameters(self) -> None:
        if self.bootstrap is False and self.oob_score is not False:
            raise ValueError(
                f"oob_score={self.oob_score!r} without bootstrap: every tree sees every row, none is out of the bag; "
                "set bootstrap=True or oob_score=False"
            )
        super().check_parameters()
        check_oblique(self)
        if self.bootstrap is False and self.max_samples is not None:
            raise ValueError(f"max_samples={self.max_samples!r} without bootstrap: set bootstrap=True or leave it None")

    # ---- out of the bag ------------------------------------------------------------------------------------------

    def _out_of_bag(self, training: TrainingSet, threads: int) -> FloatArray:
        """Mean prediction of the trees that never saw a row, for each row that was given; NaN where none."""
        forest, table = self.model_.summed, training.table
        means, counts = out_of_bag_mean(
            forest,
            lambda first, last: np.concatenate(
                [
                    forest.apply(part.columns, part.n_rows, threads=threads, first=first, last=last)
                    for _, part in table.row_batches()
                ]
            ),
            training.bootstrap,
            self._seed,
            table.n_rows,
        )
        if not counts.all():
            n = int((counts == 0).sum())
            warn_user(
                f"{n} of {table.n_rows} rows are in the bag of every tree and have no out-of-bag prediction (NaN): "
                f"raise n_estimators={self.n_estimators}"
            )
        whole = np.full((training.n_given, means.shape[1]), np.nan)
        whole[training.rows] = means
        return whole

    def _set_out_of_bag(self, training: TrainingSet, y: Any, sample_weight: Any, threads: int) -> None:
        raise NotImplementedError

    @property
    def _known_out_of_bag(self) -> FloatArray:
        """Means of trees that never saw a row."""
        self._fitted()
        if not hasattr(self, "_oob_mean"):
            cure = ": fit with oob_score=True" if "oob_score" in self._get_param_names() else ", for it sees every row"
            raise AttributeError(f"this {type(self).__name__} has no out-of-bag predictions{cure}")
        return self._oob_mean

    def _scored(self, y: Any, prediction: Any, proba: Any, sample_weight: Any, known: NDArray[np.bool_]) -> float:
        """Score out-of-bag predictions, of the rows that have one."""
        truth = targets.as_columns(y, len(known))[known]
        truth = truth[:, 0] if truth.shape[1] == 1 else truth
        weight = targets.row_weights(sample_weight, len(known))
        weight = None if weight is None else weight[known]
        if not known.any():
            return math.nan
        some = None if proba is None else proba[known]
        return score_out_of_bag(self, self.oob_score, truth, prediction[known], some, weight)

    # ---- prediction ----------------------------------------------------------------------------------------------

    def _head(self) -> MeanHead:
        return MeanHead(self._fitted().n_trees)

    def _mean(self, X: Any) -> FloatArray:
        """Mean of the trees, (rows, values of a leaf)."""
        forest = self._fitted()
        return self._raw_from(self._head().summed(forest), X) / forest.n_trees

    @property
    def feature_importances_(self) -> FloatArray:
        """Fall of impurity by each feature, a mean over the trees, normalised to sum 1 (Breiman et al. 1984)."""
        from arboretum.explaining import Uses, normalised

        return normalised(normalised(Uses.of(self).gains_by_tree(self.schema_.n_features)).mean(axis=0))

    # ---- files ---------------------------------------------------------------------------------------------------

    def _notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = {"seed": self._seed, "n_outputs": self.n_outputs_}
        if hasattr(self, "oob_score_"):
            notes["oob_score"] = None if math.isnan(self.oob_score_) else self.oob_score_
        return notes

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super().to_file()
        return header, {**arrays, "oob_mean": self._oob_mean} if hasattr(self, "_oob_mean") else arrays

    def _read_trees(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._read_trees(header, arrays)
        if "oob_mean" not in arrays:
            return
        mean, score = arrays["oob_mean"], header["oob_score"]
        if mean.ndim != 2 or mean.dtype != np.float64 or mean.shape[1] != self.forest_.width:
            raise ValueError("out-of-bag predictions that do not fit the forest")
        if score is not None and type(score) is not float:
            raise ValueError("an out-of-bag score that is no number")
        self._oob_mean, self.oob_score_ = mean, math.nan if score is None else score

    def _read_notes(self, header: dict[str, Any]) -> None:
        n_outputs = header["n_outputs"]
        if type(n_outputs) is not int or n_outputs < 1:
            raise ValueError(f"n_outputs={n_outputs!r}: expected an integer of at least 1")
        self._seed, self.n_outputs_ = read_seed(header["seed"]), n_outputs

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        self._read_notes(header)
        if not forest.n_trees:
            raise ValueError("a forest without trees")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        return tags


def _rows_of(target: BaggedTarget, rows: NDArray[np.intp]) -> BaggedTarget:
    def some(array: Any) -> Any:
        return None if array is None else np.ascontiguousarray(array[rows])

    weight = some(target.weight)
    return replace(
        target,
        classes=some(target.classes),
        numbers=some(target.numbers),
        weight=weight if weight is not None and np.any(weight != 1) else None,
        treatment=None if target.treatment is None else target.treatment.take(rows),
    )


def rows_of_share(value: int | float, n_rows: int) -> int:
    """Return the number of rows of a parameter that is one, or a share of them."""
    return math.ceil(value * n_rows) if isinstance(value, float) else int(value)


def _check_size(training: TrainingSet, n_trees: int, done: int, n_nodes: int) -> None:
    """Reject a memory limit that does not hold all trees, if they are as large as those so far."""
    more = (
        forest_bytes(n_nodes * n_trees // done, training.target.width)
        - forest_bytes(n_nodes, training.target.width) // 2
    )
    training.table.require_memory(more, f"a forest of {n_trees} trees with some {n_nodes // done} nodes each")
