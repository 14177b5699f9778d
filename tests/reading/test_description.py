"""A fitted model in a few lines."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn

import arboretum as arb
from arboretum.reading.description import model_facts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] + RNG.normal(size=80)
LABELS = np.array(["<no> & $", "yes"])[(Y > 0).astype(int)]
FITTED = [
    arb.BoostedTreesClassifier(n_estimators=4).fit(X, LABELS),
    arb.BoostedTreesRegressor(n_estimators=9, callbacks=[lambda report: None]).fit(X, Y, X_val=X, y_val=Y),
    arb.RandomForestRegressor(n_estimators=20, oob_score=True).fit(X, Y),
    arb.RandomForestClassifier(n_estimators=2).fit(X, np.column_stack([LABELS, LABELS])),
    arb.ExtraTreesClassifier(n_estimators=2).fit(X, np.arange(80) % 12),
    arb.AdaBoostClassifier(n_estimators=2).fit(X, LABELS),
    arb.IsolationForest(n_estimators=2).fit(X),
    arb.UpliftForest(n_estimators=2).fit(X, LABELS, np.arange(80) % 2),
    arb.BoostedTreesSurvival(n_estimators=2).fit(X, np.column_stack([np.exp(Y), Y > 0])),
]


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_every_model_has_facts_text_and_html(model):
    facts = model_facts(model)
    assert facts["trees"] == f"{model.forest_.n_trees:,}"
    assert facts["features"] == "3"
    text = model.to_text(max_depth=1)
    assert text.startswith(repr(model))
    assert all(told in text for told in facts.values())
    assert f"tree 1 of {model.forest_.n_trees}" in text
    assert ("more tree" in text) == (model.forest_.n_trees > 2)
    assert model.to_text(1, max_depth=1) in text
    cells = Cells()
    cells.feed(model._repr_html_())
    assert cells.found == [word for fact in facts.items() for word in fact]
    assert not cells.open


class Cells(HTMLParser):
    """Texts of the cells of a table, and elements that are still open."""

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "td":
            self.found.append(data)


def test_facts_of_boosting_and_forests():
    boosted, followed, forest, several, many = map(model_facts, FITTED[:5])
    assert boosted["classes"] == "2: <no> & $, yes"
    assert boosted["rounds"] == "4"
    history = FITTED[1].history_
    assert followed["validation loss"] == f"{min(history.validation_loss):.4g} in round {history.best_round}"
    assert followed["training loss"] == f"{history.training_loss[-1]:.4g}"
    assert forest["out-of-bag score"] == f"{FITTED[2].oob_score_:.4g}"
    assert several["classes"] == "of 2 outputs: 2, 2"
    assert many["classes"] == "12: 0, 1, 2, 3, 4, 5, 6, 7, … 4 more"


def test_models_without_trees_and_displays_of_text_are_scikit_learns():
    assert "sk-" in arb.BoostedTreesRegressor()._repr_html_()
    assert "sk-" in arb.DecisionTreeClassifier(method="c45").fit(X, LABELS)._repr_html_()  # many branches per node
    with sklearn.config_context(display="text"):
        assert FITTED[0]._repr_html_() is None
    with pytest.raises(ValueError, match="not fitted"):
        arb.BoostedTreesRegressor().to_text()
