"""What arboretum must reach, and whether this run reached it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.rivals import BOOSTING, FORESTS
from benchmarks.table import HOME, NOT_SUPPORTED, Table

Measure = Callable[[Table], "float | None"]


@dataclass(frozen=True)
class Goal:
    """A number taken from one table, bounded from below (``at_least``) or above."""

    table: str
    text: str
    measure: Measure
    bound: float
    at_least: bool = True


@dataclass(frozen=True)
class Verdict:
    """A goal and what was measured; ``reached`` is None when the table lacks a number for it."""

    goal: Goal
    value: float | None

    @property
    def reached(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.goal.bound if self.goal.at_least else self.value <= self.goal.bound

    def text(self) -> str:
        word = {True: "reached", False: "NOT reached", None: "not measured"}[self.reached]
        measured = "" if self.value is None else f": {self.value:.4g}"
        return f"must, {self.goal.table}, {self.goal.text}{measured} — {word}"


def times_slower(key: str, rivals: Sequence[str]) -> Measure:
    """Return how many times arboretum's number the smallest number of the rivals is."""

    def measure(table: Table) -> float | None:
        numbers = table.measured(key)
        others = [number for library, number in numbers.items() if library in rivals and library != HOME]
        return min(others) / numbers[HOME] if others and HOME in numbers else None

    return measure


def behind_best(key: str, rivals: Sequence[str]) -> Measure:
    """Return how far arboretum's score is below the best of the rivals; below zero if it is the best."""

    def measure(table: Table) -> float | None:
        numbers = table.measured(key)
        others = [number for library, number in numbers.items() if library in rivals and library != HOME]
        return max(others) - numbers[HOME] if others and HOME in numbers else None

    return measure


def worse_than(rival: str, keys: Sequence[str]) -> Measure:
    """Return the largest relative excess of arboretum's errors over the rival's."""

    def measure(table: Table) -> float | None:
        pairs = [(table.value(HOME, key), table.value(rival, key)) for key in keys]
        excess = [ours / theirs - 1 for ours, theirs in pairs if ours is not None and theirs]
        return max(excess) if len(excess) == len(keys) else None

    return measure


def own(key: str, row: str = HOME) -> Measure:
    """Return arboretum's own number, or that of another row."""
    return lambda table: table.value(row, key)


def over_rows(key: str, summary: Callable[[Sequence[float]], float]) -> Measure:
    """Return one number for all rows of a column; none if a row was not measured."""

    def measure(table: Table) -> float | None:
        numbers = table.measured(key)
        supported = [row for row in table.rows.values() if row != NOT_SUPPORTED]
        return float(summary(list(numbers.values()))) if numbers and len(numbers) == len(supported) else None

    return measure


def times_faster_in_all(table: Table) -> float | None:
    """Return its time over ours, both added up over the rows of a duel."""
    ours, its = over_rows("our_s", sum)(table), over_rows("its_s", sum)(table)
    return its / ours if ours and its else None


def inverse(number: float | None) -> float | None:
    """Return 1 / number, where there is one."""
    return 1 / number if number else None


def same_shape(growth: str) -> tuple[str, ...]:
    """Return the libraries that grow such trees."""
    return tuple(name for name, rival in BOOSTING.items() if growth in rival.growths)


EVERY = tuple(BOOSTING)
FASTER = [
    Goal(name, "fit at least as fast as every rival (×)", times_slower(key, EVERY), 1.0)
    for name, key in (("wide", "fit_s"), ("multiclass", "fit_s"), ("small", "fit_s"), ("fresh", "wall_s"))
]
SCIKIT = ("sklearn",)
OTHER_FORESTS = tuple(name for name in FORESTS if name not in SCIKIT)
MIXED = ("ydf", "sklearn")
FOREST_GOALS = (
    Goal("forest", "fit ≥ 15 × scikit-learn", times_slower("fit_s", SCIKIT), 15.0),
    Goal("forest", "fit ≥ 8 × the fastest of the others", times_slower("fit_s", OTHER_FORESTS), 8.0),
    Goal("forest", "AUC ≥ scikit-learn's − 0.001 (behind by)", behind_best("auc", SCIKIT), 0.001, at_least=False),
    Goal("forest", "predict ≥ 3 × scikit-learn", times_slower("predict_ms", SCIKIT), 3.0),
    Goal("forest", "file at most a third of scikit-learn's pickle (×)", times_slower("file_mb", SCIKIT), 3.0),
    Goal("extra-trees", "fit ≥ 5 × scikit-learn", times_slower("fit_s", SCIKIT), 5.0),
    Goal("exact-tree", "fit ≥ 8 × scikit-learn", times_slower("fit_s", SCIKIT), 8.0),
    Goal("forest-regression", "fit ≥ 15 × scikit-learn", times_slower("fit_s", SCIKIT), 15.0),
    Goal(
        "forest-regression", "R² ≥ scikit-learn's − 0.002 (behind by)", behind_best("r2", SCIKIT), 0.002, at_least=False
    ),
    *(
        Goal(
            f"forest-mixed-{name}",
            f"{word} ≥ the best − 0.002 (behind by)",
            behind_best(key, MIXED),
            0.002,
            at_least=False,
        )
        for name, word, key in (
            ("adult", "accuracy", "accuracy"),
            ("black_friday", "R²", "r2"),
            ("amazon_employee_access", "accuracy", "accuracy"),
            ("amazon_employee_access", "AUC", "auc"),
        )
    ),
    *(
        Goal(f"forest-mixed-{name}", "fit faster than every rival (×)", times_slower("fit_s", MIXED), 1.0)
        for name in ("adult", "black_friday", "amazon_employee_access")
    ),
)
MEMBER_GOALS = (
    Goal("adaboost", "fit ≥ 150 × scikit-learn", times_slower("fit_s", SCIKIT), 150.0),
    Goal(
        "adaboost",
        "staged training errors off by at most 0.5 % with every value tried (fraction)",
        own("staged_exact"),
        0.005,
        at_least=False,
    ),
    Goal("gbm", "RMSE of each fold ≤ 1.01 × its (largest)", over_rows("loss_ratio", max), 1.01, at_least=False),
    Goal("gbm", "fit ≥ 30 × scikit-learn, all folds", times_faster_in_all, 30.0),
    *(
        goal
        for system in ("xgboost", "lightgbm", "catboost")
        for goal in (
            Goal(
                f"presets-{system}",
                "loss ≤ 1.005 × its (mean)",
                over_rows("loss_ratio", mean),
                1.005,
                at_least=False,
            ),
            Goal(f"presets-{system}", "fit faster on each set (least ×)", over_rows("speed", min), 1.0),
        )
    ),
    Goal("cardinality", "loss ≤ 1.005 × its (largest)", over_rows("loss_ratio", max), 1.005, at_least=False),
    Goal("cardinality", "fit ≥ 3 × CatBoost on each set (least ×)", over_rows("speed", min), 3.0),
    Goal("monotone", "no step in a forbidden direction", over_rows("violations", sum), 0.0, at_least=False),
    Goal("determinism", "one fingerprint for all numbers of threads (most)", over_rows("most", max), 1, at_least=False),
)
TASK_GOALS = (
    Goal("many-outputs-shared", "fit ≥ 3 × ten models of LightGBM", times_slower("fit_s", ["lightgbm"]), 3.0),
    Goal("many-outputs-shared", "R² ≥ theirs − 0.005 (behind by)", behind_best("r2", EVERY), 0.005, at_least=False),
    Goal("many-outputs-apart", "fit faster than ten models of LightGBM (×)", times_slower("fit_s", ["lightgbm"]), 1.0),
    Goal("many-outputs-apart", "R² ≥ theirs − 0.005 (behind by)", behind_best("r2", EVERY), 0.005, at_least=False),
)
EXPLAINING_GOALS = (
    Goal("partial-dependence", "≥ 5 × scikit-learn's brute force (least ×)", over_rows("ratio", min), 5.0),
    Goal("shap", "≥ 5 × LightGBM", times_slower("explain_s", ["lightgbm"]), 5.0),
    Goal("shap", "≥ 5 × shap", times_slower("explain_s", ["shap"]), 5.0),
    Goal("shap-forest", "≥ 5 × shap", times_slower("explain_s", ["shap"]), 5.0),
    Goal("shap-interactions", "≥ 5 × XGBoost", times_slower("explain_s", ["xgboost"]), 5.0),
)
COMBINING_GOALS = (
    Goal("equal", "scikit-learn's predictions (largest difference)", over_rows("largest", max), 1e-9, at_least=False),
    Goal("speed", "≥ 5 × scikit-learn's stack of its own kinds (least ×)", over_rows("own", min), 5.0),
    Goal("speed", "≥ 1.2 × scikit-learn's stack of our members (least ×)", over_rows("around", min), 1.2),
    Goal("leakage", "at most 1 % above a constant (largest mean)", over_rows("mean", max), 1.0, at_least=False),
    Goal("tables-summary", "the stack better on at least 70 % of the sets", own("share", "stacking"), 70.0),
    Goal(
        "averages", "the mean of the stages (largest difference)", over_rows("difference", max), 1e-12, at_least=False
    ),
    Goal("averages", "predictions at 1.00 × the time (most)", over_rows("ratio", max), 1.05, at_least=False),
    Goal("threads", "one model for all numbers of threads (most)", over_rows("most", max), 1, at_least=False),
)
CLUSTER_GOALS = (
    Goal("cluster-equal", "the model of one process in every run (others)", over_rows("other", sum), 0, at_least=False),
    Goal("cluster-limited", "the same in little memory (others)", over_rows("other", sum), 0, at_least=False),
    Goal("cluster-killed", "the model of an undisturbed run (others)", own("other", "all"), 0, at_least=False),
    Goal("cluster-killed", "a loss costs reading and a round (median, ×)", own("ratio", "all"), 1.0, at_least=False),
    Goal("cluster-scheduler", "an error within 60 s", over_rows("error_s", max), 60.0, at_least=False),
    Goal("cluster-scheduler", "that names its cause (1 = yes)", over_rows("clear", min), 1.0),
    Goal("cluster-scheduler", "a checkpoint that can be read (1 = yes)", over_rows("good", min), 1.0),
    Goal("cluster-scheduler", "the right model from it (1 = yes)", over_rows("same", min), 1.0),
    Goal(
        "cluster-speed",
        "2 workers × 1 thread ≤ 1.6 × one process × 2 threads",
        lambda table: inverse(own("ratio", "one process")(table)),
        1.6,
        at_least=False,
    ),
    Goal("cluster-speed", "≥ 1.5 × LightGBM", times_slower("fit_s", ["lightgbm"]), 1.5),
    Goal("cluster-speed", "≥ 1.5 × XGBoost", times_slower("fit_s", ["xgboost"]), 1.5),
    Goal("cluster-speed", "AUC within 0.001 of the best", behind_best("auc", EVERY), 0.001, at_least=False),
    Goal("cluster-exchange", "≤ 1.5 × depth + 3 exchanges a tree (×)", over_rows("of_depth", max), 1.0, at_least=False),
    Goal("cluster-exchange", "≤ 1.6 × histograms a link (×)", over_rows("of_histograms", max), 1.0, at_least=False),
    Goal("cluster-memory", "peak ≤ what rows and histograms need (×)", over_rows("ratio", max), 1.0, at_least=False),
)
GOALS: tuple[Goal, ...] = (
    *FOREST_GOALS,
    *MEMBER_GOALS,
    *TASK_GOALS,
    *EXPLAINING_GOALS,
    *COMBINING_GOALS,
    *CLUSTER_GOALS,
    Goal("dense-leaves31", "fit ≥ 2.5 × LightGBM", times_slower("fit_s", ["lightgbm"]), 2.5),
    Goal("dense-leaves31", "fit ≥ 3 × XGBoost", times_slower("fit_s", ["xgboost"]), 3.0),
    Goal("dense-leaves31", "fit ≥ 3 × HistGradientBoosting", times_slower("fit_s", ["sklearn"]), 3.0),
    Goal("dense-leaves31", "AUC within 0.001 of the best", behind_best("auc", EVERY), 0.001, at_least=False),
    Goal("dense-leaves255", "fit ≥ 2 × LightGBM", times_slower("fit_s", ["lightgbm"]), 2.0),
    Goal("dense-symmetric6", "fit ≥ 2 × CatBoost", times_slower("fit_s", ["catboost"]), 2.0),
    *FASTER,
    *(
        Goal(
            f"predict-{shape}",
            "≥ 1.5 × the fastest rival of the same shape",
            times_slower("predict_ms", same_shape(growth)),
            1.5,
        )
        for shape, growth in (("leaves31", "leaf"), ("symmetric6", "symmetric"))
    ),
    Goal("predict-leaves31", "one row ≤ 10 µs", own("row_us"), 10.0, at_least=False),
    Goal("predict-leaves31", "one row ≥ 3 × LightGBM", times_slower("row_us", ["lightgbm"]), 3.0),
    Goal("memory", "no more than LightGBM (×)", times_slower("memory_mb", ["lightgbm"]), 1.0),
    *(
        Goal(
            name,
            "RMSE and MAE at most 0.5 % above LightGBM's (fraction)",
            worse_than("lightgbm", ["rmse", "mae"]),
            0.005,
            at_least=False,
        )
        for name in ("heavy-tail", "heavy-weight")
    ),
    Goal("data", "peak of the process ≤ 700 MB", own("peak_mb"), 700.0, at_least=False),
    Goal("data", "peak of the command ≤ 700 MB", own("peak_mb", "arboretum train"), 700.0, at_least=False),
    Goal("data", "no slower than LightGBM (×)", times_slower("fit_s", ["lightgbm"]), 1.0),
    Goal("data", "≥ 2 × XGBoost in external memory", times_slower("fit_s", ["xgboost"]), 2.0),
    Goal("killed", "the model of an undisturbed run", own("same"), 1.0),
    Goal("killed", "no checkpoint file that cannot be read", own("unreadable"), 0.0, at_least=False),
    Goal("limits", "peak at most 1.15 × the limit", over_rows("worst", max), 1.15, at_least=False),
    Goal("contention", "at most 2 × the undisturbed time", own("slowdown"), 2.0, at_least=False),
    Goal("custom-loss", "at most 1.5 × the time of the built-in loss", own("cost"), 1.5, at_least=False),
    Goal("custom-loss", "the trees of the built-in loss to the bit (1 = yes)", own("same"), 1.0),
    Goal("sampling", "fit with GOSS ≥ 1.8 × the fit of all rows", own("speedup"), 1.8),
    Goal("sampling", "AUC with GOSS ≥ that of all rows − 0.002 (lost)", own("auc_lost"), 0.002, at_least=False),
)


def judge(table: Table) -> list[Verdict]:
    """Return the verdicts on one table."""
    return [Verdict(goal, goal.measure(table)) for goal in GOALS if goal.table == table.name]
