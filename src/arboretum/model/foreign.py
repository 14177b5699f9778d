"""Estimators of other libraries within a model file: bytes of skops or pickle, written and read by consent alone.

::

    save(path, foreign=form) ─► consent ─► Outgoing   arrays of bytes, and in the header "foreign": form and classes
    load(path, foreign=form) ─► consent ─► Incoming   estimators; an error that lists the classes without consent

Consent is a context, so that files within the file have it too. Without it, no byte of these arrays is interpreted.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np

from arboretum.arguments import holds_others, shown
from arboretum.data.schema import listed
from arboretum.data.validity import Rules
from arboretum.model.arrays import Arrays, ModelFileError

Header: TypeAlias = dict[str, Any]
Result = TypeVar("Result")

KEY = "foreign"  # of the header, and of the entry of a base that is an array
PROTOCOL = 5  # of pickle, whatever the newest one is
RULES = Rules("entry 'foreign'")

# Of our own, without methods that read its state: the member for a bag of one class.
HARMLESS = ("arboretum.ensembles.members.goals.OneClass",)


# ---- consent ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Consent:
    """The form in which estimators of other libraries may be written or read, and the types that skops may make."""

    form: str | None = None
    trusted: tuple[str, ...] = ()


NO_CONSENT = Consent()
_CONSENT: ContextVar[Consent] = ContextVar("consent", default=NO_CONSENT)


@contextmanager
def consent(form: str | None, trusted: Iterable[str] = ()) -> Iterator[None]:
    """Allow estimators of other libraries in the body: in model files, and in files within them.

    Parameters
    ----------
    form : {"skops", "pickle"} or None
        How they are written and read; None does not allow them.
    trusted : iterable of str
        Names of types that skops may make besides those that it trusts by default.

    Examples
    --------
    >>> with consent("joblib"):
    ...     pass
    Traceback (most recent call last):
        ...
    ValueError: foreign='joblib': use 'skops', 'pickle' or None
    """
    if form is not None and (not isinstance(form, str) or form not in FORMS):
        raise ValueError(f"foreign={shown(form)}: use {', '.join(map(repr, FORMS))} or None")
    names = tuple(trusted) if holds_others(trusted) else ()
    if not holds_others(trusted) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"trusted={shown(trusted)}: use a list of names of types, such as ['package.module.Type']")
    if names and form != "skops":
        raise ValueError(f"trusted={shown(trusted)} counts only with foreign='skops', not with foreign={form!r}")
    token = _CONSENT.set(Consent(form, names))
    try:
        yield
    finally:
        _CONSENT.reset(token)


class ConsentError(ModelFileError):
    """A file with estimators of other libraries that the caller has not allowed.

    Parameters
    ----------
    found : str
        What the file holds.
    allowed : Consent
        What would allow it.
    caution : str
        What to know before.
    """

    def __init__(self, found: str, allowed: Consent, caution: str) -> None:
        self.found, self.allowed, self.caution = found, allowed, caution
        trusted = f", trusted={list(allowed.trusted)}" if allowed.trusted else ""
        super().__init__(f"{found}. Load it with arboretum.load(path, foreign={allowed.form!r}{trusted}): {caution}")

    def __reduce__(self) -> Any:
        return type(self), (self.found, self.allowed, self.caution)


# ---- forms -----------------------------------------------------------------------------------------------------------


def _write_pickle(model: Any, compact: bool) -> bytes:
    return pickle.dumps(model, protocol=PROTOCOL)


def _read_pickle(data: memoryview, trusted: Iterable[str]) -> Any:
    return pickle.loads(data)


def _trusts_all(data: memoryview) -> Iterable[str]:
    return ()


def _write_skops(model: Any, compact: bool) -> bytes:
    """Write an archive, and read it: skops also writes what it cannot read, such as a lambda."""
    io = _skops()
    data: bytes = io.dumps(model, compression=zipfile.ZIP_DEFLATED if compact else zipfile.ZIP_STORED)
    io.loads(data, trusted=io.get_untrusted_types(data=data))
    return data


def _read_skops(data: memoryview, trusted: Iterable[str]) -> Any:
    return _skops().loads(data, trusted=[*HARMLESS, *trusted])


def _untrusted_by_skops(data: memoryview) -> Iterable[str]:
    return set(_skops().get_untrusted_types(data=data)) - set(HARMLESS)


class MissingSkopsError(ImportError):
    """skops is not installed."""


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingSkopsError("foreign='skops' needs skops: pip install 'arboretum[foreign]'") from error
    return skops.io


@dataclass(frozen=True)
class Form:
    """How an estimator becomes bytes and comes back.

    Parameters
    ----------
    write : callable
        From an estimator, and whether few bytes are wanted, to bytes.
    read : callable
        From bytes, and the names of trusted types, to the estimator.
    untrusted : callable
        From bytes to the names of types that must be trusted; makes no object of them.
    caution : str
        What to know before reading.
    """

    write: Callable[[Any, bool], bytes]
    read: Callable[[memoryview, Iterable[str]], Any]
    untrusted: Callable[[memoryview], Iterable[str]]
    caution: str


FORMS = {
    "skops": Form(
        _write_skops,
        _read_skops,
        _untrusted_by_skops,
        "skops makes no object of a type that it does not know to be safe",
    ),
    "pickle": Form(
        _write_pickle,
        _read_pickle,
        _trusts_all,
        "a pickle can run any code, so do this only if you trust who wrote the file",
    ),
}


def class_name(model: Any) -> str:
    """Return the class of an estimator with its module, as a header names it.

    Examples
    --------
    >>> class_name(Consent())
    'arboretum.model.foreign.Consent'
    """
    return f"{type(model).__module__}.{type(model).__qualname__}"


# ---- in a file -------------------------------------------------------------------------------------------------------


@dataclass
class Outgoing:
    """Estimators of other libraries on their way into a file.

    Parameters
    ----------
    compact : bool
        Whether they are written in few bytes.
    """

    compact: bool
    arrays: Arrays = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, model: Any) -> None:
        """Write an estimator to an array of this name; a TypeError without consent."""
        form, kind = _CONSENT.get().form, type(model).__name__
        if form is None:
            raise TypeError(
                f"save needs members of arboretum, not {kind}: pickle or skops keep other estimators, by "
                "save(path, foreign='skops') or save(path, foreign='pickle')"
            )
        try:
            data = FORMS[form].write(model, self.compact)
        except MissingSkopsError:
            raise
        except Exception as error:
            other = next(other for other in FORMS if other != form)
            raise TypeError(
                f"foreign={form!r} cannot keep {name}, a {kind} ({type(error).__name__}: {error}): "
                f"try foreign={other!r}"
            ) from error
        self.arrays[name], self.classes[name] = np.frombuffer(data, np.uint8), class_name(model)

    def add_base(self, base: Any) -> Header:
        """Write an unfitted estimator; return the entry of the header that refers to it."""
        name = f"base {sum(name.startswith('base ') for name in self.arrays)}"
        self.add(name, base)
        return {KEY: name}

    def header(self) -> Header:
        """Return the entry of the header that lists them; empty if there are none."""
        return {KEY: {"form": _CONSENT.get().form, "classes": self.classes}} if self.classes else {}


@dataclass(frozen=True)
class Incoming:
    """Estimators of other libraries that a file says it holds.

    Parameters
    ----------
    form : str
        How they were written.
    classes : dict of str to str
        Their classes by the names of their arrays; empty if there are none.
    arrays : dict
        Arrays of the file.
    """

    form: str
    classes: Mapping[str, str]
    arrays: Arrays

    @classmethod
    def of(cls, header: Header, arrays: Arrays) -> Incoming:
        """Read and check the list of a file; no array is interpreted."""
        if KEY not in header:
            return cls("", {}, arrays)
        RULES.keys(header[KEY], {"form", "classes"}, "it")
        form, classes = header[KEY]["form"], header[KEY]["classes"]
        RULES.require(isinstance(form, str) and form in FORMS, "form", form, f"one of {', '.join(FORMS)}")
        RULES.require(isinstance(classes, dict) and classes, "classes", classes, "class names by names of arrays")
        for name, kind in classes.items():
            is_name = isinstance(kind, str) and all(word.isidentifier() for word in kind.split("."))
            RULES.require(is_name, f"class of {name!r}", kind, "the name of a class")
            found = arrays.get(name)
            is_bytes = found is not None and found.dtype == np.uint8 and found.ndim == 1
            told = "no array" if found is None else (str(found.dtype), found.shape)
            RULES.require(is_bytes, f"{name!r}", told, f"bytes of {form}")
        return cls(form, classes, arrays)

    def told(self) -> str:
        """Return the classes with the names of their arrays, for a message."""
        names: dict[str, list[str]] = {}
        for name, kind in self.classes.items():
            names.setdefault(kind, []).append(name)
        return "; ".join(f"{kind} in {listed(of, limit=3)}" for kind, of in names.items())

    @classmethod
    def allowed(cls, header: Header, arrays: Arrays) -> Incoming:
        """Read the list of a file; reject a form or types that the caller has not allowed."""
        found = cls.of(header, arrays)
        found.require_form()
        found.require_types()
        return found

    def require_form(self) -> None:
        """Reject the file if its form is not the one that the caller has allowed."""
        given = _CONSENT.get().form
        if self.classes and given != self.form:
            other = "" if given is None else f", not with {given}"
            found = f"the file holds estimators of other libraries, written with {self.form}{other}: {self.told()}"
            raise ConsentError(found, Consent(self.form), FORMS[self.form].caution)

    def require_types(self) -> None:
        """Reject the file if it needs types that the caller has not allowed; none of its estimators is made."""
        given = _CONSENT.get().trusted
        types = {kind for name in self.classes for kind in self._interpreted(name, FORMS[self.form].untrusted)}
        if new := sorted(types - set(given)):
            found = f"the file holds types that skops does not trust: {', '.join(new)}"
            raise ConsentError(found, Consent(self.form, (*given, *new)), "do this only if you trust these types")

    def read(self, name: Any) -> Any:
        """Return the estimator of an array."""
        self.require_form()
        RULES.require(isinstance(name, str) and name in self.classes, "array of a base", name, "a key of classes")
        trusted = _CONSENT.get().trusted
        model = self._interpreted(name, lambda data: FORMS[self.form].read(data, trusted))
        is_said = self.classes[name].endswith(f".{type(model).__qualname__}")
        RULES.require(is_said, f"class of {name!r}", self.classes[name], class_name(model))
        return model

    def _interpreted(self, name: str, function: Callable[[memoryview], Result]) -> Result:
        """Apply a function to the bytes of an array; whatever fails is an error of the file."""
        try:
            return function(self.arrays[name].data)
        except MissingSkopsError:
            raise
        except Exception as error:
            kind, reason = self.classes[name], f"{type(error).__name__}: {error}"
            raise ModelFileError(f"cannot read {name}, of class {kind}, with {self.form}: {reason}") from error
