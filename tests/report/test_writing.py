"""The page: one file that holds all it needs, whatever the task, and takes nothing a user wrote for markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.metrics import policy_value
from arboretum.report import write_report
from arboretum.report.subject import read_rows

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
    "several quantiles": lambda: case(
        arb.BoostedTreesRegressor(**SMALL, loss="quantile", quantile=[0.1, 0.9]), SIGNAL, SIGNAL_TRAIN
    ),
    "poisson": lambda: case(arb.BoostedTreesRegressor(**SMALL, loss="poisson"), grades(SIGNAL), grades(SIGNAL_TRAIN)),
    "ordinal": lambda: case(arb.BoostedTreesClassifier(**SMALL, loss="ordinal"), grades(SIGNAL), grades(SIGNAL_TRAIN)),
    "conformal": lambda: case(
        arb.ConformalRegressor(estimator=arb.BoostedTreesRegressor(**SMALL)), SIGNAL, SIGNAL_TRAIN
    ),
    "adaboost": lambda: case(arb.AdaBoostClassifier(**SMALL), SIGNAL > 0, SIGNAL_TRAIN > 0),
    "additive": lambda: case(arb.AdditiveBoostingRegressor(n_estimators=5), SIGNAL, SIGNAL_TRAIN),
    "uplift boosting": lambda: case(arb.UpliftBoostedTrees(**SMALL), SIGNAL > 0, SIGNAL_TRAIN > 0, treatment=ARM),
    "calibrated": lambda: case(
        arb.CalibratedClassifier(estimator=arb.RandomForestClassifier(**SMALL)), SIGNAL > 0, SIGNAL_TRAIN > 0
    ),
}


# C4.5 has no nodes that could answer before their leaves; unknown anomalies and several outputs have no single loss.
NO_CURVES = {"c45", "anomaly", "several numbers"}


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


@pytest.mark.parametrize(("metric", "first"), [("ndcg", "NDCG@10"), ("map@3", "MAP@3"), ("mrr", "NDCG@10")])
def test_a_ranking_shows_the_metric_that_it_was_fitted_by(metric, first, tmp_path):
    given = grades(SIGNAL), grades(SIGNAL_TRAIN)
    model, y, rows = case(arb.BoostedTreesRanker(**SMALL, metric=metric), *given, group=GROUP)
    model.report(X, y, tmp_path / "page.html", **rows)
    facts = facts_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    shown = facts["sections"]["evaluation"]["outputs"][0]["metrics"]
    assert shown[0]["name"] == first, shown
    assert len({figure["name"] for figure in shown}) == len(shown)


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
    members = {"bagging", "calibrated", "conformal", "additive"}
    assert left_out == ({"trees"} if name in members else set())
    assert all(chart["kind"] == "curves" for chart in sections["training"]["curves"]) == (name not in NO_CURVES)
    assert sections["training"]["facts"]
    assert len(sections["data"]["columns"]) == 4
    assert 15 <= len(sections["examples"]["rows"]) <= 60
    if name in ("binary", "multiclass", "forest", "regression"):
        assert len(sections["examples"]["waterfalls"]) == len(sections["examples"]["rows"])
        assert sections["examples"]["neighbours"]["places"]
        assert sections["findings"]["drift"]


STARTED = {
    "binary": 1,
    "multiclass": 3,
    "regression": 1,
    "ranking": 1,
    "survival": 1,
    "several quantiles": 2,
    "ordinal": 1,
}


@pytest.mark.filterwarnings("error:.*fitted with an offset")
@pytest.mark.parametrize("name", STARTED)
def test_every_section_starts_from_the_offset(name, tmp_path):
    model, y, given = CASES[name]()
    n_outputs = STARTED[name]
    offset, offset_train = (
        np.random.default_rng(seed).normal(size=150 if n_outputs == 1 else (150, n_outputs)) for seed in (0, 1)
    )
    fit = {"group": GROUP} if name == "ranking" else {}
    model.fit(X_TRAIN, given["y_train"], offset=offset_train, **fit)
    path = model.report(X, y, tmp_path / "report.html", **given, offset=offset, offset_train=offset_train)
    sections = facts_of(path.read_text(encoding="utf-8"))["sections"]
    assert not [section for section, facts in sections.items() if "left_out" in facts]
    assert all(chart["kind"] == "curves" for chart in sections["training"]["curves"])
    assert sections["dependence"]["at_offset_zero"]
    raw = model.predict_raw(X) + np.reshape(offset, (len(X), -1))
    for row, fall in zip(sections["examples"]["rows"], sections["examples"]["waterfalls"], strict=True):
        landing = fall["base"] + sum(fall["values"]) + fall["rest"]
        assert np.isclose(raw[row["row"]], landing, rtol=1e-3, atol=1e-3).any()


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("binary", {"positive": "yes"}, "positive='yes': the classes are False, True"),
        ("regression", {"positive": 1}, "positive=1: only a model of two classes has a positive one"),
        ("multiclass", {"positive": 1}, "positive=1: only a model of two classes has a positive one"),
        ("regression", {"offset": np.zeros(3)}, r"offset has shape \(3,\), but X has 150 rows"),
        ("regression", {"offset_train": np.full(150, np.nan)}, "offset_train"),
        ("forest", {"offset": 0}, "RandomForestClassifier takes no offset: leave offset out"),
    ],
)
def test_options_that_the_model_cannot_follow_are_refused(name, given, message, tmp_path):
    model, y, train = CASES[name]()
    with pytest.raises((TypeError, ValueError), match=message):
        model.report(X, y, tmp_path / "report.html", **train, **given)
    assert not list(tmp_path.iterdir())


def test_learners_of_others_are_reported(tmp_path):
    from sklearn.neighbors import KNeighborsClassifier

    numbers, target = X[["age"]].assign(noise=np.arange(150.0) % 7), SIGNAL > 0
    model = arb.BaggingClassifier(estimator=KNeighborsClassifier(), n_estimators=3).fit(numbers, target)
    facts = facts_of(model.report(numbers, target, tmp_path / "a.html").read_text(encoding="utf-8"))
    assert facts["about"]["fingerprint"] is None
    left_out = {section for section, found in facts["sections"].items() if "left_out" in found}
    assert left_out == {"trees"}
    assert {column["name"] for column in facts["sections"]["dependence"]["columns"]} == {"age", "noise"}


def test_a_loss_without_values_is_reported_by_squares(tmp_path):
    numbers = X[["age"]]
    model = arb.BoostedTreesRegressor(loss=lambda y, raw: (raw - y, np.ones_like(raw)), n_estimators=3)
    facts = facts_of(model.fit(numbers, SIGNAL).report(numbers, SIGNAL, tmp_path / "a.html").read_text("utf-8"))
    names = [metric["name"] for metric in facts["sections"]["evaluation"]["outputs"][0]["metrics"]]
    assert "RMSE" in names


def test_only_the_loss_of_training_is_called_so(tmp_path):
    for name, own in (("regression", ["RMSE"]), ("poisson", ["Poisson deviance"]), ("survival", []), ("ranking", [])):
        model, y, given = CASES[name]()
        facts = facts_of(model.report(X, y, tmp_path / "a.html", **given).read_text(encoding="utf-8"))
        metrics = facts["sections"]["evaluation"]["outputs"][0]["metrics"]
        assert [metric["name"] for metric in metrics if metric["own"]] == own


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


THIN = {
    "one arm": (lambda: CASES["uplift"]()[0], SIGNAL > 0, {"treatment": np.zeros(150, int)}),
    "no events": (lambda: CASES["survival"]()[0], np.column_stack([np.arange(1.0, 151), np.zeros(150)]), {}),
    "one event": (lambda: CASES["survival"]()[0], np.column_stack([np.arange(1.0, 151), np.arange(150) == 9]), {}),
    "anomalies by 1 and 0": (lambda: CASES["anomaly"]()[0], (SIGNAL > 2).astype(int), {}),
    "intervals of few rows": (
        lambda: arb.ConformalRegressor(estimator=arb.BoostedTreesRegressor(**SMALL), adaptive=False).fit(
            X_TRAIN[:12], SIGNAL_TRAIN[:12]
        ),
        SIGNAL,
        {},
    ),
    "oblique": (
        lambda: arb.RandomForestRegressor(**SMALL, oblique=True).fit(X_TRAIN, SIGNAL_TRAIN),
        SIGNAL,
        {"X_train": X_TRAIN, "y_train": SIGNAL_TRAIN},
    ),
    "no splits": (
        lambda: arb.RandomForestRegressor(**SMALL, min_samples_leaf=150).fit(X_TRAIN, SIGNAL_TRAIN),
        SIGNAL,
        {"X_train": X_TRAIN, "y_train": SIGNAL_TRAIN},
    ),
}


@pytest.mark.parametrize("name", THIN)
def test_rows_that_tell_little_are_reported(name, tmp_path):
    make, y, given = THIN[name]
    page = make().report(X, y, tmp_path / "a.html", **given).read_text(encoding="utf-8")
    sections = facts_of(page)["sections"]
    assert set(sections) == SECTIONS
    if name == "one arm":
        assert "not both of a treatment and of the control" in sections["evaluation"]["left_out"]
    else:
        assert all(output["charts"] and output["metrics"] for output in sections["evaluation"]["outputs"])
    assert ("left_out" in sections["dependence"]) == (name in ("no splits", "no events", "one arm"))


def test_treatments_that_no_row_had_are_left_out(tmp_path):
    arms = np.array(["control", "letter", "visit"])
    model = arb.UpliftForest(**SMALL, min_samples_leaf=5).fit(
        X_TRAIN, SIGNAL_TRAIN > 0, treatment=arms[np.arange(150) % 3]
    )
    page = model.report(X, SIGNAL > 0, tmp_path / "a.html", treatment=arms[ARM]).read_text(encoding="utf-8")
    assert [output["name"] for output in facts_of(page)["sections"]["evaluation"]["outputs"]] == ["letter"]


def test_several_treatments_are_evaluated_one_by_one_and_as_a_policy(tmp_path):
    arms = np.array(["control", "letter", "visit"])
    given = arms[np.arange(150) % 3]
    helped = (given == "letter") & (X_TRAIN.iloc[:, 0].to_numpy() > 0)
    model = arb.UpliftForest(**SMALL, min_samples_leaf=5).fit(X_TRAIN, SIGNAL_TRAIN + 3 * helped, treatment=given)
    page = model.report(X_TRAIN, SIGNAL_TRAIN + 3 * helped, tmp_path / "a.html", treatment=given).read_text("utf-8")
    outputs = facts_of(page)["sections"]["evaluation"]["outputs"]
    assert [output["name"] for output in outputs] == ["letter", "visit", "best arm"]
    (figure,), (table,) = outputs[2]["metrics"], outputs[2]["charts"]
    best = model.best_arm(X_TRAIN)
    value = policy_value(SIGNAL_TRAIN + 3 * helped, best, given)
    assert figure["model"] == pytest.approx(value.value, rel=1e-4)
    shares = {arm: share for arm, share, *_ in table["rows"]}
    assert shares == {arm: pytest.approx(np.mean(best == arm), rel=1e-4) for arm in arms}


def test_flags_are_true_or_false(tmp_path):
    flags = X.assign(member=SIGNAL > 0.3)
    model = arb.BoostedTreesRegressor(**SMALL).fit(flags, SIGNAL)
    page = model.report(flags, SIGNAL, tmp_path / "a.html").read_text(encoding="utf-8")
    examples = json.dumps(facts_of(page)["sections"]["examples"]["rows"])
    assert "true" in examples
    assert "false" in examples


def test_errors_name_the_cure(tmp_path):
    path = tmp_path / "a.html"
    model, y, _ = CASES["binary"]()
    with pytest.raises(ValueError, match="max_rows=0: give a number of rows of at least 1"):
        model.report(X, y, path, max_rows=0)
    with pytest.raises(ValueError, match="X_train and y_train belong together: give both or neither"):
        model.report(X, y, path, X_train=X)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) .* while a minimum of 1 is required"):
        model.report(X[:0], y[:0], path)
    with pytest.raises(ValueError, match="y has 3 values, but X has 150 rows"):
        model.report(X, y[:3], path)
    with pytest.raises(ValueError, match="y has the label 'perhaps' in row 0, which the training labels do not have"):
        model.report(X, ["perhaps"] * 150, path)
    with pytest.raises(ValueError, match="BoostedTreesClassifier is a model of binary: leave group out"):
        model.report(X, y, path, group=GROUP)
    ranker, grade, _ = CASES["ranking"]()
    with pytest.raises(ValueError, match="BoostedTreesRanker is a model of ranking: give group=, one label per row"):
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
    with pytest.raises(TypeError, match=r"unexpected argument 'weights': see model\.report"):
        write_report(model, X, y, path, weights=y)
    with pytest.raises(TypeError, match="unexpected argument 'weight': expected some of sample_weight, group"):
        read_rows(model, X, y, weight=y)
    assert not path.exists()


def test_the_heading_tells_target_file_and_date(tmp_path, monkeypatch):
    model, y, _ = CASES["binary"]()
    path = tmp_path / "a.html"

    def heading(**given):
        return re.search("<title>(.*?)</title>", model.report(X, **given, path=path).read_text(encoding="utf-8"))[1]

    assert heading(y=y, date="2025-03-01", source="shops.csv") == "BoostedTreesClassifier · shops.csv · 2025-03-01"
    assert heading(y=pd.Series(y, name="sold"), date="2025-03-01") == "sold · 2025-03-01"
    assert heading(y=y, target="sold", title="Who buys?", date="2025-03-01") == "Who buys? · 2025-03-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert heading(y=y) == "BoostedTreesClassifier · 1970-01-02"


def test_rows_are_called_by_their_ids(tmp_path):
    model, y, given = CASES["regression"]()

    def examples(X, **more):
        page = model.report(X, y, tmp_path / "a.html", **{**given, **more}).read_text(encoding="utf-8")
        facts = facts_of(page)
        return facts["about"]["id_name"], facts["sections"]["examples"]

    names = [f"C{row}" for row in range(150)]
    indexed = X.set_index(pd.Index(names, name="customer"))
    for called, found in (
        examples(X, ids=pd.Series(names, name="customer"), ids_train=names),
        examples(indexed, X_train=X_TRAIN.set_index(pd.Index(names))),
    ):
        assert called == "customer"
        assert all(row["id"] == f"C{row['row']}" for row in found["rows"])
        neighbours = found["neighbours"]
        assert neighbours["ids"] == [f"C{row}" for row in neighbours["rows"]]
    called, found = examples(X, ids={"shop": ["a"] * 150, "day": list(range(150))})
    assert called == "shop · day"
    assert found["rows"][0]["id"] == f"a · {found['rows'][0]['row']}"
    assert examples(X)[1]["rows"][0]["id"] is None
    with pytest.raises(ValueError, match="ids has 2 values, but X has 150 rows"):
        examples(X, ids=["a", "b"])


def test_figures_are_those_of_the_own_loss(tmp_path):
    for name, own in {
        "several quantiles": "pinball loss (0.1)",
        "poisson": "Poisson deviance",
        "ordinal": "ranked probability score",
        "forest": "Brier score",
        "conformal": "RMSE",
        "adaboost": "error rate",
    }.items():
        model, y, given = CASES[name]()
        page = model.report(X, y, tmp_path / "a.html", **given).read_text(encoding="utf-8")
        output = facts_of(page)["sections"]["evaluation"]["outputs"][0]
        first = output["metrics"][0]
        assert (first["name"], first["own"], first["better"]) == (own, True, "low")
        assert first["error"] > 0
        assert "worse" not in {metric["verdict"] for metric in output["metrics"]}
        figures = {metric["name"]: metric["model"] for metric in output["metrics"]}
        if name == "several quantiles":
            assert not {"R²", "RMSE"} & set(figures)
        if name == "conformal":
            assert 0.7 < figures["coverage of 90% intervals"] <= 1
            assert figures["mean width of 90% intervals"] > 0
