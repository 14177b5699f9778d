"""What the AdaBoost classifier and regressor share.

::

    y, weight ──► classes or numbers
    estimator                                           learners                       fitted state
       none, numbers or two classes ──► trees of gradients    ┐ one table, read        a Forest
       none, or a CART tree of ours ──► trees of impurity     ┘ and cut once           (estimators_ made from it)
       anything else                ──► members, fitted to the user's own table        the members

Learners whose fit takes no weights, and by default those of numbers, see rows drawn by weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arboretum import _kernel
from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.data.binning import BinnedData, assign_bins, learn_bins
from arboretum.data.schema import Schema
from arboretum.data.table import Table, read_table
from arboretum.ensembles.adaboost import ImpurityTrees, Votes, starting_weights
from arboretum.ensembles.bagging.preparation import GivenRows
from arboretum.ensembles.bagging.resampling import Bag, Positions, content_order
from arboretum.ensembles.bagging.trees import SingleTree
from arboretum.ensembles.boosting.recipe import SMALL_FIT
from arboretum.ensembles.members.estimators import MEMBER_PURPOSE, is_classifier, seeded, unfitted
from arboretum.ensembles.members.goals import OneClass
from arboretum.ensembles.members.tables import GivenTable
from arboretum.estimators.base import FloatArray, ForestModel
from arboretum.estimators.classes import defaults, own_class
from arboretum.estimators.decision_trees import DecisionTree, DecisionTreeClassifier, fitted_tree
from arboretum.estimators.files import call_from_json, call_to_json, from_file
from arboretum.estimators.protocol import Estimator
from arboretum.estimators.standing_in import twin
from arboretum.metrics.own_scores import accuracy, r_squared
from arboretum.model import model_file
from arboretum.model.forest import Forest
from arboretum.model.heads import MeanHead
from arboretum.model.members import Joint, Members
from arboretum.parameters.checking import check_columns, check_rounds, seed_of
from arboretum.parameters.declaring import COUNT, Anything, Number, parameter, parameter_group
from arboretum.parameters.shared import Bins, Categories, Seed, Threads
from arboretum.running.interruption import warn_interrupted
from arboretum.running.threads import n_threads
from arboretum.trees.grown_tree import BinaryTree

Ada = TypeVar("Ada", bound="AdaBoostModel")

LARGEST_RATE = 1e100  # learner weights, and their sums, stay finite
OF_THE_DEFAULT_LEARNER = ("max_bins", "categorical_features", "unknown", "missing")


@parameter_group("Ensemble")
class Learners:
    """What is boosted, how often, and how much each counts."""

    estimator: Any = parameter(
        None,
        Anything("estimator"),
        "What to boost, of arboretum, scikit-learn or any other that follows its protocol; by default see above.",
    )
    n_estimators: int = parameter(50, COUNT, "Maximum number of learners; <ends>")
    learning_rate: float = parameter(1.0, Number(0.0, LARGEST_RATE, open_low=True), "Factor of the learners' weights.")


class AdaBoostModel(Learners, Bins, Categories, Seed, Threads, ForestModel):
    """Learners fitted to rows that weigh more, the more often they were got wrong; whatever the target.

    Attributes
    ----------
    estimators_ : list
        The learners; trees of ours are made from ``forest_`` when asked for.
    estimator_ : estimator
        What was boosted.
    feature_importances_ : ndarray
        Gain of each feature, a mean over the learners by the size of their weights.
    schema_ : Schema
        Names, kinds and categories of the columns, if there is a ``forest_``.
    """

    estimator_: Any
    estimator_weights_: FloatArray
    estimator_errors_: FloatArray
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _members: list[Any]  # learners that are no trees of ours
    _member_schema: Schema | None
    _classifies: bool

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self: Ada, X: Any, y: Any, sample_weight: Any = None) -> Ada:
        """Fit the model; nothing of it changes before all has gone well.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Training rows, of any kind that the learners take; trees take numbers, text, categories, dates, with holes.
        y : array-like
            Target, one value a row.
        sample_weight : array-like, optional
            Weight of each row at the start: a row of weight 3 is the same as three equal rows.

        Returns
        -------
        self
        """
        self.check_parameters()
        threads, seed, base = n_threads(self.n_jobs), seed_of(self.random_state), self._base()
        fit = self._fit_trees if grows_forest(base) else self._fit_members
        votes = fit(base, seed, threads, X, y, sample_weight)
        self.estimator_ = base
        self.estimator_weights_, self.estimator_errors_ = np.array(votes.weights), np.array(votes.errors)
        if votes.interrupted:
            warn_interrupted(len(votes.weights), "rounds")
        return self

    def _fit_trees(self, base: Any, seed: int, threads: int, X: Any, y: Any, sample_weight: Any) -> Votes:
        check_columns(base.categorical_features)
        table = read_table(X, categorical_features=base.categorical_features)
        column, weight = targets.as_column(y, table.n_rows), targets.training_weights(sample_weight, table.n_rows)
        facts, values, weight = self._read_column(column, weight)
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            table, values, weight = table.take(kept).relearn(), values[kept], weight[kept]
        is_weighted, weight = weight is not None, starting_weights(weight, table.n_rows)
        given = weight if is_weighted else None  # bins of equal weights are found sooner
        if table.n_rows * table.schema.n_features < SMALL_FIT:
            threads = 1
        if self._on_gradients(facts):
            bin_map = learn_bins(table, max_bins=self.max_bins, weight=given, threads=threads)
            data = assign_bins(table, bin_map, threads=threads)
            votes, forest = self._boost_gradients(table, data, values, weight, seed, threads)
            schema = _with_missing(table.schema, data)
        else:
            learners, schema = self._impurity_trees(base, table, values, given, seed, threads)
            votes = self._boost(learners, values, weight, seed, facts)
            forest = self._freeze(learners.forest(len(votes.weights)), votes, facts)
        self._forget()
        self.forest_, self.schema_ = forest, schema
        self._take_facts(facts)
        self._set_input_names()
        return votes

    def _impurity_trees(
        self,
        base: DecisionTree,
        table: Table,
        values: FloatArray,
        weight: FloatArray | None,
        seed: int,
        threads: int,
    ) -> tuple[ImpurityTrees, Schema]:
        recipe = base.recipe()
        target, head = recipe.goal.read(values[:, None], weight)
        given = GivenRows(table, target, head, np.arange(table.n_rows), table.n_rows)
        training = recipe.preparation.cut(given, threads)

        def prune(grown: SingleTree) -> Forest:
            whole = BinaryTree.of(grown)
            return whole.pruned(recipe.leaves_to_be(whole, None, threads))

        rules = recipe.preparation.rules(training)
        learners = ImpurityTrees(
            table, training.data, training.edges, target, rules, training.projections, prune, seed, threads
        )
        return learners, training.schema

    def _fit_members(self, base: Any, seed: int, threads: int, X: Any, y: Any, sample_weight: Any) -> Votes:
        source = GivenTable(base, X)
        column, weight = targets.as_column(y, source.n_rows), targets.training_weights(sample_weight, source.n_rows)
        facts, values, weight = self._read_column(column, weight)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        source.prepare(column[kept] if self._classifies else values[kept], None, kept, threads)
        weight = starting_weights(None if weight is None else weight[kept], len(kept))
        learners = MemberLearners(base, source, kept, values[kept], self._encoder(facts), seed, threads)
        votes = self._boost(learners, values[kept], weight, seed, facts)
        self._forget()
        self._members, self._member_schema = learners.members[: len(votes.weights)], source.schema
        self._take_facts(facts)
        self._set_member_names(source.n_columns)
        return votes

    def _forget(self) -> None:
        """Drop what an earlier fit, perhaps of other learners, has left."""
        for name in ("forest_", "schema_", "_members", "_member_schema", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _set_member_names(self, n_columns: int | None) -> None:
        if n_columns is not None:
            self.n_features_in_ = n_columns
        if self._member_schema is not None and self._member_schema.named:
            self.feature_names_in_ = np.array(self._member_schema.names, dtype=object)

    def _base(self) -> Any:
        if self.estimator is None:
            return self._default_learner()
        base = self.estimator
        for method in ("fit", "predict", "get_params"):
            if isinstance(base, type) or not hasattr(base, method):
                raise ValueError(f"estimator={shown(base)}: use an estimator object, with fit, predict and get_params")
        if is_classifier(base) != self._classifies:
            other = "AdaBoostClassifier" if is_classifier(base) else "AdaBoostRegressor"
            raise ValueError(f"estimator={shown(base)} cannot be boosted by {type(self).__name__}: use {other}")
        if isinstance(base, DecisionTree):
            base.check_parameters()
        return base

    def _default_learner(self) -> DecisionTree:
        raise NotImplementedError

    def _on_gradients(self, facts: Any) -> bool:
        """Whether the default learner is grown by the engine of gradients, which is the quickest."""
        raise NotImplementedError

    def _read_column(
        self, column: NDArray[Any], weight: FloatArray | None
    ) -> tuple[Any, FloatArray, FloatArray | None]:
        """Check the target; return what the model keeps of it, codes or numbers, and weights."""
        raise NotImplementedError

    def _take_facts(self, facts: Any) -> None:
        """Keep what was found in the target."""

    def _boost_gradients(
        self, table: Table, data: BinnedData, values: FloatArray, weight: FloatArray, seed: int, threads: int
    ) -> tuple[Votes, Forest]:
        raise NotImplementedError

    def _boost(self, learners: Any, values: FloatArray, weight: FloatArray, seed: int, facts: Any) -> Votes:
        raise NotImplementedError

    def _freeze(self, forest: Forest, votes: Votes, facts: Any) -> Forest:
        raise NotImplementedError

    def _encoder(self, facts: Any) -> Any:
        """Return the function from predictions of a member to codes or numbers."""
        raise NotImplementedError

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.estimator is None:
            return
        usual = defaults(type(self))
        for name in OF_THE_DEFAULT_LEARNER:
            value, default = getattr(self, name), usual[name]
            if type(value) is not type(default) or value != default:
                raise ValueError(
                    f"{name}={value!r} is a parameter of the default learner, but an estimator is given: "
                    f"leave {name}={default!r} and, if the estimator has such a parameter, set it there"
                )

    # ---- prediction ----------------------------------------------------------------------------------------------

    @property
    def _has_members(self) -> bool:
        return "_members" in self.__dict__

    def _fitted(self) -> Forest:
        if self._has_members:
            raise AttributeError(
                f"the learners are of {type(self.estimator_).__name__}: only trees of arboretum can be read; "
                "look at estimators_"
            )
        return super()._fitted()

    def _require_fitted(self) -> None:
        if not self._has_members:
            self._fitted()

    def first_rounds(self: Ada, n_rounds: int) -> Ada:
        """Return the model of the first learners alone: it predicts, explains and saves as any model does.

        Parameters
        ----------
        n_rounds : int
            How many learners to keep, from 1 to as many as there are.

        Returns
        -------
        estimator
            A fitted model of the same class and parameters.
        """
        self._require_fitted()
        check_rounds(n_rounds, len(self.estimator_weights_))
        n = int(n_rounds)
        learners = {"_members": self._members[:n]} if self._has_members else {"forest_": self.forest_[:n]}
        weights, errors = self.estimator_weights_[:n], self.estimator_errors_[:n]
        return twin(self, **learners, estimator_weights_=weights, estimator_errors_=errors)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the score after each round: accuracy, or R².

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows to predict.
        y : array-like
            Their targets.
        sample_weight : array-like, optional
            Weight of each row.
        """
        measure = accuracy if self._classifies else r_squared
        for predicted in self.staged_predict(X):
            yield measure(y, predicted, sample_weight)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the prediction after each round."""
        raise NotImplementedError

    @property
    def _policy(self) -> Any:
        """Who says what unknown categories and new missing values do."""
        return self if self.estimator is None else self.estimator_

    def _one_by_one(self, X: Any) -> Iterator[FloatArray]:
        """Yield what each learner adds to the whole: for trees their raw predictions, (rows, values of a leaf)."""
        if self._has_members:
            rows = Members({}, Joint(), (), self._member_schema, name=type(self).__name__).rows(X)
            for member in self._members:
                yield self._outcome(np.asarray(member.predict(rows)))
            return
        forest, threads, table = self._fitted(), n_threads(self.n_jobs), self.model_.conform(X)
        for tree in range(forest.n_trees):
            parts = [
                forest.raw(
                    part.columns, part.n_rows, threads=threads, unknown=self.model_.routing, first=tree, last=tree + 1
                )
                for _, part in table.row_batches()
            ]
            yield np.concatenate(parts)

    def _outcome(self, predicted: NDArray[Any]) -> FloatArray:
        """Return what the prediction of a member is as a value of a leaf, without its weight."""
        raise NotImplementedError

    @property
    def estimators_(self) -> list[Any]:
        """The learners; those that are trees of ours are made from ``forest_``, and their leaves say one class."""
        if self._has_members:
            return self._members
        forest = self._fitted()
        return [
            self._as_tree(forest[tree : tree + 1], weight)
            for tree, weight in enumerate(self.estimator_weights_.tolist())
        ]

    def _as_tree(self, forest: Forest, weight: float) -> DecisionTree:
        tree: DecisionTree = unfitted(self.estimator_)
        return fitted_tree(tree, forest, self.schema_, self._head_of_tree())

    def _head_of_tree(self) -> MeanHead:
        return MeanHead()

    @property
    def feature_importances_(self) -> FloatArray:
        """Gain of each feature, normalised a learner, a mean by the size of the learners' weights."""
        from arboretum.explaining import Uses, normalised

        if self._has_members:
            found = np.array([member.feature_importances_ for member in self._members])
        else:
            found = normalised(Uses.of(self).gains_by_tree(self.schema_.n_features))
        return normalised((found * np.abs(self.estimator_weights_)[:, None]).sum(axis=0))

    # ---- files ---------------------------------------------------------------------------------------------------

    def save(self, path: Any, *, compact: bool = True) -> None:
        """Write the model, if its learners are arboretum's, to a file that ``arboretum.load`` reads.

        Parameters
        ----------
        path : path
            Where to write.
        compact : bool, default=True
            Store arrays in as few bytes as hold them exactly. False stores them as they are, several times larger, and
            processes that load the file share its memory.
        """
        super().save(path, compact=compact)

    def fingerprint(self) -> str:
        """Hash of everything that determines predictions; the learners must be arboretum's."""
        if not self._has_members:
            return super().fingerprint()
        self._require_own("fingerprint", "other estimators have none")
        members = [member.fingerprint() for member in self._members]
        facts = {"model": own_class(type(self)).__name__, "members": members, **self._facts()}
        return model_file.fingerprint(facts, {"estimator_weights": self.estimator_weights_})

    def _require_own(self, method: str, cure: str) -> None:
        strangers = [member for member in self._members if not isinstance(member, Estimator)]
        if strangers:
            raise TypeError(f"{method} needs learners of arboretum, not {type(strangers[0]).__name__}: {cure}")

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._arrays(), "estimator_weights": self.estimator_weights_}

    def _facts(self) -> dict[str, Any]:
        if self._has_members or self.estimator is None:
            return {}
        return {"unknown_of_estimator": self._policy.unknown}

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if self._has_members:
            header, arrays = self._members_to_file()
        else:
            header, arrays = super().to_file()
        if self.estimator is not None:
            header["estimator"] = call_to_json(self.estimator_)
        return header, {**arrays, "estimator_errors": self.estimator_errors_}

    def _members_to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        self._require_own("save", "pickle or skops keep other estimators")
        assert self._member_schema is not None
        header = {
            "format": "arboretum",
            **call_to_json(self),
            "schema": self._member_schema.to_json(),
            "n_members": len(self._members),
            **self._facts(),
        }
        files = [np.frombuffer(model_file.to_bytes(*member.to_file()), np.uint8) for member in self._members]
        arrays: dict[str, NDArray[Any]] = {f"member {place}": file for place, file in enumerate(files)}
        return header, {**arrays, "estimator_weights": self.estimator_weights_}

    def restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        with model_file.as_damage():
            self.estimator = call_from_json(header["estimator"]) if "estimator" in header else None
            self.check_parameters()
            self.estimator_ = self._base()
            self._read_votes(header, arrays)
            if "n_members" in header:
                self._read_members(header, arrays)
                return
        super().restore(header, arrays)

    def _read_votes(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for name in ("estimator_weights", "estimator_errors"):
            array = arrays[name]
            if array.dtype != np.float64 or array.ndim != 1 or not len(array) or not np.isfinite(array).all():
                raise ValueError(f"{name} that are no finite numbers")
            setattr(self, f"{name}_", array)
        if len(self.estimator_weights_) != len(self.estimator_errors_):
            raise ValueError("weights and errors of different numbers of learners")

    def _read_members(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        n_members = header["n_members"]
        if n_members != len(self.estimator_weights_):
            raise ValueError(f"{n_members} members and {len(self.estimator_weights_)} weights")
        schema = Schema.from_json(header["schema"])
        members = [from_file(*model_file.from_bytes(arrays[f"member {place}"].data)) for place in range(n_members)]
        for member in members:
            if type(member) is not type(self.estimator_) or member.n_features_in_ != schema.n_features:
                raise ValueError(f"a member of class {type(member).__name__} and {member.n_features_in_} columns")
        self._read_member_facts(header, members)
        self._members, self._member_schema = members, schema
        self._set_member_names(schema.n_features)

    def _read_member_facts(self, header: dict[str, Any], members: list[Any]) -> None:
        """Take facts back from the header of a file of members."""

    def _read_facts(self, header: dict[str, Any], forest: Forest) -> None:
        if forest.n_trees != len(self.estimator_weights_):
            raise ValueError(f"{forest.n_trees} trees and {len(self.estimator_weights_)} weights")
        if forest.base.any():
            raise ValueError("a forest with a base")

    def __getstate__(self) -> dict[str, Any]:
        """Members of any kind are pickled as they are."""
        return {"attributes": self.__dict__.copy()} if self._has_members else super().__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "attributes" in state:
            self.__dict__.update(state["attributes"])
        else:
            super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._default_learner() if self.estimator is None else self.estimator).input_tags
        return tags


class MemberLearners:
    """Learners of any kind; those whose fit takes no weights want whole ones, as many copies of a row."""

    def __init__(
        self, base: Any, source: GivenTable, kept: Positions, values: FloatArray, encode: Any, seed: int, threads: int
    ) -> None:
        self.base, self.source, self.kept, self.values, self.encode = base, source, kept, values, encode
        self.seed, self.threads = seed, threads
        self.takes_weights = source.takes_weights
        self.rows = source.part(kept, None)
        self.members: list[Any] = []

    def content_order(self, weight: FloatArray) -> NDArray[np.uint32]:
        """Return the rows in an order that depends on their content and weight alone, if they can be read."""
        return content_order(self.source.keys(self.values, self.kept), weight).astype(np.uint32)

    def fit(self, weight: FloatArray, number: int) -> NDArray[Any]:
        """Fit member ``number``; return codes of classes, or numbers, that it predicts for the rows."""
        some = np.flatnonzero(weight)
        labels = self.values[some]
        if is_classifier(self.base) and (labels == labels[0]).all():
            model: Any = OneClass()
        else:
            model = seeded(unfitted(self.base), _kernel.draw(self.seed, MEMBER_PURPOSE, number))
        bag = Bag(self.kept[some], weight[some].astype(np.int64), weight[some])
        self.members.append(self.source.fit(model, bag, self.threads))
        return np.asarray(self.encode(self.members[-1].predict(self.rows)))


def grows_forest(base: Any) -> bool:
    """Whether a learner is a tree that can be grown again and again from one table, and become part of a Forest."""
    if not isinstance(base, DecisionTree) or base.recipe().pruning == "reduced_error":
        return False
    return not isinstance(base, DecisionTreeClassifier) or (base.method == "cart" and base.class_weight is None)


def _with_missing(schema: Schema, data: BinnedData) -> Schema:
    missing = np.zeros(schema.n_features, dtype=bool)
    missing[list(data.bin_map.order)] = data.has_missing
    return schema.with_missing(missing.tolist())
