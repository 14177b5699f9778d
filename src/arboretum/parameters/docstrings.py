"""Docstrings of estimators: what classes and methods write, with what is described once for all of them.

Of a class, the summary, examples and references are its own; ``Parameters`` come from the declarations, a blank line
between groups; ``Attributes`` are those of the class and of its bases, each written where it is set. A method without
``Parameters`` of its own gets those of ``ARGUMENTS``.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection

from arboretum.parameters.declaring import Parameter, parameters_of

WIDTH = 112  # of lines, as in files of 120 columns

# Arguments that mean the same in every method that has them, but for fits: type and description.
ARGUMENTS = {
    "X": ("array-like, sparse matrix or data frame", "Rows; named columns in any order."),
    "y": ("array-like", "Targets of the rows, as for ``fit``."),
    "group": ("array-like", "Id of the query of each row, as for ``fit``."),
    "treatment": ("array-like", "Treatment of each row, as for ``fit``."),
    "sample_weight": ("array-like, optional", "Weight of each row."),
    "times": ("array-like, optional", "Times, at least 0; by default ``event_times_``."),
    "offset": (
        "array-like, optional",
        "What the raw prediction of each row starts from, as in ``fit``, such as the logarithm of its exposure for "
        "losses of counts and amounts. One number stands for all rows.",
    ),
}
OF_FITS = {
    "X": (ARGUMENTS["X"][0], "Training rows: numbers, text, categories, dates, with missing values."),
    "y": ("array-like", "Target, one value per row; for several outputs, one column each."),
    "treatment": ("array-like", "Label of each row: which treatment it had, or that of the control."),
    "sample_weight": ("array-like, optional", "Weight of each row: a row of weight 3 is the same as three equal rows."),
}
TARGET = (
    "str or list of str, optional",
    "Name of the column that is the target, in place of ``y``, if X is a data frame, an Arrow table, a dictionary of "
    'columns or a Dataset. Other arguments may name columns as well, as ``sample_weight="weight"``; such columns are '
    "not features.",
)
_HEADER = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)


def complete(cls: type, written: str) -> str:
    """Return the docstring of a class, completed from the text that it has."""
    own = sections(written)
    attributes: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        attributes |= _entries(sections(_written(base)).get("Attributes", ""))
    attributes |= _entries(own.pop("Attributes", ""))
    parts = [own.pop("").strip()]
    if declared := parameters_of(cls):
        parts.append(_section("Parameters", described(declared)))
    if attributes:
        parts.append(_section("Attributes", "\n".join(attributes.values())))
    parts += [_section(title, text.strip("\n")) for title, text in own.items()]
    return "\n\n".join(parts) + "\n"


def with_arguments(docstring: str, names: Collection[str], *, fits: bool = False) -> str:
    """Return the docstring of a method with its arguments, if it does not describe them and all are well known.

    Examples
    --------
    >>> with_arguments("Predict.", ["X"]).splitlines()[-2:]
    ['X : array-like, sparse matrix or data frame', '    Rows; named columns in any order.']
    >>> with_arguments("Predict.", ["X", "hurry"])
    'Predict.'
    """
    known = OF_FITS if fits else ARGUMENTS
    if not names or "Parameters\n" in docstring or not known.keys() >= set(names):
        return docstring
    own = sections(docstring)
    entries = "\n".join(_entry(name, *known[name]) for name in names)
    return _joined({"": own.pop(""), "Parameters": entries, **own})


def with_target(docstring: str) -> str:
    """Return the docstring of a method with its argument ``target``, if it describes others.

    Examples
    --------
    >>> with_target(with_arguments("Predict.", ["X"])).splitlines()[5:7]
    ['    Rows; named columns in any order.', 'target : str or list of str, optional']
    """
    own = sections(docstring)
    if "Parameters" not in own:
        return docstring
    return _joined({**own, "Parameters": f"{own['Parameters'].rstrip()}\n{_entry('target', *TARGET)}"})


def _joined(parts: dict[str, str]) -> str:
    """Undo ``sections``."""
    first, *others = ((title, text.strip("\n")) for title, text in parts.items())
    return "\n\n".join([first[1].strip(), *(_section(title, text) for title, text in others)])


def sections(docstring: str) -> dict[str, str]:
    r"""Return the text before the first header, under no name, and that of each section.

    Examples
    --------
    >>> sections("Adds.\n\nNotes\n-----\nSlowly.")
    {'': 'Adds.\n\n', 'Notes': 'Slowly.'}
    """
    first, *rest = _HEADER.split(inspect.cleandoc(docstring))
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def described(declared: dict[str, Parameter]) -> str:
    """Return the entries of parameters."""
    lines, group = [], next(iter(declared.values())).group
    for name, parameter in declared.items():
        if parameter.group != group:
            lines.append("")
        group = parameter.group
        lines.append(_entry(name, parameter.type, parameter.doc))
    return "\n".join(lines)


def _entry(name: str, kind: str, doc: str) -> str:
    text = textwrap.wrap(doc, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{name} : {kind}", *(f"    {line}" for line in text)])


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}"


def _written(cls: type) -> str:
    """Return the docstring of a class as in its source; estimators keep it in a descriptor."""
    doc = vars(cls).get("__doc__")
    return getattr(doc, "written", doc) or ""


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section by their names."""
    entries = re.findall(r"^\S.*(?:\n[ \t]+.*)*", text, re.MULTILINE)
    return {entry.partition(" :")[0].partition("\n")[0]: entry for entry in entries}
