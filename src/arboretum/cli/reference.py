"""The reference page of the command: ``python -m arboretum.cli.reference > docs/command.md``."""

from __future__ import annotations

from typing import Any

HEAD = """# The command

`pip install 'arboretum[cli]'` brings the command `arboretum`. This page is written by the program:
`python -m arboretum.cli.reference > docs/command.md`. [tutorial.md](tutorial.md) follows one table from CSV to report.

Results go to standard output, remarks and progress to standard error; progress is shown only on a terminal. With
`--json` standard output is one JSON object, even if the command fails. Files appear whole or not at all, and replace
others only with `--overwrite`. `arboretum --install-completion` teaches your shell the names of commands and options.

## Data
| written as | read as |
|---|---|
| `sales.csv`, `.tsv`, `.json`, `.jsonl` | a file of text, also compressed: `.gz`, `.bz2` or `.zst` |
| `sales.parquet`, `.arrow`, `.arrows`, `.feather` | a file with types |
| `'part-*.csv'`, `folder` | files of one format, `part-2` before `part-10`; columns are matched by name |
| `-` | standard input, in any of these formats |
| `shop.db::orders`, or `shop.db --table orders` | a table of a SQLite or DuckDB file |
| `--sql "SELECT … FROM data WHERE …"` | the rows of a query; `data` is the table of the files that DATA names |

`predict --out` writes every format that is read; `--out -` writes to standard output, CSV unless `--format` names
another format: `… | arboretum predict model.arb - -o - | …`. [odd-input.md](odd-input.md#text-in-files) says how
columns of text are read; `--missing`, `--kind`, `--date-format`, `--decimal`, `--delimiter` and `--encoding` help.

A command reads each text file once. All rows are read into memory, except by `predict`, and except with
`--memory-limit 500MB`, an option of `train`, `predict`, `evaluate` and `report`. It is the memory that the process may
hold above its bare start, within 15 %; a limit that is too small is rejected before training, with the least one that
is enough. Rows then stay in their files and are read in passes ([datasets.md](datasets.md)); those of text files and
queries are kept in a temporary file. Model and scores are those of the same command without the limit, as long as the
first rows (100,000, or 5 million values if that is less) tell what each column holds. The target, weights and
predictions of judged rows are in memory. With a limit, `train` learns boosted trees and forests, for classes and for
numbers; reports read a sample of the rows.

A model file may hold estimators of other libraries ([format.md](format.md#estimators-of-other-libraries)). Commands
that open a model read them only with `--foreign skops` or `--foreign pickle`; `show` lists them without reading them. A
pickle can run any code: use `--foreign pickle` only for files of people whom you trust.

`train --checkpoint FILE` saves its progress ([checkpoints.md](checkpoints.md)). After a crash the same command goes on
to the same model, and removes the file. With folds, only the model that is written, which is fitted first, has a
checkpoint.

## Exit codes
With `--json`, a run that ends with code 0 prints its result; one that ends with 1 to 5 prints
`{"error": …, "exit_code": …}`. An interrupted `train` or `compare` that has something to show prints it with
`"interrupted": true`.

| code | meaning |
|---|---|
"""


def reference() -> str:
    """Return the page."""
    from typer.main import get_command

    from arboretum.cli.app import app
    from arboretum.cli.errors import EXIT_CODES

    codes = "".join(f"| {code} | {words} |\n" for code, words in EXIT_CODES.items())
    group: Any = get_command(app)
    return HEAD + codes + "".join(_section(name, command) for name, command in group.commands.items())


def _section(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join(["arboretum", name, *(_placed(argument) for argument in arguments), "[OPTIONS]"])
    lines = [f"\n## {name}\n", f"`{usage}`\n", f"{_unfolded(command.help)}\n", "| option | meaning |", "|---|---|"]
    lines += [f"| `{argument.metavar}` | {_cell(argument.help)} |" for argument in arguments]
    lines += [f"| {_spelt(option)} | {_cell(option.help)}{_default(option)} |" for option in options]
    return "\n".join(lines) + "\n"


def _placed(argument: Any) -> str:
    return str(argument.metavar) if argument.required else f"[{argument.metavar}]"


def _spelt(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))
    return names if option.is_flag else f"{names} `{option.metavar}`"


def _default(option: Any) -> str:
    shown = not option.is_flag and not option.required and option.default not in (None, [], ())
    return f" Default: `{option.default}`." if shown else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _unfolded(text: str) -> str:
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


if __name__ == "__main__":
    print(reference(), end="")
