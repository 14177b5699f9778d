"""What names from other libraries are called here: other_libraries.txt, for errors and for docs/coming-from.md.

There are no aliases. A name of another library raises an error that says what to write instead; the page
docs/coming-from.md shows the same table: ``python -m arboretum.other_libraries > docs/coming-from.md``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

__all__ = [
    "ARGUMENTS",
    "ATTRIBUTES",
    "CLASSES",
    "CROSS_VALIDATION",
    "LIBRARIES",
    "PARAMETERS",
    "VALUES",
    "Elsewhere",
    "Names",
    "Place",
    "advice",
]

LIBRARIES = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "sklearn": "scikit-learn",
    "ydf": "YDF",
}


@dataclass(frozen=True)
class Place:
    """A class that was given a name, and what its users can write, in the notation of remarks."""

    name: str
    has: Collection[str]


@dataclass(frozen=True)
class Elsewhere:
    """One thing, by its name here and by its names in other libraries (``theirs``, in the order of ``LIBRARIES``).

    ``ours`` is a parameter, argument, value, attribute or class of this library; if it is empty, ``remark`` says what
    to do instead. ``owner`` is the parameter that a value belongs to. If several rows share a name of a library, the
    first one that holds for a class is used.

    Remarks write parameters as ``l2=``, arguments as ``fit(offset=)`` and members as ``model.save``: a row holds for
    classes that have everything that it mentions or ``needs``. For other classes the error says that ``of`` has it, and
    what the class ``lacks``.
    """

    ours: str
    remark: str = ""
    theirs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    owner: str = ""
    needs: str = ""
    of: str = "boosted trees"
    lacks: str = ""

    @classmethod
    def parse(cls, line: str) -> Elsewhere:
        """Read a line of other_libraries.txt.

        Examples
        --------
        >>> row = Elsewhere.parse("loss=poisson of BoostedTreesRegressor | remark: for counts | ydf: POISSON")
        >>> row.owner, row.ours, row.of, row.remark, row.libraries("poisson")
        ('loss', 'poisson', 'BoostedTreesRegressor', 'for counts', ['YDF'])
        """
        here, *cells = line.split(" | ")
        name, _, of = here.partition(" of ")
        owner, _, ours = name.rpartition("=")
        fields = dict(cell.split(": ", 1) for cell in cells)
        theirs = {library: fields.pop(library).split() for library in LIBRARIES if library in fields}
        return cls("" if ours == "-" else ours, theirs=theirs, owner=owner, of=of or cls.of, **fields)

    def libraries(self, name: str) -> list[str]:
        """Return the libraries that use the name for this; the case of values does not matter, nor do their options."""
        if not self.owner:
            return [LIBRARIES[library] for library, names in self.theirs.items() if name in names]
        words = {name.lower(), name.lower().partition(":")[0]}  # CatBoost writes "Quantile:alpha=0.9"
        return [
            LIBRARIES[library]
            for library, names in self.theirs.items()
            if any(theirs.lower() in words for theirs in names)
        ]

    def is_about(self, name: str) -> bool:
        """Whether the name is one of this row: of another library, or our own."""
        return bool(self.libraries(name)) or (not self.owner and name == _identifier(self.ours))

    def holds(self, known: Collection[str] | None, place: Place | None) -> bool:
        """Whether what the row recommends exists."""
        is_known = known is None or not self.ours or _identifier(self.ours) in known
        return is_known and (place is None or all(name in place.has for name in self.mentioned()))

    def mentioned(self) -> set[str]:
        """Return the parameters, arguments and members that remark and needs mention.

        Examples
        --------
        >>> sorted(Elsewhere("", "use l2=1 and fit(X, offset=...), or model.save(path)").mentioned())
        ['fit(offset=)', 'l2=', 'model.save']
        """
        text = f"{self.remark} {self.needs}"
        calls = re.findall(r"([\w.]+)\(([^)]*)\)", text)
        arguments = {f"fit({name}=)" for function, given in calls if function == "fit" for name in _named(given)}
        members = {f"model.{name}" for name in re.findall(r"model\.(\w+)", text)}
        return arguments | members | {f"{name}=" for name in _named(re.sub(r"\([^)]*\)", "", text))}


def _named(text: str) -> list[str]:
    return re.findall(r"(\w+)=", text)


def _identifier(words: str) -> str:
    """Return the name that a call such as ``save(path)`` begins with."""
    return words.partition("(")[0]


class Names:
    """A section of other_libraries.txt, read when somebody asks for its rows."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __iter__(self) -> Iterator[Elsewhere]:
        return iter(_sections()[self.title])


@cache
def _sections() -> dict[str, list[Elsewhere]]:
    from importlib import resources  # slow to import

    text = (resources.files("arboretum") / "other_libraries.txt").read_text(encoding="utf-8")
    sections = (section.split("\n\n", 1) for section in text.split("\n## ")[1:])
    return {title: [Elsewhere.parse(line) for line in lines.splitlines() if line] for title, lines in sections}


CLASSES = Names("Classes and functions")
PARAMETERS = Names("Parameters")
ARGUMENTS = Names("Arguments of `fit` and `predict`")
CROSS_VALIDATION = Names("Arguments of `cross_validate`")
VALUES = Names("Values")
ATTRIBUTES = Names("Methods and attributes of fitted models")


def advice(
    table: Iterable[Elsewhere],
    name: str,
    known: Collection[str] | None = None,
    owner: str = "",
    place: Place | None = None,
) -> str:
    """Say what a name of another library is called here; an empty string if the table does not have it.

    Parameters
    ----------
    table : iterable of Elsewhere
        Where to look, such as ``PARAMETERS``.
    name : str
        The name that was given.
    known : collection of str, optional
        Names that exist where it was given; no others are recommended.
    owner : str
        The parameter whose value it is.
    place : Place, optional
        The class that it was given to; the advice says what the class lacks.

    Examples
    --------
    >>> advice(PARAMETERS, "num_leaves")
    "LightGBM's and CatBoost's num_leaves is max_leaf_nodes here"
    >>> advice(PARAMETERS, "alpha", known=["quantile"])
    "LightGBM's and scikit-learn's alpha is quantile here"
    >>> advice(VALUES, "mse", owner="loss")
    "LightGBM's mse is 'squared_error' here"
    >>> advice(VALUES, "mse", ["log_loss"], owner="loss")
    "LightGBM's mse is 'squared_error' of BoostedTreesRegressor"
    >>> advice(PARAMETERS, "depth", [], place=Place("IsolationForest", []))
    "CatBoost's depth is max_depth of boosted trees and forests; IsolationForest has nothing like it"
    >>> advice(PARAMETERS, "spam")
    ''
    """
    rows = [row for row in table if row.owner == owner and row.is_about(name)]
    holding = [row for row in rows if row.holds(known, place)]
    if rows and not holding:
        return _without(rows[0], name, place)
    sentences, told = [], set[str]()
    for row in holding:
        libraries = [library for library in row.libraries(name) if library not in told]
        told.update(libraries)
        if libraries:
            sentences.append(_sentence(row, name, libraries))
    return "; ".join(dict.fromkeys(sentences))


def _sentence(row: Elsewhere, name: str, libraries: list[str]) -> str:
    if not row.ours:
        return row.remark
    return f"{_theirs(name, libraries)} is {_ours(row)} here{f' ({row.remark})' if row.remark else ''}"


def _without(row: Elsewhere, name: str, place: Place | None) -> str:
    """Say who has what a name stands for, to a class that has no such thing."""
    libraries = row.libraries(name)
    has_it = f"{_theirs(name, libraries)} is {_ours(row)} of" if libraries else f"{name} belongs to"
    if place is None:
        return f"{has_it} {row.of}" if row.ours else ""
    if f"fit({row.ours}=)" in place.has:
        return f"{has_it} fit"
    inner = next((inner for inner in ("estimator=", "estimators=") if inner in place.has), None)
    lacks = f"{place.name} {row.lacks or 'has nothing like it'}"
    if not row.ours:
        return lacks
    return f"{has_it} {row.of}; {f'set it on what is given as {inner}' if inner and not row.lacks else lacks}"


def _theirs(name: str, libraries: list[str]) -> str:
    *others, last = (f"{library}'s" for library in libraries)
    return f"{', '.join(others)} and {last} {name}" if others else f"{last} {name}"


def _ours(row: Elsewhere) -> str:
    return repr(row.ours) if row.owner else row.ours


HEAD = """# Coming from another library

There are no aliases: a name of another library raises an error that tells its name here. This page is the table behind
those errors, written by the program: `python -m arboretum.other_libraries > docs/coming-from.md`.
[presets.md](presets.md) shows the switches that make boosted trees grow as each library does.

```python
import arboretum as arb

try:
    arb.BoostedTreesClassifier(num_leaves=63)
except TypeError as error:
    print(error)  # BoostedTreesClassifier has no parameter 'num_leaves': LightGBM's ... is max_leaf_nodes here
```
"""


def page() -> str:
    """Return docs/coming-from.md."""
    return HEAD + "".join(_section(title, rows) for title, rows in _sections().items())


def _section(title: str, rows: Iterable[Elsewhere]) -> str:
    lines = [f"\n## {title}\n", f"| here | {' | '.join(LIBRARIES.values())} |", "|---" * (len(LIBRARIES) + 1) + "|"]
    for row in rows:
        cells = (", ".join(f"`{name}`" for name in row.theirs.get(library, ())) for library in LIBRARIES)
        lines.append(f"| {_here(row)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _here(row: Elsewhere) -> str:
    if not row.ours:
        return row.remark
    ours = f'`{row.owner}="{row.ours}"`' if row.owner else f"`{row.ours}`"
    of = f" of {row.of}" if row.of != Elsewhere.of else ""
    return f"{ours}{of}{f', {row.remark}' if row.remark else ''}"


if __name__ == "__main__":
    print(page(), end="")
