"""``python -m benchmarks uplift-defaults``: models of effects as they come, on trials whose effects are known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import trials
from benchmarks.measuring import Row, timed
from benchmarks.notebook import Notebook
from benchmarks.table import Column, Table
from benchmarks.trials import Design, FloatArray, Trial
from benchmarks.workloads.uplift import SETS as REAL_SETS

Predict: TypeAlias = Callable[[FloatArray], NDArray[Any]]
Learner: TypeAlias = Callable[[Trial, int], Predict]

SIZES = "300,1000,5000,20000"
GROUPS: dict[str, Callable[[Design], str]] = {
    "size": lambda design: f"{design.outcome}, {design.n_rows:,} rows",
    "assignment": lambda design: f"{design.outcome}, {design.assignment}",
    "surface": lambda design: f"{design.surface} surface",
    "all": lambda design: "all",
}


def constant(trial: Trial, threads: int) -> Predict:
    """Return the difference of the means of both arms for every row."""
    effect = trial.y[trial.treated == 1].mean() - trial.y[trial.treated == 0].mean()
    return lambda X: np.full(len(X), effect)


def ours(name: str, **settings: Any) -> Learner:
    """Return an estimator of arboretum."""

    def fit(trial: Trial, threads: int) -> Predict:
        import arboretum as arb

        model = getattr(arb, name)(n_jobs=threads, **settings)
        predict: Predict = model.fit(trial.X, trial.y, treatment=trial.treated).predict
        return predict

    return fit


def ydf_forest(trial: Trial, threads: int) -> Predict:
    """Return YDF's random forest for uplift."""
    import ydf

    ydf.verbose(0)

    def columns(X: FloatArray) -> dict[str, Any]:
        return {f"x{place}": column for place, column in enumerate(X.T)}

    task = ydf.Task.CATEGORICAL_UPLIFT if trial.is_binary else ydf.Task.NUMERICAL_UPLIFT
    y = trial.y.astype(np.int64) if trial.is_binary else trial.y
    learner = ydf.RandomForestLearner(label="y", task=task, uplift_treatment="t", num_threads=threads)
    model = learner.train({**columns(trial.X), "y": y, "t": trial.treated + 1})
    return lambda X: np.asarray(model.predict(columns(X))).ravel()


def causalml_forest(trial: Trial, threads: int) -> Predict:
    """Return causalml's forest for outcomes of this kind."""
    from causalml.inference.tree import CausalRandomForestRegressor, UpliftRandomForestClassifier

    if not trial.is_binary:
        causal = CausalRandomForestRegressor(n_jobs=threads, random_state=0)
        causal.fit(X=np.nan_to_num(trial.X), treatment=trial.treated, y=trial.y)
        return lambda X: np.asarray(causal.predict(np.nan_to_num(X))).ravel()
    model = UpliftRandomForestClassifier(control_name="0", n_jobs=threads, random_state=0)
    model.fit(np.nan_to_num(trial.X), y=trial.y.astype(np.int64), treatment=trial.treated.astype(str))
    return lambda X: np.asarray(model.predict(np.nan_to_num(X)))[:, 0]


class Outcomes:
    """LightGBM as it comes, fitted to outcomes."""

    def __init__(self, X: FloatArray, y: FloatArray, threads: int, *, binary: bool) -> None:
        from lightgbm import LGBMClassifier, LGBMRegressor

        self.binary = binary
        self.model = (LGBMClassifier if binary else LGBMRegressor)(verbose=-1, n_jobs=threads).fit(X, y)

    def __call__(self, X: FloatArray) -> FloatArray:
        found = self.model.predict_proba(X)[:, 1] if self.binary else self.model.predict(X)
        return np.asarray(found, dtype=np.float64)


def by_arm(trial: Trial, threads: int) -> tuple[Outcomes, Outcomes]:
    """Return a model of the control and one of the treated."""
    control, treated = (
        Outcomes(trial.X[trial.treated == arm], trial.y[trial.treated == arm], threads, binary=trial.is_binary)
        for arm in (0, 1)
    )
    return control, treated


def t_learner(trial: Trial, threads: int) -> Predict:
    """Return the difference of two models."""
    control, treated = by_arm(trial, threads)
    return lambda X: treated(X) - control(X)


def s_learner(trial: Trial, threads: int) -> Predict:
    """Return the difference that the treatment makes as a column of one model."""
    with_arm = np.column_stack([trial.X, trial.treated])
    model = Outcomes(with_arm, trial.y, threads, binary=trial.is_binary)

    def effect(X: FloatArray) -> FloatArray:
        treated, control = (model(np.column_stack([X, np.full(len(X), arm)])) for arm in (1.0, 0.0))
        return treated - control

    return effect


def x_learner(trial: Trial, threads: int) -> Predict:
    """Return models of what each row gained by the other arm's model, weighted by the probability of treatment."""
    control, treated = by_arm(trial, threads)
    is_treated = trial.treated == 1
    gained = trial.y[is_treated] - control(trial.X[is_treated])
    missed = treated(trial.X[~is_treated]) - trial.y[~is_treated]
    of_treated = Outcomes(trial.X[is_treated], gained, threads, binary=False)
    of_control = Outcomes(trial.X[~is_treated], missed, threads, binary=False)
    chance = Outcomes(trial.X, trial.treated.astype(np.float64), threads, binary=True)

    def effect(X: FloatArray) -> FloatArray:
        share = chance(X)
        return share * of_control(X) + (1 - share) * of_treated(X)

    return effect


LEARNERS: dict[str, tuple[str, Learner]] = {
    "UpliftForest": ("arboretum", ours("UpliftForest")),
    "UpliftBoostedTrees": ("arboretum", ours("UpliftBoostedTrees")),
    "constant": ("arboretum", constant),
    "YDF forest": ("ydf", ydf_forest),
    "causalml forest": ("causalml", causalml_forest),
    "LightGBM, T": ("lightgbm", t_learner),
    "LightGBM, S": ("lightgbm", s_learner),
    "LightGBM, X": ("lightgbm", x_learner),
}
"""Name → the library that it needs, and how it is fitted."""


def add_options(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """Describe the options."""
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data", type=Path, required=True, help="folder with real data sets")
    add("--tables", default=",".join(trials.JUDGED_ON), help="whose columns trials have; default: %(default)s")
    add("--sizes", default=SIZES, help="rows to fit; default: %(default)s")
    add("--trials", type=positive, default=4, help="of each size, assignment and kind of outcome")
    add("--learners", default="; ".join(LEARNERS), help='separated by "; "; default: %(default)s')
    add("--seeds", type=positive, default=5, help="halves of the real trials")


def attempt(learner: Learner, fitted: Trial, judged: Trial, threads: int) -> Row | str:
    """Measure one learner on one trial: by known effects, else by the Qini score; failures are noted."""
    from arboretum.metrics import qini_score

    try:
        fit_s, predict = timed(lambda: learner(fitted, threads))
        effect = predict(judged.X)
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"
    if judged.effect is None:
        return {"qini": qini_score(judged.y, effect, judged.treated), "fit_s": fit_s}
    error = float(np.sqrt(np.mean((effect - judged.effect) ** 2)) / judged.effect.std())
    return {"error": error, "fit_s": fit_s}


def compared(by_learner: dict[str, list[float]], *, higher: bool) -> dict[str, Row]:
    """Return means, and by how many standard errors of the paired difference each is behind the best."""
    sign = -1.0 if higher else 1.0
    losses = {name: sign * np.array(values) for name, values in by_learner.items()}
    best = min(losses, key=lambda name: float(losses[name].mean()))
    rows: dict[str, Row] = {}
    for name, loss in losses.items():
        behind = loss - losses[best]
        spread = float(behind.std(ddof=1) / np.sqrt(len(behind))) if len(behind) > 1 else 0.0
        told = 0.0 if name == best else float(behind.mean()) / spread if spread > 1e-9 else float("nan")
        rows[name] = {"mean": float(sign * loss.mean()), "behind": told}
    return rows


def table_of(name: str, title: str, groups: dict[str, dict[str, list[float]]], *, higher: bool) -> Table:
    """Lay out means by group, and standard errors behind the best of the group."""
    found = {group: compared(by_learner, higher=higher) for group, by_learner in groups.items()}
    columns = [
        column
        for group in found
        for column in (Column(f"{group} mean", group, 3), Column(f"{group} behind", "behind, s.e.", 2))
    ]
    table = Table(name, title, columns, rows_are="")
    for learner in next(iter(found.values())):
        table.rows[learner] = {f"{g} {key}": value for g, rows in found.items() for key, value in rows[learner].items()}
    return table


def drawn_tables(notebook: Notebook, designs: Sequence[Design], learners: Iterable[str]) -> list[Table]:
    """Return a table for each way to group the drawn trials, of those that all learners have fitted."""
    rows = {design: [notebook.of(str(design), learner, 1)[0] for learner in learners] for design in designs}
    complete = {design: found for design, found in rows.items() if all(isinstance(row, dict) for row in found)}
    answer = []
    for way, group_of in GROUPS.items():
        groups: dict[str, dict[str, list[float]]] = {}
        for design, found in complete.items():
            into = groups.setdefault(group_of(design), {learner: [] for learner in learners})
            for learner, row in zip(learners, found, strict=True):
                assert isinstance(row, dict)
                into[learner].append(row["error"])
        title = f"root mean squared error of effects / their standard deviation, {len(complete)} drawn trials"
        answer.append(table_of(f"uplift-defaults-{way}", title, groups, higher=False))
    return answer


def real_table(notebook: Notebook, names: Sequence[str], learners: Sequence[str], n_seeds: int) -> Table:
    """Return Qini scores on real trials."""
    groups = {}
    for name in names:
        by_learner = {learner: notebook.of(name, learner, n_seeds) for learner in learners}
        groups[name] = {
            learner: [row["qini"] for row in rows if isinstance(row, dict)] or [float("nan")]
            for learner, rows in by_learner.items()
        }
    return table_of("uplift-defaults-qini", f"Qini score, {n_seeds} halves", groups, higher=True)


def measure(
    notebook: Notebook, options: argparse.Namespace, designs: Sequence[Design], learners: Sequence[str]
) -> list[str]:
    """Fit what is not yet noted; return the names of the real trials that are there."""
    for design in designs:
        wanted = [learner for learner in learners if not notebook.has(str(design), learner, 0)]
        if wanted:
            fitted, judged = design.draw(options.data)
            for learner in wanted:
                row = attempt(LEARNERS[learner][1], fitted, judged, options.threads)
                notebook.add(str(design), learner, 0, row)
            print(f"  {design}", file=sys.stderr, flush=True)
    found = [name for name in REAL_SETS if (options.data / name).is_dir()]
    for name in found:
        for seed in range(options.seeds):
            wanted = [learner for learner in learners if not notebook.has(name, learner, seed)]
            halves = [
                Trial(half.X, half.y.astype(np.float64), half.treated)
                for half in (REAL_SETS[name](options.data, seed) if wanted else ())
            ]
            for learner in wanted:
                notebook.add(name, learner, seed, attempt(LEARNERS[learner][1], *halves, options.threads))
    return found


def run(options: argparse.Namespace) -> int:
    """Fit every learner to every trial, and print what came out; the exit code is 1 if one failed."""
    tables, sizes = tuple(options.tables.split(",")), tuple(map(int, options.sizes.split(",")))
    unknown = [name for name in options.learners.split("; ") if name not in LEARNERS]
    if unknown:
        names = "; ".join(LEARNERS)
        print(f"no learner is called {unknown[0]!r}; there are: {names}", file=sys.stderr)
        return 2
    learners = [name for name in options.learners.split("; ") if find_spec(LEARNERS[name][0]) is not None]
    designs = list(trials.designs(tables, sizes, options.trials))
    try:
        notebook = Notebook.open({"threads": options.threads, "trials": "drawn"}, options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    real = measure(notebook, options, designs, learners)
    shown = drawn_tables(notebook, designs, learners)
    if real:
        shown.append(real_table(notebook, real, learners, options.seeds))
    for table in shown:
        print(table.markdown() if options.markdown else table.text(), end="\n\n")
    failed = [
        f"{problem}, {learner}: {row}\n"
        for problem, by_learner in notebook.rows.items()
        for learner, rows in by_learner.items()
        for row in rows.values()
        if isinstance(row, str)
    ]
    print("".join(failed), end="")
    return 1 if failed else 0
