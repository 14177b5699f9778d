"""Columns of a table: what each is for (its role) and what it holds (its kind)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arboretum.arguments import shown
from arboretum.cli.changed import Changed
from arboretum.cli.errors import DataError, UsageError, nearest
from arboretum.data.arrow_types import as_numpy, plain_type
from arboretum.data.dataset import Dataset
from arboretum.data.sources import identifier
from arboretum.data.targets import unique_labels
from arboretum.estimators.classes import arguments

KINDS = ("number", "category", "date", "bool", "ignore")
FEW_ROWS = 50  # below which values that are all different mean nothing
OFFSET_ROLE = ", the offset that predictions start from (--offset names another)"


@dataclass(frozen=True)
class Roles:
    """Which column is what; a model file keeps them.

    Examples
    --------
    >>> roles = Roles(target="price", ids=("row",), kinds={"zip": "category"})
    >>> Roles.from_json(roles.to_json()) == roles
    True
    """

    target: str | None = None
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    event: str | None = None
    treatment: str | None = None
    offset: tuple[str, ...] = ()  # one column for each raw prediction
    positive: str | None = None  # the class of two whose probability is shown, as the user wrote it
    ids: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    task: str | None = None
    missing: tuple[str, ...] = ()  # what --missing named
    decimal: str | None = None  # what --decimal named
    date_formats: Mapping[str, str] = field(default_factory=dict)  # of dates that are not ISO
    asked: tuple[str, ...] = ()  # columns whose kind the user asked for

    def without_beside(self, known: Iterable[str]) -> Roles:
        """Return the roles, for rows with features alone if there is no target or a column is not known."""
        single = (self.target, self.weight, self.group, self.event, self.treatment)
        if self.target is not None and {*single, *self.offset} <= {None, *known}:
            return self
        return replace(self, target=None, weight=None, group=None, event=None, treatment=None, offset=())

    @property
    def by_option(self) -> list[tuple[str, str]]:
        """Names of options, and the columns that they name; a column may have two roles."""
        single = ("target", "weight", "group", "time", "event", "treatment")
        given = [(role, getattr(self, role)) for role in single if getattr(self, role) is not None]
        several = {"offset": self.offset, "id": self.ids, "ignore": self.ignored}
        return given + [(role, column) for role, columns in several.items() for column in columns]

    @property
    def named(self) -> dict[str, str]:
        """Columns that are not features, and the option of each."""
        return {column: option for option, column in self.by_option}

    def check(self) -> None:
        """Reject columns whose roles exclude each other: a target is nothing else, nor is what is left out."""
        for option, column in self.by_option:
            for other, same in self.by_option:
                if column == same and option != other and (option == "target" or other == "ignore"):
                    raise UsageError(f"--{option} and --{other} both name {column!r}: a column is one or the other")

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: Any) -> Roles:
        """Undo ``to_json``; ignore fields of later releases, and raise TypeError for a field of another type."""
        if not isinstance(stored, dict):
            raise TypeError(f"its roles of columns are {type(stored).__name__}, not an object")
        known = {name: stored[name] for name in vars(cls()).keys() & stored.keys()}
        found: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
        for name, value in found.items():
            usual = getattr(cls(), name)
            texts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
            shape = str | None if usual is None else type(usual)
            if not isinstance(value, shape) or not all(isinstance(text, str | None) for text in texts):
                raise TypeError(f"its role {name!r} of columns is {shown(stored[name])}")
        return cls(**found)


def parse_kinds(given: Iterable[str]) -> dict[str, str]:
    """Read options of the form ``column=kind``.

    Examples
    --------
    >>> parse_kinds(["zip=category"])
    {'zip': 'category'}
    """
    pairs = [item.rpartition("=") for item in given]
    for column, equals, kind in pairs:
        if not equals or kind not in KINDS:
            item = f"{column}{equals}{kind}"
            raise UsageError(f"--kind {item}: expected column=kind, where kind is one of {', '.join(KINDS)}")
    return {column: kind for column, _, kind in pairs}


def require(table: Any, names: Iterable[str], where: str, role: str = "") -> None:
    """Reject names that no column has; ``role`` says what the columns are for."""
    known = dict.fromkeys(table.schema.names)
    if absent := [name for name in names if name not in known]:
        raise DataError(f"{where} has no column {absent[0]!r}{role}: {nearest(absent[0], known)}")


def by_name(table: Any) -> dict[str, Any]:
    """Return the columns by name; a table itself looks through all names for each."""
    return dict(zip(table.schema.names, table.columns, strict=True))


# ----------------------------------------------------------------------------------------------------- kinds


def kind_of(kind: Any) -> str | None:
    """Return what a column of an Arrow type holds; None if trees cannot split it."""
    import pyarrow.types as types

    held = kind.value_type if types.is_dictionary(kind) else kind
    tests: dict[str, tuple[Callable[[Any], bool], ...]] = {
        "bool": (types.is_boolean,),
        "number": (types.is_integer, types.is_floating, types.is_decimal, types.is_duration, types.is_time),
        "date": (types.is_date, types.is_timestamp),
        "category": (types.is_string, types.is_large_string, types.is_string_view),
    }
    return next((name for name, known in tests.items() if any(test(held) for test in known)), None)


def as_kind(column: Any, kind: str, name: str) -> Any:
    """Return an Arrow column as another kind, or as it is if it is of that kind.

    Raises
    ------
    DataError
        If a value cannot be read as that kind.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_time(column.type):
        column = compute.cast(compute.cast(column, pa.time64("us")), pa.int64())
    if pa.types.is_decimal(column.type):
        column = compute.cast(column, pa.float64())
    found = kind_of(column.type)
    if found == kind or {found, kind} == {"number", "bool"} or pa.types.is_null(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    wanted = {"number": pa.float64(), "category": pa.string(), "date": pa.timestamp("us"), "bool": pa.bool_()}[kind]
    try:
        return compute.cast(column, wanted)
    except pa.ArrowException:
        value = next(value for value in column.to_pylist() if value is not None and not _casts(value, wanted))
        raise DataError(
            f"column {name!r} holds {value!r}, which is not a {kind}: correct it, or leave the column out"
        ) from None


def _casts(value: Any, wanted: Any) -> bool:
    import pyarrow as pa

    try:
        pa.array([value]).cast(wanted)
    except pa.ArrowException:
        return False
    return True


def kinds_of_model(model: Any) -> dict[str, str]:
    """Return the kinds of the columns that a model was fitted on, "" where it does not tell."""
    schema = getattr(model, "schema_", None)
    if schema is None:  # a model of models knows names alone
        return dict.fromkeys(map(str, getattr(model, "feature_names_in_", ())), "")
    return {column.name: "number" if column.source == "duration" else column.read_as or "" for column in schema.columns}


def target_kind(values: Any) -> str:
    """Return the kind of a target, by its values or classes.

    Examples
    --------
    >>> target_kind(["no", "yes"]), target_kind([0, 1])
    ('category', 'number')
    """
    return {"b": "bool", "i": "number", "u": "number", "f": "number", "M": "date"}.get(
        np.asarray(values).dtype.kind, "category"
    )


def select(table: Any, kinds: Mapping[str, str], where: str) -> Any:
    """Return the named columns of a table, record batch or Dataset, as their kinds; kind "" leaves one as it is."""
    import pyarrow as pa

    require(table, kinds, where)
    if isinstance(table, Dataset):
        return replace(table, source=Converted(table.source, kinds, where), columns=tuple(kinds))
    found = by_name(table)
    return pa.table({name: as_kind(found[name], kind, name) if kind else found[name] for name, kind in kinds.items()})


@dataclass(frozen=True)
class Converted(Changed):
    """A source whose columns are of other kinds."""

    kinds: Mapping[str, str]
    where: str

    def changer(self, memory: int | None) -> Callable[[Any], Any]:
        """Convert the columns that have a kind."""
        return lambda batch: select(
            batch, {name: self.kinds[name] for name in batch.schema.names if name in self.kinds}, self.where
        )


# -------------------------------------------------------------------------------------------------- features


@dataclass(frozen=True)
class Features:
    """Columns that a model may read, with their kinds; columns that name rows; and remarks about the others."""

    kinds: dict[str, str]
    remarks: list[str]
    ids: tuple[str, ...] = ()

    def summary(self) -> str:
        """Count the kinds.

        Examples
        --------
        >>> Features({"age": "number", "size": "number", "zip": "category"}, []).summary()
        '3 columns: 2 numbers, 1 category'
        """
        plural = {"number": "numbers", "category": "categories", "date": "dates", "bool": "booleans"}
        singular = {"bool": "boolean"}
        found = list(self.kinds.values())
        counts = {kind: found.count(kind) for kind in plural if kind in found}
        words = [f"{n} {singular.get(kind, kind) if n == 1 else plural[kind]}" for kind, n in counts.items()]
        return f"{len(found)} column{'s' if len(found) != 1 else ''}: {', '.join(words)}"


def find_features(table: Any, roles: Roles) -> Features:
    """Choose the columns to learn from: all that have no other role and something to teach."""
    require(table, roles.kinds, "the data")
    found = {name: column for name, column in by_name(table).items() if name not in roles.named}
    kinds = {name: roles.kinds.get(name) or kind_of(column.type) for name, column in found.items()}
    guessed = {name: column for name, column in found.items() if name not in roles.kinds}
    ids = tuple(name for name, column in guessed.items() if _names_rows(column, name, kinds[name]))
    reasons = {name: _unfit(column, kinds[name]) for name, column in guessed.items() if name not in ids}
    remarks = [
        f"column {name!r} names rows: its values are all different; predictions keep it beside them "
        f"(--kind {name}={kinds[name]} learns from it)"
        if name in ids
        else f"column {name!r} is left out: {reasons[name]}"
        for name in guessed
        if name in ids or reasons[name]
    ]
    learnt = {
        name: kind
        for name, kind in kinds.items()
        if kind is not None and kind != "ignore" and name not in ids and not reasons.get(name)
    }
    if not learnt:
        why = "; ".join(remarks[:3]) or "check what --ignore, --id and --kind leave out"
        raise DataError(f"no column is left to learn from: {why}")
    return Features(learnt, remarks, ids)


def _unfit(column: Any, kind: str | None) -> str | None:
    """Return why a column can teach nothing; None if it can."""
    if column.null_count == len(column):
        return "it has no values"
    if kind is None:
        return f"trees cannot split values of type {column.type!s:.60}; choose parts of it with --sql"
    return None


def _names_rows(column: Any, name: str, kind: str | None) -> bool:
    """Whether a column is an identifier: text, or whole numbers under the name of one, that are all different."""
    number_of_a_row = kind == "number" and _named_as_id(name) and str(column.type).startswith(("int", "uint"))
    if len(column) < FEW_ROWS or not (kind == "category" or number_of_a_row) or column.null_count:
        return False
    import pyarrow.compute as compute

    return bool(compute.count_distinct(column.cast(plain_type(column.type))).as_py() == len(column))


def _named_as_id(name: str) -> bool:
    words = name.lower().replace("-", "_").split("_")
    return words[-1] in ("id", "index", "rownames", "key") or name.startswith("Unnamed") or name.endswith("Id")


# -------------------------------------------------------------------------------------------------- examples


@dataclass(frozen=True)
class Examples:
    """Rows to learn from or to judge by: features, target and what else belongs to each row."""

    X: Any  # an Arrow table, or a Dataset
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None = None
    group: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    event: NDArray[Any] | None = None
    treatment: NDArray[Any] | None = None
    offset: NDArray[np.float64] | None = None  # (rows,), or (rows, raw predictions)
    ids: Any = None  # the columns that name rows, as X
    target_name: str | None = None
    source: str | None = None  # what messages call the data
    positive: str | None = None  # the class of two whose probability is judged; the second by default

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.X.n_rows if isinstance(self.X, Dataset) else self.X.num_rows)

    def filter(self, chosen: NDArray[np.bool_]) -> Examples:
        """Return some of the rows."""
        parts = ("y", "weight", "group", "time", "event", "treatment", "offset")
        taken = {part: None if getattr(self, part) is None else getattr(self, part)[chosen] for part in parts}
        ids = None if self.ids is None else self.ids.filter(chosen)
        return replace(self, X=self.X.filter(chosen), ids=ids, **taken)

    def by_time(self) -> Examples:
        """Return the rows in the order of time."""
        assert self.time is not None
        order = np.argsort(self.time, kind="stable")
        parts = ("y", "weight", "group", "time", "event", "treatment", "offset")
        taken = {part: None if getattr(self, part) is None else getattr(self, part)[order] for part in parts}
        return replace(self, X=self.X.take(order), ids=None if self.ids is None else self.ids.take(order), **taken)

    def name_of(self, row: int) -> str:
        """Return what to call a row: its number, and what its id columns hold.

        Examples
        --------
        >>> import pyarrow as pa
        >>> Examples(pa.table({"size": [1, 2]}), None, ids=pa.table({"order": ["a7", "a8"]})).name_of(1)
        'row 1 (order a8)'
        """
        if self.ids is None:
            return f"row {row}"
        held = ", ".join(f"{name} {column[row].as_py()}" for name, column in by_name(self.ids).items())
        return f"row {row} ({held})"

    def in_memory(self, most: int) -> Examples:
        """Return rows of a Dataset as a table, at most ``most``, evenly from all parts of it."""
        assert isinstance(self.X, Dataset)
        place = np.arange(len(self)) * min(most, len(self))
        rows = self.filter(place % len(self) < min(most, len(self)))
        return replace(rows, X=rows.X.to_frame(), ids=None if rows.ids is None else rows.ids.to_frame())

    @property
    def target(self) -> Any:
        """The target as estimators take it: times and events together."""
        if self.event is None or self.y is None:
            return self.y
        both = np.empty(len(self), dtype=[("event", np.bool_), ("time", np.float64)])
        both["event"], both["time"] = self.event, self.y
        return both

    def fit_arguments(self, model: Any) -> dict[str, Any]:
        """Return what ``fit`` takes besides X and y; rankers learn from groups, stacks keep them together."""
        taken = arguments(type(model).fit)
        groups: dict[str, Any] = {name: self.group for name in ("group", "groups") if name in taken}
        given: dict[str, Any] = {"sample_weight": self.weight, "treatment": self.treatment, "offset": self.offset}
        return {name: value for name, value in {**given, **groups}.items() if value is not None}

    @property
    def predict_arguments(self) -> dict[str, Any]:
        """What ``predict`` and its like take besides X."""
        return {} if self.offset is None else {"offset": self.offset}


def examples(table: Any, roles: Roles, kinds: Mapping[str, str], where: str) -> tuple[Examples, list[str]]:
    """Read features, target and the like from a table; leave out rows without a target, and say so.

    Features and ids of a Dataset stay where they are; the other columns are read.
    """
    require(table, roles.offset, where, OFFSET_ROLE)
    needed = [name for name in roles.named if name not in roles.ignored + roles.ids]
    require(table, needed, where)
    beside = table.select(needed).to_frame() if isinstance(table, Dataset) and needed else table
    remarks = []
    if roles.target is not None and (absent := beside[roles.target].null_count):
        if absent == beside.num_rows:
            raise DataError(f"the target {roles.target!r} has no values in {where}")
        remarks.append(f"{absent} of {beside.num_rows} rows have no {roles.target!r} and are left out")
        chosen = beside[roles.target].is_valid().to_numpy()
        beside, table = beside.filter(chosen), table.filter(chosen)
    weight, event = (
        None if name is None else _numbers(beside[name], name, role)
        for role, name in (("weight", roles.weight), ("event", roles.event))
    )
    _check_weight(weight, roles.weight)
    _check_event(event, roles.event)
    values = {
        role: None if name is None else _values(beside[name], name, role)
        for role, name in (
            ("target", roles.target),
            ("group", roles.group),
            ("time", roles.time),
            ("treatment", roles.treatment),
        )
    }
    named = [name for name in roles.ids if name in table.schema.names]
    found = Examples(
        select(table, kinds, where),
        values.pop("target"),
        weight,
        event=event,
        **values,
        offset=read_offset(beside, roles.offset),
        ids=table.select(named) if named else None,
        target_name=roles.target,
        positive=roles.positive,
        source=where,
    )
    return found, remarks


def read_offset(table: Any, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the offsets of rows as estimators take them; None if there are no such columns."""
    columns = [_numbers(table[name], name, "offset") for name in names]
    return None if not columns else columns[0] if len(columns) == 1 else np.column_stack(columns)


def _values(column: Any, name: str, role: str) -> NDArray[Any]:
    import pyarrow as pa

    if column.null_count:
        raise DataError(f"the {role} {name!r} has {column.null_count} missing values: leave those rows out by --sql")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return as_numpy(column)


def _numbers(column: Any, name: str, role: str) -> NDArray[np.float64]:
    return _values(as_kind(column, "number", name), name, role).astype(np.float64)


def _check_weight(weight: NDArray[np.float64] | None, name: str | None) -> None:
    wrong = np.zeros(0) if weight is None else weight[(weight < 0) | ~np.isfinite(weight)]
    if wrong.size:
        raise DataError(f"the weight {name!r} is {wrong[0]:g} in a row: expected 0 or more; correct it by --sql")
    if weight is not None and not weight.any():
        raise DataError(f"the weight {name!r} is 0 in every row: expected more than 0 in some; choose another column")


def _check_event(event: NDArray[np.float64] | None, name: str | None) -> None:
    found = np.zeros(0) if event is None else np.unique(event)
    if not np.isin(found, (0, 1)).all():
        column, happened = identifier(str(name)), f"{found[-1]:g}"
        query = f"SELECT * REPLACE ({column} = {happened} AS {column}) FROM data"
        raise DataError(
            f"the event {name!r} holds {', '.join(f'{value:g}' for value in found[:5])}: 1 or true says that it "
            f"happened, 0 or false that it has not yet; if {happened} says that it happened, --sql {shlex.quote(query)}"
        )


class Distinct(Sequence[Any]):
    """The values that occur, sorted; Python objects only when they are looked at, for there may be millions.

    Examples
    --------
    >>> found = Distinct(np.array([2, 1, 2]))
    >>> len(found), found[0], found[:2]
    (2, 1, [1, 2])
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.found = unique_labels(values)[0] if values.dtype == object else np.unique(values)

    def __len__(self) -> int:
        """Count them."""
        return len(self.found)

    def __getitem__(self, place: Any) -> Any:
        """Return one, or some of them."""
        return self.found[place].tolist() if isinstance(place, slice) else self.found[[place]].tolist()[0]
