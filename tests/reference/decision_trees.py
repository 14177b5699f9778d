"""Tables and models that the tests of single trees share."""

from __future__ import annotations

import numpy as np
import pandas as pd

import arboretum as arb

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 6)).astype(np.float32)
SCORE = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + RNG.normal(size=3000)
WEIGHT = RNG.random(3000) + 0.1
LABELS = {"two classes": SCORE > 0, "four classes": np.digitize(SCORE, [-1.0, 0.0, 1.0])}

DAYS = """\
sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no"""
WEATHER = pd.DataFrame([day.split() for day in DAYS.splitlines()])
WEATHER.columns = ["outlook", "temperature", "humidity", "wind", "play"]
PLAY = WEATHER.pop("play").tolist()
ID3_TEXT = """\
outlook = rain
|   wind = weak: yes (3)
|   wind = strong: no (2)
outlook = sunny
|   humidity = high: no (3)
|   humidity = normal: yes (2)
outlook = overcast: yes (4)"""


def mixed_table(seed, n_rows=400, missing=0.1):
    """Numbers, categories and a date, with holes; a target that needs several splits."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "town": rng.choice(["Oslo", "Rome", "Bern", "Lima"], n_rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n_rows), unit="D"),
            "noise": rng.normal(size=n_rows),
            "street": rng.choice(list("abcdefghijkl"), n_rows),
        }
    )
    y = (table["size"] > 0) ^ table["town"].isin(["Oslo", "Lima"]) ^ (rng.random(n_rows) < 0.15)
    for name in ("size", "town"):
        table.loc[rng.random(n_rows) < missing, name] = None
    return table, np.where(y, "yes", "no")


TABLE, YES = mixed_table(0)
AMOUNT = np.abs(TABLE["size"].fillna(0).to_numpy()) + (TABLE["town"] == "Rome") + RNG.random(len(TABLE))


def classifier(**params):
    return arb.DecisionTreeClassifier(**params)


def regressor(**params):
    return arb.DecisionTreeRegressor(**params)


CARTS = {
    "classes": (classifier(), YES),
    "four classes": (classifier(criterion="entropy"), np.random.default_rng(1).integers(0, 4, 400)),
    "some columns": (classifier(max_features="sqrt", random_state=3), YES),
    "histogram": (classifier(max_bins=32, max_leaf_nodes=30), YES),
    "reduced error": (classifier(pruning="reduced_error"), YES),
    "pessimistic": (classifier(pruning="pessimistic"), YES),
    "oblique": (classifier(oblique=True), YES),
    "numbers": (regressor(), AMOUNT),
    "medians": (regressor(criterion="absolute_error", ccp_alpha=0.01), AMOUNT),
    "rates": (regressor(criterion="poisson", min_samples_leaf=5), AMOUNT),
    "outputs": (regressor(), np.column_stack([AMOUNT, TABLE["noise"]])),
    "c45": (classifier(method="c45"), YES),
}
