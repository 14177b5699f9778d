"""IsolationForest: what it finds, what never matters, files, odd input, and scikit-learn's word on it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import is_outlier_detector
from sklearn.ensemble import IsolationForest as ScikitIsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.files import content, loaded, reloaded
from tests.reference.isolation import average_path_length
from tests.reference.sklearn_checks import checks_of

import arboretum as arb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
TOWNS = np.array(["Oslo", "Rome", "Bonn"])[RNG.integers(0, 3, 400)]
FRAME = pd.DataFrame(X, columns=["b", "a", "c"]).assign(town=TOWNS)
FRAME.loc[::7, "a"] = np.nan
FRAME.loc[3, "town"] = None
FORMS = [{}, {"extension": 1}, {"extension": "full", "bootstrap": True}, {"max_features": 2, "max_samples": 0.3}]


def make(**params):
    return arb.IsolationForest(**{"n_estimators": 20, **params})


def name_of(case):
    return getattr(getattr(case, "func", case), "__name__", None) or repr(case)


@pytest.mark.parametrize(("estimator", "check"), checks_of(make(), make(extension="full")), ids=name_of)
def test_every_check_of_sklearn(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------------------------------- what it finds


def test_anomalies_have_the_lowest_scores():
    odd = np.array([[6.0, 6.0, -6.0], [-7.0, 5.0, 6.0], [5.0, -5.0, 5.0]])
    for params in FORMS:
        model = arb.IsolationForest(**params).fit(np.vstack([X, odd]))
        scores = model.score_samples(np.vstack([X, odd]))
        assert set(np.argsort(scores)[:3]) == {400, 401, 402}
        assert ((scores < 0) & (scores > -1)).all()


def test_scores_agree_with_sklearn():
    ours = arb.IsolationForest(n_estimators=300).fit(X)
    its = ScikitIsolationForest(n_estimators=300, random_state=0).fit(X)
    a, b = ours.score_samples(X), its.score_samples(X)
    assert np.corrcoef(a, b)[0, 1] > 0.98
    assert np.abs(a - b).max() < 0.04
    assert ours.max_samples_ == its.max_samples_ == 256
    assert ours.offset_ == its.offset_ == -0.5


def test_score_is_that_of_the_paper():
    model = make(max_samples=100).fit(X)
    np.testing.assert_allclose(
        model.score_samples(X), -(2 ** (-model.path_lengths(X) / average_path_length(100))), rtol=1e-12
    )
    np.testing.assert_array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) < 0, -1, 1))
    leaves = model.apply(X)
    values = model.forest_.value[model.forest_.tree_start[:-1] + leaves, 0]
    np.testing.assert_allclose(values.mean(axis=1), model.path_lengths(X))


def blobs(rng, n, centres):
    return np.concatenate([rng.normal(centre, 1.0, (n, 2)) for centre in centres])


def test_hyperplanes_see_no_ghosts():
    """Two blobs of Hariri et al. 2019: cuts along the axes leave two regions that look as full as the blobs."""
    rng = np.random.default_rng(0)
    rows, ghosts = blobs(rng, 1000, [(0, 10), (10, 0)]), blobs(rng, 100, [(0, 0), (10, 10)])
    labels = np.repeat([0, 1], [len(rows), len(ghosts)])
    auc = {}
    for extension in (0, 1):
        model = arb.IsolationForest(extension=extension).fit(rows)
        auc[extension] = roc_auc_score(labels, -model.score_samples(np.vstack([rows, ghosts])))
    assert auc[0] < 0.995
    assert auc[1] > 0.9985


def test_rare_categories_are_anomalies():
    rows = pd.DataFrame({"town": ["Oslo"] * 150 + ["Rome"] * 145 + ["Atlantis"] * 5, "x": RNG.normal(size=300)})
    model = arb.IsolationForest().fit(rows)
    mean = pd.Series(model.score_samples(rows)).groupby(rows["town"]).mean()
    assert mean["Atlantis"] < mean.drop("Atlantis").min() - 0.02
    assert model.explain_scores(rows)[-5:, 0].min() > 1


def test_categories_beyond_the_sample_go_to_the_smaller_side():
    codes = np.repeat(np.arange(120), [400, 400, *[1] * 118])
    rows = pd.DataFrame({"code": codes.astype(str)})
    scores = arb.IsolationForest(max_samples=64).fit(rows).score_samples(rows)
    assert scores[800:].mean() < scores[:800].mean() - 0.05


def test_missing_is_a_value_of_its_own_where_nothing_else_varies():
    column = np.full((100, 1), 5.0)
    column[:3] = np.nan
    model = make().fit(column)
    scores = model.score_samples(column)
    assert scores[:3].max() < scores[3:].min()


def test_infinities_are_the_farthest():
    rows = np.vstack([X, [[np.inf, 0, 0], [0, -np.inf, 0], [50.0, 0, 0]]])
    for extension in (0, 2):
        scores = make(extension=extension, n_estimators=100).fit(rows).score_samples(rows)
        assert set(np.argsort(scores)[:3]) == {400, 401, 402}


# ----------------------------------------------------------------------------------------------- what never matters


@pytest.mark.parametrize("params", FORMS)
def test_threads_and_orders_change_nothing(params):
    model = make(**params, n_jobs=1).fit(FRAME)
    assert make(**params, n_jobs=5).fit(FRAME).fingerprint() == model.fingerprint()
    shuffled = FRAME.sample(frac=1.0, random_state=1)
    assert make(**params).fit(shuffled).fingerprint() == model.fingerprint()
    turned = FRAME[["town", "c", "b", "a"]]
    assert make(**params).fit(turned).fingerprint() == model.fingerprint()
    assert make(**params, random_state=1).fit(FRAME).fingerprint() != model.fingerprint()


def test_rows_without_weight_are_no_rows():
    weight = np.repeat([0.0, 0.5], 200)
    model = make(contamination=0.2).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(
        model.score_samples(X), make().fit(X[200:], sample_weight=weight[200:]).score_samples(X)
    )
    assert (model.predict(X[200:]) == -1).mean() == pytest.approx(0.2, abs=0.01)


def test_heavy_rows_are_drawn_more_often():
    two = np.vstack([X, X + 20])
    weight = np.repeat([1.0, 0.01], 400) * 0.7  # no whole numbers
    scores = arb.IsolationForest().fit(two, sample_weight=weight).score_samples(two)
    assert scores[:400].mean() > scores[400:].mean() + 0.05


def test_sparse_is_dense():
    dense = np.where(RNG.random((200, 6)) < 0.7, 0.0, RNG.normal(size=(200, 6)))
    for params in FORMS:
        a, b = make(**params).fit(dense), make(**params).fit(csr_matrix(dense))
        assert a.fingerprint() == b.fingerprint()
        np.testing.assert_array_equal(a.score_samples(dense), b.score_samples(csr_matrix(dense)))
        np.testing.assert_array_equal(a.explain_scores(dense), b.explain_scores(csr_matrix(dense)))


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**20])
def test_units_do_not_matter(scale):
    """Powers of two change no digit, and if all rows are drawn, their order by content does not matter."""
    scaled = X * [scale, 1.0, 1 / scale]
    for extension in (0, 1, 2):
        one, other = (make(extension=extension, max_samples=1.0).fit(rows) for rows in (X, scaled))
        np.testing.assert_array_equal(one.score_samples(X), other.score_samples(scaled))


# ------------------------------------------------------------------------------------------------------ explanation


@pytest.mark.parametrize("params", FORMS)
def test_contributions_sum_to_what_is_missing_of_the_mean_path(params):
    model = make(**params).fit(FRAME)
    parts = model.explain_scores(FRAME)
    assert parts.shape == FRAME.shape
    np.testing.assert_allclose(parts.sum(axis=1), model.expected_path_length_ - model.path_lengths(FRAME), atol=1e-12)


def test_expected_path_length_is_the_mean_of_all_rows_if_all_are_drawn():
    model = make(max_samples=400).fit(X)
    assert model.expected_path_length_ == pytest.approx(model.path_lengths(X).mean())
    np.testing.assert_allclose(model.explain_scores(X).sum(axis=1).mean(), 0, atol=1e-12)


@pytest.mark.parametrize("extension", [0, 2])
def test_explanations_name_the_odd_column(extension):
    model = arb.IsolationForest(extension=extension).fit(X)
    for column in range(3):
        row = np.zeros((1, 3))
        row[0, column] = 8.0
        assert model.explain_scores(row).argmax() == column


# ------------------------------------------------------------------------------------------------------ the offset


@pytest.mark.parametrize("contamination", [0.01, 0.1, 0.5])
def test_contamination_is_the_share_of_anomalies(contamination):
    model = make(contamination=contamination).fit(X)
    assert (model.predict(X) == -1).mean() == pytest.approx(contamination, abs=1 / 400)
    np.testing.assert_array_equal(make(contamination=contamination).fit_predict(X), model.predict(X))
    assert model.offset_ == np.quantile(model.score_samples(X), contamination)


@pytest.mark.parametrize("contamination", [0.01, 0.1, 0.5])
def test_contamination_is_a_share_of_the_weight(contamination):
    weight = np.random.default_rng(1).exponential(size=len(X))
    model = make(contamination=contamination).fit(X, sample_weight=weight)
    score, share = model.score_samples(X), weight / weight.sum()
    assert share[score < model.offset_].sum() <= contamination <= share[score <= model.offset_].sum()
    assert make(contamination=contamination).fit(X, sample_weight=1e-9 * weight).offset_ == model.offset_


# ------------------------------------------------------------------------------------------------------------ files


TAMPERED = {
    "no offset": (lambda header: header.pop("offset"), "offset"),
    "offset of text": (lambda header: header.update(offset="-0.5"), "offset is .*: expected a finite"),
    "offset beyond numbers": (
        lambda header: header.update(offset=float("nan")),
        "offset is .*: expected a finite",
    ),
    "no trees of paths": (lambda header: header["params"].update(extension=-1), "extension"),
}


@pytest.mark.parametrize(("change", "message"), TAMPERED.values(), ids=TAMPERED.keys())
def test_tampered_headers_are_refused(change, message):
    model = make(n_estimators=2).fit(X)
    with pytest.raises(arb.ModelFileError, match=message):
        reloaded(model, lambda header, arrays: change(header))


def test_forests_of_others_are_refused():
    header, _ = content(make(n_estimators=2).fit(X))
    _, arrays = content(arb.RandomForestClassifier(n_estimators=2).fit(X, np.arange(400) % 3))
    with pytest.raises(arb.ModelFileError, match="expected trees of path lengths, found 2 of 3 values per leaf"):
        loaded(header, arrays)


# -------------------------------------------------------------------------------------------------------- odd input


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0: use an integer at least 1"),
        ({"max_samples": "all"}, "max_samples='all': use a number above 0 and at most 1 or 'auto'"),
        ({"max_samples": 0}, "max_samples=0: use an integer at least 1"),
        ({"max_samples": 1.5}, "max_samples=1.5: use a number above 0 and at most 1"),
        ({"contamination": 0.0}, "contamination=0.0: use a number above 0 and at most 0.5 or 'auto'"),
        ({"contamination": 0.6}, "contamination=0.6: use a number above 0 and at most 0.5"),
        ({"max_features": 0}, "max_features=0: use a number of columns of at least 1"),
        ({"max_features": 1.5}, "max_features=1.5: use a number above 0 and at most 1"),
        ({"bootstrap": "yes"}, "bootstrap='yes': use one of True, False"),
        ({"extension": -1}, "extension=-1: use an integer at least 0"),
        ({"extension": 3}, "extension=3 needs 4 numeric columns, but X has 3: use at most 2, or 'full' for all"),
        ({"unknown": "guess"}, "unknown='guess'"),
        ({"missing": "fill"}, "missing='fill'"),
        ({"categorical_features": 3}, "categorical_features=3"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        make(**params).fit(X)


def test_more_samples_than_rows_warn():
    with pytest.warns(UserWarning, match="max_samples=1000 is more than the 400 rows: every tree draws 400"):
        model = make(max_samples=1000).fit(X)
    assert model.max_samples_ == 400


def test_not_fitted():
    for method in ("predict", "score_samples", "decision_function", "path_lengths", "explain_scores", "apply"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(make(), method)(X)


def test_one_row_and_equal_rows_are_no_anomalies():
    assert make().fit([[1.0, "a"]]).score_samples([[1.0, "a"]]).tolist() == [-0.5]
    equal = make().fit(np.ones((50, 2)))
    np.testing.assert_array_equal(equal.score_samples([[1.0, 1.0], [9.0, 9.0]]), -0.5)
    assert make(extension="full").fit([["a"], ["b"], ["b"]]).predict([["b"]]).tolist() == [1]


@pytest.mark.parametrize("contamination", ["auto", 0.1, 0.5])
@pytest.mark.parametrize("n_rows", [2, 7, 100, 300])
@pytest.mark.parametrize("n_estimators", [1, 3, 100])
def test_constant_rows_are_inliers(n_rows, n_estimators, contamination):
    """Sums of equal path lengths were rounded to either side of what they are compared with."""
    rows = np.column_stack([np.full(n_rows, 0.1), np.full(n_rows, 7.0)])
    model = arb.IsolationForest(n_estimators=n_estimators, contamination=contamination).fit(rows)
    assert (model.predict(rows) == 1).all()
    assert (model.decision_function(rows) == 0).all()


def test_rows_of_equal_paths_have_equal_scores():
    """Path lengths are sums in another order; those at the threshold share its side."""
    rows = np.repeat([[0.0], [1.0]], 100, axis=0)  # both values are cut off alike
    model = arb.IsolationForest(n_estimators=101, max_samples=1.0).fit(rows)
    assert len(np.unique(model.score_samples(rows))) == 1
    for contamination in (0.01, 0.3, 0.5):
        assert (model.set_params(contamination=contamination).fit(rows).predict(rows) == 1).all()


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(2, 300))
def test_path_lengths_of_many_trees_are_exact_sums(n_trees, n_rows):
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, 2))
    forest = arb.IsolationForest(n_estimators=n_trees).fit(rows).forest_
    fractions = forest.value[:, 0] * 2.0**32
    np.testing.assert_array_equal(fractions, np.rint(fractions))


def test_unknown_categories_follow_the_policy():
    rows = pd.DataFrame({"town": TOWNS, "x": X[:, 0]})
    new = pd.DataFrame({"town": ["Ys"], "x": [0.0]})
    averaged, missing = (make(unknown=unknown).fit(rows) for unknown in ("average", "missing"))
    assert averaged.score_samples(new) != missing.score_samples(new)
    np.testing.assert_allclose(
        averaged.explain_scores(new).sum(axis=1), averaged.expected_path_length_ - averaged.path_lengths(new)
    )
    with pytest.raises(ValueError, match="Ys"):
        make(unknown="error").fit(rows).score_samples(new)


def test_it_is_an_outlier_detector_for_sklearn():
    assert is_outlier_detector(make())
    pipeline = make_pipeline(StandardScaler(), make()).fit(X)
    assert pipeline.predict(X).shape == (400,)
    assert "x" in make().fit(pd.DataFrame({"x": X[:, 0]})).to_text()
