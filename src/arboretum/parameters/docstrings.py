"""Docstrings of estimators: the text of their classes, with the declared parameters.

The class has the summary, examples and references; ``Parameters`` come from the declarations, with a blank line between
groups; ``Attributes`` come from the class and its bases, each documented where it is set.
"""

from __future__ import annotations

import inspect
import re
import textwrap

from arboretum.parameters.declaring import Parameter, parameters_of

WIDTH = 112  # of lines, as in files of 120 columns
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
        text = textwrap.wrap(parameter.doc, WIDTH, break_long_words=False, break_on_hyphens=False)
        lines += [f"{name} : {parameter.type}", *(f"    {line}" for line in text)]
    return "\n".join(lines)


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
