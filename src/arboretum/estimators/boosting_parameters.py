"""The parameters of boosted trees: what they may be, and what they mean for the engine."""

from __future__ import annotations

from typing import Any, TypeVar

from arboretum.data.schema import Schema
from arboretum.encoding.category_encoding import CategoryEncoding
from arboretum.ensembles.boosting.automatic_rate import automatic_rate
from arboretum.ensembles.boosting.dart import Dart
from arboretum.ensembles.boosting.history import Patience
from arboretum.ensembles.boosting.linear_leaves import LinearLeaves
from arboretum.ensembles.boosting.rounds import BoostingParams, renews_leaves
from arboretum.estimators import boosting_automatic as automatic
from arboretum.estimators.base import FloatArray, ForestModel
from arboretum.estimators.boosting_problem import Problem, Target
from arboretum.estimators.presets import presets
from arboretum.estimators.row_sampling import check_sampling, sampler_of
from arboretum.estimators.validation import callables, choice, number, share
from arboretum.growing.constraints import in_binned_order, interaction_sets, monotone_directions
from arboretum.growing.grower import NO_LIMIT, Growth, TreeParams, category_ranks
from arboretum.losses import EachOutput, GradientFunction, Loss

Preset = TypeVar("Preset", bound="BoostingParameters")

MAX_BINS = 65_535
MOST = 2**31 - 1


class BoostingParameters(ForestModel):
    """Parameters of an estimator that boosts trees."""

    trees_per_round_: int
    learning_rate_: float
    n_estimators: int
    trees_per_round: int
    learning_rate: float | str
    dart_rate: float
    dart_skip: float
    dart_max: int
    growth: Growth
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int | str
    min_child_weight: float
    l1: float
    l2: float | str
    min_gain: float
    split_score: str
    score_noise: float
    max_delta_step: float
    max_bins: int | None
    category_levels: int | None
    category_combinations: int
    category_orders: int
    prune: bool
    second_order: bool
    leaf_steps: int | str
    ordered_boosting: int
    vector_leaves: bool | str = "auto"  # no parameter where there is one output alone
    leaf_model: str
    linear_l2: float
    subsample: float | str
    sampling: str
    top_rate: float | None
    other_rate: float | None
    bagging_temperature: float | None
    max_features: float | int
    colsample_tree: float | int
    colsample_level: float | int
    loss: str | Loss | GradientFunction
    monotonic_cst: Any
    interaction_cst: Any
    categorical_features: Any
    early_stopping: bool | str
    scoring: Any
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    refit: bool | str
    time_limit: float | None
    warm_start: bool
    callbacks: Any
    random_state: Any
    verbose: int

    @classmethod
    def preset(cls: type[Preset], name: str, **overrides: Any) -> Preset:
        """Return an estimator with the switches of a known system.

        Parameters
        ----------
        name : {"gbm", "xgboost", "lightgbm", "catboost"}
            The system; ``arboretum.presets()`` shows its switches.
        **overrides
            Parameters that differ from it.

        Examples
        --------
        >>> import arboretum as arb
        >>> arb.BoostedTreesClassifier.preset("lightgbm", n_estimators=20).max_leaf_nodes
        31
        """
        known = cls._get_param_names()  # models of one output know no vector leaves
        switches = {switch: value for switch, value in presets()[name].items() if switch in known}
        return cls(**{**switches, **overrides})

    # ---- what they may be ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        number(self, "n_estimators", low=1, high=MOST, integer=True)
        number(self, "learning_rate", low=0.0, high=1e300, open_low=True, words=("auto",))
        choice(self, "growth", ("leaf", "level", "symmetric"))
        number(self, "max_leaf_nodes", low=2, high=MOST, integer=True, optional=True)
        number(self, "max_depth", low=1, high=10_000, integer=True, optional=True)
        number(self, "min_samples_leaf", low=1, high=MOST, integer=True, words=("auto",))
        for name in ("min_child_weight", "l1", "min_gain", "max_delta_step", "linear_l2"):
            number(self, name, low=0.0, high=1e300)
        number(self, "l2", low=0.0, high=1e300, words=("auto",))
        choice(self, "split_score", ("gain", "cosine"))
        number(self, "score_noise", low=0.0, high=1e9)
        number(self, "max_bins", low=2, high=MAX_BINS, integer=True, optional=True)
        number(self, "category_levels", low=0, high=MOST, integer=True, optional=True)
        number(self, "category_combinations", low=1, high=16, integer=True)
        number(self, "category_orders", low=1, high=1000, integer=True)
        choice(self, "prune", (True, False))
        choice(self, "second_order", (True, False))
        number(self, "leaf_steps", low=0, high=1000, integer=True, words=("auto",))
        number(self, "ordered_boosting", low=0, high=1000, integer=True)
        choice(self, "vector_leaves", (True, False, "auto"))
        if self.leaf_steps == 0 and (self.second_order or self.ordered_boosting):
            raise ValueError(
                "leaf_steps=0 keeps the mean gradient of a leaf, which trees of gradients alone have: use "
                "second_order=False and ordered_boosting=0, or leaf_steps=1"
            )
        choice(self, "leaf_model", ("constant", "linear"))
        if self.leaf_model == "linear":
            self._check_linear()
        if self.ordered_boosting and self.dart_rate:
            raise ValueError(
                f"ordered_boosting={self.ordered_boosting!r} with dart_rate={self.dart_rate!r}: supporting models "
                "cannot leave rounds out; use one of them"
            )
        check_sampling(self)
        number(self, "trees_per_round", low=1, high=MOST, integer=True)
        number(self, "dart_rate", low=0.0, high=1.0)
        number(self, "dart_skip", low=0.0, high=1.0)
        number(self, "dart_max", low=1, high=MOST, integer=True)
        if self.prune and self.growth == "symmetric":
            raise ValueError(
                "prune=True with growth='symmetric': nodes of a level share their condition, none is pruned alone; "
                "use growth='leaf' or 'level', or prune=False"
            )
        if self.split_score == "cosine" and self.growth != "symmetric":
            raise ValueError(
                f"split_score='cosine' with growth={self.growth!r}: cosines compare conditions of a whole level; "
                "use growth='symmetric', or split_score='gain'"
            )
        choice(self, "unknown", ("average", "missing", "error"))
        choice(self, "missing", ("warn", "error"))
        choice(self, "early_stopping", ("auto", True, False))
        number(self, "validation_fraction", low=0.0, high=0.9, open_low=True)
        number(self, "n_iter_no_change", low=1, high=MOST, integer=True)
        number(self, "tol", low=0.0, high=1e300)
        choice(self, "refit", ("auto", True, False))
        number(self, "time_limit", low=0.0, open_low=True, optional=True)
        choice(self, "warm_start", (True, False))
        callables(self, "callbacks")
        number(self, "verbose", low=0, high=MOST, integer=True, words_of_bool=True)

    def _check_linear(self) -> None:
        """Refuse what linear leaves cannot be combined with."""
        if self.ordered_boosting:
            raise ValueError(
                f"leaf_model='linear' with ordered_boosting={self.ordered_boosting!r}: supporting models have constant "
                "leaves; use ordered_boosting=0 or leaf_model='constant'"
            )

    def _check_linear_loss(self, loss: Loss) -> None:
        if self.leaf_model == "linear" and renews_leaves(loss):
            raise ValueError(
                f"leaf_model='linear' needs a loss with Newton steps, but {loss.name!r} finds leaf values of its own: "
                "use another loss, such as 'squared_error', or leaf_model='constant'"
            )

    def _has_vector_leaves(self, loss: Loss) -> bool:
        """Whether a round grows one tree for all outputs; refuse what such trees cannot be combined with."""
        wanted = isinstance(loss, EachOutput) if isinstance(self.vector_leaves, str) else bool(self.vector_leaves)
        if not wanted or loss.n_outputs == 1:
            return False
        reason = ""
        if self.leaf_model == "linear":
            reason = "leaf_model='linear': slopes are those of one output"
        elif self.ordered_boosting:
            reason = f"ordered_boosting={self.ordered_boosting!r}: supporting models have leaves of one output"
        elif renews_leaves(loss):
            reason = f"loss {loss.name!r}: it finds leaf values of its own"
        if reason:
            raise ValueError(
                f"trees with vector leaves ({loss.n_outputs} outputs) cannot be combined with {reason}; "
                "use vector_leaves=False, which grows one tree an output"
            )
        return True

    @property
    def _takes_several_outputs(self) -> bool:
        """Whether the parameters suit several outputs; losses of no vector form are told apart when they are met."""
        is_free = self.vector_leaves is False or (self.leaf_model == "constant" and not self.ordered_boosting)
        return is_free and self.sampling != "stratified"

    def _check_continuing(self) -> None:
        if self.ordered_boosting:
            raise ValueError(
                f"ordered_boosting={self.ordered_boosting!r}: the fitted model has seen the rows, and its supporting "
                "models are gone; fit anew with warm_start=False, or add rounds with ordered_boosting=0"
            )
        if self.dart_rate:
            raise ValueError(
                f"dart_rate={self.dart_rate!r}: later rounds of DART change the weights of earlier ones: none can be "
                "added to a fitted model; fit anew with warm_start=False, or add rounds with dart_rate=0"
            )
        if self.refit is True:
            raise ValueError(
                "refit=True: a model that is fitted again on all rows has no rounds to add to; fit anew with "
                "warm_start=False, or add rounds with refit=False"
            )
        if self.trees_per_round != self.trees_per_round_:
            raise ValueError(
                f"trees_per_round={self.trees_per_round!r}, but the fitted model has {self.trees_per_round_}: "
                "use the same number, or fit anew with warm_start=False"
            )

    # ---- what they mean --------------------------------------------------------------------------------------------

    def _boosting_params(
        self,
        n_rounds: int,
        n_rows: int,
        y: FloatArray,
        loss: Loss,
        tree: TreeParams,
        *,
        seed: int,
        threads: int,
        validates: bool,
        keeps_rate: bool,
    ) -> BoostingParams:
        keeps_best = validates and self.early_stopping is not False
        if not isinstance(self.learning_rate, str):
            rate = float(self.learning_rate)
        else:
            rate = self.learning_rate_ if keeps_rate else self._automatic_rate(loss, n_rows, n_rounds, keeps_best)
        return BoostingParams(
            n_rounds=n_rounds,
            learning_rate=rate,
            tree=tree,
            sampler=sampler_of(self, y, n_rows),
            seed=seed,
            threads=threads,
            patience=Patience(int(self.n_iter_no_change), float(self.tol)) if keeps_best else None,
            time_limit=self.time_limit,
            track_training=bool(self.verbose or self.callbacks),
            trees_per_round=int(self.trees_per_round),
            dart=Dart(float(self.dart_rate), float(self.dart_skip), int(self.dart_max)) if self.dart_rate else None,
            prune_gain=float(self.min_gain) if self.prune else None,
            second_order=bool(self.second_order),
            leaf_steps=automatic.leaf_steps(loss) if isinstance(self.leaf_steps, str) else int(self.leaf_steps),
            n_orders=int(self.ordered_boosting),
            score_noise=float(self.score_noise),
            linear=LinearLeaves(float(self.linear_l2)) if self.leaf_model == "linear" else None,
            vector_leaves=self._has_vector_leaves(loss),
        )

    def _automatic_rate(self, loss: Loss, n_rows: int, n_rounds: int, keeps_best: bool) -> float:
        vector_leaves = self._has_vector_leaves(loss)
        return automatic_rate(loss, n_rows, n_rounds, keeps_best=keeps_best, vector_leaves=vector_leaves)

    @property
    def _n_category_orders(self) -> int:
        """Versions of the rows; supporting models of ordered boosting know one alone."""
        return 1 if self.ordered_boosting else int(self.category_orders)

    def _tree_params(
        self, problem: Problem, n_rows: int, target: Target, order: tuple[int, ...], encoding: CategoryEncoding | None
    ) -> TreeParams:
        schema, leaf_wise = problem.table.schema, self.growth == "leaf"
        least = self.min_samples_leaf
        place = {column: feature for feature, column in enumerate(order)}
        directions = self._monotone(schema, target)
        sets = interaction_sets(self.interaction_cst, schema)
        n_features = len(order)
        if encoding is not None:
            directions = tuple(encoding.per_column(directions, 0)) if directions else ()
            sets = encoding.column_sets(sets)
        return TreeParams(
            growth=self.growth,
            max_leaf_nodes=self.max_leaf_nodes or (31 if leaf_wise else NO_LIMIT),
            max_depth=self.max_depth or (NO_LIMIT if leaf_wise or self.max_leaf_nodes else 6),
            min_samples_leaf=automatic.least_rows_of_leaf(n_rows) if isinstance(least, str) else int(least),
            min_child_weight=float(self.min_child_weight),
            l1=float(self.l1),
            l2=self._leaf_penalty(problem.weight, n_rows),
            min_gain=0.0 if self.prune else float(self.min_gain),
            cosine=self.split_score == "cosine",
            max_delta_step=float(self.max_delta_step),
            max_features=share(self, "max_features", n_features),
            colsample_level=share(self, "colsample_level", n_features),
            colsample_tree=share(self, "colsample_tree", n_features),
            monotone=in_binned_order(directions, order),
            interaction_sets=tuple(tuple(sorted(place[column] for column in columns)) for columns in sets),
            category_ranks=category_ranks(schema if encoding is None else encoding.schema, order),
        )

    def _monotone(self, schema: Schema, target: Target) -> tuple[int, ...]:
        return monotone_directions(self.monotonic_cst, schema)

    def _leaf_penalty(self, weight: FloatArray | None, n_rows: int) -> float:
        return automatic.leaf_penalty(weight, n_rows) if isinstance(self.l2, str) else float(self.l2)
