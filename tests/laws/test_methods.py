"""Every public method of every fitted estimator works, or says truly why it does not."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pytest
from tests.reference.every_estimator import CASES, answers
from tests.reference.every_method import answer, arguments_of, public_names

import arboretum as arb

mpl.use("Agg")

N_ROWS = 60
SILENT = {"check_parameters", "checkpoint_", "encoding_", "groups_", "journal", "race_", "save"}
NO_BAGS = "needs the bags of the trees: fit with keep_bags=True"
NO_SUM = "predicts no sum of trees, which SHAP values would split"
OF_COMPOSED = {"model_": "has no trees of its own", "explain": NO_SUM, "influence": "influence is not known for"}
NO_SCORE = "has no out-of-bag predictions: fit with oob_score=True"
OF_FORESTS = {
    "bags_": "has not kept its bags: fit with keep_bags=True",
    "oob_permutation_importance": NO_BAGS,
    "oob_score_": NO_SCORE,
    "prediction_error": NO_BAGS,
}
OF_BAGS = {
    **OF_COMPOSED,
    **dict.fromkeys(("oob_decision_function_", "oob_prediction_", "oob_score_"), "was fitted without oob_score"),
}
OF_CLASSES = {**OF_FORESTS, "oob_decision_function_": NO_SCORE}
OF_NUMBERS = {**OF_FORESTS, "oob_prediction_": NO_SCORE, "predict_quantiles": NO_BAGS}
NO_INFLUENCE = {"influence": "influence is not known for"}
OF_COMBINED = {
    "explain": "cannot be added up",
    "final_estimator_": "combines its members linearly: see weights_",
    "influence": "influence is not known for",
    "model_": "has no trees of its own",
}
OF_VOTES = {**OF_COMBINED, "member_scores_": "has no rows that members have not seen"}
REFUSED = {
    "AdaBoostClassifier": NO_INFLUENCE,
    "AdaBoostRegressor": {**NO_INFLUENCE, "explain": "predicts a median of its trees, not a sum"},
    "AdditiveBoostingClassifier": OF_COMPOSED,
    "AdditiveBoostingRegressor": OF_COMPOSED,
    "BaggingClassifier": OF_BAGS,
    "BaggingRegressor": OF_BAGS,
    "BlendingClassifier": {**OF_COMBINED, "explain": "logarithms of probabilities are not sums of trees"},
    "BlendingRegressor": {name: why for name, why in OF_COMBINED.items() if name != "explain"},
    "BoostedTreesRanker": {"influence": "'yetirank' compares rows with one another"},
    "BoostedTreesSurvival": {"influence": "'cox' compares rows with one another"},
    "CalibratedClassifier": OF_COMPOSED,
    "CheckpointAverage": OF_COMPOSED,
    "ConformalRegressor": OF_COMPOSED,
    "DecisionTreeClassifier": {"tree_": "has a tree with two branches per node: look at forest_"},
    "EnsembleSelection": OF_COMBINED,
    "ExtraTreesClassifier": OF_CLASSES,
    "ExtraTreesRegressor": OF_NUMBERS,
    "IsolationForest": NO_INFLUENCE,
    "RandomForestClassifier": OF_CLASSES,
    "RandomForestRegressor": OF_NUMBERS,
    "RandomSurvivalForest": {**NO_INFLUENCE, "oob_prediction_": NO_SCORE, "oob_score_": NO_SCORE},
    "StackingClassifier": {**OF_COMBINED, "explain": "logarithms of probabilities are not sums of trees"},
    "StackingRanker": {name: why for name, why in OF_COMBINED.items() if name != "explain"},
    "StackingRegressor": {name: why for name, why in OF_COMBINED.items() if name != "explain"},
    "StackingSurvival": {name: why for name, why in OF_COMBINED.items() if name != "explain"},
    "UpliftBoostedTrees": NO_INFLUENCE,
    "UpliftForest": NO_INFLUENCE,
    "VotingClassifier": OF_VOTES,
    "VotingRegressor": {name: why for name, why in OF_VOTES.items() if name != "explain"},
}


def call(model, name, rows, path):
    """Use a method as its users would."""
    asked = getattr(model, name)
    return answer(asked, **arguments_of(asked, rows, path)) if callable(asked) else asked


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_public_method(case, tmp_path):
    rows = case.problem(N_ROWS)
    model = case.fitted(rows)
    refused = REFUSED.get(case.name, {})
    for name in public_names(model):
        if name in refused:
            with pytest.raises((AttributeError, TypeError, ValueError), match=re.escape(refused[name])):
                call(model, name, rows, tmp_path)
        else:
            assert call(model, name, rows, tmp_path / "model.arb") is not None or name in SILENT, name
    loaded = arb.load(tmp_path / "model.arb")
    np.testing.assert_array_equal(answers(loaded, rows["X"]), answers(model, rows["X"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_model_that_is_not_fitted_says_so(case):
    rows = case.problem(N_ROWS)
    for name in ("importances", "partial_dependence"):
        with pytest.raises(ValueError, match=f"This {case.name} instance is not fitted yet"):
            call(case.make(), name, rows, None)
    assert not hasattr(case.make(), "feature_importances_")


def test_rounds_of_several_treatments_in_text():
    """The numbers of rounds are an array, one per treatment, which no format took."""
    rng = np.random.default_rng(0)
    X, treatment = rng.random((300, 2)), rng.integers(0, 3, 300)
    y = rng.random(300) < 0.3 + 0.3 * (treatment > 0) * (X[:, 0] > 0.5)
    model = arb.UpliftBoostedTrees(n_estimators=3, early_stopping=False).fit(X, y, treatment=treatment)
    assert "rounds    3, 3\n" in model.to_text()
