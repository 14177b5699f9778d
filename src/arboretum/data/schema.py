"""Schemas: what each column of a table is, and how the values found in it become numbers or codes.

A column comes here as a `Reading`, whatever library held it::

    Reading ──learn_column──► ColumnSchema + column    (at fit)
       └──────apply_column──► column                   (at predict, as that ColumnSchema says)

so that every format shares one order of categories, one rule for missing values and one set of errors.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from arboretum.arguments import holds_others, shown
from arboretum.cached import cached_property
from arboretum.data.text_values import hidden_values
from arboretum.data.validity import Rules
from arboretum.running.warning import warn_user

Kind: TypeAlias = Literal["numeric", "categorical"]
Source: TypeAlias = Literal["number", "bool", "datetime", "duration", "string", "category"]
Category: TypeAlias = "str | int | float | bool"
Array: TypeAlias = npt.NDArray[Any]

MISSING = -1
UNKNOWN = -2

_READ_AS: dict[Source, Literal["number", "category", "date", "bool"]] = {
    "number": "number",
    "bool": "bool",
    "datetime": "date",
    "string": "category",
}

NEWLY_MISSING = "missing values in columns that had none at fit"  # begins the warning, to filter it by


@dataclass(frozen=True)
class ColumnSchema:
    """What one column was at fit.

    Parameters
    ----------
    name : str
        The name as given; ``"x0"``, ``"x1"``, … for arrays.
    kind : {"numeric", "categorical"}
        How trees split it: by a threshold or by a set of categories.
    source : {"number", "bool", "datetime", "duration", "string", "category"}
        The type the values had.
    categories : tuple
        The value of each code: falling frequency, ties in the order of the values. No row order and no
        dictionary order of the input can change it.
    has_missing : bool
        Whether values were missing at fit.

    Examples
    --------
    >>> from arboretum.data.table import read_table
    >>> read_table([["b"], ["a"], ["b"], [None]]).schema.columns[0]
    ColumnSchema(name='x0', kind='categorical', source='string', categories=('b', 'a'), has_missing=True)
    """

    name: str
    kind: Kind
    source: Source
    categories: tuple[Category, ...] = ()
    has_missing: bool = False

    @property
    def holds_numbers(self) -> bool:
        """Whether it holds numbers or booleans to be split by thresholds."""
        return self.kind == "numeric" and _family(self) == "number"

    @property
    def read_as(self) -> Literal["number", "category", "date", "bool"] | None:
        """The kind that text must be read as to become such a column; None if text does not tell."""
        if self.source == "category":
            is_text = any(isinstance(category, str) for category in self.categories)
            return "category" if is_text else "number" if self.categories else None
        return _READ_AS.get(self.source)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Rank of each category among the values: unlike its code, it does not depend on how often it occurs."""
        rank = [0] * len(self.categories)
        for place, code in enumerate(sorted(range(len(rank)), key=self.categories.__getitem__)):
            rank[code] = place
        return tuple(rank)

    @cached_property
    def code(self) -> dict[Category, int]:
        """The code of each category."""
        return {category: code for code, category in enumerate(self.categories)}


@dataclass(frozen=True)
class Schema:
    """The columns a model was fitted on.

    Parameters
    ----------
    columns : tuple of ColumnSchema
        One per column, in the order of the fit.
    named : bool
        Whether columns are matched by name; if not, by position.
    set_aside : tuple of str
        Columns that arguments of the fit named, such as the target: no features, but rows to predict may have them.

    Examples
    --------
    >>> size = ColumnSchema("size", "numeric", "number")
    >>> color = ColumnSchema("color", "categorical", "string", ("red", "blue"))
    >>> schema = Schema((size, color), named=True)
    >>> schema.names, schema.categorical
    (['size', 'color'], [1])
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[ColumnSchema, ...]
    named: bool
    set_aside: tuple[str, ...] = field(default=(), compare=False)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def categorical(self) -> list[int]:
        """Positions of the categorical columns."""
        return [j for j, column in enumerate(self.columns) if column.kind == "categorical"]

    @cached_property
    def by_name(self) -> list[int]:
        """Columns in the order of their names; as they are if they have none."""
        names = self.names
        return sorted(range(len(names)), key=names.__getitem__) if self.named else list(range(len(names)))

    @cached_property
    def all_numbers(self) -> bool:
        """Whether every column holds numbers or booleans: a float matrix is such a table as it is."""
        return all(column.holds_numbers for column in self.columns)

    @cached_property
    def never_missing(self) -> npt.NDArray[np.bool_]:
        """Which columns had no missing values at fit."""
        return np.array([not column.has_missing for column in self.columns])

    @cached_property
    def watches_missing(self) -> bool:
        """Whether missing values would be new in any column."""
        return bool(self.never_missing.any())

    def describes_like(self, other: Schema) -> bool:
        """Whether columns have the same names, kinds and categories, so that trees of both can stand in one forest.

        Examples
        --------
        >>> size = ColumnSchema("size", "numeric", "number")
        >>> one = Schema((size,), named=True)
        >>> one.describes_like(one.with_missing([True]))
        True
        """
        mine, theirs = ([(c.name, c.kind, c.categories) for c in schema.columns] for schema in (self, other))
        return mine == theirs

    def with_missing(self, flags: Sequence[bool]) -> Schema:
        """Mark the columns in which missing values were found, besides those already marked.

        Examples
        --------
        >>> columns = tuple(ColumnSchema(name, "numeric", "number") for name in ("x0", "x1"))
        >>> schema = Schema(columns, named=False).with_missing([True, False])
        >>> [column.has_missing for column in schema.columns]
        [True, False]
        """
        pairs = zip(self.columns, flags, strict=True)
        marked = (replace(column, has_missing=column.has_missing or bool(flag)) for column, flag in pairs)
        return replace(self, columns=tuple(marked))

    def setting_aside(self, names: Iterable[str]) -> Schema:
        """Return the schema of a fit that set these columns aside too, if they are not features.

        Examples
        --------
        >>> schema = Schema((ColumnSchema("size", "numeric", "number"),), named=True).setting_aside(["price"])
        >>> schema.in_order(["price", "size"], [[3.5], [1.0]])
        [[1.0]]
        """
        found = dict.fromkeys((*self.set_aside, *names))
        return replace(self, set_aside=tuple(name for name in found if name not in self.names))

    def judge_missing(self, found: Array, policy: Literal["warn", "error"]) -> None:
        """Warn of, or reject, missing values in columns that had none at fit.

        Parameters
        ----------
        found : ndarray of bool
            Which columns have missing values now.
        policy : {"warn", "error"}
            What to do about it.
        """
        fresh = found & self.never_missing
        if not fresh.any():
            return
        names = listed([self.columns[j].name for j in np.flatnonzero(fresh)])
        message = f"{NEWLY_MISSING}: {names}; fill them or fit on data that has some"
        if policy == "error":
            raise ValueError(message)
        warn_user(message)

    def check_width(self, width: int, estimator_name: str) -> None:
        """Reject a table with another number of columns, in scikit-learn's words."""
        if width != self.n_features:
            raise ValueError(
                f"X has {width} features, but {estimator_name} is expecting {self.n_features} features as input"
            )

    def in_order(self, found: list[str], raw: list[Any]) -> list[Any]:
        """Return the columns named ``found`` in the order of the fit; reject lost and unexpected names.

        Columns that the fit set aside are left out.
        """
        by_name, wanted = dict(zip(found, raw, strict=True)), dict.fromkeys(self.names)
        lost = [name for name in wanted if name not in by_name]
        extra = [name for name in found if name not in wanted and name not in self.set_aside]
        if lost or extra:
            hints = [f"{name!r}{_nearest(name, extra)}" for name in lost]
            raise ValueError(
                "the columns of X are not those of the fit.\n"
                f"missing: {', '.join(hints) or 'none'}\n"
                f"unexpected: {', '.join(map(repr, extra)) or 'none'}"
            )
        return [by_name[name] for name in wanted]

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary that strict JSON can hold; infinite categories become ``{"float": "inf"}``."""
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "source": column.source,
                "categories": [_category_to_json(category) for category in column.categories],
                "has_missing": column.has_missing,
            }
            for column in self.columns
        ]
        aside = {"set_aside": list(self.set_aside)} if self.set_aside else {}
        return {"named": self.named, "columns": columns, **aside}

    @classmethod
    def from_json(cls, data: Any) -> Schema:
        """Rebuild a schema from untrusted JSON: any deviation from `to_json` is a ValueError."""
        optional = {"set_aside"} & set(data if isinstance(data, dict) else ())
        RULES.keys(data, {"named", "columns"} | optional, "schema")
        named, entries, aside = data["named"], data["columns"], data.get("set_aside", [])
        RULES.require(isinstance(named, bool), "named", named, "true or false")
        RULES.require(isinstance(entries, list) and entries, "columns", entries, "a list of at least one column")
        columns = tuple(_column_from_json(entry, f"column {j}") for j, entry in enumerate(entries))
        names = [column.name for column in columns]
        RULES.require(len(set(names)) == len(names), "names of columns", names, "distinct names")
        RULES.require(named or names == positional_names(len(names)), "names of unnamed columns", names, "x0, x1, …")
        are_others = isinstance(aside, list) and all(isinstance(name, str) and name not in names for name in aside)
        RULES.require(are_others, "set_aside", aside, "a list of names that are not those of columns")
        return cls(columns, named, tuple(aside))


RULES = Rules("schema")


def _category_to_json(category: Category) -> Any:
    return {"float": str(category)} if isinstance(category, float) and math.isinf(category) else category


def _category_from_json(category: Any, where: str) -> Category:
    if isinstance(category, dict) and category in ({"float": "inf"}, {"float": "-inf"}):
        return float(category["float"])
    is_plain = isinstance(category, str | int) or (isinstance(category, float) and math.isfinite(category))
    RULES.require(is_plain, f"category of {where}", category, "text, a boolean or a finite number")
    return category  # type: ignore[no-any-return]


def _column_from_json(data: Any, where: str) -> ColumnSchema:
    RULES.keys(data, {"name", "kind", "source", "categories", "has_missing"}, where)
    name, kind, source, found, has_missing = (
        data[key] for key in ("name", "kind", "source", "categories", "has_missing")
    )
    for part, value, holds, expected in (
        ("name", name, isinstance(name, str), "a string"),
        ("kind", kind, kind in get_args(Kind), f"one of {get_args(Kind)}"),
        ("source", source, source in get_args(Source), f"one of {get_args(Source)}"),
        ("has_missing", has_missing, isinstance(has_missing, bool), "true or false"),
        ("categories", found, isinstance(found, list), "a list"),
    ):
        RULES.require(holds, f"{part} of {where}", value, expected)
    if kind == "numeric":
        RULES.require(not found, f"categories of {where}", found, "none, because it is numeric")
        RULES.require(source not in ("string", "category"), f"source of {where}", source, "a source of numbers")
    categories = tuple(_category_from_json(category, where) for category in found)
    RULES.require(len(set(categories)) == len(categories), f"categories of {where}", found, "distinct ones")
    kinds = {isinstance(category, str) for category in categories}
    RULES.require(len(kinds) < 2, f"categories of {where}", found, "either text or numbers")
    agrees = source == "category" or kinds <= {source == "string"}
    RULES.require(agrees, f"categories of {where}", found, f"those of a column of source {source!r}")
    return ColumnSchema(name, kind, source, categories, has_missing)


# ----------------------------------------------------------------------------------------------------- names


def positional_names(n: int) -> list[str]:
    """Return the names of columns that have none.

    Examples
    --------
    >>> positional_names(2)
    ['x0', 'x1']
    """
    return [f"x{j}" for j in range(n)]


def _nearest(name: str, names: Iterable[str]) -> str:
    matches = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def require_names(wanted: Iterable[str], known: Sequence[str], what: str) -> None:
    """Reject a name that is not a column, and suggest the nearest one.

    Examples
    --------
    >>> require_names(["Price"], ["size", "price"], "X")
    Traceback (most recent call last):
        ...
    ValueError: X has no column 'Price': did you mean 'price'?
    """
    for name in wanted:
        if name not in known:
            near = [one for one in known if one.lower() == str(name).lower()]
            near = near or difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its columns are {listed(known, 20)}"
            raise ValueError(f"{what} has no column {name!r}: {hint}")


def categorical_mask(spec: Any, names: list[str], *, named: bool) -> list[bool]:
    """Tell for each column whether ``categorical_features`` names it.

    Parameters
    ----------
    spec : None, "from_dtype" or sequence of names, positions or booleans
        What the user gave.
    names : list of str
        Names of the columns.
    named : bool
        Whether these are the user's names.

    Examples
    --------
    >>> categorical_mask(["size"], ["color", "size"], named=True)
    [False, True]
    """
    mask = [False] * len(names)
    if spec is None or (isinstance(spec, str) and spec == "from_dtype"):
        return mask
    if isinstance(spec, str):
        raise ValueError(f"categorical_features={spec!r} is a single name; give a list, as [{spec!r}]")
    if not holds_others(spec):
        raise ValueError(f"categorical_features={shown(spec)}: use a list of names or positions, a mask, or None")
    items = np.asarray(spec, dtype=object).tolist() if not isinstance(spec, list | tuple) else list(spec)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(names):
            raise ValueError(f"categorical_features masks {len(items)} columns, but X has {len(names)}")
        return [bool(item) for item in items]
    for item in items:
        mask[_position(item, names, named)] = True
    return mask


def _position(item: Any, names: list[str], named: bool) -> int:
    if isinstance(item, str):
        if not named:
            raise ValueError(f"categorical_features has {item!r}, but X has no column names: give positions")
        if item not in names:
            raise ValueError(f"categorical_features has {item!r}, which is not a column of X{_nearest(item, names)}")
        return names.index(item)
    if isinstance(item, bool | np.bool_) or not isinstance(item, numbers.Integral):
        raise TypeError(f"categorical_features must hold names, positions or booleans only; found {item!r}")
    if not 0 <= int(item) < len(names):
        raise ValueError(f"categorical_features has position {item}, but X has columns 0 to {len(names) - 1}")
    return int(item)


# --------------------------------------------------------------------- readings: values -> column of a table


@dataclass(frozen=True)
class Reading:
    """A column as found: floats if `categories` is None, else int32 codes (−1 = missing) into `categories`.

    The categories all occur, are of one family (text or numbers) and have no particular order.

    Examples
    --------
    >>> Reading("string", np.array([0, 1, 0, -1], dtype=np.int32), ["red", "blue"]).categories
    ['red', 'blue']
    """

    source: Source
    values: Array
    categories: list[Category] | None = None


def _encode_numbers(reading: Reading) -> tuple[Array, list[Category]]:
    """Codes and values of a numeric column; whole numbers as int, booleans as bool."""
    codes = np.full(len(reading.values), MISSING, dtype=np.int32)
    there = ~np.isnan(reading.values)
    values, codes[there] = np.unique(reading.values[there], return_inverse=True)
    return codes, as_categories(values, reading.source)


def as_categories(values: Array, source: Source) -> list[Category]:
    """Return the distinct numbers of a column as categories: booleans, else whole numbers if all are whole.

    Examples
    --------
    >>> as_categories(np.array([1.0, 2.0]), "number"), as_categories(np.array([1.0, 2.5]), "number")
    ([1, 2], [1.0, 2.5])
    """
    if source == "bool":
        return [bool(value) for value in values]
    whole = bool(np.isfinite(values).all() and (values == np.trunc(values)).all())
    return [int(value) if whole else float(value) for value in values]


def learn_column(name: str, reading: Reading, as_categorical: bool) -> tuple[ColumnSchema, Array]:
    """Return what a column is at fit, and its values: floats, or codes of its categories.

    Examples
    --------
    >>> learn_column("size", Reading("number", np.array([7.0, 3.0, 7.0])), as_categorical=True)[0].categories
    (7, 3)
    """
    codes, categories = reading.values, reading.categories
    if categories is None:
        if not as_categorical:
            return ColumnSchema(name, "numeric", reading.source), reading.values
        codes, categories = _encode_numbers(reading)
    return rank_categories(name, reading.source, codes, list(categories))


def rank_categories(name: str, source: Source, codes: Array, found: Sequence[Category]) -> tuple[ColumnSchema, Array]:
    """Recode categories by falling frequency, ties by value, without those that do not occur.

    Examples
    --------
    >>> column, codes = rank_categories("size", "string", np.array([1, 0, 1]), ["S", "L", "XL"])
    >>> column.categories, codes
    (('L', 'S'), array([0, 1, 0], dtype=int32))
    """
    counts = np.bincount(codes + 1, minlength=len(found) + 1)[1:].tolist()
    column, order = rank_counts(name, source, found, counts, bool((codes == MISSING).any()))
    rank = np.full(len(found) + 1, MISSING, dtype=np.int32)  # code −1 reads the last slot
    rank[order] = np.arange(len(order), dtype=np.int32)
    return column, rank[codes]


def rank_counts(
    name: str, source: Source, found: Sequence[Category], counts: Sequence[int], has_missing: bool
) -> tuple[ColumnSchema, list[int]]:
    """Return the column of categories with these frequencies, and which of them has each code.

    Examples
    --------
    >>> column, order = rank_counts("size", "string", ["S", "L", "XL"], [1, 2, 0], has_missing=False)
    >>> column.categories, order
    (('L', 'S'), [1, 0])
    """
    occurring = [code for code, count in enumerate(counts) if count]
    order = sorted(occurring, key=lambda code: (-counts[code], found[code]))
    return ColumnSchema(name, "categorical", source, tuple(found[code] for code in order), has_missing), order


def _family(column: ColumnSchema | Reading) -> str | None:
    """Return text, number, datetime or duration, what may be compared; None if no value is there."""
    if column.source in ("string", "category"):
        if not column.categories:
            return None
        return "text" if isinstance(column.categories[0], str) else "number"
    return "number" if column.source == "bool" else column.source


def apply_column(column: ColumnSchema, reading: Reading, unknown: str) -> Array:
    """Return the values of a column as it was at fit: floats, or codes with −1 = missing and −2 = unknown.

    Examples
    --------
    >>> column = ColumnSchema("size", "categorical", "number", (7, 3))
    >>> apply_column(column, Reading("number", np.array([3.0, 4.0, np.nan])), unknown="average")
    array([ 1, -2, -1], dtype=int32)
    """
    wanted, got = _family(column), _family(reading)
    if wanted is not None and got not in (wanted, None):
        if reading.categories is not None or not np.isnan(reading.values).all():
            raise _clash(column, reading)
        got = None
    if got is None:
        n = len(reading.values)
        return np.full(n, np.nan) if column.kind == "numeric" else np.full(n, MISSING, dtype=np.int32)
    codes, categories = reading.values, reading.categories
    if column.kind == "numeric":
        return codes if categories is None else np.array([*categories, np.nan], dtype=np.float64)[codes]
    if categories is None:
        codes, categories = _encode_numbers(reading)
    if unknown == "error" and (unseen := sorted((c for c in categories if c not in column.code), key=str)):
        raise ValueError(
            f"column {column.name!r} has categories not seen at fit: {listed(unseen)}; "
            'map them to known ones, or use unknown="average" or unknown="missing"'
        )
    code_of = np.array([*(column.code.get(category, UNKNOWN) for category in categories), MISSING], dtype=np.int32)
    if len(categories) and (code_of[:-1] == UNKNOWN).all():
        _warn_of_other_forms(column, categories)
    return code_of[codes]


def _warn_of_other_forms(column: ColumnSchema, categories: Sequence[Category]) -> None:
    """Warn if no category is known, but all would be if they were written as at fit, such as '1' for '1.0'."""
    known = {_plain(category): category for category in column.categories}
    meant = [(category, known.get(_plain(category))) for category in categories]
    if all(other is not None for _, other in meant):
        now, then = meant[0]
        warn_user(
            f"no value of column {column.name!r} is a category of the model, but all look like one: {now!r} was "
            f"{then!r} at fit; write them as they were"
        )


def _plain(category: Category) -> Category:
    """Return a category without what may differ between files: blanks, case, leading and trailing zeros."""
    text = str(category).strip().lower()
    try:
        return float(text)
    except ValueError:
        return text


def _clash(column: ColumnSchema, reading: Reading) -> TypeError:
    found: Any = reading.categories or reading.values[~np.isnan(reading.values)].tolist()
    return TypeError(
        f"column {column.name!r} was {_family(column)} at fit but holds {_family(reading)} now, such as {found[0]!r}; "
        "convert it to the type it had at fit"
    )


# -------------------------------------------------------------------------------------------------- messages


class TextColumnWarning(UserWarning):
    """A column of text in a data frame holds numbers or dates, and becomes categories.

    Examples
    --------
    >>> import warnings, pandas as pd, arboretum as arb
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     prices = pd.DataFrame({"price": ["9.50", "?", "12.25"]})
    ...     _ = arb.DecisionTreeRegressor().fit(prices, [1.0, 2.0, 3.0])
    >>> told[0].category.__name__
    'TextColumnWarning'
    """


def warn_of_text(name: str, categories: Sequence[Category]) -> None:
    """Warn of a column of text that holds numbers or dates, which trees could split by thresholds."""
    if found := hidden_values(category for category in categories if isinstance(category, str)):
        what, value = found
        cure = "pandas.to_numeric(…, errors='coerce')" if what == "numbers" else "pandas.to_datetime(…)"
        warn_user(
            f"column {name!r} is text and becomes {len(categories)} categories, but it holds {what}, such as "
            f"{value!r}: convert it, as with {cure}; if categories are meant, name it in categorical_features",
            TextColumnWarning,
        )


def listed(values: Sequence[Any], limit: int = 5) -> str:
    """Return the first few values for an error message.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(map(repr, values[:limit])) + more
