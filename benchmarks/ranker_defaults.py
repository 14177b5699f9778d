"""``python -m benchmarks ranker-defaults``: rankers as they come, or settings of ours, by the number of queries."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Row, timed
from benchmarks.notebook import Notebook
from benchmarks.ranking_sets import RANKING_SETS, Graded
from benchmarks.rivals.base import Model
from benchmarks.table import HOME, Column, Table
from benchmarks.task import Settings, Task
from benchmarks.workloads.ranking import (
    Arboretum,
    CatBoost,
    LightGBM,
    QueryTask,
    Ranker,
    XGBoost,
    queries_of,
    task_of,
)

SIZES = (20, 43, 100, 300, 666)
FEWEST_TEST_QUERIES, MOST_TEST_QUERIES = 8, 300


class Untouched(Arboretum):
    """BoostedTreesRanker with its defaults, or with some settings changed."""

    def __init__(self, **changes: Any) -> None:
        super().__init__("lambdamart", HOME)
        self.changes = changes

    def settings(self, task: Task) -> dict[str, Any]:
        return {"n_jobs": task.settings.threads, "random_state": task.settings.seed, **self.changes}


class UntouchedLightGBM(LightGBM):
    """LGBMRanker with its defaults."""

    def settings(self, task: Task) -> dict[str, Any]:
        return {"n_jobs": task.settings.threads, "random_state": task.settings.seed, "verbosity": -1}


class UntouchedXGBoost(XGBoost):
    """XGBRanker with its defaults."""

    def settings(self, task: Task) -> dict[str, Any]:
        return {"n_jobs": task.settings.threads, "random_state": task.settings.seed}


class UntouchedCatBoost(CatBoost):
    """CatBoost with the defaults of its ranker."""

    def settings(self, task: Task) -> dict[str, Any]:
        run = {"thread_count": task.settings.threads, "random_seed": task.settings.seed}
        return {"loss_function": self.loss, "verbose": False, "allow_writing_files": False, **run}


class UntouchedYDF(Ranker):
    """GradientBoostedTreesLearner for ranking, with its defaults."""

    module = "ydf"

    def settings(self, task: Task) -> dict[str, Any]:
        import ydf

        run = {"num_threads": task.settings.threads, "random_seed": task.settings.seed}
        return {"label": "grade", "ranking_group": "query", "task": ydf.Task.RANKING, **run}

    def fit(self, task: Task) -> Model:
        import ydf

        ydf.verbose(0)
        columns = {"x": task.X, "grade": task.y, "query": queries_of(task).astype(str).astype(object)}
        return Model(ydf.GradientBoostedTreesLearner(**self.settings(task)).train(columns), task)

    def predict(self, model: Model, X: Any) -> Any:
        return model.fitted.predict({"x": X})


RANKERS: dict[str, Ranker] = {
    HOME: Untouched(),
    "lightgbm": UntouchedLightGBM("lambdarank", "lightgbm"),
    "xgboost": UntouchedXGBoost("rank:ndcg", "xgboost"),
    "catboost": UntouchedCatBoost("YetiRank", "catboost"),
    "ydf": UntouchedYDF("LAMBDA_MART_NDCG", "ydf"),
}
CANDIDATES: dict[str, dict[str, Any]] = {
    "lambdamart 31 leaves": {"loss": "lambdamart", "max_leaf_nodes": 31},
    "lambdamart": {"loss": "lambdamart"},
    "listwise": {"loss": "listwise"},
    "yetirank 31 leaves": {"max_leaf_nodes": 31},
    "yetirank": {},
    "yetirank symmetric": {"growth": "symmetric"},
    "yetirank l2 3": {"l2": 3.0},
    "yetirank all columns": {"max_features": 1.0},
}


def splits(graded: Graded, n_train: int, n_splits: int, settings: Settings) -> Iterator[QueryTask]:
    """Yield tasks of ``n_train`` queries drawn at random, tested on others."""
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(graded.n_queries)
        test = order[n_train:][:MOST_TEST_QUERIES]
        yield task_of(graded.of_queries(order[:n_train]), graded.of_queries(test), settings)


def measure(ranker: Ranker, task: QueryTask) -> Row | str:
    """Fit and judge once; a failure is noted in place of numbers."""
    from arboretum.metrics import ndcg_score

    try:
        fit_s, model = timed(lambda: ranker.fit(task))
        return {"fit_s": fit_s, "ndcg": ndcg_score(task.y_test, ranker.predict(model, task.X_test), task.query_test)}
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"


def cases(options: argparse.Namespace) -> Iterator[tuple[str, Graded, int]]:
    """Yield each set with each number of training queries that leaves some to test on."""
    for name in options.sets.split(","):
        if not RANKING_SETS[name].found(options.data):
            print(f"{name} skipped: {options.data} does not hold it")
            continue
        graded = RANKING_SETS[name].read(options.data)
        for size in map(int, options.queries.split(",")):
            if size + FEWEST_TEST_QUERIES <= graded.n_queries:
                yield f"{name} {size}", graded, size


def study(notebook: Notebook, options: argparse.Namespace, contenders: Mapping[str, Ranker]) -> list[str]:
    """Note what is not yet noted; return the names of the cases."""
    names = []
    for name, graded, size in cases(options):
        names.append(name)
        tasks = list(splits(graded, size, options.splits, Settings(threads=options.threads)))
        for contender, ranker in contenders.items():
            for split, task in enumerate(tasks):
                if notebook.has(name, contender, split):
                    continue
                row = measure(ranker, task)
                notebook.add(name, contender, split, row)
                told = row if isinstance(row, str) else f"{row['ndcg']:.4f}, {row['fit_s']:.3g} s"
                print(f"  {name}, {contender}, split {split + 1}: {told}", file=sys.stderr, flush=True)
    return names


def values(notebook: Notebook, name: str, contender: str, key: str, n_splits: int) -> np.ndarray[Any, Any]:
    """Return a number of every split; NaN where a fit failed."""
    rows = notebook.of(name, contender, n_splits)
    return np.array([row[key] if isinstance(row, dict) else np.nan for row in rows])


def score_table(notebook: Notebook, names: list[str], contenders: Mapping[str, Ranker], n_splits: int) -> Table:
    """Lay out mean NDCG by case; the last columns compare the first contender with the best of the others."""
    first, *others = contenders
    columns = [Column(name, name, 4) for name in contenders]
    extra = [Column("behind", "behind the best", 4), Column("error", "standard error", 4)] if others else []
    table = Table("ranker-defaults", f"NDCG@10, mean of {n_splits} splits", [*columns, *extra], rows_are="")
    for name in names:
        scores = {contender: values(notebook, name, contender, "ndcg", n_splits) for contender in contenders}
        row = {contender: float(np.mean(found)) for contender, found in scores.items()}
        if others:
            best = max(others, key=lambda contender: -np.inf if np.isnan(row[contender]) else row[contender])
            behind = scores[best] - scores[first]
            row |= {"behind": float(behind.mean()), "error": float(behind.std(ddof=1) / np.sqrt(n_splits))}
        table.rows[name] = row
    mean = {contender: float(np.mean([table.rows[name][contender] for name in names])) for contender in contenders}
    table.rows["mean"] = mean
    table.rows["fit s"] = {
        contender: float(np.nanmean([values(notebook, name, contender, "fit_s", n_splits) for name in names]))
        for contender in contenders
    }
    return table


def left_out(notebook: Notebook, names: list[str], contenders: Mapping[str, Ranker], n_splits: int) -> str:
    """Say what each set would be given if the candidate were chosen by the mean of all other sets."""
    means = {
        name: {contender: values(notebook, name, contender, "ndcg", n_splits).mean() for contender in contenders}
        for name in names
    }
    sets = dict.fromkeys(name.split()[0] for name in names)
    first, gains, lines = next(iter(contenders)), [], []
    for one in sets:
        gain = {
            contender: np.mean(
                [
                    np.mean([means[name][contender] - means[name][first] for name in names if name.split()[0] == other])
                    for other in sets
                    if other != one
                ]
            )
            for contender in contenders
        }
        chosen = max(gain, key=lambda contender: float(gain[contender]))
        own = np.mean([means[name][chosen] - means[name][first] for name in names if name.split()[0] == one])
        gains.append(own)
        lines.append(f"without {one}: {chosen}, which gains {own:+.4f} there")
    return "\n".join([*lines, f"mean gain {np.mean(gains):+.4f}"])


def chosen(options: argparse.Namespace) -> dict[str, Ranker]:
    """Return the libraries or the settings that the command line names."""
    if options.settings is None:
        known, names = RANKERS, options.libraries
    else:
        known, names = {name: Untouched(**changes) for name, changes in CANDIDATES.items()}, options.settings
    wanted = list(known) if names == "all" else names.split(",")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"no contender is called {unknown[0]!r}; there are: {', '.join(known)}")
    return {name: known[name] for name in wanted if known[name].available()}


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options of the study; ``--json`` is a file of notes that a later run resumes."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder with real data sets")
    add("--sets", default=",".join(RANKING_SETS), help="comma-separated; default: %(default)s")
    add("--queries", default=",".join(map(str, SIZES)), help="numbers of training queries; default: %(default)s")
    add("--splits", type=positive, default=5, help="draws of training queries")
    add("--libraries", default="all", help=f"comma-separated; default: {','.join(RANKERS)}")
    add("--settings", nargs="?", const="all", help="settings of arboretum in place of libraries; see CANDIDATES")


def run(options: argparse.Namespace) -> int:
    """Compare on every set that is found."""
    try:
        contenders = chosen(options)
        notebook = Notebook.open({"threads": options.threads, "studied": "rankers"}, options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    names = study(notebook, options, contenders)
    if names:
        table = score_table(notebook, names, contenders, options.splits)
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    if options.settings and len({name.split()[0] for name in names}) > 1:
        print(left_out(notebook, names, contenders, options.splits))
    return 0
