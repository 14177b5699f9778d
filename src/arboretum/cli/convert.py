"""``arboretum convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from arboretum.cli import options
from arboretum.cli.terminal import session

FORMATS = {".arb": "arb", ".json": "json", ".txt": "text"}


def convert(
    model: options.Model,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="arb, mapped (arb with arrays that processes share), json or text; by its name.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> None:
    """Convert a model file to JSON, which holds every number of it, or back; or write its trees as text."""
    with session(as_json=as_json, quiet=quiet, traceback=traceback, out=out) as terminal:
        from arboretum.cli.errors import UsageError
        from arboretum.cli.files import check_outputs, output_path, tell_written

        check_outputs({"OUT": out}, {"MODEL": model}, overwrite=overwrite)
        wanted = to or FORMATS.get(out.suffix)
        if wanted not in ("arb", "mapped", "json", "text"):
            raise UsageError(f"cannot tell the format of {out}: give --to arb, mapped, json or text")
        header, arrays = read_any(model)
        replaces = out.exists()
        with output_path(out) as path:
            write_as(wanted, header, arrays, path)
        tell_written(terminal, out, replaces=replaces, with_size=True)
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
    from_file(header, arrays)  # refuses what is no model
    return header, arrays


def write_as(wanted: str, header: dict[str, Any], arrays: dict[str, Any], path: Path) -> None:
    """Write the content of a model file in another form."""
    from arboretum.cli.files import write_model_file, written_whole

    if wanted in ("arb", "mapped"):
        write_model_file(path, header, arrays, compact=wanted == "arb")
        return
    content = to_json(header, arrays) if wanted == "json" else to_text(header, arrays).encode()
    with written_whole(path) as new:
        new.write_bytes(content)


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
        raise ModelError(f"{path} is no model as 'arboretum convert' writes it: {error}") from None


def to_text(header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """Return all trees as text."""
    from arboretum.cli.show import tree_text
    from arboretum.estimators.files import from_file

    model = from_file(header, arrays)
    first = tree_text(model, 0, None)  # a model without trees of its own fails here
    rest = (tree_text(model, tree, None) for tree in range(1, len(model.forest_.tree_start) - 1))
    return "\n".join(f"tree {number}\n{text}\n" for number, text in enumerate([first, *rest]))
