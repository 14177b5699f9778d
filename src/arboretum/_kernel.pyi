import enum
from collections.abc import Callable, Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

@overload
def reweight(
    grower: Grower,
    factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def reweight(
    grower: Grower,
    factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def content_order(
    data: BinnedData,
    edges: CodeEdges | None,
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)] | None,
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    | None,
    threads: int,
    projections: Projections | None = None,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class Criterion(enum.Enum):
    gini = 0

    entropy = 1

    squared_error = 2

    poisson = 3

    absolute_error = 4

    log_rank = 5

    kl = 6

    euclidean = 7

    chi2 = 8

class Treatment:
    def __init__(
        self,
        arms: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_arms: int,
        min_rows_arm: int,
        parent_weight: float,
        balanced_gain: bool,
    ) -> None: ...

class SplitRules:
    def __init__(self) -> None: ...
    @property
    def random_thresholds(self) -> bool: ...
    @random_thresholds.setter
    def random_thresholds(self, arg: bool, /) -> None: ...
    @property
    def max_depth(self) -> int: ...
    @max_depth.setter
    def max_depth(self, arg: int, /) -> None: ...
    @property
    def max_leaf_nodes(self) -> int: ...
    @max_leaf_nodes.setter
    def max_leaf_nodes(self, arg: int, /) -> None: ...
    @property
    def min_samples_split(self) -> int: ...
    @min_samples_split.setter
    def min_samples_split(self, arg: int, /) -> None: ...
    @property
    def min_samples_leaf(self) -> int: ...
    @min_samples_leaf.setter
    def min_samples_leaf(self, arg: int, /) -> None: ...
    @property
    def min_weight_leaf(self) -> float: ...
    @min_weight_leaf.setter
    def min_weight_leaf(self, arg: float, /) -> None: ...
    @property
    def min_impurity_decrease(self) -> float: ...
    @min_impurity_decrease.setter
    def min_impurity_decrease(self, arg: float, /) -> None: ...
    @property
    def max_features(self) -> int: ...
    @max_features.setter
    def max_features(self, arg: int, /) -> None: ...
    @property
    def monotone(self) -> list[int]: ...
    @monotone.setter
    def monotone(self, arg: Sequence[int], /) -> None: ...

class CodeEdges:
    def __init__(
        self,
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Projections:
    def __init__(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        fill: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_projections: int,
        density: float,
    ) -> None: ...

class Bootstrap:
    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        n_draws: int,
        pool: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        cumulative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        strata: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def n_draws(self) -> int: ...
    def copies(self, seed: int, tree: int, n_rows: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class ForestGrower:
    def __init__(
        self,
        data: BinnedData,
        criterion: Criterion,
        n_classes: Sequence[int],
        classes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        rules: SplitRules,
        edges: CodeEdges,
        bootstrap: Bootstrap,
        threads: int,
        projections: Projections | None = None,
        treatment: Treatment | None = None,
    ) -> None: ...
    def grow(self, first: int, n: int, seed: int, with_risk: bool) -> GrownForest: ...

class SparseMatrix:
    def __init__(
        self,
        start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_rows: int,
    ) -> None: ...
    def find_cuts(
        self,
        rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        max_bins: int,
        threads: int,
    ) -> list: ...
    def assign(
        self, data: BinnedData, order: Sequence[int], cuts: Sequence[Sequence[float]], threads: int
    ) -> list[bool]: ...

class Bundles:
    @property
    def bundle(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def default_code(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

@overload
def find_bundles(
    columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
    cuts: Sequence[Sequence[float]],
    n_bins: Sequence[int],
    threads: int,
) -> Bundles: ...
@overload
def find_bundles(
    matrix: SparseMatrix, order: Sequence[int], cuts: Sequence[Sequence[float]], n_bins: Sequence[int], threads: int
) -> Bundles: ...

class BinnedData:
    def __init__(
        self, n_rows: int, n_bins: Sequence[int], categorical: Sequence[bool], bundles: Bundles | None = None
    ) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_bundles(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def has_missing(self, feature: int) -> bool:
        """Whether some row has the missing code."""

    def list_rows(self) -> None:
        """
        List the codes of each row that are not the default of their feature, once all are written.
        """

    def mark_missing(self, feature: int) -> None:
        """
        Say that some row has the missing code; it may lie in another part of the table.
        """

    def attach(
        self,
        buffer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        mapped: bool = False,
    ) -> None: ...
    def codes(self, arg: int, /) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    def put_codes(
        self,
        feature: int,
        codes: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int,
    ) -> bool: ...
    def assign(
        self,
        first: int,
        columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
        cuts: Sequence[Sequence[float]],
        threads: int,
        first_row: int = 0,
    ) -> list[bool]: ...

def sample_rows(arg0: int, arg1: int, /) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
def rank_columns(
    columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]], threads: int
) -> list: ...
def find_cuts(
    columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    max_bins: int,
    threads: int,
) -> list: ...
def interval_ends(
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)] | None,
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    mass: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    needed: float,
    threads: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def pool_adjacent_violators(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...

class Dependence:
    """
    A forest asked about every row with the columns of every point in place of its own.
    """

    def __init__(
        self,
        forest: dict,
        rows: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
        points: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)] | None],
        n_rows: int,
        n_points: int,
        average: bool,
    ) -> None: ...
    def mean(
        self,
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        threads: int,
    ) -> None:
        """Add to out (outputs × points) the trees, summed over rows by weight."""

    def each(
        self,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
        threads: int,
    ) -> None:
        """Add to out (rows × outputs × points) the trees."""

def add_shuffled(
    forest: dict,
    columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
    shuffled: Sequence[Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]]],
    average: bool,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    threads: int,
) -> None:
    """
    Add to out (repeats × rows × outputs) the trees, asked about the columns of each repeat where there are some.
    """

def exponentials(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def logarithms(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def logarithms2(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def error_complements(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def draw_orders(
    keys: Sequence[int],
    threads: int,
    out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def combined_keys(
    codes: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]],
    radices: Sequence[int],
    threads: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def find_levels(
    keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    known: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...

class TargetPart(enum.Enum):
    equal = 0

    above = 1

    number = 2

class OrderedMean:
    def __init__(
        self, source: int, part: TargetPart, at: float, prior: float, prior_weight: float, column: int
    ) -> None: ...

def ordered_means(
    means: Sequence[OrderedMean],
    levels: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]],
    n_levels: Sequence[int],
    target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    orders: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    before: Sequence[
        tuple[
            Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
            int,
            int,
        ]
    ] = [],
) -> None: ...
def ordered_losses(
    columns: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]],
    pairs: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    priors: Sequence[float],
    threads: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...

EXACT_SUM_WORDS: int = 71

LONG_SUM_WORDS: int = 4

def exact_sum(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    threads: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def rounded_sum(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> float: ...
def group_sums(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    group: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def largest_size(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> float: ...
def long_sum_power(largest: float, n_terms: int) -> int: ...
def group_sum_words(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    group: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    power: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def rounded_group_sums(
    words: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    power: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def change_units(
    units: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    largest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_terms: int,
    step: int,
) -> bool: ...
def whole_unit(largest: float, n_terms: int, step: int) -> float: ...
def shap_values(
    arrays: dict,
    columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
    n_rows: int,
    background: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
    n_background: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    interactions: bool,
    average: bool,
    threads: int,
) -> None:
    """
    Fill out (rows × columns (× columns) × outputs, which holds zeros) with Shapley values of the columns.
    """

def expected_values(
    arrays: dict, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
) -> None:
    """
    Add to out (outputs) the mean of the leaves of each tree by training rows.
    """

def path_contributions(
    arrays: dict,
    columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
    average: bool,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> float:
    """
    Add to out (rows × columns) what the splits of each row's paths change; give the mean that they start from.
    """

class Growth(enum.Enum):
    leaf = 0

    level = 1

    symmetric = 2

class TreeParams:
    def __init__(self) -> None: ...
    @property
    def growth(self) -> Growth: ...
    @growth.setter
    def growth(self, arg: Growth, /) -> None: ...
    @property
    def max_leaf_nodes(self) -> int: ...
    @max_leaf_nodes.setter
    def max_leaf_nodes(self, arg: int, /) -> None: ...
    @property
    def max_depth(self) -> int: ...
    @max_depth.setter
    def max_depth(self, arg: int, /) -> None: ...
    @property
    def min_samples_leaf(self) -> int: ...
    @min_samples_leaf.setter
    def min_samples_leaf(self, arg: int, /) -> None: ...
    @property
    def min_child_weight(self) -> float: ...
    @min_child_weight.setter
    def min_child_weight(self, arg: float, /) -> None: ...
    @property
    def l1(self) -> float: ...
    @l1.setter
    def l1(self, arg: float, /) -> None: ...
    @property
    def l2(self) -> float: ...
    @l2.setter
    def l2(self, arg: float, /) -> None: ...
    @property
    def min_gain(self) -> float: ...
    @min_gain.setter
    def min_gain(self, arg: float, /) -> None: ...
    @property
    def cosine(self) -> bool: ...
    @cosine.setter
    def cosine(self, arg: bool, /) -> None: ...
    @property
    def score_noise(self) -> float: ...
    @score_noise.setter
    def score_noise(self, arg: float, /) -> None: ...
    @property
    def max_delta_step(self) -> float: ...
    @max_delta_step.setter
    def max_delta_step(self, arg: float, /) -> None: ...
    @property
    def max_features(self) -> float: ...
    @max_features.setter
    def max_features(self, arg: float, /) -> None: ...
    @property
    def colsample_level(self) -> float: ...
    @colsample_level.setter
    def colsample_level(self, arg: float, /) -> None: ...
    @property
    def colsample_tree(self) -> float: ...
    @colsample_tree.setter
    def colsample_tree(self, arg: float, /) -> None: ...
    @property
    def max_onehot(self) -> int: ...
    @max_onehot.setter
    def max_onehot(self, arg: int, /) -> None: ...
    @property
    def max_category_set(self) -> int: ...
    @max_category_set.setter
    def max_category_set(self, arg: int, /) -> None: ...
    @property
    def category_smoothing(self) -> float: ...
    @category_smoothing.setter
    def category_smoothing(self, arg: float, /) -> None: ...
    @property
    def category_l2(self) -> float: ...
    @category_l2.setter
    def category_l2(self, arg: float, /) -> None: ...
    @property
    def monotone(self) -> list[int]: ...
    @monotone.setter
    def monotone(self, arg: Sequence[int], /) -> None: ...
    @property
    def interaction_sets(self) -> list[list[int]]: ...
    @interaction_sets.setter
    def interaction_sets(self, arg: Sequence[Sequence[int]], /) -> None: ...
    @property
    def category_ranks(self) -> list[list[int]]: ...
    @category_ranks.setter
    def category_ranks(self, arg: Sequence[Sequence[int]], /) -> None: ...

def weighted_values(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: float,
    limit: float = float("inf"),
    growth: float = 1.0,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
def group_by_leaf(
    leaf_of_row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    members: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    n_nodes: int,
) -> tuple: ...
def group_quantiles(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    q: float,
    threads: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def draw(arg0: int, arg1: int, arg2: int, /) -> int: ...

class Grower:
    def __init__(self, data: BinnedData, threads: int) -> None: ...
    @overload
    def grow(
        self,
        gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        params: TreeParams,
        seed: int,
        factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> GrownTree: ...
    @overload
    def grow(
        self,
        gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        params: TreeParams,
        seed: int,
        factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> GrownTree: ...
    def prune(self, tree: GrownTree, least_gain: float) -> None: ...
    def add_values(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    @property
    def leaf_of_row(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

@overload
def grow_each(
    growers: Sequence[Grower],
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    params: TreeParams,
    seeds: Sequence[int],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> list[GrownTree]: ...
@overload
def grow_each(
    growers: Sequence[Grower],
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    params: TreeParams,
    seeds: Sequence[int],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> list[GrownTree]: ...

class GrownTree:
    """A tree grown from gradients."""

    @property
    def kind(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def threshold(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def left(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def right(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def missing_left(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def gain(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def n_rows(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def code(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    @property
    def sets(self) -> tuple: ...
    @property
    def gradient(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def hessian(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def packed(self) -> bool: ...
    def values(
        self,
        params: TreeParams,
        renewed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def with_means(
        self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def leaves(
        self,
        data: BinnedData,
        threads: int,
        out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    def add_values(
        self,
        data: BinnedData,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int,
        raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...

class GrownForest:
    """Trees of impurity or isolation."""

    @property
    def risk(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def projections(self) -> tuple: ...
    @property
    def sizes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def extend(self, more: GrownForest) -> None: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def width(self) -> int: ...

@overload
def join_trees(trees: Sequence[GrownTree]) -> dict:
    """The fields of the nodes of all trees, one tree after the other."""

@overload
def join_trees(trees: GrownForest) -> dict: ...
def influence_of_round(
    leaf: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    output: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    removal: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    step: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessian: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    probability: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    | None,
    seed: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    leaf_of_new: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    adjoint: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    influence: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...

class IsolationTable:
    """Columns of a table, uncopied, and keys of their categories by code."""

    def __init__(
        self,
        columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
        category_keys: Sequence[Sequence[int]],
    ) -> None: ...
    def content_keys(
        self,
        keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
        missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        threads: int,
    ) -> None:
        """
        Fill keys with a hash of each row's content; set missing to 1 for columns that have such values.
        """

def order_by_key(
    keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class IsolationSample:
    """Rows that trees draw from; n_draws = 0 takes them all."""

    def __init__(
        self,
        pool: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        n_draws: int,
        with_replacement: bool,
    ) -> None: ...
    def rows(self, seed: int, tree: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class IsolationRules:
    def __init__(self, max_depth: int, max_features: int, max_terms: int) -> None: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def max_features(self) -> int: ...
    @property
    def max_terms(self) -> int: ...

def grow_isolation(
    table: IsolationTable, sample: IsolationSample, rules: IsolationRules, first: int, n: int, seed: int, threads: int
) -> GrownForest: ...

class NumberColumns:
    """Columns of a table in the order of binned features, uncopied."""

    def __init__(
        self, columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]]
    ) -> None: ...

class LinearRules:
    def __init__(self) -> None: ...
    @property
    def l2(self) -> float: ...
    @l2.setter
    def l2(self, arg: float, /) -> None: ...
    @property
    def lower(self) -> float: ...
    @lower.setter
    def lower(self, arg: float, /) -> None: ...
    @property
    def upper(self) -> float: ...
    @upper.setter
    def upper(self, arg: float, /) -> None: ...
    @property
    def monotone(self) -> list[int]: ...
    @monotone.setter
    def monotone(self, arg: Sequence[int], /) -> None: ...

class LeafSlopes:
    @property
    def start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def scaled(self, factor: float) -> LeafSlopes: ...
    def add(
        self,
        numbers: NumberColumns,
        leaf_of_row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int,
        raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None:
        """raw += the prediction of each row's leaf."""

    @property
    def feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def centre(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def low(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def high(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def fit_slopes(
    tree: GrownTree,
    numbers: NumberColumns,
    leaf_of_row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    members: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rules: LinearRules,
    threads: int,
) -> LeafSlopes: ...
@overload
def fit_slopes(
    tree: GrownTree,
    numbers: NumberColumns,
    leaf_of_row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    members: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rules: LinearRules,
    threads: int,
) -> LeafSlopes: ...

class LossKind(enum.Enum):
    squared_error = 0

    absolute_error = 1

    quantile = 2

    huber = 3

    poisson = 4

    gamma = 5

    tweedie = 6

    log_loss = 7

def sigmoid_pairs(
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def gradients(
    kind: LossKind,
    parameter: float,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def gradients(
    kind: LossKind,
    parameter: float,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def softmax_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def softmax_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
def leaf_gradients(
    kind: LossKind,
    parameter: float,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    leaf: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    units: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> tuple[float, float]: ...
def known_leaf_gradients(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    leaf: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    units: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> tuple[float, float]: ...
def softmax_leaf_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    output: int,
    leaf: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    units: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> tuple[float, float]: ...
@overload
def ordinal_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def ordinal_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def ordinal_sums(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    unit: float,
    threads: int,
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...

class PartGrower:
    """Some of the rows that a tree is grown from; others lie elsewhere."""

    def __init__(self, data: BinnedData, first_row: int, n_all_rows: int, threads: int) -> None: ...
    @overload
    def load(
        self,
        gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        params: TreeParams,
        seed: int,
    ) -> None: ...
    @overload
    def load(
        self,
        gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        params: TreeParams,
        seed: int,
    ) -> None: ...
    def answer(self, order: bytes) -> tuple: ...
    @property
    def finished(self) -> bool: ...
    @property
    def tree(self) -> GrownTree: ...
    def prune(self, tree: GrownTree, least_gain: float) -> None: ...
    def add_values(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    @property
    def leaf_of_row(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

def grow_in_parts(part: PartGrower, ask: Callable, tell: Callable) -> None: ...

class PairWeight(enum.Enum):
    none = 0

    ndcg = 1

    map = 2

    mrr = 3

class RankingMetric(enum.Enum):
    ndcg = 0

    map = 1

    mrr = 2

def pair_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: PairWeight,
    truncation: int,
    cut: int,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def drawn_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    key: int,
    draws: int,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def list_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def ranking_metric(
    metric: RankingMetric,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    k: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def subsample_rows(
    arg0: int, arg1: float, arg2: int, arg3: int, /
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
def bootstrap_rows(
    n_rows: int, n_draws: int, key: int, threads: int, first: int = 0, total: int | None = None
) -> tuple: ...
def stratified_rows(
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    wanted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    key: int,
    threads: int,
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
def bayesian_factors(
    temperature: float,
    key: int,
    threads: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    first: int = 0,
) -> None: ...
def row_draws(
    key: int,
    threads: int,
    first: int,
    out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def goss_rows(
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n_top: int,
    n_other: int,
    key: int,
    threads: int,
) -> tuple: ...
@overload
def goss_rows(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n_top: int,
    n_other: int,
    key: int,
    threads: int,
) -> tuple: ...
@overload
def mvs_rows(
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    share: float,
    key: int,
    threads: int,
) -> tuple: ...
@overload
def mvs_rows(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    share: float,
    key: int,
    threads: int,
) -> tuple: ...
@overload
def goss_ranks(
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    key: int,
    threads: int,
    first: int,
    top: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    rest: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def goss_ranks(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    key: int,
    threads: int,
    first: int,
    top: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    rest: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def cox_gradients(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def cox_values(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def cox_baseline(
    y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple: ...

class AftDistribution(enum.Enum):
    normal = 0

    logistic = 1

    extreme = 2

def aft_terms(
    distribution: AftDistribution,
    sigma: float,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def aft_log_survival(
    distribution: AftDistribution,
    z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def leaf_hazards(
    leaf: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    copies: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    rank: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    time: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_nodes: int,
) -> tuple: ...
def concordance(
    time: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    event: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    risk: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    tolerance: float,
) -> tuple: ...
def for_each_chunk(n_chunks: int, threads: int, run: Callable) -> None: ...

class ThresholdRules:
    def __init__(self, least: float, most: float, tie: float) -> None: ...

class ThresholdSearch:
    """The best thresholds of numeric columns for weighted cases."""

    def __init__(
        self,
        columns: Sequence[Annotated[NDArray, dict(shape=(None,), device="cpu", writable=False)]],
        classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_classes: int,
        threads: int,
    ) -> None: ...
    def find(
        self,
        rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        total: float,
        rules: ThresholdRules,
        threads: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None:
        """
        Fill out (columns, 6) with gain, low, high, below, known and n_tries of the best threshold.
        """

@overload
def output_gradients(
    kind: LossKind,
    parameter: float,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def output_gradients(
    kind: LossKind,
    parameter: float,
    y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def sketch_outputs(
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    mix: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    out_gradients: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    out_hessians: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def sketch_outputs(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    mix: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    threads: int,
    out_gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    out_hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def output_sums(
    tree: GrownTree,
    leaf: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    units: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
    largest: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order="C", device="cpu")],
) -> None: ...
@overload
def output_sums(
    tree: GrownTree,
    leaf: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    units: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
    largest: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order="C", device="cpu")],
) -> None: ...
def add_output_values(
    leaf: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    threads: int,
    raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
def first_broken_link(arrays: dict, threads: int) -> tuple[int, int]:
    """
    Return the first rule (LinkRule) that children break, and the first node that does.
    """

class Predictor:
    """
    A forest compiled for prediction; immutable, safe to share between threads.
    """

    def __init__(self, arrays: dict, threads: int) -> None: ...
    def add(
        self,
        columns: Sequence[Annotated[NDArray, dict(device="cpu", writable=False)]],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        first: int,
        last: int,
        average: bool,
        threads: int,
    ) -> None:
        """Add trees first … last − 1, in this order, to out (rows × outputs)."""

    def raw_matrix(
        self,
        matrix: Annotated[NDArray, dict(device="cpu", writable=False)],
        codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        allow_nan: bool,
        threads: int,
    ) -> bool:
        """
        Fill out (rows × outputs) with base + all trees for a matrix (rows × features) of floats.

        Codes of categories, none of them unknown, are read from an int32 matrix beside it. Return
        whether it was done: not if there is a NaN and none is allowed.
        """

    def apply(
        self,
        columns: Sequence[Annotated[NDArray, dict(device="cpu", writable=False)]],
        out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
        first: int,
        last: int,
        average: bool,
        threads: int,
    ) -> None:
        """
        Fill out (rows × trees) with the node of the leaf that each row reaches.
        """

build_type: str = "release"
