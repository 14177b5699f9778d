"""``arboretum convert``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.command import command
from arboretum.cli.terminal import Terminal

FORMATS = {".arb": "arb", ".json": "json", ".txt": "text"}


@command
def convert(
    terminal: Terminal,
    model: options.Model,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    consent: options.Consent,
    to: Annotated[
        options.Name,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="arb, mapped (arb with arrays that processes share), json or text; by the name of OUT.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Convert a model file to JSON, which holds every number of it, or back; or write its trees as text."""
    from arboretum.cli import errors, files
    from arboretum.model import model_file

    files.check_outputs({"OUT": out}, {"MODEL": model}, overwrite=overwrite)
    forms: dict[str | None, Callable[..., bytes]] = {
        "arb": model_file.to_bytes,
        "mapped": partial(model_file.to_bytes, compact=False),
        "json": to_json,
        "text": to_text,
    }
    wanted = to or FORMATS.get(out.suffix)
    if wanted not in forms:
        raise errors.UsageError(f"cannot tell the format of {out}: give --to arb, mapped, json or text")
    with consent.given():
        header, arrays = read_any(model)
        content = forms[wanted](header, arrays)
    with files.told(terminal, out, with_size=True):
        files.write(out, content)
    terminal.result |= {"file": str(out), "format": wanted}


def read_any(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a model file, or the JSON of one."""
    from arboretum.cli.errors import ModelError
    from arboretum.estimators.files import from_file
    from arboretum.model import model_file

    try:
        with path.open("rb") as file:
            is_json = file.read(1) == b"{"
        header, arrays = from_json(path) if is_json else model_file.load(path)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from None
    from_file(header, arrays)  # rejects what is not a model
    return header, arrays


def to_json(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """Return header and arrays as strict JSON that keeps every number to the bit."""
    from arboretum.model import exact_json

    stored = {
        name: {"dtype": array.dtype.str, "shape": list(array.shape), "values": array.ravel().tolist()}
        for name, array in arrays.items()
    }
    return exact_json.dumps({"header": header, "arrays": stored})


def from_json(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Undo ``to_json``, trusting nothing."""
    import numpy as np

    from arboretum.cli.errors import ModelError
    from arboretum.model import exact_json

    try:
        stored = exact_json.loads(path.read_bytes())
        arrays = {
            name: np.array(entry["values"], dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])
            for name, entry in stored["arrays"].items()
        }
        return dict(stored["header"]), arrays
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{path} is not a model in the JSON of 'arboretum convert': {error}") from None


def to_text(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """Return all trees as text."""
    from arboretum.cli.show import forest_of, tree_text
    from arboretum.estimators.files import from_file

    model = from_file(header, arrays)
    first = tree_text(model, 0, None)  # fails for a model that is not a forest
    texts = [first, *(tree_text(model, tree, None) for tree in range(1, forest_of(model).n_trees))]
    return "\n".join(f"tree {number}\n{text}\n" for number, text in enumerate(texts)).encode()
