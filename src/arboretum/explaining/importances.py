"""One table of all kinds of importance, and of columns that they disagree about."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_integer, shown
from arboretum.data import targets
from arboretum.data.schema import MISSING, Schema
from arboretum.data.selection import as_container, n_rows_of, take_rows
from arboretum.data.table import Table
from arboretum.ensembles.bagging.model_notes import ForestNotes
from arboretum.estimators.grown_trees import GrownTrees
from arboretum.explaining.by_predictions import as_asked, require_fitted
from arboretum.explaining.permutation import StandIns, by_bags, by_tables, by_trees, permutation_falls
from arboretum.explaining.reading import draw_rows, read_groups
from arboretum.explaining.sage import sage_values
from arboretum.explaining.shap import explained_trees
from arboretum.explaining.structure import kinds_of, schema_of
from arboretum.running.threads import n_threads

FloatArray = NDArray[np.float64]

MAX_ROWS, SHAP_ROWS = 10_000, 1_000
SLIGHT = 0.01  # part of the largest permutation importance that is next to nothing
FAIR_SHARES = 1.5  # times its part of the nodes, from which a column is asked often
NEAR_UNIQUE = 0.9  # different values by row, from which a column can tell rows apart
SHOWN = 20  # lines of a printed table


@dataclass(frozen=True, eq=False)
class Importances:
    """Importances of columns, or of groups of them, by kind.

    Parameters
    ----------
    feature_names : list of str
        Names of the columns or groups.
    kinds : dict of str to float64 array
        One number a column: "gain", "nodes", "rows", "root", "depth", "inverse_depth", and if rows are known
        "permutation", "permutation_error", "shap", "sage".
    suspects : list of (str, str)
        Columns whose values nearly all differ and that trees ask often without effect on the rows, and why; none where
        classes were scored by their accuracy, which does not see most effects.
    rows : {"given", "out of bag"} or None
        Which rows were shuffled.

    Examples
    --------
    >>> import arboretum as arb
    >>> model = arb.DecisionTreeRegressor().fit([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]], [0.0, 0.0, 6.0])
    >>> print(model.importances())
        gain  nodes  rows  root  depth  inverse depth
    x0    24      1     3     1      0              1
    x1     0      0     0     0      1            0.5
    """

    feature_names: list[str]
    kinds: dict[str, FloatArray]
    suspects: list[tuple[str, str]] = field(default_factory=list)
    rows: str | None = None

    @property
    def order(self) -> NDArray[np.intp]:
        """Columns from the most important on: by permutation if it is known, else by gain."""
        return np.argsort(-self.kinds["permutation" if "permutation" in self.kinds else "gain"], kind="stable")

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Give the numbers of each column by kind: ``{name: {kind: number}}``."""
        return {
            name: {kind: float(values[place]) for kind, values in self.kinds.items()}
            for place, name in enumerate(self.feature_names)
        }

    def _lines(self) -> list[list[str]]:
        head = ["", *(kind.replace("_", " ") for kind in self.kinds)]
        body = [
            [self.feature_names[place], *(f"{values[place]:.4g}" for values in self.kinds.values())]
            for place in self.order[:SHOWN].tolist()
        ]
        return [head, *body]

    def _remarks(self) -> list[str]:
        hidden = len(self.feature_names) - SHOWN
        more = [f"… and {hidden} more: to_dict() has all"] if hidden > 0 else []
        return more + [f"{name}: {reason}" for name, reason in self.suspects]

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        rows = [
            "  ".join(
                [name.ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
            )
            for name, *cells in lines
        ]
        return "\n".join([*(row.rstrip() for row in rows), *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self._lines()
        rows = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
        for name, *cells in body:
            numbers = "".join(f"<td>{cell}</td>" for cell in cells)
            rows.append(f"<tr><th>{html.escape(name)}</th>{numbers}</tr>")
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks())
        return f"<table>{''.join(rows)}</table>{remarks}"


def importances(
    model: GrownTrees,
    X: Any = None,
    y: Any = None,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    groups: Any = None,
    shap: bool = True,
    sage: bool = False,
    max_rows: int | None = MAX_ROWS,
    random_state: int = 0,
    n_jobs: int | None = None,
    **score_arguments: Any,
) -> Importances:
    """Tell which columns matter, by every measure there is.

    ========================  =========================================================================================
    gain                      sum of the gains of splits on the column
    nodes, rows, root         nodes that read it, training rows that pass them, trees whose root it is
    depth, inverse_depth      mean over trees of the least depth that reads it (the tree's own depth if none does), and
                              1 / (1 + depth) (Ishwaran et al. 2010)
    permutation               fall of the score when the column is shuffled, a mean over repeats, and its standard error
    shap                      mean over rows of absolute SHAP values, summed over outputs
    sage                      what the column takes off the loss (Covert et al. 2020)
    ========================  =========================================================================================

    Parameters
    ----------
    model : fitted model
        Any of arboretum's. Of a model of models, such as a bagged or calibrated one, what trees tell is a mean over the
        members; if these are not trees of arboretum, columns are shuffled only.
    X : array-like, sparse matrix or data frame, optional
        Rows for permutation, SHAP and SAGE, best those that the model has not seen. A forest fitted with
        ``keep_bags=True`` may be given its training rows: each tree is then asked about rows out of its bag.
    y : array-like, optional
        Their targets. Without, only the trees and SHAP are asked.
    scoring : str, callable or None, default=None
        The name of a scikit-learn scorer, a function of (model, X, y), or None for the score of the model itself.
    n_repeats : int, default=5
        Shuffles of each column.
    groups : mapping of names to columns, or list of lists of columns, optional
        Columns that are shuffled together and count as one, such as parts of a date.
    shap : bool, default=True
        Add mean absolute SHAP values, of at most 1,000 of the rows, if the model is a sum of trees.
    sage : bool, default=False
        Add SAGE values.
    max_rows : int or None, default=10000
        Most rows of X that are asked, drawn at random (whole queries of a ranker); None takes all.
    random_state : int, default=0
        Seed of all draws; the same for any number of threads.
    n_jobs : int, optional
        Threads; those of the model by default. They change nothing in the result.
    **score_arguments
        What else the score needs, one value a row: ``sample_weight``, ``group`` of a ranker, ``treatment`` of an
        uplift model.

    Returns
    -------
    Importances

    References
    ----------
    Breiman, L. (2001). Random forests. Machine Learning 45.
    Ishwaran, H., Kogalur, U., Gorodeski, E., Minn, A. and Lauer, M. (2010). High-dimensional variable selection for
    survival data. JASA 105.
    Covert, I., Lundberg, S. and Lee, S.-I. (2020). Understanding global feature contributions with additive importance
    measures. NeurIPS.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.random.default_rng(0).random((1000, 3))
    >>> model = arb.BoostedTreesRegressor(n_estimators=50).fit(X, 3.0 * X[:, 0] + X[:, 1])
    >>> found = model.importances(X, 3.0 * X[:, 0] + X[:, 1])
    >>> [found.feature_names[place] for place in found.order]
    ['x0', 'x1', 'x2']
    """
    check_integer("n_repeats", n_repeats)
    if max_rows is not None:
        check_integer("max_rows", max_rows)
    given, model = model, model if X is None else as_asked(model, X)
    schema = _schema_of(model)
    names, members = read_groups(groups, schema)
    group_of = np.empty(schema.n_features, np.intp)
    for group, columns in enumerate(members):
        group_of[columns] = group
    kinds = kinds_of(given, schema.names, group_of, len(names))
    if kinds is None and (X is None or y is None):
        raise ValueError(
            f"a learner of this {type(given).__name__} is not a tree of arboretum, and tells nothing of its columns: "
            "give X and y, whose columns are then shuffled"
        )
    kinds = kinds or {}
    if X is None:
        if y is not None or sage or score_arguments:
            raise ValueError("importances by shuffling need rows: give X")
        return Importances(names, kinds)
    threads = n_threads(model.n_jobs if n_jobs is None else n_jobs)
    rows = _Rows.read(model, X, y, score_arguments, max_rows, random_state, threads)
    if y is not None:
        falls = permutation_falls(
            rows.stand_ins(model, threads),
            _scorer(model, scoring, rows),
            members,
            rows.table.n_rows,
            n_repeats=n_repeats,
            seed=random_state,
        )
        kinds["permutation"] = falls.mean(axis=0)
        spread = falls.std(axis=0, ddof=1) if n_repeats > 1 else np.full(len(names), np.nan)
        kinds["permutation_error"] = spread / np.sqrt(n_repeats)
    if shap and sums_trees(model):
        kinds["shap"] = mean_shap(model, rows.X, rows.table.n_rows, members, random_state)
    if sage:
        if y is None:
            raise ValueError("sage=True needs the targets of the rows: give y")
        kinds["sage"] = sage_values(model, rows.table, rows.y, members, seed=random_state)
    if y is None:
        return Importances(names, kinds)
    # Accuracy, the score of classifiers, does not see most changes of probabilities: it cannot make a column suspect.
    is_blind = scoring is None and hasattr(model, "classes_")
    suspects = [] if is_blind else _suspects(names, kinds, [_distinct_share(rows.table, part) for part in members])
    return Importances(names, kinds, suspects, rows.kind)


def _schema_of(model: Any) -> Schema:
    require_fitted(model)
    schema = schema_of(model)
    if schema is None:
        raise ValueError(f"the columns of this {type(model).__name__} are not known: give X and y")
    return schema


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that are asked: as given, and as read."""

    X: Any
    y: Any
    arguments: dict[str, Any]
    table: Table
    kind: str
    places: NDArray[np.intp]

    @classmethod
    def read(
        cls,
        model: Any,
        X: Any,
        y: Any,
        arguments: Mapping[str, Any],
        max_rows: int | None,
        seed: int,
        threads: int,
    ) -> _Rows:
        whole = model.model_.conform(X)
        places, kind = np.arange(whole.n_rows), "given"
        notes = model.model_.notes
        bags = notes.bags if isinstance(notes, ForestNotes) else None
        if bags is not None and bags.hold(model.model_, whole, threads):
            kept = bags.out_of_bag.any(axis=1)
            places, kind = (np.flatnonzero(kept), "out of bag") if kept.any() else (places, kind)
        if arguments.get("group") is not None:
            places = places[_whole_queries(targets.to_numpy(arguments["group"], "group")[places], max_rows, seed)]
        else:
            places = places[draw_rows(len(places), max_rows, seed)]
        per_row = {name: _per_row(name, given, whole.n_rows) for name, given in {**arguments, "y": y}.items()}
        taken = {name: None if given is None else take_rows(given, places) for name, given in per_row.items()}
        return cls(
            take_rows(as_container(X), places),
            taken.pop("y"),
            taken,
            whole.take(places).dense(),
            kind,
            places,
        )

    def stand_ins(self, model: Any, threads: int) -> StandIns:
        if self.kind == "out of bag":
            return by_bags(model, self.table, self.places, threads)
        return by_trees(model, self.table, threads) if model.model_.head.determines else by_tables(model, self.table)


def _whole_queries(query: NDArray[Any], most: int | None, seed: int) -> NDArray[np.intp]:
    """Rows of queries drawn at random, at least one query, at most so many rows if it can be."""
    _, number, sizes = np.unique(query, return_inverse=True, return_counts=True)
    drawn = np.random.default_rng(seed).permutation(len(sizes))
    fits = np.cumsum(sizes[drawn]) <= (len(query) if most is None else most)
    return np.flatnonzero(np.isin(number, drawn[fits] if fits.any() else drawn[:1]))


def _per_row(name: str, given: Any, n_rows: int) -> Any:
    """Return what is given per row, if it has an entry for each."""
    if given is None:
        return None
    container = as_container(given)
    if not np.ndim(container) or n_rows_of(container) != n_rows:
        raise ValueError(f"{name}={shown(given)}, but X has {n_rows} rows: give one value per row")
    return container


def _scorer(model: Any, scoring: Any, rows: _Rows) -> Callable[[Any], float]:
    if scoring is None and not hasattr(model, "score"):
        raise ValueError(f"{type(model).__name__} has no score of its own: give scoring=, or leave y out")
    if scoring is None:
        return lambda stand_in: float(stand_in.score(rows.X, rows.y, **rows.arguments))
    if isinstance(scoring, str):
        from sklearn.metrics import get_scorer

        from arboretum.ensembles.bagging.out_of_bag import check_scorer

        check_scorer("scoring", scoring)
        named = get_scorer(scoring)
        return lambda stand_in: float(named(stand_in, rows.X, rows.y, **rows.arguments))
    if not callable(scoring):
        raise ValueError(f"scoring={shown(scoring)}: use a scorer's name, a function of (model, X, y), or None")
    return lambda stand_in: float(scoring(stand_in, rows.X, rows.y, **rows.arguments))


def sums_trees(model: GrownTrees) -> bool:
    """Whether predictions are sums of trees, which SHAP values split."""
    try:
        explained_trees(model)
    except TypeError:
        return False
    return True


def mean_shap(model: Any, X: Any, n_rows: int, members: Sequence[Sequence[int]], seed: int = 0) -> FloatArray:
    """Mean over rows, at most 1,000, of the absolute SHAP values of groups of columns, summed over outputs."""
    values = model.explain(take_rows(X, draw_rows(n_rows, SHAP_ROWS, seed))).values
    grouped = np.stack([values[:, columns].sum(axis=1) for columns in members], axis=1)
    return np.asarray(np.abs(grouped).mean(axis=0).reshape(len(members), -1).sum(axis=1))


def _distinct_share(table: Table, columns: Sequence[int]) -> float:
    """Return how many different values there are by row, in that of these columns which has most."""
    kinds = [table.schema.columns[place].kind for place in columns]
    values = [table.columns[place] for place in columns]
    known = [part[part != MISSING] if kind == "categorical" else part for part, kind in zip(values, kinds, strict=True)]
    return max(len(np.unique(part)) for part in known) / max(table.n_rows, 1)


def _suspects(
    names: Sequence[str], kinds: Mapping[str, FloatArray], distinct: Sequence[float]
) -> list[tuple[str, str]]:
    """Columns whose values nearly all differ, that trees ask more often than most and that may be shuffled at no loss.

    A column of fewer values cannot tell rows apart, and one that is asked seldom does little harm.
    """
    if len(names) < 2 or "nodes" not in kinds or not kinds["nodes"].sum() > 0:
        return []
    part = kinds["nodes"] / kinds["nodes"].sum()
    error = np.nan_to_num(kinds["permutation_error"])
    most = kinds["permutation"] + 2 * error
    idle = (
        (part > FAIR_SHARES / len(names))
        & (np.array(distinct) > NEAR_UNIQUE)
        & (most < SLIGHT * max(kinds["permutation"].max(), 0.0))
    )
    return [
        (
            names[place],
            f"{part[place]:.0%} of the nodes read it and nearly all of its values differ, but shuffling it costs next "
            "to nothing on these rows: its splits tell training rows apart",
        )
        for place in np.flatnonzero(idle).tolist()
    ]
