"""Commands: functions whose parameters are options, groups of options, and a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from arboretum.cli.options import Output
from arboretum.cli.terminal import session


def command(body: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function.

    The function is called with a terminal and its options. A parameter whose type is a dataclass, as those of
    ``options``, is a group: there is an option for each of its fields. All commands have the options of ``Output``.
    Errors of the function become messages and exit codes.
    """
    hints = _types_of(body)
    _, *given = signature(body).parameters.values()
    groups = {parameter.name: hints[parameter.name] for parameter in given if is_dataclass(hints[parameter.name])}
    flat = [
        option
        for parameter in given
        for option in (
            _options_of(groups[parameter.name])
            if parameter.name in groups
            else [parameter.replace(annotation=hints[parameter.name], kind=Parameter.KEYWORD_ONLY)]
        )
    ] + _options_of(Output)

    def run(**options: Any) -> None:
        with session(_taken(Output, options), out=options.get("out")) as terminal:
            body(terminal, **{name: _taken(group, options) for name, group in groups.items()}, **options)

    described: Any = run  # what typer reads
    described.__name__, described.__doc__ = body.__name__, body.__doc__
    described.__signature__ = Signature(flat)
    described.__annotations__ = {option.name: option.annotation for option in flat}
    return run


def _types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of parameters as they are written: of a function, Python 3.10 makes those with None optional."""
    written = {"__annotations__": function.__annotations__, "__module__": function.__module__}
    return get_type_hints(type(function.__name__, (), written), include_extras=True)


def _options_of(group: type[Any]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in fields(group)
    ]


def _taken(group: type[Any], options: dict[str, Any]) -> Any:
    """Make a group of its options, which are removed from the others."""
    return group(**{field.name: options.pop(field.name) for field in fields(group)})
