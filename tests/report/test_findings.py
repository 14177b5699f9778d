"""Findings: silence on clean tables, planted faults are named; ``python -m benchmarks findings`` does it at scale."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import arboretum as arb
from arboretum.report import findings
from arboretum.report.findings.finding import KINDS, Finding, merged
from arboretum.report.findings.moving import row_keys
from arboretum.report.importance import disagreements
from arboretum.report.subject import Subject, read_rows

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.findings import alarms_of, matched
from benchmarks.planted_faults import FAULTS, Planting, Split

pytestmark = pytest.mark.filterwarnings("ignore:missing values in columns that had none at fit")
FAULT = {fault.name: fault for fault in FAULTS}
SMALL = {"n_estimators": 90, "learning_rate": 0.1, "max_leaf_nodes": 15, "early_stopping": False}
CLEAREST = {  # of others, the last strength is the clearest
    "a copy of the target with noise": 0.0,
    "a column that reveals the target in a share of rows": 1.0,
    "missing values that follow the target": 1.0,
    "a column joined to the wrong rows, by its rank": 1,
    "an identifier": "text",
}
# A share of random labels in all rows alike makes a harder table, not a wrong report.
NOT_FOUND = {"random labels in a share of all rows"}


def split(kind, seed=0, n_rows=2000):
    """Draw a table of ordinary columns: numbers of several shapes, few and many categories, holes, counts."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": draw.normal(50, 10, n_rows),
            "price": draw.lognormal(3, 1, n_rows),
            "visits": draw.poisson(3, n_rows).astype(float),
            "holes": np.where(draw.random(n_rows) < 0.2, np.nan, draw.normal(size=n_rows)),
            "region": draw.choice(["north", "south", "east", "west"], n_rows).astype(object),
            "shop": np.char.add("s", draw.zipf(1.6, n_rows).clip(max=9999).astype(str)).astype(object),
            "noise": draw.normal(size=n_rows),
        }
    )
    signal = (X["size"] - 50) / 10 + np.log(X["price"]) - 3 + (X["region"] == "north") - X["visits"] / 3
    noisy = (signal + draw.logistic(0, 0.5, n_rows)).to_numpy()
    y = {
        "binary": (noisy > 0).astype(int),
        "multiclass": np.digitize(noisy, [-1.5, -0.5, 0.5]),
        "regression": noisy,
    }[kind]
    cut = 3 * n_rows // 4
    return Split(kind, X[:cut], y[:cut], X[cut:].reset_index(drop=True), y[cut:], {}, {})


def make(kind):
    return (arb.BoostedTreesRegressor if kind == "regression" else arb.BoostedTreesClassifier)(**SMALL)


@cache
def clean(kind):
    part = split(kind)
    model = make(kind).fit(part.X_train, part.y_train)
    gain = model.importances().kinds["gain"]
    # Bytes, not models: those would outlive the kernel at the end of the run.
    return pickle.dumps(model), [model.schema_.names[place] for place in np.argsort(-gain)]


def clean_model(kind):
    return pickle.loads(clean(kind)[0])


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_a_clean_table_raises_no_alarm(kind):
    for seed in range(2):
        part = split(kind, seed)
        model = make(kind).fit(part.X_train, part.y_train)
        assert [alarm for alarm in alarms_of(model, part) if alarm.grade != "note"] == []


@pytest.mark.parametrize(("place", "name"), list(enumerate(FAULT)))
def test_planted_faults_are_found(place, name):
    fault = FAULT[name]
    kind = fault.kinds[0] if place % 2 else fault.kinds[-1]  # the command plants each in every kind
    kind = "binary" if kind == "multiclass" else kind
    part = split(kind)
    strength = CLEAREST.get(name, fault.strengths[-1])
    planting = Planting(strength, np.random.default_rng(1), clean(kind)[1])
    changed, column = fault.plant(part, planting)
    model = clean_model(kind)
    if fault.refit or fault.model is not None:
        fresh = make(kind) if fault.model is None else fault.model(model, strength)
        model = fresh.fit(changed.X_train, changed.y_train)
    found, _, others = matched(fault, column, alarms_of(model, changed))
    assert found == (name not in NOT_FOUND)
    assert not others


def test_swapped_classes_of_several_are_named():
    part = split("multiclass")
    other = np.array([3, 1, 2, 0])[part.y]
    alarms = alarms_of(clean_model("multiclass"), replace(part, y=other))
    assert ("serious", "exchanged labels") in {(alarm.grade, alarm.kind) for alarm in alarms}


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_copies_of_the_target_do_not_hide_each_other(kind):
    part = split(kind)
    train = part.X_train.assign(once=part.y_train, again=-part.y_train)
    part = replace(part, X_train=train, X=part.X.assign(once=part.y, again=-part.y))
    model = make(kind).fit(part.X_train, part.y_train)
    leaks = {alarm.column for alarm in alarms_of(model, part) if alarm.kind == "possible leakage"}
    assert leaks == {"once", "again"}


def test_intervals_that_cover_too_few_rows_are_named():
    part, base = split("regression"), arb.BoostedTreesRegressor(**SMALL)
    model = arb.ConformalRegressor(estimator=base, adaptive=False).fit(part.X_train, part.y_train)
    wild = part.y + 3 * np.random.default_rng(1).normal(size=len(part.y))
    for y, alarmed in ((part.y, False), (wild, True)):
        kinds = {(alarm.grade, alarm.kind) for alarm in alarms_of(model, replace(part, y=y))}
        assert (("serious", "not calibrated") in kinds) == alarmed


def test_a_low_quantile_is_no_bad_model():
    """R² would call it worse than the mean; its own loss does not."""
    part, draw = split("regression"), np.random.default_rng(99)
    part = replace(
        part,
        y_train=part.y_train + 2 * draw.normal(size=len(part.y_train)),
        y=part.y + 2 * draw.normal(size=len(part.y)),
    )
    model = arb.BoostedTreesRegressor(loss="quantile", quantile=0.1, **SMALL).fit(part.X_train, part.y_train)
    assert model.score(part.X, part.y) < 0
    assert [alarm for alarm in alarms_of(model, part) if "baseline" in alarm.kind] == []


def test_a_model_of_noise_is_no_better_than_its_baseline():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(600, 3)), draw.normal(size=600)
    model = arb.BoostedTreesRegressor(n_estimators=5, early_stopping=False).fit(X[:300], y[:300])
    test = read_rows(model, X[300:], y[300:])
    kinds = {finding.kind for finding in findings.look(Subject(model, model.task_, test, None, 100))}
    assert "no better than the baseline" in kinds
    test = read_rows(model, X[300:], y[300:] - 5)
    kinds = {finding.kind for finding in findings.look(Subject(model, model.task_, test, None, 100))}
    assert "not calibrated" in kinds


def test_every_kind_is_described():
    """The page and the docs list what is looked for; findings of no listed kind would not be there."""
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(findings.__file__).parent.glob("*.py")
        if path.stem != "finding"
    )
    raised = {kind for kind in KINDS if f'"{kind}"' in source}
    assert raised == set(KINDS)
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    assert all(f"| {kind} | {when} |" in page for kind, when in KINDS.items())


def test_rows_have_the_same_key_if_they_are_the_same():
    part = split("binary", n_rows=400)
    model = make("binary").fit(part.X_train, part.y_train)
    rows = read_rows(model, part.X_train, part.y_train)
    keys = row_keys(rows)
    assert len(np.unique(keys)) == len(keys)
    again = read_rows(model, part.X_train.iloc[::-1], part.y_train[::-1])
    assert row_keys(again)[::-1].tolist() == keys.tolist()
    other = read_rows(model, part.X_train, 1 - part.y_train)
    assert not np.isin(row_keys(other), keys).any()
    texts = make("binary").fit(part.X_train, np.where(part.y_train, "yes", "no"))
    first, second = (
        read_rows(texts, part.X_train[:n], np.where(part.y_train[:n], "yes", "no")) for n in (len(keys), 1)
    )
    assert row_keys(first)[0] == row_keys(second)[0]
    alike = np.array(["the same customer", "one same customer"])  # as long, with the same ending
    long = make("binary").fit(part.X_train, alike[part.y_train])
    known, swapped = (row_keys(read_rows(long, part.X_train, alike[code])) for code in (part.y_train, 1 - part.y_train))
    assert not np.isin(swapped, known).any()


def test_many_findings_of_a_kind_are_one():
    many = [Finding("note", "drift", f"x{j}.", "cure", f"x{j}") for j in range(9)]
    first, second = merged([*many, Finding("serious", "drift", "y.", "cure", "y")])
    assert (first.grade, first.column) == ("serious", "y")
    assert second.text.startswith("9 columns: 'x0', 'x1'")


def test_kinds_of_importance_disagree_by_shares():
    gain, shap = np.array([5.0, 4.0, 1.0]), np.array([5.0, 0.1, 1.0])
    assert list(disagreements(["a", "b", "c"], {"gain": gain, "shap": shap})) == ["b"]
    assert disagreements(["a", "b", "c"], {"gain": gain, "shap": gain * [1, 0.5, 2]}) == {}
    assert disagreements(["a"], {"gain": np.zeros(1), "shap": np.ones(1)}) == {}


def test_unknown_categories_without_training_rows_end_no_report(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": np.array(["a", "b", "c"])[rng.integers(0, 3, 300)], "x": rng.normal(size=300)})
    model = arb.BoostedTreesRegressor(n_estimators=3).fit(table, table["x"])
    table.loc[5, "town"] = "new"
    assert model.report(table, table["x"], tmp_path / "page.html").exists()
