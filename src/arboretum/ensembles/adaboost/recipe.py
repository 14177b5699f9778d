"""AdaBoost as a recipe: parameters, a goal, a learner and rows make a Model of trees, or Members.

::

    y, weight ──goal──► classes or numbers
    learner                                             learners                       what is fitted
       the default, numbers or two classes ──► trees of gradients    ┐ one table, read        Model
       a CART tree of ours                 ──► trees of impurity     ┘ and cut once
       anything else                       ──► members, fitted to the user's own table        Members

Learners whose fit takes no weights see rows drawn by weight; so do all with ``bootstrap``, the default for numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arboretum import places
from arboretum.arguments import shown
from arboretum.data import targets
from arboretum.data.binning import BinnedData, assign_bins, code_edges, learn_bins
from arboretum.data.schema import Schema
from arboretum.data.shared_rows import PlacedTable, shared_codes
from arboretum.data.table import Table, read_table
from arboretum.ensembles.adaboost.rounds import (
    BinaryTrees,
    CodedRounds,
    ImpurityTrees,
    NumberTrees,
    Votes,
    boost_classes,
    boost_numbers,
    class_code,
    resampled,
    shallow_tree,
    starting_weights,
    voting_forest,
    weighted_median,
)
from arboretum.ensembles.bagging import goals as of_trees
from arboretum.ensembles.bagging.preparation import GivenRows
from arboretum.ensembles.bagging.resampling import Bag, Positions, content_order
from arboretum.ensembles.bagging.trees import SingleTree
from arboretum.ensembles.boosting.recipe import SMALL_FIT
from arboretum.ensembles.members.estimators import has_columns, is_classifier, new_member, require_estimator
from arboretum.ensembles.members.goals import OneClass
from arboretum.ensembles.members.tables import GivenTable
from arboretum.ensembles.recipe import Recipe
from arboretum.ensembles.training_memory import boosting_bytes
from arboretum.growing.grower import category_ranks
from arboretum.model.arrays import Arrays
from arboretum.model.forest import Forest
from arboretum.model.heads import MedianHead, VoteHead, WeightedHead, finite_numbers
from arboretum.model.members import Header, Joint, Members, is_ours
from arboretum.model.model import Model
from arboretum.model.notes import Notes
from arboretum.parameters.checking import check_columns, seed_of
from arboretum.parameters.declaring import COUNT, Anything, Number, parameter, parameter_group
from arboretum.parameters.shared import Bins, Categories, Seed, Threads
from arboretum.running.interruption import warn_interrupted
from arboretum.running.threads import n_threads
from arboretum.trees.grown_tree import BinaryTree
from arboretum.trees.single_tree import PrunedTree

FloatArray: TypeAlias = NDArray[np.float64]

LARGEST_RATE = 1e100  # keeps learner weights and their sums finite
STUMP_DEPTH = 1
DEFAULT_DEPTH = 3  # of a tree of numbers


@parameter_group("Ensemble")
class Learners:
    """What to boost, how often, and the weights of the learners."""

    estimator: Any = parameter(
        None,
        Anything("estimator"),
        "The estimator to boost: of arboretum, of scikit-learn or of any library that follows its protocol; by default "
        "see above.",
    )
    n_estimators: int = parameter(50, COUNT, "Maximum number of learners; <ends>")
    learning_rate: float = parameter(1.0, Number(0.0, LARGEST_RATE, open_low=True), "Factor of the learners' weights.")


@parameter_group()
class AdaBoostParameters(Learners, Bins, Categories, Seed, Threads):
    """Parameters of AdaBoost."""


# ---- goals -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Goal(ABC):
    """What learners predict, and how they are boosted."""

    n_rounds: int
    learning_rate: float
    bootstrap: bool  # whether learners that take weights see rows drawn by weight, too

    classifies = False  # not a field: whether learners are classifiers

    def as_column(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return a target of any container as an array, one value per row."""
        return targets.as_column(y, n_rows)

    def seen(self, learners: Any, weight: FloatArray, seed: int) -> Any:
        """Return learners that see rows drawn by weight, if they are to; ``weight`` is that of the start."""
        return resampled(learners, weight, seed) if self.bootstrap or not learners.takes_weights else learners

    @abstractmethod
    def read(self, column: NDArray[Any], weight: FloatArray | None) -> tuple[Goal, FloatArray]:
        """Check a target; return the goal with its classes, if any, and codes of classes or numbers."""

    @abstractmethod
    def on_gradients(self) -> bool:
        """Whether the default learner is grown by the gradient engine, which is the fastest."""

    @abstractmethod
    def gradient_trees(
        self, table: Table, data: BinnedData, values: FloatArray, weight: FloatArray, threads: int
    ) -> BinaryTrees | NumberTrees:
        """Return the default learners on the gradient engine."""

    @abstractmethod
    def boost(self, learners: Any, values: FloatArray, weight: FloatArray, seed: int) -> Votes:
        """Fit learners, one after the other."""

    @abstractmethod
    def encoded(self, predicted: Any) -> NDArray[Any]:
        """Return predictions of a member as codes of classes or numbers."""

    @abstractmethod
    def head(self, votes: Votes, unknown: str | None = None) -> WeightedHead:
        """Return the head that combines learners of these weights; ``unknown`` is that of a given learner."""

    @abstractmethod
    def read_head(self, header: Header, arrays: Arrays) -> WeightedHead:
        """Read the head that combines the members from a file."""

    def frozen(self, forest: Forest, votes: Votes) -> Forest:
        """Return the trees of a model; for classes, their leaves vote."""
        return forest

    def check(self, model: Any, head: WeightedHead) -> None:
        """Reject a member of a file that predicts something else."""
        return


@dataclass(frozen=True, eq=False)
class Classes(Goal):
    """SAMME (Zhu et al. 2009); for two classes AdaBoost (Freund and Schapire 1997)."""

    classes: Any = None

    classifies = True

    def read(self, column: NDArray[Any], weight: FloatArray | None) -> tuple[Classes, FloatArray]:
        """Encode labels; at least two classes must have weight."""
        classes, codes = targets.find_classes(column)
        targets.require_two_weighted(weight, classes, codes)
        return replace(self, classes=classes), codes

    def on_gradients(self) -> bool:
        """Whether there are two classes, and weights that only grow or shrink."""
        return len(self.classes) == 2 and not self.bootstrap

    def gradient_trees(
        self, table: Table, data: BinnedData, values: FloatArray, weight: FloatArray, threads: int
    ) -> BinaryTrees:
        """Return stumps."""
        tree = shallow_tree(STUMP_DEPTH, category_ranks(table.schema, data.bin_map.order))
        return BinaryTrees(data, values, weight, tree, threads)

    def boost(self, learners: Any, values: FloatArray, weight: FloatArray, seed: int) -> Votes:
        """Fit learners to weighted rows, or to rows drawn by weight."""
        if not isinstance(learners, BinaryTrees):
            learners = CodedRounds(self.seen(learners, weight, seed), values, weight)
        n_classes = len(self.classes)
        return boost_classes(learners, n_classes=n_classes, n_rounds=self.n_rounds, learning_rate=self.learning_rate)

    def encoded(self, predicted: Any) -> NDArray[Any]:
        """Return codes."""
        return np.asarray(np.searchsorted(self.classes, predicted))

    def frozen(self, forest: Forest, votes: Votes) -> Forest:
        """Return trees whose leaves vote."""
        return voting_forest(forest, np.array(votes.weights), len(self.classes))

    def head(self, votes: Votes, unknown: str | None = None) -> VoteHead:
        """Return weighted votes."""
        return VoteHead(np.array(votes.weights), unknown, self.classes)

    def read_head(self, header: Header, arrays: Arrays) -> VoteHead:
        """Read weights and classes."""
        return VoteHead.read(header, arrays, len(header["classes"]["values"]))

    def check(self, model: Any, head: WeightedHead) -> None:
        """Reject classes that the ensemble does not have."""
        if not np.isin(model.classes_, head.classes).all():
            raise ValueError("a member has classes that the ensemble lacks")


@dataclass(frozen=True, eq=False)
class Numbers(Goal):
    """AdaBoost.R2 (Drucker 1997).

    Parameters
    ----------
    loss : str
        How the error of a row is measured.
    """

    loss: str

    def as_column(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Reject several outputs: what joins the learners is a median."""
        columns = targets.as_columns(y, n_rows)
        if columns.shape[1] > 1:
            raise ValueError(
                f"y has {columns.shape[1]} outputs, but AdaBoost.R2 predicts the median of its learners, and vectors "
                "have no order: use AdditiveBoostingRegressor or RandomForestRegressor, or fit one model per output"
            )
        return columns[:, 0]

    def read(self, column: NDArray[Any], weight: FloatArray | None) -> tuple[Numbers, FloatArray]:
        """Read numbers in the range that trees can hold."""
        target, _ = of_trees.Numbers("squared_error").read(column[:, None], weight)
        return self, np.asarray(target.numbers)[:, 0]

    def on_gradients(self) -> bool:
        """Return True."""
        return True

    def gradient_trees(
        self, table: Table, data: BinnedData, values: FloatArray, weight: FloatArray, threads: int
    ) -> NumberTrees:
        """Return trees of depth 3."""
        tree = shallow_tree(DEFAULT_DEPTH, category_ranks(table.schema, data.bin_map.order))
        edges = code_edges(table, data.bin_map)
        with places.among(None):
            return NumberTrees(data, edges, values, weight, tree, threads)

    def boost(self, learners: Any, values: FloatArray, weight: FloatArray, seed: int) -> Votes:
        """Fit learners to rows drawn by weight, or to weighted rows."""
        return boost_numbers(
            self.seen(learners, weight, seed),
            values,
            weight,
            loss=self.loss,
            n_rounds=self.n_rounds,
            learning_rate=self.learning_rate,
        )

    def encoded(self, predicted: Any) -> FloatArray:
        """Return one finite number per row."""
        numbers = np.asarray(predicted, dtype=np.float64)
        if numbers.ndim == 2 and numbers.shape[1] == 1:
            numbers = numbers[:, 0]
        if numbers.ndim != 1 or not np.isfinite(numbers).all():
            raise ValueError(
                f"the estimator predicts {numbers.shape} values, some perhaps not finite: "
                "expected one finite number per row"
            )
        return numbers

    def head(self, votes: Votes, unknown: str | None = None) -> MedianHead:
        """Return the weights of a median."""
        return MedianHead(np.array(votes.weights), unknown)

    def read_head(self, header: Header, arrays: Arrays) -> MedianHead:
        """Read the weights."""
        return MedianHead.read(header, arrays, 1)


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VoteNotes(Notes):
    """Notes of the rounds of a model of trees.

    Parameters
    ----------
    errors : ndarray
        Error of each learner when it was fitted.
    base : estimator
        What was boosted; None in notes from a file, which stores it elsewhere.
    """

    errors: FloatArray
    base: Any = None

    def to_arrays(self) -> Arrays:
        """Return the errors."""
        return {"estimator_errors": self.errors}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, forest: Forest) -> VoteNotes:
        """Read one error per tree."""
        errors = finite_numbers(arrays, "estimator_errors")
        if len(errors) != forest.n_trees:
            raise ValueError(f"{len(errors)} errors: expected one for each of the {forest.n_trees} trees")
        return cls(errors)


@dataclass(frozen=True, eq=False)
class Voted(Joint):
    """Weighted votes, or the weighted median, of members.

    Parameters
    ----------
    head : WeightedHead
        How their predictions are combined.
    errors : ndarray
        Error of each when it was fitted.
    """

    head: WeightedHead
    errors: FloatArray

    def facts(self) -> Header:
        """Return the classes, if there are some."""
        return self.head.facts()

    def arrays(self) -> Arrays:
        """Return the weights."""
        return {"estimator_weights": self.head.weights}

    def notes(self) -> Header:
        """Return the number of members."""
        return {"n_members": len(self.errors)}

    def noted(self) -> Arrays:
        """Return the errors."""
        return {"estimator_errors": self.errors}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays, read: Members, goal: Goal) -> Voted:
        """Read weights and errors of members of one kind that have the columns of the fit."""
        head, errors = goal.read_head(header, arrays), finite_numbers(arrays, "estimator_errors")
        ((_, base),) = read.bases
        if not header["n_members"] == len(read.parts) == len(head.weights) == len(errors):
            raise ValueError(f"{len(read.parts)} members, {len(head.weights)} weights and {len(errors)} errors")
        for member in read.models:
            if type(member) not in (type(base), OneClass) or not has_columns(member, read.n_columns):
                raise ValueError(f"a member of class {type(member).__name__} does not fit the model")
            goal.check(member, head)
        return cls(head, errors)


Learned: TypeAlias = Model | Members


def head_of(learned: Learned) -> WeightedHead:
    """Return the head that combines the learners."""
    if isinstance(learned, Members):
        assert isinstance(learned.joint, Voted)
        return learned.joint.head
    assert isinstance(learned.head, WeightedHead)
    return learned.head


def errors_of(learned: Learned) -> FloatArray:
    """Return the error of each learner when it was fitted."""
    noted = learned.joint if isinstance(learned, Members) else learned.notes
    assert isinstance(noted, Voted | VoteNotes)
    return noted.errors


def base_of(learned: Learned) -> Any:
    """Return what was boosted."""
    if isinstance(learned, Members):
        return learned.bases[0][1]
    assert isinstance(learned.notes, VoteNotes)
    return learned.notes.base


def first_learners(learned: Learned, n_learners: int) -> Learned:
    """Return the model of the first learners alone."""
    head, errors = head_of(learned), errors_of(learned)[:n_learners]
    head = replace(head, weights=head.weights[:n_learners])
    if isinstance(learned, Members):
        parts = dict(list(learned.parts.items())[:n_learners])
        return replace(learned, parts=parts, joint=Voted(head, errors))
    notes = VoteNotes(errors, base_of(learned))
    return replace(learned, forest=learned.forest[:n_learners], head=head, notes=notes)


def one_by_one(learned: Learned, X: Any, n_jobs: int | None) -> Iterator[FloatArray]:
    """Yield what each learner adds: weighted votes (rows, scores), or numbers (rows, 1)."""
    head = head_of(learned)
    if isinstance(learned, Members):
        rows = learned.rows(X)
        for member, weight in zip(learned.models, head.weights.tolist(), strict=True):
            predicted = np.asarray(member.predict(rows))
            if isinstance(head, VoteHead):
                yield weight * class_code(len(head.classes))[np.searchsorted(head.classes, predicted)]
            else:
                yield predicted.astype(np.float64).reshape(-1, 1)
        return
    threads, table = n_threads(n_jobs), learned.conform(X)
    for tree in range(learned.forest.n_trees):
        yield learned.raw(table, threads, learned.forest[tree : tree + 1])


def staged_scores(learned: Learned, X: Any, n_jobs: int | None) -> Iterator[tuple[FloatArray, float]]:
    """Yield Σ ω · votes, (rows, scores), and Σ |ω|, after each round."""
    scores, total = None, 0.0
    for weight, votes in zip(head_of(learned).weights.tolist(), one_by_one(learned, X, n_jobs), strict=True):
        scores = votes if scores is None else scores + votes
        total += abs(weight)
        yield scores, total


def scores(learned: Learned, X: Any, n_jobs: int | None) -> FloatArray:
    """Return Σ ω · votes, (rows, scores)."""
    if isinstance(learned, Model):
        return learned.sums(X, n_jobs)
    *_, (found, _) = staged_scores(learned, X, n_jobs)
    return found


def staged_medians(learned: Learned, X: Any, n_jobs: int | None) -> Iterator[FloatArray]:
    """Yield the medians of the learners, by weight, after each round."""
    predictions, weights = np.concatenate(list(one_by_one(learned, X, n_jobs)), axis=1), head_of(learned).weights
    for n in range(1, len(weights) + 1):
        yield weighted_median(predictions[:, :n], weights[:n])


def medians(learned: Learned, X: Any, n_jobs: int | None) -> FloatArray:
    """Return the medians of all learners, by weight."""
    predictions = np.concatenate(list(one_by_one(learned, X, n_jobs)), axis=1)
    return weighted_median(predictions, head_of(learned).weights)


# ---- the recipe ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AdaBoost(Recipe[AdaBoostParameters, Goal]):
    """AdaBoost of trees of ours, or of any estimator.

    Parameters
    ----------
    base : estimator
        What is boosted.
    """

    base: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learned:
        """Fit learners until one of them ends the run."""
        self._check_base()
        threads, seed = n_threads(self.given.n_jobs), seed_of(self.given.random_state)
        recipe = tree_recipe(self.base)
        if recipe is None:
            return self._fit_members(X, y, sample_weight, seed, threads)
        return self._fit_trees(recipe, X, y, sample_weight, seed, threads)

    def _check_base(self) -> None:
        require_estimator(self.base)
        if is_classifier(self.base) != self.goal.classifies:
            other = "AdaBoostClassifier" if is_classifier(self.base) else "AdaBoostRegressor"
            raise ValueError(f"estimator={shown(self.base)} cannot be boosted by {self.name}: use {other}")
        if is_ours(self.base):
            self.base.check_parameters()

    def _fit_trees(self, recipe: PrunedTree, X: Any, y: Any, sample_weight: Any, seed: int, threads: int) -> Model:
        base, is_default = self.base, self.given.estimator is None
        check_columns(base.categorical_features)
        placed = PlacedTable.of(read_table(X, categorical_features=base.categorical_features))
        column = places.whole(self.goal.as_column(y, placed.table.n_rows))
        sample_weight = targets.whole_weights(sample_weight)
        with places.among(None):
            weight = targets.training_weights(sample_weight, len(column))
            goal, values = self.goal.read(column, weight)
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            placed, values, weight = placed.take(kept).relearn(), values[kept], weight[kept]
        is_weighted = weight is not None
        with places.among(None):
            weight = starting_weights(weight, len(values))
        given = weight if is_weighted else None  # bins are found faster with equal weights
        if len(values) * placed.table.schema.n_features < SMALL_FIT:
            threads = 1
        learners: BinaryTrees | NumberTrees | ImpurityTrees
        if is_default and goal.on_gradients():
            data = self._cut(placed, given, len(values), threads)
            learners = goal.gradient_trees(placed.table, data, values, weight, threads)
            schema = _marked(placed.table.schema, data)
        else:
            learners, schema = _impurity_trees(recipe, placed, values, given, seed, threads)
        with places.among(None):  # every place has the codes of all rows, and makes the same rounds
            votes = goal.boost(learners, values, weight, seed)
        _warn_if_interrupted(votes)
        forest = goal.frozen(learners.forest(len(votes.weights)), votes)
        head, notes = goal.head(votes, None if is_default else base.unknown), VoteNotes(np.array(votes.errors), base)
        return Model(forest, schema, None, base.unknown, base.missing, self.name, head=head, notes=notes)

    def _cut(self, placed: PlacedTable, weight: FloatArray | None, n_rows: int, threads: int) -> BinnedData:
        """Return the codes of the rows of all places."""
        table, own = placed.table, None if weight is None else weight[placed.own]
        bin_map = learn_bins(table, max_bins=self.given.max_bins, weight=own, threads=threads)
        reserve = boosting_bytes(n_rows, 1, table.schema.n_features, threads=threads)
        return shared_codes(assign_bins(table, bin_map, threads=threads), reserve, threads)

    def _fit_members(self, X: Any, y: Any, sample_weight: Any, seed: int, threads: int) -> Members:
        source = GivenTable(self.base, X)
        column, weight = self.goal.as_column(y, source.n_rows), targets.training_weights(sample_weight, source.n_rows)
        goal, values = self.goal.read(column, weight)
        kept = np.arange(source.n_rows) if weight is None else np.flatnonzero(weight)
        source.prepare(column[kept] if goal.classifies else values[kept], None, kept, threads)
        weight = starting_weights(None if weight is None else weight[kept], len(kept))
        learners = MemberLearners(self.base, source, kept, values[kept], goal, seed, threads)
        votes = goal.boost(learners, values[kept], weight, seed)
        _warn_if_interrupted(votes)
        parts = {f"member {place}": member for place, member in enumerate(learners.members[: len(votes.weights)])}
        joint = Voted(goal.head(votes), np.array(votes.errors))
        return Members(parts, joint, [("estimator", self.base)], source.schema, source.n_columns, self.name)


def tree_recipe(base: Any) -> PrunedTree | None:
    """Return the recipe of a CART tree that can be grown repeatedly from one table; None for other learners."""
    recipe = base.recipe() if hasattr(type(base), "recipe") else None
    if not isinstance(recipe, PrunedTree) or recipe.pruning == "reduced_error" or recipe.method != "cart":
        return None
    return recipe if getattr(recipe.given, "class_weight", None) is None else None


def _impurity_trees(
    recipe: PrunedTree, placed: PlacedTable, values: FloatArray, weight: FloatArray | None, seed: int, threads: int
) -> tuple[ImpurityTrees, Schema]:
    """Return the trees of a recipe on one table, and the columns of the table."""
    with places.among(None):
        target, head = recipe.goal.read(values[:, None], weight)
    training = recipe.preparation.cut(GivenRows.of(placed, target, head), threads)

    def prune(grown: SingleTree) -> Forest:
        whole = BinaryTree.of(grown)
        return whole.pruned(recipe.leaves_to_be(whole, None, threads))

    rules = recipe.preparation.rules(training)
    return ImpurityTrees(training, rules, prune, seed, threads), training.schema


def _warn_if_interrupted(votes: Votes) -> None:
    if votes.interrupted:
        warn_interrupted(len(votes.weights), "rounds")


def _marked(schema: Schema, data: BinnedData) -> Schema:
    """Return a schema that knows which columns have missing values."""
    missing = np.zeros(schema.n_features, dtype=bool)
    missing[list(data.bin_map.order)] = data.has_missing
    return schema.with_missing(missing.tolist())


class MemberLearners:
    """Learners of any kind; those whose fit takes no weights need whole weights, as copies of rows."""

    def __init__(
        self, base: Any, source: GivenTable, kept: Positions, values: FloatArray, goal: Goal, seed: int, threads: int
    ) -> None:
        self.base, self.source, self.kept, self.values, self.goal = base, source, kept, values, goal
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
        has_one_class = self.goal.classifies and (labels == labels[0]).all()
        model = OneClass() if has_one_class else new_member(self.base, self.seed, number)
        bag = Bag(self.kept[some], weight[some].astype(np.int64), weight[some])
        self.members.append(self.source.fit(model, bag, self.threads))
        return self.goal.encoded(self.members[-1].predict(self.rows))
