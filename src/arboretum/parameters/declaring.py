"""Declarations of parameters: each is written once, and everything else about it is derived from there.

::

    @parameter_group("Shape of trees")                      a group: fields, nothing else
    class TreeShape:
        max_depth: int | None = parameter(None, Number(1, integer=True, optional=True), "Most conditions on a path.")

    @declares_parameters                                    an estimator: groups among its bases, and fields of its own
    class Booster(TreeShape, Estimator):
        max_depth: int | None = like(TreeShape, default=6)
        loss: str = parameter("squared_error", Choice("squared_error", "huber"), "What to minimise.")

A declaration gives the constructor (``declares_parameters``), its check (``Estimator.check_parameters``), its entry in
the docstring (``docstrings.py``) and in docs/parameters.md (``parameter_page.py``), and what ``--set`` of the command
reads. Rules between several parameters are code of the estimator: its ``check_parameters`` calls that of ``super()``.
"""

from __future__ import annotations

import ast
import inspect
import numbers
import sys
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from arboretum.parameters.checking import Range, callables, choice, share

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform  # of Python 3.11; type checkers know it for every release
else:

    def dataclass_transform(**options):
        """Return a decorator that marks, for type checkers, a decorator that makes constructors from fields."""
        return lambda decorator: decorator


Cls = TypeVar("Cls", bound=type)
T = TypeVar("T")

MOST = 2**31 - 1
_WORDS = {"true": True, "false": False, "none": None}  # words of the command, in any case


# ---- allowed values --------------------------------------------------------------------------------------------------


class Allowed(ABC):
    """Values that a parameter may have."""

    optional = False

    @property
    @abstractmethod
    def text(self) -> str:
        """Return the type as docstrings write it, without None."""

    @abstractmethod
    def check(self, owner: Any, name: str) -> None:
        """Reject the value of parameter ``name`` of an estimator, unless it is one of these."""

    def read(self, text: str) -> Any:
        """Return the value of a text from the command line: a Python literal, or the text itself.

        Examples
        --------
        >>> Anything("mapping").read("{'size': 1}"), Anything("label").read("none"), Anything("label").read("a")
        ({'size': 1}, None, 'a')
        """
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        with suppress(SyntaxError, ValueError):
            return ast.literal_eval(text)
        return text


class Anything(Allowed):
    """Values that are checked where they are used, with the rows."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    @property
    def text(self) -> str:
        """Return the type as it was given."""
        return self.kind

    def check(self, owner: Any, name: str) -> None:
        """Accept the value for now."""


class Number(Range, Allowed):
    """Numbers in a range, and perhaps words or None.

    Examples
    --------
    >>> Number(low=1, integer=True, words=("auto",)).text
    'int or "auto"'
    >>> Number(low=1, integer=True).read("1e3"), Number(words=("auto",)).read("auto")
    (1000, 'auto')
    """

    @property
    def text(self) -> str:
        """Type and words."""
        return listed(["int" if self.integer else "float", *map(quoted, self.words)])

    def check(self, owner: Any, name: str) -> None:
        """Reject what is not such a number."""
        self.value(owner, name)

    def read(self, text: str) -> Any:
        """Return a number; an integer may be written as 1e6."""
        value = super().read(text)
        return int(value) if self.integer and isinstance(value, float) and value.is_integer() else value


class Choice(Allowed):
    """A few words, booleans or None.

    Examples
    --------
    >>> Choice("leaf", "level").text, Choice(True, False).text, Choice("auto", True, False).text
    ('{"leaf", "level"}', 'bool', 'bool or "auto"')
    >>> Choice("auto", True, False).read("TRUE"), Choice("1", "2").read("1")
    (True, '1')
    """

    def __init__(self, *options: str | bool | None) -> None:
        self.options, self.optional = options, None in options

    @property
    def text(self) -> str:
        """Return the options in braces; booleans as a type."""
        words = [quoted(option) for option in self.options if isinstance(option, str)]
        return listed(["bool", *words]) if True in self.options else f"{{{', '.join(words)}}}"

    def check(self, owner: Any, name: str) -> None:
        """Reject a value that is not an option."""
        choice(owner, name, self.options)

    def read(self, text: str) -> Any:
        """Return an option, or the text."""
        word = _WORDS.get(text.lower(), text)
        return word if text not in self.options and any(word is option for option in self.options) else text


class CountOrShare(Allowed):
    """A number of rows or columns, or a share: any float, or with ``by_integer`` anything but an integer."""

    def __init__(
        self,
        low: int = 1,
        *,
        most: float = 1.0,
        optional: bool = False,
        words: tuple[str, ...] = (),
        by_integer: bool = False,
    ) -> None:
        self.by_integer, self.optional = by_integer, optional
        of_both: dict[str, Any] = {"optional": optional, "words": words}
        self.count = Number(low, MOST, integer=True, **({} if by_integer else of_both))
        self.share = Number(0.0, most, open_low=True, **(of_both if by_integer else {}))
        self.words = words

    @property
    def text(self) -> str:
        """Return the words and types."""
        return listed([*map(quoted, self.words), "int", "float"])

    def check(self, owner: Any, name: str) -> None:
        """Reject other values, and shares that are too large."""
        value = getattr(owner, name)
        counts = isinstance(value, numbers.Integral) if self.by_integer else not isinstance(value, float)
        (self.count if counts else self.share).check(owner, name)


class Share(Allowed):
    """A share of the columns, above 0 and at most 1, or their number."""

    text = "float or int"

    def check(self, owner: Any, name: str) -> None:
        """Reject other values."""
        share(owner, name, 1)


class Levels(Allowed):
    """A number, or a sequence of them that is checked where it is used; or None."""

    optional = True
    text = "float or sequence of float"

    def check(self, owner: Any, name: str) -> None:
        """Reject other values."""
        if np.ndim(getattr(owner, name)) != 1:
            Range(optional=True).value(owner, name)


class Functions(Allowed):
    """A sequence of functions, or None."""

    optional = True
    text = "sequence of callables"

    def check(self, owner: Any, name: str) -> None:
        """Reject other values."""
        callables(owner, name)


FLAG = Choice(True, False)
COUNT = Number(1, MOST, integer=True)


def quoted(value: Any) -> str:
    """Return a default or a word in the form of docstrings.

    Examples
    --------
    >>> quoted("auto"), quoted(1 / 3), quoted(0.001), quoted(None)
    ('"auto"', '1/3', '0.001', 'None')
    """
    if isinstance(value, str):
        return f'"{value}"'
    return "1/3" if value == 1 / 3 else repr(value)


def listed(words: list[str]) -> str:
    """Return ``a, b or c``."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# ---- declarations ----------------------------------------------------------------------------------------------------


class Parameter:
    """The declaration of one parameter; ``group`` is the title under which it is documented."""

    __slots__ = ("allowed", "annotation", "before", "default", "doc", "group", "module")

    def __init__(self, default: Any, allowed: Allowed, doc: str, before: str | None, group: str = "") -> None:
        self.default, self.allowed, self.doc, self.before, self.group = default, allowed, doc, before, group
        self.annotation: Any = None
        self.module = ""

    @property
    def type(self) -> str:
        """Type and default, as docstrings write them.

        Examples
        --------
        >>> Parameter(None, Number(integer=True, optional=True), "", None).type
        'int, optional'
        """
        if self.default is None:
            return f"{self.allowed.text}, optional"
        none = "" if not self.allowed.optional else " or None" if isinstance(self.allowed, Choice) else ", optional"
        return f"{self.allowed.text}{none}, default={quoted(self.default)}"


class _Like:
    """A change of a parameter that a group declares."""

    def __init__(self, owner: type, changes: dict[str, Any], filled: Mapping[str, str]) -> None:
        self.owner, self.changes, self.filled = owner, changes, filled

    def parameter(self, name: str) -> Parameter:
        declared = parameters_of(self.owner)[name]
        made = Parameter(declared.default, declared.allowed, declared.doc, None, declared.group)
        for attribute, value in self.changes.items():
            setattr(made, attribute, value)
        for word, text in self.filled.items():
            made.doc = made.doc.replace(f"<{word}>", text)
        return made


class _Fitted:
    """Marks an attribute that ``fit`` sets."""


def parameter(default: T, allowed: Allowed, doc: str, *, before: str | None = None) -> T:
    """Declare a parameter, as the value of an annotated name of a class.

    Parameters
    ----------
    default : object
        Its default, which is shared by all instances.
    allowed : Allowed
        Its values.
    doc : str
        What it does: sentences for the docstring.
    before : str, optional
        The parameter that it precedes in the signature; by default it follows those of the bases.
    """
    declared: Any = Parameter(default, allowed, doc, before)
    return declared  # type: ignore[no-any-return]


@overload
def like(
    owner: type,
    *,
    default: T,
    allowed: Allowed = ...,
    doc: str = ...,
    before: str = ...,
    filled: Mapping[str, str] = ...,
) -> T: ...


@overload
def like(
    owner: type, *, allowed: Allowed = ..., doc: str = ..., before: str = ..., filled: Mapping[str, str] = ...
) -> Any: ...


def like(owner: type, *, filled: Mapping[str, str] | None = None, **changes: Any) -> Any:
    """Declare the parameter that a group or an estimator has under the same name, with some changes.

    Parameters
    ----------
    owner : type
        The group or estimator; a parameter that the class inherits keeps its place.
    filled : mapping, optional
        Texts for the placeholders in angle brackets in the documentation.
    **changes
        ``default``, ``allowed``, ``doc`` and ``before`` of ``parameter``.
    """
    return _Like(owner, changes, filled or {})


def fitted(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that ``fit`` sets, in a class that declares parameters."""
    return _Fitted()


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(fitted,))
def parameter_group(title: str = "") -> Callable[[Cls], Cls]:
    """Make a class of declared parameters a group; without a title, they join the group of the parameter before."""

    def grouped(cls: Cls) -> Cls:
        _declare(cls, title)
        return cls

    return grouped


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(fitted,))
def declares_parameters(cls: Cls) -> Cls:
    """Make the constructor of an estimator: keyword-only parameters, in the order of its groups, stored unchanged.

    Examples
    --------
    >>> import inspect
    >>> from arboretum.estimators.protocol import Estimator
    >>> @declares_parameters
    ... class Shift(Estimator):
    ...     "Adds a number."
    ...     by: float = parameter(1.0, Number(low=0.0), "What is added.")
    >>> Shift(by=2.0), inspect.signature(Shift).parameters["by"].default
    (Shift(by=2.0), 1.0)
    >>> Shift(by=-1.0).check_parameters()
    Traceback (most recent call last):
        ...
    ValueError: by=-1.0: use a number at least 0
    """
    if "__init__" in vars(cls):
        raise TypeError(f"{cls.__name__} has an __init__, which its declared parameters would replace: leave it out")
    declared = _declare(cls, "")
    names: dict[str, Any] = {}  # names that annotations may use
    for module in {parameter.module: None for parameter in declared.values()}:
        names |= vars(sys.modules.get(module, typing))
    lines = [f"def __init__(self, *, {', '.join(declared)}):", *(f" self.{name} = {name}" for name in declared)]
    made: dict[str, Any] = {}
    exec("\n".join(lines if declared else ["def __init__(self): pass"]), names, made)
    constructor = made["__init__"]
    constructor.__kwdefaults__ = {name: parameter.default for name, parameter in declared.items()}
    annotations = {name: parameter.annotation for name, parameter in declared.items()}
    constructor.__annotations__ = {**annotations, "return": None}
    constructor.__module__, constructor.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    cls.__init__ = constructor  # type: ignore[misc]
    cls.__doc__ = _Docstring(cls, cls.__doc__ or "")  # type: ignore[assignment]
    return cls


def parameters_of(cls: type) -> dict[str, Parameter]:
    """Return the declarations of an estimator or a group by parameter name, in order."""
    return vars(cls).get("_declared") or _inherited(cls)


def _declare(cls: type, title: str) -> dict[str, Parameter]:
    """Remove the declarations from a class; return them with those of its bases."""
    found = _inherited(cls)
    for name, annotation in inspect.get_annotations(cls).items():
        given = vars(cls).get(name)
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        if isinstance(given, _Fitted):
            delattr(cls, name)
            continue
        if not isinstance(given, _Like | Parameter):
            raise TypeError(f"{cls.__name__}.{name} is declared by neither parameter(), like() nor fitted()")
        made = given.parameter(name) if isinstance(given, _Like) else given
        made.annotation, made.module, made.group = annotation, cls.__module__, made.group or title
        delattr(cls, name)
        found = _placed(found, name, made)
    group = next((made.group for made in found.values() if made.group), "")
    for made in found.values():
        group = made.group = made.group or group
    cls._declared = found  # type: ignore[attr-defined]
    return found


def _inherited(cls: type) -> dict[str, Parameter]:
    """Return the declarations of the bases, from left to right; the first one of each name counts."""
    found: dict[str, Parameter] = {}
    for base in cls.__bases__:
        found = found | {name: made for name, made in parameters_of(base).items() if name not in found}
    return found


def _placed(found: dict[str, Parameter], name: str, made: Parameter) -> dict[str, Parameter]:
    if made.before is None:
        return {**found, name: made}  # keeps its place if it is there already
    others = {key: value for key, value in found.items() if key != name}
    place = list(others).index(made.before)
    pairs = list(others.items())
    return dict([*pairs[:place], (name, made), *pairs[place:]])


class _Docstring:
    """The docstring of an estimator, put together on first access."""

    def __init__(self, cls: type, written: str) -> None:
        self.cls, self.written, self.text = cls, written, ""

    def __get__(self, instance: object, owner: type) -> str:
        if not self.text:
            from arboretum.parameters.docstrings import complete

            self.text = complete(self.cls, self.written)
        return self.text
