"""Cross-validation of boosted models: how many rounds are best, over folds that are boosted side by side.

::

              fold 0   fold 1   fold 2      each learns from the other folds and is scored on its own rows
    round 1     s01      s11      s21   ──► mean, deviation
    round 2     s02      s12      s22   ──► mean, deviation
      …                                       the mean decides when to stop, and which round is the best
"""

from __future__ import annotations

import functools
import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection, targets
from arboretum.data.splits import deal_out
from arboretum.ensembles.boosting.history import History, Patience
from arboretum.ensembles.boosting.problem import HeldRows
from arboretum.ensembles.boosting.recipe import Beginning
from arboretum.ensembles.boosting.rounds import BoostingRun
from arboretum.ensembles.members.estimators import is_classifier, unfitted
from arboretum.estimators.boosted_trees import BoostedTrees
from arboretum.estimators.classes import arguments
from arboretum.estimators.column_arguments import takes_columns
from arboretum.estimators.protocol import meant
from arboretum.estimators.standing_in import with_model
from arboretum.losses.survival import is_event
from arboretum.losses.survival_targets import survival_bounds
from arboretum.metrics.named import Answered, Metric
from arboretum.metrics.scoring import LOSS, OWN_SCORE, Scorer, find_scoring
from arboretum.other_libraries import CROSS_VALIDATION, advice
from arboretum.parameters.checking import seed_of
from arboretum.running.progress import ProgressBar, RoundReport
from arboretum.running.threads import n_threads
from arboretum.tasks import SURVIVAL
from arboretum.tasks.uplift_target import read_uplift

FloatArray: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.intp]
Folds: TypeAlias = list[tuple[Positions, Positions]]

SHOWN = 10  # lines of a printed table


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What cross-validation has found.

    Parameters
    ----------
    scoring : str
        What rounds were compared by.
    greater_is_better : bool
        Which way it improves.
    scores : ndarray of float64, (n_folds, n_rounds)
        Of the held-out rows of each fold after each round.
    best_round : int
        Number of rounds with the best mean.
    models : list
        The model of each fold, of that many rounds.
    predictions : ndarray
        Of each row by the model that has not seen it: probabilities of a classifier, else what ``predict`` returns. NaN
        for rows that no fold held out; a row that several held out has that of the last.
    folds : ndarray of int, (n_rows,)
        Fold that held out each row, −1 for none.
    best_params : dict
        Parameters with which the model is fitted to all rows for as many rounds: ``model.set_params(**best_params)``.

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = arb.cross_validate(arb.BoostedTreesRegressor(n_estimators=40), X, X[:, 0] * X[:, 1], cv=3)
    >>> found.scores.shape == (3, len(found.mean)), found.mean.argmin().item() + 1 == found.best_round
    (True, True)
    """

    scoring: str
    greater_is_better: bool
    scores: FloatArray
    best_round: int
    models: list[Any] = field(repr=False)
    predictions: Any = field(repr=False)
    folds: Positions = field(repr=False)
    best_params: dict[str, Any]

    @property
    def mean(self) -> FloatArray:
        """Mean over the folds after each round."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation over the folds after each round."""
        return np.asarray(self.scores.std(axis=0))

    @property
    def best_score(self) -> float:
        """Mean over the folds after the best round."""
        return float(self.mean[self.best_round - 1])

    def to_dict(self) -> dict[str, list[float]]:
        """Give the table as columns: round, mean, deviation, and the scores of each fold."""
        columns = {"round": np.arange(1, len(self.mean) + 1), "mean": self.mean, "deviation": self.deviation}
        columns |= {f"fold {fold}": scores for fold, scores in enumerate(self.scores)}
        return {name: column.tolist() for name, column in columns.items()}

    def plot(self, *, ax: Any = None) -> Any:
        """Draw mean and deviation after each round with Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib Axes
            The best round has a vertical line.
        """
        from arboretum.plotting import plot_cross_validation

        return plot_cross_validation(self, ax=ax)

    def __str__(self) -> str:
        n_rounds = len(self.mean)
        shown = np.unique([*np.linspace(1, n_rounds, min(SHOWN, n_rounds)).round().astype(int), self.best_round])
        lines = [["round", self.scoring, "deviation", ""]]
        for number in shown.tolist():
            mean, deviation = self.mean[number - 1], self.deviation[number - 1]
            lines.append([str(number), f"{mean:.6g}", f"{deviation:.3g}", "best" if number == self.best_round else ""])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)

    __repr__ = __str__


class FoldRun(Protocol):
    """A fold that is boosted round by round."""

    scoring: str
    greater_is_better: bool

    def advance(self) -> float | None:
        """Add a round; return the score of the held-out rows, None if there are no more rounds."""

    def mark(self) -> None:
        """Remember that the rounds so far are the best."""

    def best_model(self) -> Any:
        """Return the model of the rounds that were marked last."""


def _knows_its_arguments(function: Callable[..., CrossValidation]) -> Callable[..., CrossValidation]:
    """Let cross_validate reject unknown arguments; for those of other libraries, the error gives the name here."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(model: Any, X: Any, *given: Any, **named: Any) -> CrossValidation:
        for name in named:
            if name not in known:
                hint = (
                    meant(advice(CROSS_VALIDATION, name, known), name, known) or f"; arguments are {', '.join(known)}"
                )
                raise TypeError(f"cross_validate() got an unexpected keyword argument {name!r}{hint}")
        return function(model, X, *given, **named)

    return checked


@_knows_its_arguments
@takes_columns
def cross_validate(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    sample_weight: Any = None,
    group: Any = None,
    treatment: Any = None,
    offset: Any = None,
) -> CrossValidation:
    """Find the number of rounds that is best on average over folds, with early stopping.

    Every fold is a fit of its own: nothing of its held-out rows, neither bins nor statistics of categories, reaches its
    model. All folds grow a round, then the next, and end together when the mean of ``model.scoring`` over them has not
    improved for ``model.n_iter_no_change`` rounds, unless ``model.early_stopping`` is False. ``model.callbacks`` are
    called after each round of all folds, with the mean.

    AdaBoost, additive boosting and uplift boosting have no such rounds: their folds are fitted whole, and compared
    after each round by ``model.scoring`` if that is a metric or a function, else by ``score``.

    Parameters
    ----------
    model : estimator
        A boosted model, fitted or not; it stays as it is.
    X, y
        Rows and target, as for its ``fit``.
    cv : int, splitter or iterable of (training rows, held-out rows), default=5
        Folds; none learns from rows that it holds out. A number deals rows out at random: the same share of each class,
        of rows with events, of each treatment; whole groups if ``group`` is given. Splitters are those of
        scikit-learn, such as ``TimeSeriesSplit(5)``.
    sample_weight, offset : array-like, optional
        As for ``fit``; held-out rows are weighted too.
    group : array-like, optional
        Group of each row, which folds keep together: queries of a ranker.
    treatment : array-like, optional
        Of an uplift model.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import numpy as np, arboretum as arb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] + rng.normal(size=400) / 4 > 0, "yes", "no")
    >>> model = arb.BoostedTreesClassifier(n_estimators=60, learning_rate=0.1, scoring="roc_auc")
    >>> found = arb.cross_validate(model, X, y)
    >>> found.best_score > 0.8, found.predictions.shape
    (True, (400, 2))
    >>> final = model.set_params(**found.best_params).fit(X, y)
    >>> final.n_iter_ == found.best_round
    True
    """
    if isinstance(model, type):
        raise TypeError(f"model={model.__name__} is a class: give an object, such as {model.__name__}()")
    if not hasattr(model, "first_rounds"):
        raise TypeError(
            f"cross_validate compares rounds, which {type(model).__name__} does not have: give a boosted model, or use "
            "sklearn.model_selection.cross_validate"
        )
    for name, given, who in (("offset", offset, "boosted trees"), ("treatment", treatment, "uplift models")):
        if given is not None and not _takes(model, name):
            raise ValueError(f"{name}: {type(model).__name__} takes none; {who} do")
    rows = _Rows(
        selection.as_container(X),
        {"y": y, "sample_weight": sample_weight, "group": group, "treatment": treatment, "offset": offset},
    )
    _check_rows(model, rows)
    folds = split(model, rows, cv)
    kind = _BoostedFold if isinstance(model, BoostedTrees) else _StagedFold
    runs: list[FoldRun] = [kind(model, rows.take(learnt), rows.take(held)) for learnt, held in folds]
    scores, best_round = _side_by_side(runs, model)
    models = [run.best_model() for run in runs]
    return CrossValidation(
        runs[0].scoring,
        runs[0].greater_is_better,
        scores,
        best_round,
        models,
        *_out_of_fold(models, rows, folds),
        _best_params(model, models[0], best_round),
    )


def _takes(model: Any, name: str) -> bool:
    """Whether ``fit`` has an argument."""
    return name in arguments(type(model).fit)


def _side_by_side(runs: Sequence[FoldRun], model: Any) -> tuple[FloatArray, int]:
    """Advance all folds until a rule says stop; return their scores, (folds, rounds), and the best round."""
    patience = None
    if getattr(model, "early_stopping", True) is not False and hasattr(model, "n_iter_no_change"):
        patience = Patience(int(model.n_iter_no_change), float(model.tol))
    history = History(scoring=runs[0].scoring, greater_is_better=runs[0].greater_is_better)
    scores: list[list[float]] = []
    n_rounds, started = int(model.n_estimators), time.monotonic()
    with ProgressBar(n_rounds) if getattr(model, "verbose", 0) else nullcontext() as bar:
        callbacks = [*(getattr(model, "callbacks", None) or []), *([bar] if bar is not None else [])]
        while patience is None or not patience.is_over(history.curve):
            found = [score for run in runs if (score := run.advance()) is not None]
            if len(found) < len(runs):
                break
            scores.append(found)
            history.validation_score.append(float(np.mean(found)))
            if history.best_round == len(scores):
                for run in runs:
                    run.mark()
            mean, seconds = history.validation_score[-1], time.monotonic() - started
            of_loss = (mean, None) if history.scoring == LOSS else (None, mean)
            report = RoundReport(len(scores), n_rounds, seconds, None, *of_loss)
            # A list, not a generator: every callback hears of every round.
            if any([callback(report) is True for callback in callbacks]):
                break
    assert history.best_round is not None
    return np.array(scores).T, history.best_round


# ---- folds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows, and what belongs to them, as the user gave them."""

    X: Any
    columns: dict[str, Any]

    @property
    def n_rows(self) -> int:
        return selection.n_rows_of(self.X)

    def column(self, name: str) -> NDArray[Any] | None:
        given = self.columns[name]
        return None if given is None else targets.to_numpy(given, name)

    def take(self, rows: Positions) -> _Rows:
        columns = {
            name: given if given is None or np.isscalar(given) else selection.take_values(given, rows)
            for name, given in self.columns.items()
        }
        return _Rows(selection.take_rows(self.X, rows), columns)

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of some columns that were given."""
        return {name: self.columns[name] for name in names if self.columns[name] is not None}


def _check_rows(model: Any, rows: _Rows) -> None:
    """Check what belongs to the rows before they are dealt out, so that errors tell the numbers of the user's rows."""
    fresh, given, n_rows = unfitted(model), rows.columns, rows.n_rows
    fresh.check_parameters()
    weight = targets.training_weights(given["sample_weight"], n_rows)
    if given["group"] is not None:
        targets.query_numbers(given["group"], n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds warn
        if isinstance(fresh, BoostedTrees):
            goal = fresh.goal()
            column = goal.as_column(goal.joined(given["y"], given["group"]), n_rows)
            target = goal.read(column, weight)
            target.loss.check_target(target.y)
            targets.row_offsets(given["offset"], n_rows, target.loss.n_outputs)
        elif _takes(fresh, "treatment"):
            read_uplift(given["y"], given["treatment"], n_rows, fresh.get_params()["control"], weight)
        else:
            check = targets.check_labels if is_classifier(fresh) else targets.regression_target
            check(targets.as_column(given["y"], n_rows))


def split(model: Any, rows: _Rows, cv: Any) -> Folds:
    """Return training and held-out rows of each fold."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        folds = _dealt(model, rows, int(cv))
    else:
        folds = _given(rows, cv)
    for number, (learnt, held) in enumerate(folds):
        _refuse_seen(number, learnt, held)
        if is_classifier(model) and isinstance(model, BoostedTrees):
            _refuse_unknown_labels(number, targets.to_numpy(rows.columns["y"], "y"), learnt, held)
    return folds


def _given(rows: _Rows, cv: Any) -> Folds:
    n_rows, y, group = rows.n_rows, rows.columns["y"], rows.column("group")
    if hasattr(cv, "split") and not isinstance(cv, str):
        found: Iterable[Any] = cv.split(np.zeros((n_rows, 1)), y, **({} if group is None else {"groups": group}))
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        found = cv
    else:
        raise ValueError(f"cv={cv!r}: use a number of folds, a splitter of scikit-learn, or pairs of arrays of rows")
    folds = [(_positions(learnt, n_rows), _positions(held, n_rows)) for learnt, held in found]
    if not folds or not all(len(learnt) and len(held) for learnt, held in folds):
        raise ValueError("cv gives folds without training rows or without held-out rows: each needs both")
    return folds


def _refuse_seen(number: int, learnt: Positions, held: Positions) -> None:
    seen = np.intersect1d(learnt, held)
    if len(seen):
        raise ValueError(
            f"cv: fold {number} learns from {len(seen)} of the rows that it holds out, such as row {seen[0]}: give "
            "each row to one side"
        )


def _refuse_unknown_labels(number: int, y: NDArray[Any], learnt: Positions, held: Positions) -> None:
    unknown = ~np.isin(y[held], y[learnt])
    if y.ndim == 1 and unknown.any():
        row = held[np.argmax(unknown)]
        raise ValueError(
            f"cv: fold {number} holds out the label {y.tolist()[row]!r} in row {row}, which its training rows do not "
            "have: leave such rows out, or choose folds that all have it, as StratifiedKFold does"
        )


def _positions(part: Any, n_rows: int) -> Positions:
    """Return positions of rows, given as such or as a mask."""
    given = np.asarray(part)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.size == 0:
        return np.zeros(0, dtype=np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n_rows:
        raise ValueError(f"cv gives rows {given!r:.80}: use positions from 0 to {n_rows - 1}, or a mask of all rows")
    return given.astype(np.intp)


def _dealt(model: Any, rows: _Rows, n_folds: int) -> Folds:
    group = rows.column("group")
    unit = np.arange(rows.n_rows) if group is None else np.unique(group, return_inverse=True)[1]
    n_units = int(unit.max(initial=-1)) + 1
    if not 2 <= n_folds <= n_units:
        what = "rows" if group is None else "groups"
        raise ValueError(f"cv={n_folds}: use at least 2 folds, and at most as many as there are {what}, {n_units}")
    strata = np.zeros(n_units) if group is not None else _strata(model, rows)
    fold = deal_out(strata, n_folds, seed_of(model.random_state))[unit]
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(n_folds)]


def _strata(model: Any, rows: _Rows) -> NDArray[Any]:
    """Return what each fold should have the same share of."""
    treatment, y = rows.column("treatment"), rows.columns["y"]
    labels: Any = np.zeros(rows.n_rows)
    if treatment is not None:
        labels = treatment
    elif getattr(type(model), "task_", None) is SURVIVAL:
        labels = is_event(survival_bounds(y))
    elif is_classifier(model) and y is not None and targets.to_numpy(y, "y").ndim == 1:
        labels = targets.to_numpy(y, "y")
    return np.asarray(np.unique(labels, return_inverse=True)[1])


# ---- what is boosted -------------------------------------------------------------------------------------------------


class _BoostedFold:
    """Boosted trees of a fold, grown as the mean of all folds asks for them."""

    def __init__(self, model: BoostedTrees, learnt: _Rows, held: _Rows) -> None:
        self.model: BoostedTrees = unfitted(model)
        self.model.check_parameters()
        threads = n_threads(self.model.n_jobs)

        def target(rows: _Rows) -> Any:
            return self.model.goal().joined(rows.columns["y"], rows.columns["group"])

        weight, offset = learnt.columns["sample_weight"], learnt.columns["offset"]
        self.recipe = self.model.recipe()
        problem, read = self.recipe.read(learnt.X, target(learnt), weight, offset)
        validation = HeldRows(held.X, target(held), held.columns["sample_weight"], held.columns["offset"])
        start = Beginning(held=validation)
        training = self.recipe.prepare(int(self.model.n_estimators), problem, read, threads, start)
        if training.judge is None and not read.loss.has_values:
            raise ValueError(f"{read.loss!r} gives gradients but no loss values to compare: give scoring=")
        # Which round is the best is for all folds to say.
        arguments = {**training.arguments(), "params": replace(training.run.params, patience=None)}
        self.run, self.training, self.problem = BoostingRun(**arguments), training, problem
        self.scoring, self.greater_is_better = self.run.history.scoring, self.run.history.greater_is_better

    def advance(self) -> float | None:
        """Grow a round."""
        report = self.run.advance()
        if report is None:
            return None
        return report.validation_loss if report.validation_score is None else report.validation_score

    def mark(self) -> None:
        """Remember the rounds: those of DART change later."""
        self.best = self.run.rounds

    def best_model(self) -> BoostedTrees:
        """Freeze the rounds, or the mean of their snapshots."""
        forest, history = self.run.forest_of(self.best), self.run.history.first(len(self.best))
        model = self.recipe.freeze(forest, history, self.training.run, self.recipe.average)
        return with_model(self.model, self.recipe.goal.finished(model, self.problem, self.training.run.params.threads))


class _StagedFold:
    """A boosted model of a fold that is fitted whole and then scored after each of its rounds."""

    def __init__(self, model: Any, learnt: _Rows, held: _Rows) -> None:
        self.model, self.held, self.n_rounds, self.n_best = unfitted(model), held, 0, 0
        if "early_stopping" in self.model.get_params(deep=False):
            self.model.set_params(early_stopping=False)
        self.model.fit(learnt.X, learnt.columns["y"], **learnt.given("treatment", "sample_weight"))
        self.n_fitted = int(np.max(getattr(self.model, "n_iter_", len(getattr(self.model, "estimator_weights_", ())))))
        self.compared = find_scoring(getattr(model, "scoring", None), self.model.task_.name) or OWN_SCORE
        self.scoring = self.compared.name
        self.greater_is_better = isinstance(self.compared, Scorer) or self.compared.greater_is_better

    def advance(self) -> float | None:
        """Score one round more."""
        if self.n_rounds == self.n_fitted:
            return None
        self.n_rounds += 1
        return _score(self.compared, self.model.first_rounds(self.n_rounds), self.held)

    def mark(self) -> None:
        """Remember the number of rounds."""
        self.n_best = self.n_rounds

    def best_model(self) -> Any:
        """Leave the other rounds out."""
        return self.model.first_rounds(self.n_best)


def _score(compared: Metric | Scorer, model: Any, held: _Rows) -> float:
    """Score a fitted model by a metric, a function or its own ``score``."""
    given = held.given("y", "treatment", "sample_weight")
    if _takes(model, "treatment") and compared is not OWN_SCORE:
        return _score_of_uplift(compared, model, held.X, given)
    if isinstance(compared, Scorer):
        return float(compared.score(model, held.X, **given))
    y = targets.to_numpy(given["y"], "y")
    weight = targets.row_weights(given.get("sample_weight"), held.n_rows)
    if is_classifier(model):
        answer = model.predict_proba(held.X)
        code_of = {label: code for code, label in enumerate(model.classes_.tolist())}
        y = np.array([code_of.get(label, -1) for label in y.tolist()])
    else:
        answer, y = model.predict(held.X), targets.regression_target(y)
    return compared.value(Answered(y, answer, weight))


def _score_of_uplift(compared: Metric | Scorer, model: Any, X: Any, given: dict[str, Any]) -> float:
    """Score effects: the mean over treatments, each against the control."""
    pairs = [model.against_control(X, arm=arm, **given) for arm in model.arms_[1:].tolist()]
    if not isinstance(compared, Scorer):
        return float(np.mean([compared.value(Answered(y, up, weight, treated=had)) for y, up, had, weight in pairs]))
    if len(pairs) > 1:
        raise ValueError(
            f"scoring={compared.name!r} compares one treatment with the control, but there are {len(pairs)}: use "
            "'qini' or 'auuc'"
        )
    y, _, treated, weight = pairs[0]
    return float(compared.score(model, X, y, treatment=treated.astype(np.float64), sample_weight=weight))


# ---- what is found ---------------------------------------------------------------------------------------------------


def _out_of_fold(models: Sequence[Any], rows: _Rows, folds: Folds) -> tuple[Any, Positions]:
    """Predictions of each row by the model that has not seen it, and the fold that held it out."""
    fold = np.full(rows.n_rows, -1, dtype=np.intp)
    answers = []
    for number, (model, (_, held)) in enumerate(zip(models, folds, strict=True)):
        fold[held] = number
        part = rows.take(held)
        method = "predict_proba" if is_classifier(model) else "predict"
        answers.append(getattr(model, method)(part.X, **part.given("offset")))
    if isinstance(answers[0], list):  # several outputs, probabilities of two classes each
        of_outputs = list(zip(*answers, strict=True))
        return [_assembled(of_each, folds, rows.n_rows) for of_each in of_outputs], fold
    if is_classifier(models[0]):
        answers = _of_all_classes(models, answers)
    return _assembled(answers, folds, rows.n_rows), fold


def _of_all_classes(models: Sequence[Any], answers: Sequence[FloatArray]) -> list[FloatArray]:
    """Give probabilities a column for every class; one that a fold has not seen is impossible to its model."""
    classes = np.unique(np.concatenate([model.classes_ for model in models]))
    if all(len(model.classes_) == len(classes) for model in models):
        return list(answers)
    wide = [np.zeros((len(answer), len(classes))) for answer in answers]
    for model, answer, whole in zip(models, answers, wide, strict=True):
        whole[:, np.searchsorted(classes, model.classes_)] = answer
    return wide


def _assembled(answers: Sequence[FloatArray], folds: Folds, n_rows: int) -> FloatArray:
    whole = np.full((n_rows, *answers[0].shape[1:]), np.nan)
    for answer, (_, held) in zip(answers, folds, strict=True):
        whole[held] = answer
    return whole


def _best_params(model: Any, fitted: Any, best_round: int) -> dict[str, Any]:
    known = model.get_params(deep=False)
    wanted = {"n_estimators": best_round, "early_stopping": False}
    if isinstance(known.get("learning_rate"), str):  # "auto" would follow from the number of rounds
        wanted["learning_rate"] = fitted.learning_rate_
    return {name: value for name, value in wanted.items() if name in known}
