"""A fitted model of models: its parts (estimators of any library), what joins their answers, and its columns.

::

    X ──rows──► the user's table, columns in the order of the fit ──► answers of the parts ──Joint──► answer
       schema                                                          parts

    to_file, from_file:  schema · bases · joint · a file per part  ◄──►  header and named arrays
                         parts and bases of other libraries: foreign.py
    fingerprint:         fingerprints of the parts · joint, without its notes

Voting, stacking or an average of models is one more Joint: facts and arrays that determine predictions, notes that do
not, and how to read them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum.data import selection
from arboretum.data.dataset import Dataset
from arboretum.data.schema import Schema
from arboretum.data.table import check_matrix
from arboretum.model import model_file
from arboretum.model.arrays import Arrays
from arboretum.model.foreign import Incoming, Outgoing

Header: TypeAlias = dict[str, Any]
Base: TypeAlias = tuple[str | int, Any]
"""Name and unfitted estimator."""


class Joint:
    """What joins parts to one model, in files and in the fingerprint; each kind has its own answers.

    ``facts`` and ``arrays`` determine predictions and enter the fingerprint; ``notes`` and ``noted`` do not.
    """

    # ---- in files ------------------------------------------------------------------------------------------------

    def facts(self) -> Header:
        """Return the entries of the joint in the header of a file."""
        return {}

    def arrays(self) -> Arrays:
        """Return the arrays of the joint."""
        return {}

    def notes(self) -> Header:
        """Return further entries of the header."""
        return {}

    def noted(self) -> Arrays:
        """Return further arrays of a file."""
        return {}

    def identity(self, prints: Mapping[str, str], schema: Schema | None) -> Header:
        """Return what the fingerprint hashes besides facts and arrays, from the fingerprints of the parts."""
        return {"members": list(prints.values())}

    # ---- the estimators that parts were made from ------------------------------------------------------------------

    @staticmethod
    def bases_to_json(calls: Sequence[tuple[str | int, Header]]) -> Header:
        """Return the entries of the bases in the header, from their names, classes and parameters."""
        return {"estimator": calls[0][1]} if calls else {}

    @staticmethod
    def bases_from_json(header: Header) -> list[tuple[str | int, Header]]:
        """Undo ``bases_to_json``."""
        entry = header.get("estimator")
        return [] if entry is None else [("estimator", entry)]

    # ---- reading -------------------------------------------------------------------------------------------------

    @classmethod
    def part_names(cls, header: Header, arrays: Arrays) -> list[str]:
        """Return the names of the arrays that hold the files of parts."""
        return [f"member {place}" for place in range(sum(name.startswith("member ") for name in arrays))]

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Any) -> Joint:
        """Make the joint that a file describes.

        Parameters
        ----------
        header, arrays
            Content of the file.
        read : Members
            Parts, bases and columns, which are read already; a joint that does not fit them is a ValueError.
        goal : object
            What the estimator is fitted to, classes or numbers.
        """
        return cls()


@dataclass(frozen=True, eq=False)
class Members:
    """Everything that a model of models needs to predict, frozen.

    Parameters
    ----------
    parts : dict of str to estimator
        Fitted estimators by the names that they have in a file.
    joint : Joint
        What joins their answers.
    bases : sequence of (name, estimator)
        What the parts were made from, unfitted; empty if it was a default that files do not name.
    schema : Schema, optional
        Columns of the fit; None if its rows are not a table, or if the parts alone know their columns.
    n_columns : int, optional
        Number of these columns; None if it is not known.
    name : str
        What messages call the model.
    """

    parts: Mapping[str, Any]
    joint: Joint
    bases: Sequence[Base] = ()
    schema: Schema | None = None
    n_columns: int | None = None
    name: str = "model"

    @property
    def models(self) -> list[Any]:
        """The parts in order."""
        return list(self.parts.values())

    def rows(self, X: Any) -> Any:
        """Return the user's table with its columns in the order of the fit; unchanged if that order is not known.

        Columns of a Dataset that the fit did not have are left out: the target may be among them.
        """
        schema = self.schema
        if isinstance(X, Dataset) and schema is not None and schema.named:
            X = X.select([name for name in X.names if name in set(schema.names)])
        X = selection.as_container(X)
        if schema is None:
            return X
        found, n_columns = selection.names_of(X), selection.n_columns_of(X)
        if schema.named and found is not None:
            places = schema.in_order(found, list(range(len(found))))
            return X if places == list(range(len(found))) else selection.take_columns(X, np.array(places))
        if n_columns is None:
            check_matrix(np.asarray(X))
            n_columns = int(np.shape(X)[1])
        schema.check_width(n_columns, self.name)
        return X

    # ---- files ---------------------------------------------------------------------------------------------------

    def fingerprint(self, model: str) -> str:
        """Hash everything that determines predictions, and the class name; parts must be estimators of arboretum."""
        for member in (*(base for _, base in self.bases), *self.models):
            if not is_ours(member):
                kind = type(member).__name__
                raise TypeError(f"fingerprint needs members of arboretum, not {kind}: other estimators have none")
        prints = {name: part.fingerprint() for name, part in self.parts.items()}
        facts = {"model": model, **self.joint.identity(prints, self.schema), **self.joint.facts()}
        return model_file.fingerprint(facts, self.joint.arrays())

    def to_file(
        self, base_to_json: Callable[[Any, Outgoing], Header], *, compact: bool = True
    ) -> tuple[Header, Arrays]:
        """Return header and arrays of a model file, without class and parameters.

        Parts and bases of other libraries need consent (``model/foreign.py``); without it they are a TypeError.

        Parameters
        ----------
        base_to_json : callable
            From an unfitted estimator to its class and parameters; it hands estimators of other libraries over.
        compact : bool
            Whether the files of the parts are compact.
        """
        joint, schema = self.joint, {} if self.schema is None else {"schema": self.schema.to_json()}
        foreign = Outgoing(compact)
        bases = joint.bases_to_json([(name, base_to_json(base, foreign)) for name, base in self.bases])
        parts: Arrays = {}
        for name, part in self.parts.items():
            if is_ours(part):
                file = model_file.to_bytes(*part.to_file(compact=compact), compact=compact)
                parts[name] = np.frombuffer(file, np.uint8)
            else:
                foreign.add(name, part)
        header = {**schema, **bases, **joint.facts(), **joint.notes(), **foreign.header()}
        return header, {**parts, **foreign.arrays, **joint.arrays(), **joint.noted()}

    @classmethod
    def from_file(
        cls,
        header: Header,
        arrays: Arrays,
        bases: Sequence[Base],
        joint: type[Joint],
        goal: Any,
        read: Callable[[Header, Arrays], Any],
        name: str,
        foreign: Incoming | None = None,
    ) -> Members:
        """Make the members that a file describes; damage is a ValueError, KeyError or TypeError.

        Parameters
        ----------
        header, arrays
            Content of the file.
        bases : sequence of (name, estimator)
            What the parts were made from.
        joint : type
            Class of the joint in it.
        goal : object
            What the estimator is fitted to, classes or numbers.
        read : callable
            From the content of a file to the estimator that it holds.
        name : str
            What messages call the model.
        foreign : Incoming, optional
            Parts of other libraries that the file holds, if they are known already.
        """
        foreign = Incoming.allowed(header, arrays) if foreign is None else foreign
        schema = Schema.from_json(header["schema"]) if "schema" in header else None
        parts = {
            part: foreign.read(part) if part in foreign.classes else read(*model_file.from_bytes(_file(arrays[part])))
            for part in joint.part_names(header, arrays)
        }
        found = cls(parts, Joint(), bases, schema, None if schema is None else schema.n_features, name)
        return replace(found, joint=joint.from_file(header, arrays, found, goal))


def is_ours(model: Any) -> bool:
    """Return whether an estimator is one of arboretum's, so that it has a fingerprint and a file."""
    return hasattr(type(model), "to_file") and hasattr(type(model), "fingerprint")


def take_up(model: Any, learned: Any) -> None:
    """Let an estimator know what a fit has learned: a Model or Members, in the place of those of an earlier fit."""
    for place in ("_model", "_members"):
        vars(model).pop(place, None)
    vars(model)["_members" if isinstance(learned, Members) else "_model"] = learned


def _file(array: NDArray[Any]) -> memoryview:
    """Return the bytes of a file within a file."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError(f"a member: expected the bytes of a file, found {array.dtype} of shape {array.shape}")
    return array.data
