"""From a model and rows to a page: sections are gathered one by one, and put into the template."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np

from arboretum.arguments import shown
from arboretum.data.schema import NEWLY_MISSING
from arboretum.estimators.files import fingerprint_of
from arboretum.estimators.protocol import Estimator
from arboretum.model.whole_file import replacing
from arboretum.report import columns, dependence, evaluation, examples, findings, importance, training, trees
from arboretum.report.facts import to_json
from arboretum.report.subject import BY_ROW, Subject, id_columns, or_reason, positive_place, read_rows, schema_of
from arboretum.tasks import Task

MAX_ROWS = 2_000
HEADINGS = ("title", "target", "source", "source_train", "date")
SCRIPTS = ("text.js", "charts.js", "sections.js", "trees.js", "examples.js", "page.js")
VENDORED = (("d3.min.js", "d3.LICENSE"), ("plot.umd.min.js", "plot.LICENSE"))


def write_report(
    model: Any, X: Any, y: Any, path: str | os.PathLike[str], *, max_rows: int = MAX_ROWS, **given: Any
) -> Path:
    """Write a report of a fitted model; ``**given`` are the other arguments of ``model.report``.

    Examples
    --------
    >>> import arboretum as arb, tempfile
    >>> X = [[float(j), float(j % 3)] for j in range(60)]
    >>> y = [j % 3 == 0 for j in range(60)]
    >>> model = arb.BoostedTreesClassifier(n_estimators=5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X, y, f"{folder}/report.html").read_text(encoding="utf-8")
    >>> "<title>BoostedTreesClassifier · " in page
    True
    """
    if not isinstance(model, Estimator):
        raise TypeError(f"a report needs a fitted model of arboretum, not {type(model).__name__}")
    schema_of(model)  # rejects a model that is not fitted
    task: Task = cast(Any, model).task_
    if isinstance(max_rows, bool) or not isinstance(max_rows, int | np.integer) or max_rows < 1:
        raise ValueError(f"max_rows={shown(max_rows)}: give a number of rows of at least 1")
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path={shown(path)}: give the path of the page to write")
    X_train, y_train, positive = (given.pop(name, None) for name in ("X_train", "y_train", "positive"))
    if (X_train is None) != (y_train is None) and task.needs_target:
        raise ValueError("X_train and y_train belong together: give both or neither")
    place = positive_place(model, positive)
    of_test, of_train = ({name: given.pop(f"{name}{of}", None) for name in BY_ROW} for of in ("", "_train"))
    if unknown := set(given) - set(HEADINGS):
        raise TypeError(f"write_report() got an unexpected argument {min(unknown)!r}: see model.report")
    id_name = name_of(of_test["ids"]) or name_of(getattr(X, "index", None))
    heading = Heading.of(model, y, id_name=id_name, **given)
    test = read_rows(model, X, y, **of_test)
    train = None if X_train is None else read_rows(model, X_train, y_train, of="_train", **of_train)
    subject = Subject(model, task, test, train, int(max_rows), place)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NEWLY_MISSING)  # a finding says so
        page = to_page(heading.window, gather(subject, heading))
    written = Path(path)
    with replacing(written) as new:
        new.write_text(page, encoding="utf-8", newline="\n")
    return written


@dataclass(frozen=True)
class Heading:
    """The heading of a report: what is predicted, from which files, on which day.

    Examples
    --------
    >>> Heading("price", "shops.csv", None, "2025-03-01", None).window
    'price · shops.csv · 2025-03-01'
    """

    title: str
    source: str | None = None
    source_train: str | None = None
    date: str = ""
    id_name: str | None = None

    @classmethod
    def of(
        cls, model: Any, y: Any, *, title: Any = None, target: Any = None, date: Any = None, **files: Any
    ) -> Heading:
        """Fill in what was not given: the name of the target, of the class, today's date."""
        name = next(word for word in (title, target, name_of(y), type(model).__name__) if word is not None)
        texts = {part: None if given is None else str(given) for part, given in files.items()}  # a Path is fine
        return cls(title=str(name), date=_today() if date is None else str(date), **texts)

    @property
    def window(self) -> str:
        """The title of the browser's window."""
        return " · ".join(part for part in (self.title, self.source, self.date) if part)


def name_of(values: Any) -> str | None:
    """Return the name of a column, or the names of several, if they have some."""
    if (names := id_columns(values)) is not None:
        return " · ".join(map(str, names))
    name = getattr(values, "name", None)
    return name if isinstance(name, str) else None


def _today() -> str:
    """Return the date in UTC; ``SOURCE_DATE_EPOCH`` sets it, as reproducible builds do."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.now(timezone.utc) if seconds is None else datetime.fromtimestamp(int(seconds), timezone.utc)
    return moment.date().isoformat()


def gather(subject: Subject, heading: Heading) -> dict[str, Any]:
    """Gather the facts of all sections; one that cannot be given says why."""
    sections = {name: or_reason(partial(part, subject)) for name, part in _SECTIONS.items()}
    sections["examples"] = or_reason(partial(examples.gather, subject, sections["trees"].get("trees", [])))
    return {"title": heading.title, "about": {**asdict(heading), **_about(subject)}, "sections": sections}


_SECTIONS: dict[str, Callable[[Subject], dict[str, Any]]] = {
    "data": columns.gather,
    "training": training.gather,
    "evaluation": evaluation.gather,
    "importances": importance.gather,
    "dependence": dependence.gather,
    "trees": trees.gather,
    "findings": findings.gather,
}


def _about(subject: Subject) -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("arboretum")
    except PackageNotFoundError:  # run from a source tree
        release = ""
    model, schema = subject.model, subject.schema
    return {
        "model": type(model).__name__,
        "task": subject.task.title,
        "release": release,
        "fingerprint": fingerprint_of(model),
        "rows": subject.test.n_rows,
        "train_rows": None if subject.train is None else subject.train.n_rows,
        "sampled_rows": subject.sample.n_rows,
        "columns": schema.n_features,
        "categorical": len(schema.categorical),
    }


# ---- the page --------------------------------------------------------------------------------------------------------


def to_page(title: str, facts: dict[str, Any]) -> str:
    """Put facts, style and scripts into the template.

    ``{{name}}`` are its only gaps. Each is filled once, in one pass, so that nothing a user wrote is taken for a gap.
    """
    vendored = [f"/*!\n{_file('vendor', licence)}*/\n{_file('vendor', script)}" for script, licence in VENDORED]
    own = "\n".join(_file("page", script) for script in SCRIPTS)
    filling = {
        "title": escape(title),
        "style": _file("page", "page.css"),
        "vendored": "</script>\n<script>".join(vendored),
        "facts": to_json(facts),
        "script": f'"use strict";\n(() => {{\n{own}}})();',
    }
    parts = _file("page", "page.html").split("{{")
    page = [parts[0]]
    for part in parts[1:]:
        gap, _, rest = part.partition("}}")
        page += [filling[gap], rest]
    return "".join(page)


def _file(folder: str, name: str) -> str:
    return (resources.files("arboretum.report") / folder / name).read_text(encoding="utf-8")
