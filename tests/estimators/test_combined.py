"""Voting, stacking, blending and ensemble selection: scikit-learn's answers, its checks, and clear errors."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tests.reference.sklearn_checks import checks_of
from threadpoolctl import threadpool_info

import arboretum as arb
from arboretum.data.table import read_table
from arboretum.ensembles.combining import member_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
NUMBERS = X[:, 0] * 2 + X[:, 1] ** 2 + RNG.normal(size=160) / 4
CLASSES = np.array(["low", "mid", "top"])[np.digitize(NUMBERS, [0.0, 1.5])]
TWO = NUMBERS > 0.5
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(town=np.where(X[:, 3] > 0, "Oslo", "Rome"))
FRAME.loc[::9, "a"] = np.nan


def tree(kind, **params):
    return getattr(arb, f"DecisionTree{kind}")(**{"max_depth": 3, **params})


def boosted(kind, **params):
    return getattr(arb, f"BoostedTrees{kind}")(**{"n_estimators": 10, **params})


def forest(kind, **params):
    return getattr(arb, f"RandomForest{kind}")(**{"n_estimators": 60, **params})


def pair(kind):
    return [("tree", tree(kind)), ("boosted", boosted(kind))]


def of_both(kind):
    """Members of arboretum and of scikit-learn."""
    own = LogisticRegression() if kind == "Classifier" else LinearRegression()
    return [*pair(kind), ("linear", make_pipeline(StandardScaler(), own))]


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or repr(case)


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks_of(
        arb.VotingClassifier(estimators=pair("Classifier")),
        arb.StackingClassifier(estimators=pair("Classifier")),
        arb.StackingRegressor(estimators=pair("Regressor")),
        arb.BlendingClassifier(estimators=pair("Classifier")),
        arb.EnsembleSelection(estimators=pair("Classifier"), prefit=False, n_steps=3),
    ),
    ids=name_of,
)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


# ---- scikit-learn's answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [CLASSES, TWO], ids=["three", "two"])
@pytest.mark.parametrize("params", [{}, {"voting": "hard"}, {"weights": [1, 2, 4]}], ids=str)
def test_votes_are_those_of_sklearn(y, params):
    ours = arb.VotingClassifier(estimators=of_both("Classifier"), **params).fit(X, y)
    theirs = sklearn.ensemble.VotingClassifier(of_both("Classifier"), **{"voting": "soft", **params}).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).all()
    if "voting" not in params:
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_means_are_those_of_sklearn():
    members = of_both("Regressor")
    ours = arb.VotingRegressor(estimators=members, weights=[1, 2, 4]).fit(X, NUMBERS)
    theirs = sklearn.ensemble.VotingRegressor(members, weights=[1, 2, 4]).fit(X, NUMBERS)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.parametrize("y", [CLASSES, TWO], ids=["three", "two"])
@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("method", ["auto", "predict_proba"])
def test_stacks_of_classes_are_those_of_sklearn(y, passthrough, method):
    given = {"cv": StratifiedKFold(4), "passthrough": passthrough, "stack_method": method}
    members, final = of_both("Classifier"), LogisticRegression(max_iter=1000)
    ours = arb.StackingClassifier(estimators=members, final_estimator=final, **given).fit(X, y)
    theirs = sklearn.ensemble.StackingClassifier(members, final, **given).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("passthrough", [False, True])
def test_stacks_of_numbers_are_those_of_sklearn(passthrough):
    given = {"cv": KFold(4), "passthrough": passthrough}
    members = of_both("Regressor")
    ours = arb.StackingRegressor(estimators=members, final_estimator=Ridge(), **given).fit(X, NUMBERS)
    theirs = sklearn.ensemble.StackingRegressor(members, Ridge(), **given).fit(X, NUMBERS)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


# ---- rows that members have not seen ---------------------------------------------------------------------------------


TABLES = {"array": X, "pandas": FRAME, "polars": pl.from_pandas(FRAME), "sparse": csr_matrix(X)}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_answers_out_of_fold_are_those_of_fits_without_the_fold(table):
    cv = list(KFold(3).split(np.zeros(160)))
    stack = arb.StackingRegressor(estimators=pair("Regressor"), cv=cv).fit(table, NUMBERS)

    def take(rows):
        return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]

    for name, member in pair("Regressor"):
        plain = np.full(160, np.nan)
        for fit, held in cv:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a fold may have the only missing values
                plain[held] = clone(member).fit(take(fit), NUMBERS[fit]).predict(take(held))
        assert (stack.unseen_answers()[name][:, 0] == plain).all()
        assert (stack.named_estimators_[name].predict(table) == clone(member).fit(table, NUMBERS).predict(table)).all()


def test_each_fold_learns_levels_of_its_own():
    town = np.array(["common"] * 159 + ["rare"], dtype=object)
    seen = []

    class Watching(arb.DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            seen.append(self.schema_.columns[0].categories)
            return self

    arb.StackingRegressor(estimators=[("tree", Watching())], cv=4).fit(pd.DataFrame({"town": town}), NUMBERS)
    assert sorted(map(len, seen)) == [1, 2, 2, 2, 2]  # a fold without the rare level, the others, all rows


def test_without_refit_the_models_of_the_folds_are_averaged():
    cv = list(KFold(3).split(X))
    stack = arb.StackingRegressor(estimators=[("tree", tree("Regressor"))], cv=cv, refit=False).fit(X, NUMBERS)
    (models,) = stack.estimators_
    mean = np.mean([model.predict(X) for model in models], axis=0)
    np.testing.assert_allclose(stack.predict(X), stack.intercept_ + stack.weights_[0] * mean)
    for model, (fit, _) in zip(models, cv, strict=True):
        assert model.fingerprint() == tree("Regressor").fit(X[fit], NUMBERS[fit]).fingerprint()


def test_blending_fits_one_part_and_combines_on_the_other():
    split = (np.arange(100), np.arange(100, 160))
    blend = arb.BlendingRegressor(estimators=pair("Regressor"), cv=[split]).fit(X, NUMBERS)
    for name, member in pair("Regressor"):
        assert blend.named_estimators_[name].fingerprint() == member.fit(X[:100], NUMBERS[:100]).fingerprint()
        unseen = blend.unseen_answers()[name][:, 0]
        assert np.isnan(unseen[:100]).all()
        assert (unseen[100:] == member.predict(X[100:])).all()
    last = arb.BlendingRegressor(estimators=pair("Regressor"), cv=0.375, time_ordered=True).fit(X, NUMBERS)
    assert last.fingerprint() == blend.fingerprint()
    again = arb.BlendingRegressor(estimators=pair("Regressor"), cv=[split], refit=True).fit(X, NUMBERS)
    assert (again.weights_ == blend.weights_).all()
    assert again.named_estimators_["tree"].fingerprint() == tree("Regressor").fit(X, NUMBERS).fingerprint()


def test_repeats_are_averaged():
    stack = arb.StackingRegressor(estimators=pair("Regressor"), cv=2, n_repeats=3).fit(X, NUMBERS)
    once = arb.StackingRegressor(estimators=pair("Regressor"), cv=2).fit(X, NUMBERS)
    assert not np.array_equal(stack.unseen_answers()["tree"], once.unseen_answers()["tree"])
    assert not np.isnan(stack.unseen_answers()["tree"]).any()


def test_time_ordered_folds_never_look_ahead():
    stack = arb.StackingRegressor(estimators=[("tree", tree("Regressor"))], cv=3, time_ordered=True).fit(X, NUMBERS)
    unseen = stack.unseen_answers()["tree"][:, 0]
    assert np.isnan(unseen[:40]).all()
    for first, last in ((40, 80), (80, 120), (120, 160)):
        assert (unseen[first:last] == tree("Regressor").fit(X[:first], NUMBERS[:first]).predict(X[first:last])).all()


def test_groups_are_never_on_both_sides():
    groups = np.repeat(np.arange(40), 4)
    target = RNG.normal(size=40)[groups]  # known from any other row of the group
    member = [("tree", arb.DecisionTreeRegressor())]
    table = np.column_stack([groups, X[:, 0]]).astype(float)
    apart = arb.StackingRegressor(estimators=member).fit(table, target, groups=groups)
    mixed = arb.StackingRegressor(estimators=member).fit(table, target)
    assert mixed.member_scores_["tree"] < 0.8 * target.std() < apart.member_scores_["tree"]
    given = arb.StackingRegressor(estimators=member, cv=GroupKFold(4)).fit(table, target, groups=groups)
    assert given.member_scores_["tree"] > 0.8 * target.std()


def test_out_of_bag_predictions_replace_folds_only_where_that_is_honest():
    members = [("forest", forest("Classifier")), ("tree", tree("Classifier"))]
    stack = arb.StackingClassifier(estimators=members).fit(X, CLASSES)
    alone = forest("Classifier", oob_score=True).fit(X, CLASSES)
    assert (stack.unseen_answers()["forest"] == alone.oob_decision_function_).all()
    assert stack.named_estimators_["forest"].predict_proba(X).tolist() == alone.predict_proba(X).tolist()
    assert not hasattr(stack.named_estimators_["forest"], "oob_score_")  # as long as the table, and not asked for
    asked = [("forest", forest("Classifier", oob_score=True)), members[1]]
    assert arb.StackingClassifier(estimators=asked).fit(X, CLASSES).named_estimators_["forest"].oob_score_ > 0.5
    groups = np.repeat(np.arange(32), 5)
    for params, given in (
        ({"out_of_bag": False}, {}),
        ({"time_ordered": True, "cv": 3}, {}),
        ({"cv": StratifiedKFold(3)}, {}),
        ({"refit": False}, {}),
        ({"stack_method": "predict"}, {}),
        ({}, {"groups": groups}),
    ):
        other = arb.StackingClassifier(estimators=members, **params).fit(X, CLASSES, **given)
        assert not np.array_equal(other.unseen_answers()["forest"], alone.oob_decision_function_)
    few = arb.StackingClassifier(estimators=[("few", forest("Classifier", n_estimators=10))]).fit(X, CLASSES)
    assert not hasattr(few.named_estimators_["few"], "oob_score_")


def test_noise_is_not_learned():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"id": [f"row {row}" for row in range(400)], "x": rng.normal(size=400)})
    target = rng.normal(size=400)
    members = [
        ("deep", arb.DecisionTreeRegressor()),
        ("forest", forest("Regressor")),
        ("boosted", boosted("Regressor")),
    ]
    stack = arb.StackingRegressor(estimators=members).fit(table[:300], target[:300])
    loss = ((stack.predict(table[300:]) - target[300:]) ** 2).mean()
    assert loss < 1.05 * ((target[300:] - target[:300].mean()) ** 2).mean()


# ---- members ---------------------------------------------------------------------------------------------------------


def test_members_that_grow_trees_read_the_table_once(monkeypatch):
    calls = []

    def counted(X, **given):
        calls.append(1)
        return read_table(X, **given)

    monkeypatch.setattr(member_rows, "read_table", counted)
    arb.StackingClassifier(estimators=[*pair("Classifier"), ("forest", forest("Classifier"))]).fit(FRAME, CLASSES)
    assert len(calls) == 1


def test_categorical_features_of_a_member_are_its_own():
    table = np.column_stack([X[:, 0], RNG.integers(0, 4, 160)])
    members = [("numbers", tree("Regressor")), ("codes", tree("Regressor", categorical_features=[1]))]
    model = arb.VotingRegressor(estimators=members).fit(table, NUMBERS)
    assert [member.schema_.columns[1].kind for member in model.estimators_] == ["numeric", "categorical"]
    mean = (members[0][1].fit(table, NUMBERS).predict(table) + members[1][1].fit(table, NUMBERS).predict(table)) / 2
    np.testing.assert_allclose(model.predict(table), mean)


def test_members_keep_their_seeds_and_their_threads():
    given = [("own", forest("Classifier", random_state=7, n_jobs=3)), ("open", forest("Classifier", random_state=None))]
    one, two = (arb.VotingClassifier(estimators=given, n_jobs=n_jobs).fit(X, CLASSES) for n_jobs in (1, 2))
    assert one.fingerprint() == two.fingerprint()
    assert (
        one.named_estimators_["own"].fingerprint() == forest("Classifier", random_state=7).fit(X, CLASSES).fingerprint()
    )
    assert one.named_estimators_["own"].n_jobs == 3
    other = arb.VotingClassifier(estimators=given, random_state=1).fit(X, CLASSES)
    assert other.named_estimators_["open"].fingerprint() != one.named_estimators_["open"].fingerprint()


def test_parameters_of_members_are_parameters_of_the_model():
    model = arb.VotingClassifier(estimators=pair("Classifier"))
    search = GridSearchCV(model, {"tree__max_depth": [1, 4], "boosted": [boosted("Classifier"), "drop"]}, cv=2)
    found = search.fit(X, CLASSES).best_params_
    assert set(found) == {"tree__max_depth", "boosted"}
    model.set_params(boosted="drop", tree__max_depth=2)
    assert list(model.fit(X, CLASSES).named_estimators_) == ["tree"]


def test_weights_are_given_to_members_and_to_the_combination():
    weight = RNG.integers(1, 4, 160).astype(float)
    members = [("tree", tree("Regressor")), ("line", make_pipeline(StandardScaler(), LinearRegression()))]
    model = arb.VotingRegressor(estimators=members).fit(X, NUMBERS, weight)
    repeated = np.repeat(np.arange(160), weight.astype(int))
    line = LinearRegression().fit(StandardScaler().fit_transform(X), NUMBERS, weight)
    scaled = StandardScaler().fit(X).transform(X)
    mean = (tree("Regressor").fit(X[repeated], NUMBERS[repeated]).predict(X) + line.predict(scaled)) / 2
    np.testing.assert_allclose(model.predict(X), mean)
    from sklearn.neighbors import KNeighborsRegressor

    copied = arb.VotingRegressor(estimators=[("near", KNeighborsRegressor())]).fit(X, NUMBERS, weight)
    plain = KNeighborsRegressor().fit(X[repeated], NUMBERS[repeated])
    assert (copied.predict(X) == plain.predict(X)).all()
    for unit, why in ((1 / 7, "are not whole numbers"), (1e12, "are too many copies of rows")):
        with pytest.raises(ValueError, match=rf"member 'near' .* these weights {why}"):
            arb.VotingRegressor(estimators=[("near", KNeighborsRegressor())]).fit(X, NUMBERS, weight * unit)


def test_prefit_members_stay_as_they_are():
    early, late = boosted("Classifier").fit(X, CLASSES), boosted("Classifier", n_estimators=30).fit(X, CLASSES)
    model = arb.VotingClassifier(estimators=[("early", early), ("late", late)], prefit=True).fit(X, CLASSES)
    assert model.named_estimators_["late"] is late
    np.testing.assert_allclose(model.predict_proba(X), (early.predict_proba(X) + late.predict_proba(X)) / 2)
    two = boosted("Classifier").fit(X, TWO)
    with pytest.raises(ValueError, match="y has the label 'mid' in row 0, which the training labels do not have"):
        arb.VotingClassifier(estimators=[("two", two)], prefit=True).fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"member 'tree' .* is not fitted: fit it first, or set prefit=False"):
        arb.VotingClassifier(estimators=pair("Classifier"), prefit=True).fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"member 'early' .* was fitted to 4 columns, but X has 2"):
        arb.VotingClassifier(estimators=[("early", early)], prefit=True).fit(X[:, :2], CLASSES)


def test_rows_that_lack_a_class_do_not_hide_it():
    member, few = GaussianNB().fit(X, CLASSES), CLASSES != "mid"
    for model in (
        arb.VotingClassifier(estimators=[("bayes", member)], prefit=True),
        arb.EnsembleSelection(estimators=[("bayes", member)]),
    ):
        model.fit(X[few], CLASSES[few])
        assert model.classes_.tolist() == ["low", "mid", "top"]
        np.testing.assert_allclose(model.predict_proba(X), member.predict_proba(X))


def test_classes_in_another_order_are_found():
    class Reversed(GaussianNB):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    model = Reversed().fit(X, CLASSES)
    plain = GaussianNB().fit(X, CLASSES).predict_proba(X)
    model.predict_proba(X)
    model.classes_ = model.classes_[::-1]
    voted = arb.VotingClassifier(estimators=[("reversed", model)], prefit=True).fit(X, CLASSES)
    np.testing.assert_allclose(voted.predict_proba(X), plain)


def test_scores_are_features_too():
    members = [("svm", LinearSVC()), ("boosted", boosted("Classifier"))]
    stack = arb.StackingClassifier(estimators=members, stack_method="decision_function").fit(X, TWO)
    assert stack.score(X, TWO) > 0.8
    mixed = arb.StackingClassifier(estimators=[("svm", LinearSVC()), ("tree", tree("Classifier"))]).fit(X, CLASSES)
    assert [one.shape[1] for one in mixed.unseen_answers().values()] == [3, 3]


def test_layers():
    inner = arb.StackingClassifier(estimators=pair("Classifier"), cv=2)
    outer = arb.StackingClassifier(
        estimators=[*pair("Classifier"), ("bayes", GaussianNB())], final_estimator=inner, passthrough=True, cv=2
    ).fit(X, CLASSES)
    assert outer.final_estimator_.n_features_in_ == 3 * 3 + 4
    assert outer.score(X, CLASSES) > 0.7


def test_columns_passed_through_keep_their_names_and_kinds():
    members = [("tree", tree("Classifier")), ("a", boosted("Classifier"))]
    stack = arb.StackingClassifier(estimators=members, final_estimator=boosted("Classifier"), passthrough=True, cv=2)
    for table in (FRAME, pl.from_pandas(FRAME)):
        final = stack.fit(table, TWO).final_estimator_
        assert final.feature_names_in_.tolist() == ["tree", "a′", "a", "b", "c", "d", "town"]
        assert final.schema_.columns[-1].categories == tuple(pd.Series(FRAME.town).value_counts().index)
        assert stack.predict(table[::-1] if isinstance(table, pd.DataFrame) else table.reverse()).shape == (160,)
    named = stack.fit(FRAME, CLASSES).final_estimator_.feature_names_in_.tolist()
    assert named[:4] == ["tree low", "tree mid", "tree top", "a′ low"] or named[:3] == [
        "tree low",
        "tree mid",
        "tree top",
    ]


def test_several_outputs():
    y = np.column_stack([NUMBERS, -NUMBERS])
    for model in (
        arb.VotingRegressor(estimators=pair("Regressor")),
        arb.StackingRegressor(estimators=pair("Regressor")),
    ):
        assert model.fit(X, y).predict(X).shape == (160, 2)
        assert model.score(X, y) > 0.5


def test_selection_from_a_library_by_any_metric():
    library = [(f"depth {d}", arb.DecisionTreeClassifier(max_depth=d).fit(X[:100], TWO[:100])) for d in (1, 3, 9)]
    few = {"n_steps": 4, "n_bags": 2}
    for scoring in ("loss", "accuracy", "roc_auc", "f1", None, lambda model, X, y: (model.predict(X) == y).mean()):
        model = arb.EnsembleSelection(estimators=library, scoring=scoring, **few).fit(X[100:], TWO[100:])
        assert model.weights_.sum() == pytest.approx(1)
        mean = sum(w * one.predict_proba(X) for w, (_, one) in zip(model.weights_, library, strict=True))
        np.testing.assert_allclose(model.predict_proba(X), mean)
    numbers = arb.EnsembleSelection(estimators=[("a", tree("Regressor").fit(X, NUMBERS))]).fit(X, NUMBERS)
    assert not hasattr(numbers, "predict_proba")
    assert not hasattr(numbers, "classes_")
    with pytest.raises(
        AttributeError, match="this EnsembleSelection has no predict_proba: its members have no such answers"
    ):
        numbers.predict_proba(X)


def test_members_without_probabilities_vote_in_a_selection():
    library = [("svm", LinearSVC()), ("tree", tree("Classifier"))]
    model = arb.EnsembleSelection(estimators=library, prefit=False, cv=2).fit(X, CLASSES)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba >= 0).all()


def test_groups_and_time_reach_the_second_layer():
    groups = np.repeat(np.arange(40), 4)
    target, table = RNG.normal(size=40)[groups], np.column_stack([groups, X[:, 0]]).astype(float)
    inner = arb.StackingRegressor(estimators=[("tree", arb.DecisionTreeRegressor())], cv=4)
    given = {"estimators": [("line", LinearRegression())], "final_estimator": inner, "passthrough": True, "cv": 4}
    stack = arb.StackingRegressor(**given).fit(table, target, groups=groups)
    assert stack.final_estimator_.member_scores_["tree"] > 0.8 * target.std()
    within = arb.VotingRegressor(estimators=[("stack", inner)]).fit(table, target)
    assert within.estimators_[0].member_scores_["tree"] < 0.8 * target.std()  # no groups are known
    ordered = arb.StackingRegressor(**given, time_ordered=True).fit(table, target)
    assert ordered.final_estimator_.time_ordered


def test_final_estimators_get_a_seed_and_keep_their_scores():
    final = {"final_estimator": sklearn.ensemble.RandomForestRegressor(3)}
    one, two = (arb.StackingRegressor(estimators=pair("Regressor"), **final).fit(X, NUMBERS) for _ in range(2))
    assert (one.predict(X) == two.predict(X)).all()
    margins = arb.StackingClassifier(estimators=pair("Classifier"), final_estimator=LinearSVC()).fit(X, TWO)
    assert not hasattr(margins, "predict_proba")
    scores = margins.decision_function(X)
    assert len(np.unique(scores.round(6))) > 3
    assert ((scores > 0) == margins.predict(X)).all()


def test_weighted_rows_are_not_asked_of_bags():
    members = [("forest", forest("Regressor")), ("tree", tree("Regressor"))]
    stack = arb.StackingRegressor(estimators=members, cv=3).fit(X, NUMBERS, np.where(np.arange(160) < 80, 20, 1))
    assert not np.isnan(stack.unseen_answers()["forest"]).any()
    part = arb.StackingRegressor(estimators=members, cv=3).fit(X, NUMBERS, np.append(np.zeros(40), np.ones(120)))
    assert np.isnan(part.unseen_answers()["tree"][:40]).all()
    assert not np.isnan(part.unseen_answers()["tree"][40:]).any()


def test_weights_of_dropped_members_are_dropped():
    given = [*pair("Regressor"), ("out", "drop")]
    assert arb.VotingRegressor(estimators=given, weights=[1, 2, 3]).fit(X, NUMBERS).weights_.tolist() == [1, 2]


def test_long_masks_of_categories_are_told_apart():
    table = RNG.integers(0, 3, (40, 1002)).astype(float)
    first = np.zeros(1002, dtype=bool)
    second = first.copy()
    second[500] = True
    members = [(name, tree("Regressor", categorical_features=mask)) for name, mask in (("a", first), ("b", second))]
    model = arb.VotingRegressor(estimators=members).fit(table, table[:, 500])
    assert [one.schema_.columns[500].kind for one in model.estimators_] == ["numeric", "categorical"]


def test_blas_has_its_threads_back_after_fits_side_by_side():
    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before, members = threads(), [("line", LinearRegression()), ("ridge", Ridge())]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: arb.VotingRegressor(estimators=members, n_jobs=2).fit(X[n:], NUMBERS[n:]), range(20)))
    assert threads() == before


# ---- bad input -------------------------------------------------------------------------------------------------------

VOTES, STACK = arb.VotingClassifier, arb.StackingClassifier
WRONG = {
    "no list": (VOTES, {"estimators": 3}, "estimators=3: give a list of"),
    "no members": (VOTES, {"estimators": []}, "has no members"),
    "all dropped": (VOTES, {"estimators": [("a", "drop")]}, "has no members"),
    "no pairs": (VOTES, {"estimators": [tree("Classifier")]}, "estimators has the entry DecisionTreeClassifier"),
    "another task": (VOTES, {"estimators": [("a", tree("Regressor"))]}, "'a' is the regressor DecisionTreeRegressor"),
    "no model": (
        VOTES,
        {"estimators": [("a", arb.IsolationForest())]},
        "'a' is the outlier detector IsolationForest: use a classifier",
    ),
    "class": (VOTES, {"estimators": [("a", LogisticRegression)]}, r"'a' is the class .*: use LogisticRegression\(\)"),
    "names twice": (VOTES, {"estimators": [("a", GaussianNB())] * 2}, "has the name 'a' 2 times"),
    "name of a parameter": (VOTES, {"estimators": [("voting", GaussianNB())]}, "mistaken for a parameter"),
    "no probabilities": (VOTES, {"estimators": [("svm", LinearSVC())]}, "member 'svm' .* has no predict_proba"),
    "weights": (VOTES, {"estimators": pair("Classifier"), "weights": [1]}, "give a number for each of the 2 members"),
    "weights below 0": (VOTES, {"estimators": pair("Classifier"), "weights": [1, -1]}, "finite numbers of at least 0"),
    "folds": (STACK, {"estimators": pair("Classifier"), "cv": 1}, "cv=1: use an integer at least 2"),
    "many folds": (STACK, {"estimators": pair("Classifier"), "cv": 100}, "cv=100, but class '.*' has .* rows"),
    "time": (
        STACK,
        {"estimators": pair("Classifier"), "cv": KFold(2), "time_ordered": True},
        "time_ordered=True with cv",
    ),
    "no scores": (
        STACK,
        {"estimators": [("tree", tree("Classifier"))], "stack_method": "decision_function"},
        "member 'tree' .* has no decision_function",
    ),
    "pass": (
        STACK,
        {"estimators": pair("Classifier"), "passthrough": True},
        "passthrough=True needs a final_estimator",
    ),
    "final": (STACK, {"estimators": pair("Classifier"), "final_estimator": Ridge()}, "is not a classifier"),
    "no final": (STACK, {"estimators": pair("Classifier"), "final_estimator": "ridge"}, "use an estimator object"),
    "on_error": (STACK, {"estimators": pair("Classifier"), "on_error": "ignore"}, "on_error='ignore': use one of"),
    "name of the final one": (STACK, {"estimators": [("final", GaussianNB())]}, "mistaken for a parameter"),
    "repeats": (STACK, {"estimators": pair("Classifier"), "cv": KFold(2), "n_repeats": 2}, "n_repeats=2 with cv"),
    "one class": (
        STACK,
        {
            "estimators": pair("Classifier"),
            "cv": [(np.flatnonzero(CLASSES == "low"), np.flatnonzero(CLASSES == "top"))],
        },
        "the training rows of split 0 are all of class 'low'",
    ),
    "scoring": (arb.EnsembleSelection, {"estimators": pair("Classifier"), "scoring": "acuracy"}, "did you mean"),
    "library": (arb.EnsembleSelection, {}, "estimators=None: give the library"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(name):
    cls, params, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        cls(**params).fit(X, CLASSES)


def test_a_member_that_fails_is_named_or_left_out():
    members = [*pair("Regressor"), ("ridge", Ridge())]
    with pytest.raises(
        ValueError, match=r"member 'ridge' \(Ridge\) cannot be fitted: .*; X has categories \(town\) and"
    ):
        arb.StackingRegressor(estimators=members).fit(FRAME, NUMBERS)
    skipping = arb.StackingRegressor(estimators=members, on_error="skip")
    with pytest.warns(UserWarning, match="it is left out"):
        skipping.fit(FRAME, NUMBERS)
    assert list(skipping.skipped_) == ["ridge"]
    assert list(skipping.named_estimators_) == ["tree", "boosted"]
    with pytest.raises(ValueError, match="every member failed, so none is left; 'ridge'"):
        arb.VotingRegressor(estimators=members[2:], on_error="skip").fit(FRAME, NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        weighted = arb.VotingRegressor(estimators=members, on_error="skip", weights=[1, 3, 5]).fit(FRAME, NUMBERS)
    assert weighted.weights_.tolist() == [1, 3]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_answers_that_are_no_numbers_are_those_of_a_member(value):
    class Broken(LinearRegression):
        def predict(self, X):
            return np.append(value, super().predict(X)[1:])

    members = [*pair("Regressor"), ("broken", Broken())]
    with pytest.raises(
        ValueError, match=rf"member 'broken' \(Broken\) cannot be asked for predict: it answers {value}"
    ):
        arb.StackingRegressor(estimators=members, cv=2).fit(X, NUMBERS)
    with pytest.raises(ValueError, match=r"member 'broken' .* it answers"):
        arb.EnsembleSelection(estimators=[("broken", Broken().fit(X, NUMBERS))]).fit(X, NUMBERS)
    skipping = arb.StackingRegressor(estimators=members, cv=2, on_error="skip")
    with pytest.warns(UserWarning, match="it is left out"):
        assert list(skipping.fit(X, NUMBERS).skipped_) == ["broken"]


def test_rows_without_weight_are_in_no_split():
    weight = np.append(np.zeros(80), np.ones(80))
    halves = [(np.arange(80, 160), np.arange(80)), (np.arange(40, 120), np.append(np.arange(40), np.arange(120, 160)))]
    stack = arb.StackingRegressor(estimators=pair("Regressor"), cv=halves).fit(X, NUMBERS, weight)
    assert (~np.isnan(stack.unseen_answers()["tree"][:, 0])).sum() == 40
    with pytest.raises(ValueError, match="cv: no split has training rows and held-out rows of a weight above 0"):
        arb.StackingRegressor(estimators=pair("Regressor"), cv=halves[:1]).fit(X, NUMBERS, weight)


def test_groups_of_several_types_say_so():
    groups = np.array([1, "a"] * 80, dtype=object)
    with pytest.raises(ValueError, match="groups has labels of types int, str: convert them to one type"):
        arb.StackingRegressor(estimators=pair("Regressor")).fit(X, NUMBERS, groups=groups)


def test_an_error_leaves_the_model_as_it_was():
    model = arb.StackingRegressor(estimators=pair("Regressor")).fit(X, NUMBERS)
    before = model.fingerprint()
    for wrong in (np.full(160, np.nan), NUMBERS[:10]):
        with pytest.raises(ValueError, match=r"y"):
            model.fit(X, wrong)
    assert model.fingerprint() == before


def test_answers_to_training_rows_are_neither_in_files_nor_in_pickles(tmp_path):
    stack = arb.StackingRegressor(estimators=pair("Regressor")).fit(X, NUMBERS)
    stack.save(tmp_path / "m.arb")
    for again in (arb.load(tmp_path / "m.arb"), pickle.loads(pickle.dumps(stack))):
        assert (again.predict(X) == stack.predict(X)).all()
        with pytest.raises(AttributeError, match="fit the model again"):
            again.unseen_answers()


def test_a_split_of_several_parts_averages_its_models():
    blend = arb.BlendingRegressor(estimators=pair("Regressor"), cv=ShuffleSplit(3, random_state=0)).fit(X, NUMBERS)
    assert [len(models) for models in blend.estimators_] == [3, 3]


# ---- looking inside --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (arb.VotingRegressor(estimators=pair("Regressor"), weights=[1, 3]), NUMBERS),
        (arb.StackingRegressor(estimators=pair("Regressor"), refit=False, cv=3), NUMBERS),
        (arb.BlendingRegressor(estimators=pair("Regressor")), NUMBERS),
        (arb.VotingClassifier(estimators=[("tree", tree("Classifier")), ("forest", forest("Classifier"))]), CLASSES),
        (arb.VotingClassifier(estimators=[("tree", tree("Classifier")), ("forest", forest("Classifier"))]), TWO),
        (
            arb.StackingClassifier(
                estimators=[("boosted", boosted("Classifier")), ("ada", arb.AdaBoostClassifier(n_estimators=3))],
                stack_method="decision_function",
            ),
            CLASSES,
        ),
        (arb.EnsembleSelection(estimators=pair("Regressor"), prefit=False), NUMBERS),
        (
            arb.VotingRegressor(
                estimators=[("stack", arb.StackingRegressor(estimators=pair("Regressor"))), ("tree", tree("Regressor"))]
            ),
            NUMBERS,
        ),
    ],
    ids=lambda case: type(case).__name__,
)
def test_weighted_sums_of_forests_are_explained_exactly(model, y):
    model = clone(model).fit(FRAME, y)
    if model.task_.has_classes and isinstance(model, arb.VotingClassifier):
        whole = model.predict_proba(FRAME[:20])
        whole = whole if whole.shape[1] > 2 else whole[:, 1]
    else:
        whole = model.decision_function(FRAME[:20]) if model.task_.has_classes else model.predict(FRAME[:20])
    for options in ({}, {"background": FRAME[50:60]}, {"interactions": True}):
        np.testing.assert_allclose(model.explain(FRAME[:20], **options).predictions, whole, rtol=1e-9, atol=1e-9)


def test_a_vote_over_a_stack_adds_no_scores_to_probabilities():
    stack = arb.StackingClassifier(estimators=[("boosted", boosted("Classifier"))], stack_method="decision_function")
    vote = arb.VotingClassifier(estimators=[("stack", stack), ("tree", tree("Classifier"))]).fit(X, TWO)
    with pytest.raises(TypeError, match=r"member 'stack' .* is asked for predict_proba, which is not a sum"):
        vote.explain(X)
    outer = arb.StackingClassifier(estimators=[("stack", stack)], stack_method="decision_function").fit(X, TWO)
    np.testing.assert_allclose(outer.explain(X[:9]).predictions, outer.decision_function(X[:9]))


def test_what_is_no_sum_of_trees_says_so():
    linear = [("line", LinearRegression()), ("tree", tree("Regressor"))]
    final = arb.StackingRegressor(estimators=pair("Regressor"), final_estimator=tree("Regressor"))
    for model, y, message in (
        (arb.VotingRegressor(estimators=linear), NUMBERS, "member 'line' .* is not a forest of arboretum"),
        (arb.VotingClassifier(estimators=pair("Classifier"), voting="hard"), TWO, 'use voting="soft"'),
        (arb.VotingClassifier(estimators=pair("Classifier")), TWO, 'stack_method="decision_function"'),
        (final, NUMBERS, "use final_estimator=None"),
    ):
        with pytest.raises(TypeError, match=message) as told:
            model.fit(X, y).explain(X)
        assert "importances(X, y) shuffles columns of any model" in str(told.value)
        assert "permutation" in model.importances(X, y, n_repeats=2).kinds


def test_gains_of_members_are_weighed():
    model = arb.VotingRegressor(estimators=pair("Regressor"), weights=[1, 3]).fit(X, NUMBERS)
    first, second = (member.feature_importances_ for member in model.estimators_)
    np.testing.assert_allclose(model.feature_importances_, (first + 3 * second) / 4)
    final = arb.StackingRegressor(estimators=pair("Regressor"), final_estimator=tree("Regressor")).fit(X, NUMBERS)
    with pytest.raises(AttributeError, match="has no feature_importances_"):
        final.feature_importances_


def test_files_keep_members_of_other_libraries_by_consent(tmp_path):
    model = arb.StackingRegressor(estimators=of_both("Regressor"), final_estimator=Ridge()).fit(X, NUMBERS)
    with pytest.raises(TypeError, match="foreign="):
        model.save(tmp_path / "m.arb")
    model.save(tmp_path / "m.arb", foreign="skops")
    again = arb.load(tmp_path / "m.arb", foreign="skops")
    assert (again.predict(X) == model.predict(X)).all()
    assert [name for name, _ in again.estimators] == ["tree", "boosted", "linear"]
