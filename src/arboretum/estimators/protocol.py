"""scikit-learn's estimator protocol, without its base classes.

Importing ``sklearn.base`` takes longer than a small fit, for it brings SciPy and pandas. scikit-learn asks an estimator
what it can do by its methods, so the methods are here, and import what they need of scikit-learn when they are called.
What is lost: ``isinstance(model, sklearn.base.BaseEstimator)`` is False; that class has no hook for relatives.

::

    Estimator           parameters, files, explanations, representation, tags, metadata routing
    ├─ Classifier       accuracy, logarithms of probabilities, the tags of a classifier
    ├─ Regressor        R², the tags of a regressor
    └─ OutlierDetector  fit and predict at once, the tags of an outlier detector
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import reprlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import check_flag
from arboretum.cluster.predicting import answers
from arboretum.cluster.scoring import KnownAnswers
from arboretum.data.dask_rows import is_distributed
from arboretum.estimators import files
from arboretum.estimators.classes import arguments, defaults, is_own, members, own_class, parameters, place_of, register
from arboretum.estimators.column_arguments import COLUMN_METHODS, takes_columns
from arboretum.metrics.own_scores import accuracy, r_squared
from arboretum.model.arrays import Arrays
from arboretum.model.foreign import consent
from arboretum.model.members import Members
from arboretum.model.model_file import from_bytes, to_bytes
from arboretum.other_libraries import ARGUMENTS, ATTRIBUTES, PARAMETERS, advice
from arboretum.parameters.declaring import parameters_of
from arboretum.parameters.docstrings import with_arguments
from arboretum.tasks import ANOMALY, REGRESSION, Task, of_classes

if TYPE_CHECKING:
    from arboretum.explaining import Dependence, Explanation, Importances

Self = TypeVar("Self", bound="Estimator")

# Methods whose extra arguments (metadata) scikit-learn's meta-estimators can pass on.
ROUTED_METHODS = (
    "fit",
    "partial_fit",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
    "transform",
    "inverse_transform",
)
# Methods with one answer per row of X: those of a Dask collection are as lazy as it is.
ANSWERING_METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "path_lengths",
)
LINE_WIDTH = 80  # of a representation

_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = _SHORT.maxdict = 30
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 700


def _metadata(cls: type[Estimator], method: str) -> list[str]:
    """Names of the arguments of a method other than X and y."""
    function = getattr(cls, method, None)
    ours = ("X", "y", "target")
    return [name for name in arguments(function) if name not in ours] if inspect.isfunction(function) else []


def _refuse_unknown(cls: type, names: Iterable[str], known: Collection[str], error: type[Exception]) -> None:
    for name in names:
        if name not in known:
            own, place = [name for name in known if "__" not in name], place_of(cls)
            told = advice(PARAMETERS, name, own, place=place)
            if f"fit({name}=)" in place.has:
                told = f"give it to fit, as fit(..., {name}=...)"
            told = told or advice(ARGUMENTS, name, [], place=place)
            hint = meant(told, name, own) or f"; parameters are {', '.join(own)}"
            raise error(f"{cls.__name__} has no parameter {name!r}{hint}")


def _refuse_positional(cls: type, given: tuple[Any, ...]) -> None:
    """Reject positional arguments, if the constructor of a class takes none."""
    taken = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    if all(parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) for parameter in taken):
        first = next(iter(parameters(cls)), None)
        cure = f"write {cls.__name__}({first}={_SHORT.repr(given[0])})" if first else "it has none"
        raise TypeError(f"{cls.__name__} takes no positional arguments, parameters are keyword-only: {cure}")


def meant(told: str, name: str, known: Collection[str]) -> str:
    """Say what an unknown name may have meant: what is told of it, or the nearest one."""
    if told:
        return f": {told}"
    near = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {near[0]!r}?" if near else ""


def knows_its_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method reject unknown keyword arguments; for those of other libraries, the error gives the name here."""
    known = arguments(method)
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(method).parameters.values()):
        return method

    @functools.wraps(method)
    def checked(self: Any, *given: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                call = f"{type(self).__name__}.{method.__name__}()"
                hint = (
                    meant(_of_argument(type(self), name, known), name, known) or f"; arguments are {', '.join(known)}"
                )
                raise TypeError(f"{call} got an unexpected keyword argument {name!r}{hint}")
        return method(self, *given, **named)

    return checked


def answers_lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that answers row by row take a Dask collection, whose answers are as lazy as it is."""

    @functools.wraps(method)
    def lazy(self: Any, X: Any, *given: Any, **named: Any) -> Any:
        if type(X) is np.ndarray:  # the first of all: one row should take a few microseconds
            return method(self, X, *given, **named)
        if isinstance(X, KnownAnswers):
            return X.predicted
        if not is_distributed(X):
            return method(self, X, *given, **named)
        in_order = [*arguments(method)][1:]
        return answers(self, method.__name__, X, dict(zip(in_order, given, strict=False)) | named)

    return lazy


def _of_argument(cls: type, name: str, known: Collection[str]) -> str:
    """Say what an unknown argument of a method may be: one of another library, or a parameter of the constructor."""
    own, place = parameters(cls), place_of(cls)
    if told := advice(ARGUMENTS, name, known, place=place):
        return told
    if name in own:
        return f"give {name}= to the constructor"
    told = advice(PARAMETERS, name, own, place=place)
    return f"{told}; parameters are given to the constructor" if told else ""


def describe_arguments(cls: type) -> None:
    """Add what is known of arguments to the docstrings of public methods that say nothing about them."""
    for base in cls.__mro__:
        for name, member in vars(base).items() if is_own(base) else ():
            method = getattr(member, "method", member)  # one that only some estimators of the class have
            if inspect.isfunction(method) and method.__doc__ and not name.startswith("_"):
                method.__doc__ = with_arguments(method.__doc__, arguments(method), fits=name == "fit")


class _FromSklearn:
    """A method of scikit-learn's BaseEstimator that serves any class; absent if the installed release lacks it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        from sklearn.base import BaseEstimator

        return getattr(BaseEstimator, self.name).__get__(instance, owner)


class _RequestSetter:
    """``set_<method>_request``, made by scikit-learn when it is asked for."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type[Estimator]) -> Any:
        from sklearn.utils._metadata_requests import RequestMethod

        return RequestMethod(self.method, _metadata(owner, self.method)).__get__(instance, owner)


class Estimator:
    """An object with parameters that can be fitted, as scikit-learn understands it.

    A subclass declares its parameters (``parameters/declaring.py``), or has an ``__init__`` of keyword-only parameters
    that stores them and checks nothing; ``fit`` checks what is declared.

    Examples
    --------
    >>> class Shift(Estimator):
    ...     def __init__(self, *, by=1.0, inner=None):
    ...         self.by, self.inner = by, inner
    >>> Shift(by=2.0).set_params(inner=Shift()).set_params(inner__by=3.0)
    Shift(by=2.0, inner=Shift(by=3.0))
    >>> Shift(bye=2.0)
    Traceback (most recent call last):
        ...
    TypeError: Shift has no parameter 'bye': did you mean 'by'?
    """

    fits_on_cluster: ClassVar[bool] = False  # whether the rows of a fit may lie on several machines
    estimator_type: ClassVar[str | None] = None  # what scikit-learn calls it: "classifier", "regressor", …
    reads: ClassVar[tuple[str, ...]] = ()  # input tags of scikit-learn that hold: "sparse", "allow_nan", …
    restore: Callable[[dict[str, Any], Arrays], None]  # takes up what a file holds
    _metadata_request: Any  # what set_fit_request and the like have stored; scikit-learn's clone copies it

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if is_own(cls):
            register(cls)
            describe_arguments(cls)
        for method in {*ROUTED_METHODS, *COLUMN_METHODS}:
            found = inspect.getattr_static(cls, method, None)
            of_mixin = not hasattr(found, "__wrapped__")  # and nothing has been done about it so far
            if inspect.isfunction(found) and (method in vars(cls) or of_mixin):
                checked = knows_its_arguments(found)
                if checked is not found:
                    setattr(cls, method, checked)
        for method in COLUMN_METHODS:
            if inspect.isfunction(vars(cls).get(method)):
                setattr(cls, method, takes_columns(vars(cls)[method]))
        for method in ANSWERING_METHODS:
            if inspect.isfunction(vars(cls).get(method)):
                setattr(cls, method, answers_lazily(vars(cls)[method]))
        for method in ROUTED_METHODS:
            setter = f"set_{method}_request"
            inherited = any(setter in vars(base) for base in cls.__mro__)
            if method in vars(cls) and (_metadata(cls, method) or inherited):
                setattr(cls, setter, _RequestSetter(method))

    def cluster_obstacle(self) -> str:
        """Return why the rows of a fit must lie on one machine, and what helps; an empty text if they need not."""
        if not self.fits_on_cluster:
            return "its fit needs the table of all rows; fit X.compute(), or use boosted trees, a forest or AdaBoost"
        if getattr(self, "warm_start", False) and self.__sklearn_is_fitted__():
            return "warm_start=True adds to a fitted model; fit X.compute(), or set warm_start=False"
        return ""

    def training_bytes(self, n_rows: int, n_features: int) -> int:
        """Return the memory that a fit takes besides its rows; 0 if that cannot be told.

        Parameters
        ----------
        n_rows, n_features : int
            Shape of the training table.
        """
        return 0

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Reject unknown parameters, with the nearest name, and positional ones."""
        if kwargs:
            _refuse_unknown(cls, kwargs, parameters(cls), TypeError)
        if args:
            _refuse_positional(cls, args)
        return super().__new__(cls)

    if not TYPE_CHECKING:  # a type checker would take any name for known

        def __getattr__(self, name: str) -> Any:
            """Reject an attribute that does not exist; for one of another library, the error gives the name here."""
            if hasattr(type(self), name):  # a property raised AttributeError: ask again for its own words
                return object.__getattribute__(self, name)
            told = advice(ATTRIBUTES, name, members(type(self)), place=place_of(type(self)))
            hint = f": {told}" if told else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    # ---- parameters ----------------------------------------------------------------------------------------------

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(parameters(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Add those of parameters that are estimators themselves, as ``parameter__name``.
        """
        params = {}
        for name in self._get_param_names():
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": its for inner, its in value.get_params().items()}
        return params

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters; ``parameter__name`` sets one of a nested estimator. An unknown name is an error."""
        if not params:
            return self
        known = self.get_params()
        _refuse_unknown(type(self), (name.partition("__")[0] for name in params), known, ValueError)
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if inner:
                nested.setdefault(own, {})[inner] = value
            else:
                setattr(self, own, value)
                known[own] = value
        for own, its in nested.items():
            if not hasattr(known[own], "set_params"):
                raise ValueError(f"{own}={known[own]!r} is not an estimator: it has no parameter {next(iter(its))!r}")
            known[own].set_params(**its)
        return self

    def check_parameters(self) -> None:
        """Check what can be checked without data, as ``fit`` does.

        Raises
        ------
        ValueError
            If a parameter has a value that it cannot have, or that contradicts another.

        Examples
        --------
        >>> import arboretum as arb
        >>> arb.RandomForestClassifier(max_depth="deep").check_parameters()
        Traceback (most recent call last):
            ...
        ValueError: max_depth='deep': use an integer at least 1 and at most 1e+06 or None
        """
        for name, parameter in parameters_of(type(self)).items():
            parameter.allowed.check(self, name)

    # ---- files and pickles -----------------------------------------------------------------------------------------

    def learned(self) -> Any:
        """Return what ``fit`` has learned: a Model of trees, or the Members of a model of models."""
        found = vars(self).get("_members") or vars(self).get("_model")
        if found is None:
            raise not_fitted(self)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self) or "_members" in vars(self)

    def save(
        self, path: str | os.PathLike[str] | BinaryIO, *, compact: bool = True, foreign: str | None = None
    ) -> None:
        """Write the model to a file that ``arboretum.load`` reads.

        A file is replaced whole or not at all, and holds no code: a subclass of your own is written as the class of
        arboretum that it derives from, and loaded as such. Pickle keeps the subclass. Members of a model of models that
        are not of arboretum are written only with ``foreign``; draws and predictions of its training rows are not kept.

        Parameters
        ----------
        path : path or binary file object
            Where to write.
        compact : bool, default=True
            Store arrays in as few bytes as hold them exactly. False stores them as they are, several times larger, and
            processes that load the file share its memory.
        foreign : {"skops", "pickle"}, optional
            Form of members of other libraries; whoever loads the file must name it, too. ``"skops"`` needs the extra
            ``arboretum[foreign]`` and can be read without running code of the file. ``"pickle"`` keeps more kinds of
            objects, and runs code when it is read. By default such members are an error.
        """
        learned = self.learned()
        check_flag("compact", compact)
        packs = compact and not isinstance(learned, Members)  # files within the file are compact by themselves
        with consent(foreign):
            header, arrays = self.to_file(compact=compact)
        files.write(self, path, header, arrays, compact=packs)

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions.

        Equal for any number of threads, for any order of named columns, before and after saving. Members of a model of
        models must be of arboretum.
        """
        learned = self.learned()
        if isinstance(learned, Members):
            return learned.fingerprint(own_class(type(self)).__name__)
        return str(self.model_.fingerprint())

    def to_file(self, *, compact: bool = True) -> tuple[dict[str, Any], Arrays]:
        """Return the content of the model file: a header of JSON and named arrays (docs/format.md).

        Parameters
        ----------
        compact : bool, default=True
            Whether files of members, which are arrays of this one, are compact.
        """
        call, learned = files.call_to_json(self), self.learned()
        if isinstance(learned, Members):
            header, arrays = learned.to_file(files.base_to_json, compact=compact)
        else:
            header, arrays = learned.to_file(call["params"])
        return {"format": "arboretum", **call, **header}, arrays

    def __getstate__(self) -> dict[str, Any]:
        """Parameters and, once trees are fitted, the bytes of the model file with what that cannot hold."""
        if "_members" in vars(self):  # members of any kind are pickled as they are
            return {"attributes": vars(self).copy()}
        state: dict[str, Any] = {"params": {name: getattr(self, name) for name in defaults(type(self))}}
        if "_metadata_request" in vars(self):  # what set_fit_request stored
            state["_metadata_request"] = self._metadata_request
        if "_model" in vars(self):
            state |= {"file": to_bytes(*self.to_file()), "objects": self.learned().head.objects}
        if not is_own(type(self)):
            state["others"] = self._others(state)
        return state

    def _others(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return attributes that a user's subclass has added: those that the state would not bring back."""
        twin = object.__new__(type(self))
        twin.__setstate__(state)
        return {name: value for name, value in vars(self).items() if name not in vars(twin)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state.get("attributes", {}))
        for name, value in state.get("params", {}).items():
            setattr(self, name, value)
        if "_metadata_request" in state:
            self._metadata_request = state["_metadata_request"]
        if "file" in state:
            self.restore(*from_bytes(state["file"]))
            if state["objects"]:
                model = self.learned()
                vars(self)["_model"] = replace(model, head=replace(model.head, **state["objects"]))
        vars(self).update(state.get("others", {}))

    # ---- what a fitted model tells about itself; the work is done in arboretum.explaining and arboretum.report -----

    @property
    def model_(self) -> Any:
        """The trees of a model; a model of models has none of its own."""
        asked = vars(self).get("_model")  # a model that is known by its predictions has one
        if asked is None:
            raise AttributeError(
                f"{type(self).__name__} has no trees of its own: look at its members, estimator_ or estimators_"
            )
        return asked

    def explain(self, X: Any, *, background: Any = None, interactions: bool = False) -> Explanation:
        """Split predictions into what each column did: SHAP values.

        ::

            base_values + Σ_columns values = prediction before the link (log-odds, logarithm, …)

        For averaging forests this is the mean of the trees: the probability of each class, of the second if there are
        two. For an isolation forest it is the mean path length: negative values make a row look anomalous.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to explain; named columns in any order.
        background : array-like, sparse matrix or data frame, optional
            Rows that stand for columns whose value is not known ("interventional"); a hundred are usually enough, and
            time grows with their number. By default what trees know of their training rows does ("path-dependent").
        interactions : bool, default=False
            Whether to split further, into what pairs of columns did together.

        Returns
        -------
        arboretum.explaining.Explanation
            Of the columns of X, whatever the trees read.

        References
        ----------
        Lundberg, S. et al. (2020). From local explanations to global understanding with explainable AI for trees.
        Nature Machine Intelligence 2.
        """
        from arboretum.explaining import explain

        return explain(self, X, background=background, interactions=interactions)

    # ---- importances and dependence -------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Sum of the gains of each column's splits, normalised to sum 1."""
        from arboretum.explaining import gain_shares

        return gain_shares(self)

    def importances(self: Any, X: Any = None, y: Any = None, **options: Any) -> Importances:
        """Tell which columns matter, by every measure there is: ``arboretum.explaining.importances``."""
        from arboretum import explaining

        return explaining.importances(self, X, y, **options)

    def partial_dependence(self: Any, X: Any, features: Any, **options: Any) -> Dependence:
        """Mean prediction if all rows had the same value in a column: ``arboretum.explaining.partial_dependence``."""
        from arboretum import explaining

        return explaining.partial_dependence(self, X, features, **options)

    def ice(self: Any, X: Any, features: Any, **options: Any) -> Dependence:
        """Prediction of each row over all values of a column: ``arboretum.explaining.ice``."""
        from arboretum import explaining

        return explaining.ice(self, X, features, **options)

    def accumulated_effects(self: Any, X: Any, features: Any, **options: Any) -> Dependence:
        """Accumulate effects of small steps in a column: ``arboretum.explaining.accumulated_effects``."""
        from arboretum import explaining

        return explaining.accumulated_effects(self, X, features, **options)

    def interaction_strength(self: Any, X: Any, features: Any = None, **options: Any) -> Dependence:
        """Tell how strongly columns interact, by Friedman's H²: ``arboretum.explaining.interaction_strength``."""
        from arboretum import explaining

        return explaining.interaction_strength(self, X, features, **options)

    # ---- influence of training rows ------------------------------------------------------------------------------

    def influence(
        self,
        X: Any,
        y: Any = None,
        *,
        X_train: Any,
        y_train: Any,
        sample_weight: Any = None,
        top: int | None = None,
    ) -> Any:
        """Estimate how predictions of rows would change if a training row were left out.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows whose predictions are asked about.
        y : array-like, optional
            Their targets: tell the change of the loss in place of that of the raw prediction.
        X_train, y_train, sample_weight
            What the model was fitted on.
        top : int, optional
            Tell only the training rows of the largest influence on each row.

        Returns
        -------
        ndarray of float64, (rows, training rows), or indices and values, (rows, top), with ``top``
            See :func:`arboretum.explaining.influence`.
        """
        from arboretum.explaining import influence

        return influence(self, X, y, X_train=X_train, y_train=y_train, sample_weight=sample_weight, top=top)

    # ---- report --------------------------------------------------------------------------------------------------

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str],
        *,
        X_train: Any = None,
        y_train: Any = None,
        sample_weight: Any = None,
        sample_weight_train: Any = None,
        group: Any = None,
        treatment: Any = None,
        group_train: Any = None,
        treatment_train: Any = None,
        offset: Any = None,
        offset_train: Any = None,
        positive: Any = None,
        ids: Any = None,
        ids_train: Any = None,
        title: str | None = None,
        target: str | None = None,
        source: str | None = None,
        source_train: str | None = None,
        date: str | None = None,
        max_rows: int = 2_000,
    ) -> Path:
        """Write a report as one HTML file: data, training, evaluation, importances, dependence, trees, examples.

        The file needs no network and no other file. The same model, rows and date give the same bytes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to judge the model by, best those that it has not seen.
        y : array-like
            Their targets, as for ``fit``; None for an outlier detector whose anomalies are not known.
        path : path
            Where to write; a file there is replaced.
        X_train, y_train : like X and y, optional
            The rows of ``fit``: they add drift, figures on training rows and influential training rows.
        sample_weight, sample_weight_train : array-like, optional
            Weight of each row of X in the evaluation, and of each training row in ``fit``.
        group, group_train : array-like, optional
            Query of each row, for a ranker.
        treatment, treatment_train : array-like, optional
            Treatment of each row, for an uplift model.
        offset, offset_train : array-like, optional
            Offset of each row, as for ``predict``, of boosted trees that were fitted with offsets.
        positive : label, optional
            The class of two whose probability, precision and recall are shown; by default the second.
        ids, ids_train : array-like or mapping of columns, optional
            What each row is called among the examples; by default the index of a pandas frame, unless it only counts
            rows.
        title : str, optional
            Heading; by default ``target``.
        target : str, optional
            What is predicted; by default the name of ``y``, if it has one, else the name of the class.
        source, source_train : str, optional
            Where the rows and the training rows come from, such as the names of their files.
        date : str, optional
            By default today, in UTC, or the moment ``SOURCE_DATE_EPOCH`` if that is set.
        max_rows : int, default=2000
            Rows that are drawn for what takes long: permutations, SHAP values, dependence.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from arboretum.report import write_report

        return write_report(
            self,
            X,
            y,
            path,
            X_train=X_train,
            y_train=y_train,
            sample_weight=sample_weight,
            sample_weight_train=sample_weight_train,
            group=group,
            treatment=treatment,
            group_train=group_train,
            treatment_train=treatment_train,
            offset=offset,
            offset_train=offset_train,
            positive=positive,
            ids=ids,
            ids_train=ids_train,
            title=title,
            target=target,
            source=source,
            source_train=source_train,
            date=date,
            max_rows=max_rows,
        )

    # ---- representation ------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return the call that makes the estimator, without parameters that have their default."""
        default, name = parameters(type(self)), type(self).__name__
        changed = [
            f"{key}={_SHORT.repr(value)}"
            for key, value in self.get_params(deep=False).items()
            if repr(value) != repr(default.get(key, inspect.Parameter.empty))
        ]
        lines = [f"{name}("]
        for place, item in enumerate(changed):
            if place and len(lines[-1]) + len(item) + 1 > LINE_WIDTH:
                lines.append(" " * len(f"{name}("))
            lines[-1] += f"{item}, "
        return "\n".join(line.rstrip() for line in lines).removesuffix(",") + ")"

    def _repr_html_(self) -> str | None:
        """Return what notebooks show, unless scikit-learn is configured to show text: facts of trees, or a diagram."""
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        if get_config()["display"] != "diagram":
            return None
        model = vars(self).get("_model")
        if model is None or not model.forest.n_trees:  # many branches per node: no tree of a forest
            return str(estimator_html_repr(self))
        from arboretum.reading import model_to_html

        return model_to_html(self)

    _get_params_html = _FromSklearn()  # the tables of that diagram
    _get_fitted_attr_html = _FromSklearn()

    # ---- what scikit-learn asks ----------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        """Return what the estimator is and accepts."""
        from sklearn.utils import Tags, TargetTags

        tags = Tags(estimator_type=self.estimator_type, target_tags=TargetTags(required=False))
        for name in self.reads:
            setattr(tags.input_tags, name, True)
        return tags

    def get_metadata_routing(self) -> Any:
        """Return which extra arguments of which methods a meta-estimator should pass on.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
        """
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        request = MetadataRequest(owner=type(self).__name__)
        for method in ROUTED_METHODS:
            for name in _metadata(type(self), method):
                getattr(request, method).add_request(param=name, alias=None)
        return request

    def _get_metadata_request(self) -> Any:
        return self.get_metadata_routing()


def not_fitted(model: Any) -> Exception:
    """Return the error of a method that needs a fitted estimator."""
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(
        f"This {type(model).__name__} instance is not fitted yet. "
        "Call 'fit' with appropriate arguments before using this estimator."
    )
    return error


class Classifier(Estimator):
    """An estimator that predicts classes; stands left of what else a class derives from."""

    classes_: Any
    predict: Callable[[Any], Any]
    predict_proba: Callable[..., Any]
    estimator_type = "classifier"

    def predict_log_proba(self, X: Any, **given: Any) -> Any:
        """Return the logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows; named columns in any order.
        **given
            Other arguments of ``predict_proba``.
        """
        proba = self.predict_proba(X, **given)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in proba] if isinstance(proba, list) else np.log(proba)

    @property
    def n_classes_(self) -> int | list[int]:
        """Number of classes, or a list of them for several outputs."""
        if not hasattr(self, "classes_"):
            raise AttributeError(f"{type(self).__name__} has no n_classes_ before fit")
        return [len(labels) for labels in self.classes_] if isinstance(self.classes_, list) else len(self.classes_)

    @property
    def task_(self) -> Task:
        """What the fitted model predicts: two classes, or several."""
        if not hasattr(self, "classes_"):
            raise not_fitted(self)
        return of_classes(int(np.max(self.n_classes_)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class, or classes of all outputs, are predicted."""
        return accuracy(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.classifier_tags, tags.target_tags.required = ClassifierTags(), True
        return tags


class Regressor(Estimator):
    """An estimator that predicts numbers; stands left of what else a class derives from."""

    predict: Callable[[Any], Any]
    task_: ClassVar[Task] = REGRESSION
    estimator_type = "regressor"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R²: 1 − Σ (y − prediction)² / Σ (y − mean of y)²."""
        return r_squared(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.regressor_tags, tags.target_tags.required = RegressorTags(), True
        return tags


class OutlierDetector(Estimator):
    """An estimator that tells anomalies (−1) from other rows (+1); stands left of what else a class derives from."""

    fit: Callable[..., Any]
    predict: Callable[[Any], Any]
    task_: ClassVar[Task] = ANOMALY
    estimator_type = "outlier_detector"

    def fit_predict(self, X: Any, y: Any = None, **fit_arguments: Any) -> Any:
        """Fit the model and tell which of its own rows are anomalies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows.
        y : object
            Ignored.
        **fit_arguments
            Other arguments of ``fit``, such as ``sample_weight``.

        Returns
        -------
        ndarray of int64, (n_rows,)
            −1 for anomalies, +1 for the others.
        """
        return self.fit(X, **fit_arguments).predict(X)
