"""Parameter groups that several families of estimators share: one meaning, one declaration."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from arboretum.parameters.declaring import (
    COUNT,
    FLAG,
    MOST,
    Anything,
    Choice,
    Number,
    parameter,
    parameter_group,
)

Unknown: TypeAlias = Literal["average", "missing", "error"]
Missing: TypeAlias = Literal["warn", "error"]

MAX_BINS = 65_535

OF_CLASSES = '"accuracy", "balanced_accuracy", "log_loss", for two classes also "roc_auc", "average_precision"'
OF_NUMBERS = '"rmse", "mae", "r2"'
OF_TIMES = '"concordance", "concordance_ipcw", "cumulative_auc"'
LOSSES_OF_NUMBERS = '"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"'


@parameter_group("Columns")
class Bins:
    """How finely numeric columns are cut."""

    max_bins: int | None = parameter(
        255,
        Number(2, MAX_BINS, integer=True, optional=True),
        "Maximum number of bins of a numeric column, up to 65,535; None tries every distinct value (exact, slower).",
    )


@parameter_group("Constraints")
class Monotone:
    """Directions of predictions."""

    monotonic_cst: Any = parameter(
        None,
        Anything("mapping of names or sequence"),
        "1 where the prediction must not decrease as the column increases, -1 where it must not increase, 0 where it "
        "is free.",
    )


@parameter_group("Categories and missing values")
class Categories:
    """Which columns hold categories, and how values not seen during ``fit`` are treated."""

    categorical_features: Any = parameter(
        None,
        Anything("names, positions or mask"),
        "Numeric columns that hold categories. Text and categorical types are recognised without being listed.",
    )
    unknown: Unknown = parameter(
        "average",
        Choice(*get_args(Unknown)),
        "A category not seen at fit takes all branches, weighted by their rows; or counts as missing; or is an error.",
    )
    missing: Missing = parameter(
        "warn",
        Choice(*get_args(Missing)),
        "Missing values in a column that had none at fit: a warning, and the branch that most training rows took; or "
        "an error.",
    )


@parameter_group("Classes")
class ClassWeights:
    """Weights of classes."""

    class_weight: Any = parameter(None, Anything('"balanced" or dict'), "Weight of each class.")


@parameter_group("Classes")
class Voting:
    """How trees or members that predict classes are combined."""

    voting: str = parameter("soft", Choice("soft", "hard"), "Average the probabilities, or count the votes.")


@parameter_group("Treatments")
class Treatments:
    """Treatments of the rows."""

    control: Any = parameter(
        None,
        Anything("label"),
        'The treatment label that means no treatment; by default 0, False or "control".',
    )


@parameter_group("Early stopping")
class EarlyStopping:
    """When to stop, judged on held-out rows."""

    early_stopping: bool | str = parameter(
        "auto",
        Choice("auto", True, False),
        'Stop when held-out rows are no longer predicted better, and keep the best round. "auto": from 1,000 rows on.',
    )
    scoring: Any = parameter(
        "loss",
        Anything("str, callable or None"),
        'How early stopping compares rounds: "loss"; the name of a metric: <metrics>; the name of a scikit-learn '
        "scorer; a function of (model, X, y) whose greater values are better; or None for ``score``. See "
        "docs/how-to.md.",
    )
    validation_fraction: float = parameter(
        0.1,
        Number(0.0, 0.9, open_low=True),
        "Share of the rows held out<stratified>.",
    )
    n_iter_no_change: int = parameter(50, COUNT, "Rounds without improvement before stopping.")
    tol: float = parameter(
        0.0, Number(0.0, 1e300), "Minimum change of the loss or score that counts as an improvement."
    )


@parameter_group("Running")
class WarmStart:
    """Fits that continue earlier ones."""

    warm_start: bool = parameter(False, FLAG, "Let ``fit`` add to the fitted model until it has ``n_estimators``.")


@parameter_group("Running")
class Seed:
    """Where random numbers come from."""

    random_state: Any = parameter(
        0,
        Anything("int, Generator, RandomState or None"),
        "Seed of all random draws. The same seed gives the same model, byte for byte, for any number of threads.",
    )


@parameter_group("Running")
class Threads:
    """Threads."""

    n_jobs: int | None = parameter(
        None,
        Anything("int"),
        "Threads; by default as many as the container allows. The model does not depend on it.",
    )


@parameter_group("Running")
class Progress:
    """Progress shown during a fit."""

    verbose: int = parameter(0, Number(0, MOST, integer=True, words_of_bool=True), "1 shows a progress bar.")
