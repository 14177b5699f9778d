"""The page: one file that holds all it needs, whatever the task, and takes nothing a user wrote for markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.report import write_report

HOSTILE = "</script><script>alert(1)</script>"
SECTIONS = {"data", "training", "evaluation", "importances", "dependence", "trees", "findings", "examples"}
LARGEST = 3_000_000


def frame(n_rows=150, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": draw.normal(45, 12, n_rows).round(),
            HOSTILE: np.where(draw.random(n_rows) < 0.1, np.nan, draw.normal(size=n_rows)),
            "city": draw.choice(["Basel", "<b>Bern</b>", "{{facts}}"], n_rows),
            "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 900, n_rows), "D"),
        }
    )


X, X_TRAIN = frame(), frame(seed=1)
SIGNAL, SIGNAL_TRAIN = (((part["age"] - 45) / 12 + (part["city"] == "Basel")).to_numpy() for part in (X, X_TRAIN))
GROUP = np.arange(150) // 10
ARM = np.arange(150) % 2


def survival(signal):
    return np.column_stack([np.exp(1 - signal / 2), np.arange(len(signal)) % 3 > 0])


def grades(signal):
    return np.digitize(signal, [0, 1])


def case(model, y, y_train, **extra):
    fit = {name: values for name, values in extra.items() if name in ("group", "treatment")}
    train = {f"{name}_train": values for name, values in fit.items()}
    return model.fit(X_TRAIN, y_train, **fit), y, {"X_train": X_TRAIN, "y_train": y_train, **fit, **train}


SMALL = {"n_estimators": 5}
CASES = {
    "binary": lambda: case(arb.BoostedTreesClassifier(**SMALL), SIGNAL > 0, SIGNAL_TRAIN > 0),
    "multiclass": lambda: case(arb.BoostedTreesClassifier(**SMALL), grades(SIGNAL), grades(SIGNAL_TRAIN)),
    "forest": lambda: case(arb.RandomForestClassifier(**SMALL), grades(SIGNAL), grades(SIGNAL_TRAIN)),
    "regression": lambda: case(arb.BoostedTreesRegressor(**SMALL), SIGNAL, SIGNAL_TRAIN),
    "several numbers": lambda: case(
        arb.RandomForestRegressor(**SMALL), np.column_stack([SIGNAL] * 2), np.column_stack([SIGNAL_TRAIN] * 2)
    ),
    "c45": lambda: case(arb.DecisionTreeClassifier(method="c45"), SIGNAL > 0, SIGNAL_TRAIN > 0),
    "ranking": lambda: case(arb.BoostedTreesRanker(**SMALL), grades(SIGNAL), grades(SIGNAL_TRAIN), group=GROUP),
    "uplift": lambda: case(arb.UpliftForest(**SMALL, min_samples_leaf=5), SIGNAL > 0, SIGNAL_TRAIN > 0, treatment=ARM),
    "survival": lambda: case(arb.BoostedTreesSurvival(**SMALL), survival(SIGNAL), survival(SIGNAL_TRAIN)),
    "survival forest": lambda: case(arb.RandomSurvivalForest(**SMALL), survival(SIGNAL), survival(SIGNAL_TRAIN)),
    "anomaly": lambda: (arb.IsolationForest(**SMALL).fit(X_TRAIN), None, {}),
    "known anomalies": lambda: (arb.IsolationForest(**SMALL).fit(X_TRAIN), np.where(SIGNAL > 2, -1, 1), {}),
    "bagging": lambda: case(
        arb.BaggingRegressor(estimator=arb.BoostedTreesRegressor(**SMALL), n_estimators=2), SIGNAL, SIGNAL_TRAIN
    ),
    "calibrated": lambda: case(
        arb.CalibratedClassifier(estimator=arb.RandomForestClassifier(**SMALL)), SIGNAL > 0, SIGNAL_TRAIN > 0
    ),
}


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of script elements."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script":
            self.scripts[-1] += data


def facts_of(page):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1], parse_constant=refuse)


@pytest.mark.parametrize("name", CASES)
def test_every_task_has_its_sections_on_one_page(name, tmp_path):
    model, y, given = CASES[name]()
    path = model.report(X, y, tmp_path / "report.html", **given)
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size < LARGEST
    sections = facts_of(page)["sections"]
    assert set(sections) == SECTIONS
    assert all(output["charts"] and output["metrics"] for output in sections["evaluation"]["outputs"])
    left_out = {section for section, facts in sections.items() if "left_out" in facts}
    members = {"bagging", "calibrated"}
    assert left_out == ({"importances", "dependence", "trees"} if name in members else set())
    assert len(sections["data"]["columns"]) == 4
    assert 15 <= len(sections["examples"]["rows"]) <= 60
    if name in ("binary", "multiclass", "forest", "regression"):
        assert len(sections["examples"]["waterfalls"]) == len(sections["examples"]["rows"])
        assert sections["examples"]["neighbours"]["places"]
        assert sections["findings"]["drift"]


def test_a_page_loads_nothing_and_holds_no_markup_of_the_user(tmp_path):
    model, y, given = CASES["binary"]()
    page = model.report(X, y, tmp_path / "a.html", title=HOSTILE, **given).read_text(encoding="utf-8")
    found = Elements(page)
    assert [attributes.get("type") for tag, attributes in found.tags if tag == "script"] == [
        None,
        None,
        "application/json",
        None,
    ]
    assert not [tag for tag, _ in found.tags if tag in ("link", "img", "iframe", "b")]
    assert not [1 for _, attributes in found.tags if {"src", "href", "onclick", "onload"} & set(attributes)]
    assert any("default-src 'none'" in (attributes.get("content") or "") for _, attributes in found.tags)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(
        r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|fetch|import)\b", found.scripts[3]
    )
    facts = json.loads(found.scripts[2])
    assert facts["title"] == HOSTILE
    assert [column["name"] for column in facts["sections"]["data"]["columns"]][1] == HOSTILE


def test_the_same_rows_give_the_same_bytes(tmp_path):
    model, y, given = CASES["multiclass"]()
    first, second = (model.report(X, y, tmp_path / name, **given).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


@pytest.mark.parametrize("n_columns", [1, 100])
def test_few_and_many_columns(n_columns, tmp_path):
    draw = np.random.default_rng(0)
    rows = pd.DataFrame(draw.normal(size=(120, n_columns)), columns=[f"column {j} " * 12 for j in range(n_columns)])
    model = arb.BoostedTreesRegressor(**SMALL).fit(rows, rows.iloc[:, 0])
    page = model.report(rows, rows.iloc[:, 0], tmp_path / "a.html").read_text(encoding="utf-8")
    assert len(facts_of(page)["sections"]["importances"]["names"]) == n_columns
    assert len(page.encode()) < LARGEST


def test_odd_rows_are_reported(tmp_path):
    """Missing, infinite and unseen values, a single row, rows of an array, sparse rows."""
    from scipy.sparse import csr_matrix

    odd = X.iloc[:3].assign(city=["Chur", None, "Basel"], age=[np.inf, -np.inf, np.nan])
    model, _, _ = CASES["binary"]()
    page = model.report(odd, [True, False, True], tmp_path / "a.html").read_text(encoding="utf-8")
    kinds = {finding["kind"] for finding in facts_of(page)["sections"]["findings"]["findings"]}
    assert {"missing values that are new", "categories that are new", "few rows"} <= kinds
    model.report(odd.iloc[:1], [True], tmp_path / "a.html")
    numbers = csr_matrix(np.eye(20))
    model = arb.BoostedTreesRegressor(**SMALL).fit(numbers, np.arange(20.0))
    model.report(numbers, np.arange(20.0), tmp_path / "a.html")


def test_errors_name_the_cure(tmp_path):
    path = tmp_path / "a.html"
    model, y, _ = CASES["binary"]()
    with pytest.raises(ValueError, match="max_rows=0: give a number of rows of at least 1"):
        model.report(X, y, path, max_rows=0)
    with pytest.raises(ValueError, match="X_train and y_train belong together: give both or neither"):
        model.report(X, y, path, X_train=X)
    with pytest.raises(ValueError, match="y has 3 values, but X has 150 rows"):
        model.report(X, y[:3], path)
    with pytest.raises(ValueError, match="y has the label 'perhaps' in row 0, which the training labels do not have"):
        model.report(X, ["perhaps"] * 150, path)
    with pytest.raises(ValueError, match="BoostedTreesClassifier is a model of binary: leave group out"):
        model.report(X, y, path, group=GROUP)
    ranker, grade, _ = CASES["ranking"]()
    with pytest.raises(ValueError, match="BoostedTreesRanker is a model of ranking: give group=, one label a row"):
        ranker.report(X, grade, path)
    forest, _, _ = CASES["anomaly"]()
    with pytest.raises(
        ValueError, match=r"y has the labels \[2\]: mark anomalies by −1 and others by 1, or by 1 and 0"
    ):
        forest.report(X, np.full(150, 2), path)
    with pytest.raises(Exception, match="is not fitted yet"):
        arb.BoostedTreesRegressor().report(X, y, path)
    with pytest.raises(TypeError, match="a report needs a fitted model of arboretum, not int"):
        write_report(3, X, y, path)
    assert not path.exists()
