"""Target statistics against plain loops; what a row may know of its target; combinations; files."""

from __future__ import annotations

import itertools
import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum import BoostedTreesClassifier, _kernel
from arboretum.data.schema import ColumnSchema, Schema
from arboretum.data.table import Table, conform, read_table
from arboretum.encoding import levels as levels_module
from arboretum.encoding.combinations import best_combinations
from arboretum.encoding.levels import find_levels, key_stages, learn_levels
from arboretum.encoding.target_statistics import (
    ORDER_PURPOSE,
    Prior,
    TargetStatistics,
    draw_orders,
    learn_statistics,
)
from arboretum.model import model_file

# ---- plain twins ---------------------------------------------------------------------------------------------------


def table_of(*columns, n_categories=None):
    """Columns of codes, −1 missing and −2 unknown, under a schema of so many categories."""
    columns = [np.asarray(column, np.int32) for column in columns]
    sizes = [n_categories or int(column.max(initial=0)) + 1 for column in columns]
    schema = [ColumnSchema(f"c{j}", "categorical", "number", tuple(range(n))) for j, n in enumerate(sizes)]
    return Table(Schema(tuple(schema), named=True), columns)


def level_of(table, columns, row):
    codes = tuple(int(table.columns[j][row]) for j in columns)
    return None if -2 in codes else codes


def plain_part(one, y):
    return {"class": float(y == one.at), "above": float(y > one.at), "number": y}[one.kind]


def plain_value(one, rows):
    """Value of a level with these (target, weight)."""
    weight = sum(w for _, w in rows)
    if weight == 0:
        return one.prior
    total = sum(w * plain_part(one, y) for y, w in rows)
    return (total + one.prior_weight * one.prior) / (weight + one.prior_weight)


def plain_ordered(one, table, y, w, order):
    before, out = {}, np.empty(len(order))
    for row in order:
        level = level_of(table, one.columns, row)
        out[row] = plain_value(one, before.get(level, []) if level is not None else [])
        before.setdefault(level, []).append((y[row], w[row]))
    return out


def plain_counts(columns, table, w):
    weight = {}
    for row in range(table.n_rows):
        level = level_of(table, columns, row)
        if level is not None:
            weight[level] = weight.get(level, 0.0) + w[row]
    most = max(weight.values(), default=0.0) or 1.0
    return {level: one / most for level, one in weight.items()}


def plain_transform(one, learned_on, y, w, table):
    """Values that `table` gets from statistics of `learned_on`."""
    if one.kind == "count":
        values = plain_counts(one.columns, learned_on, w)
    else:
        rows = {}
        for row in range(learned_on.n_rows):
            rows.setdefault(level_of(learned_on, one.columns, row), []).append((y[row], w[row]))
        values = {level: plain_value(one, members) for level, members in rows.items() if level is not None}
    return [values.get(level_of(table, one.columns, row), one.prior) for row in range(table.n_rows)]


def plain_loss(first, second, y, w, priors):
    weight, total, loss = {}, {}, 0.0
    for a, b, t, u in zip(first, second, y, w, strict=True):
        if u == 0:
            continue
        level = (a, b)
        if len(priors) == 1:
            mean = (total.get(level, 0.0) + priors[0]) / (weight.get(level, 0.0) + 1)
            loss += u * (t - mean) ** 2
            total[level] = total.get(level, 0.0) + u * t
        else:
            loss -= u * math.log((total.get((level, t), 0.0) + priors[int(t)]) / (weight.get(level, 0.0) + 1))
            total[level, t] = total.get((level, t), 0.0) + u
        weight[level] = weight.get(level, 0.0) + u
    return loss


# ---- strategies ----------------------------------------------------------------------------------------------------


@st.composite
def problems(draw, n_columns=2):
    """Columns of one level, few, or all distinct, with missing and unknown; classes or numbers; weights with zeros."""
    n = draw(st.integers(1, 40))
    columns = [
        draw(
            st.one_of(
                st.just([0] * n),
                st.just(list(range(n))),
                st.lists(st.integers(-2, 3), min_size=n, max_size=n),
            )
        )
        for _ in range(n_columns)
    ]
    table = table_of(*columns, n_categories=40)
    n_classes = draw(st.sampled_from([None, 1, 2, 4]))
    numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e100, 1e100))
    one = numbers if n_classes is None else st.integers(0, n_classes - 1).map(float)
    y = np.array(draw(st.lists(one, min_size=n, max_size=n)))
    weights = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e30]), min_size=n, max_size=n).filter(any)
    return table, y, n_classes, draw(st.one_of(st.none(), weights.map(np.array)))


PRIORS = (Prior(), Prior(0.25, 3.0))


def learn(table, y, n_classes, w, **options):
    options = {"one_hot_max": 0, "combinations": [(0, 1)], "priors": PRIORS} | options
    return learn_statistics(table, y, n_classes=n_classes, weight=w, **options)


def weights_of(table, w):
    return np.ones(table.n_rows) if w is None else w


def last_digit(table, y, w):
    """Return what sums of 126 bits cannot tell: beside a target times weight of 1e36, one of 1 is lost."""
    return 1e-33 * np.abs(y * weights_of(table, w)).max()


# ---- the kernel against the twins ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(problems(), st.integers(0, 2), st.integers(1, 3))
def test_ordered_values_are_those_of_a_plain_loop(problem, n_borders, threads):
    table, y, n_classes, w = problem
    learned = learn(table, y, n_classes, w, n_target_borders=n_borders)
    orders = draw_orders(table.n_rows, 2, seed=1)
    columns = learned.ordered(table, y, orders, weight=w, threads=threads)
    counts = learned.transform(table)
    for p, order in enumerate(orders):
        for i, one in enumerate(learned.statistics):
            if one.kind == "count":
                np.testing.assert_array_equal(columns[p, i], counts[i])
            else:
                expected = plain_ordered(one, table, y, weights_of(table, w), order)
                np.testing.assert_allclose(columns[p, i], expected, rtol=1e-12, atol=last_digit(table, y, w))


@settings(deadline=None)
@given(problems(), problems(), st.integers(0, 2), st.integers(1, 3))
def test_transform_gives_the_values_of_all_training_rows(problem, other, n_borders, threads):
    table, y, n_classes, w = problem
    learned = learn(table, y, n_classes, w, n_target_borders=n_borders)
    for new in (table, other[0]):  # the schemas are the same: 40 categories
        for one, column in zip(learned.statistics, learned.transform(new, threads=threads), strict=True):
            expected = plain_transform(one, table, y, weights_of(table, w), new)
            least = 1e-9 * np.abs(y).max() + 1e-300 + last_digit(table, y, w)
            np.testing.assert_allclose(column, expected, rtol=1e-9, atol=least)


@settings(deadline=None)
@given(problems(), st.data())
def test_a_value_depends_neither_on_its_own_target_nor_on_later_rows(problem, data):
    table, y, n_classes, w = problem
    learned = learn(table, y, n_classes, w, n_target_borders=0)
    order = draw_orders(table.n_rows, 1, seed=data.draw(st.integers(0, 9)))
    before = learned.ordered(table, y, order, weight=w)[0]
    place = data.draw(st.integers(0, table.n_rows - 1))
    changed = y.copy()
    changed[order[0, place:]] += 1  # its own target and all later ones
    after = learned.ordered(table, changed, order, weight=w)[0]
    known = order[0, : place + 1]
    np.testing.assert_array_equal(before[:, known], after[:, known])


def test_a_value_does_depend_on_earlier_rows():
    table = table_of([0, 0, 0], n_categories=3)
    learned = learn(table, [0, 1, 1], 2, None, combinations=[], kinds=["mean"])
    first, second = (learned.ordered(table, y, [[0, 1, 2]])[0, 0] for y in ([0, 1, 1], [1, 1, 1]))
    assert first[0] == second[0]
    assert (first[1:] < second[1:]).all()


@given(st.integers(1, 300), st.integers(0, 2**63), st.integers(0, 5))
def test_orders_sort_rows_by_their_hash(n, seed, number):
    key = _kernel.draw(seed, ORDER_PURPOSE, number)
    mask = 2**64 - 1

    def mix(x):
        x = (x + 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    expected = sorted(range(n), key=lambda row: (mix(key ^ mix(row)), row))
    assert draw_orders(n, 1, seed=seed, first=number)[0].tolist() == expected


def test_orders_are_even():
    """Every row comes first, and before any other, about equally often."""
    orders = draw_orders(5, 4000, seed=3)
    first = np.bincount(orders[:, 0], minlength=5)
    assert (np.abs(first - 800) < 4 * math.sqrt(800)).all()
    place = np.argsort(orders, axis=1)
    assert abs((place[:, 0] < place[:, 4]).mean() - 0.5) < 4 * 0.5 / math.sqrt(4000)


@settings(deadline=None)
@given(problems(n_columns=3), st.integers(1, 3))
def test_losses_of_pairs_are_those_of_a_plain_loop(problem, threads):
    table, y, n_classes, w = problem
    y = np.clip(y, -1e10, 1e10)
    priors = [0.5] if n_classes is None else [0.25] * max(n_classes, 2)
    pairs = np.array(list(itertools.product(range(3), repeat=2)), np.int32)
    out = np.empty(len(pairs))
    _kernel.ordered_losses(table.columns, pairs, y, w, priors, threads, out)
    for (a, b), loss in zip(pairs, out, strict=True):
        expected = plain_loss(table.columns[a], table.columns[b], y, weights_of(table, w), priors)
        assert loss == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    n = 200_000
    table = table_of(rng.integers(-1, 1000, n), rng.integers(-1, 50, n), rng.integers(-1, 20, n))
    y, w = rng.integers(0, 3, n).astype(float), rng.random(n)
    results = []
    for threads in (1, 2, 5):
        chosen = best_combinations(table, y, [0, 1, 2], n_classes=3, weight=w, threads=threads)
        learned = learn(table, y, 3, w, combinations=[(0, 1), (0, 1, 2)], threads=threads)
        orders = draw_orders(n, 3, seed=5, threads=threads)
        columns = learned.ordered(table, y, orders, weight=w, threads=threads)
        arrays = {
            **learned.to_arrays(),
            "ordered": columns,
            "full": np.array(learned.transform(table, threads=threads)),
        }
        results.append(model_file.fingerprint({"model": "test", "chosen": [list(c) for c in chosen]}, arrays))
    assert len(set(results)) == 1


# ---- levels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("largest_key", "n_stages"), [(2**63 - 1, 1), (2**40, 2), (2**16, 5)])
def test_levels_of_combinations_are_those_of_pandas(largest_key, n_stages, monkeypatch):
    """With fewer bits the five columns need several stages."""
    monkeypatch.setattr(levels_module, "_LARGEST_KEY", largest_key)
    rng = np.random.default_rng(1)
    n, columns = 3000, (0, 1, 2, 3, 4)
    table = table_of(*(rng.integers(-1, 6, n) * (rng.random(n) < 0.5) for _ in columns), n_categories=300)
    assert len(key_stages(table.schema, columns)) == n_stages
    y = rng.random(n)
    learned = learn_statistics(table, y, kinds=["mean"], n_target_borders=0, one_hot_max=999, combinations=[columns])
    frame = pd.DataFrame({j: table.columns[j] for j in columns} | {"y": y})
    grouped = frame.groupby(list(columns))["y"]
    expected = (grouped.transform("sum") + y.mean()) / (grouped.transform("size") + 1)
    np.testing.assert_allclose(learned.transform(table)[0], expected, rtol=1e-12)
    assert len(learned.values[0]) == grouped.ngroups


def test_columns_that_63_bits_do_not_hold():
    n = 20_000
    rng = np.random.default_rng(2)
    columns = [rng.permutation(n) for _ in range(6)]
    table = table_of(*columns)
    assert [len(stage) for stage in key_stages(table.schema, tuple(range(6)))] == [4, 2]
    keys, levels = learn_levels(table, tuple(range(6)), threads=1)
    assert len(np.unique(levels)) == n
    np.testing.assert_array_equal(find_levels(table, tuple(range(6)), keys, threads=2), levels)
    columns[5][:10] = columns[5][:10][::-1].copy()  # combinations that did not occur, of categories that did
    found = find_levels(table_of(*columns), tuple(range(6)), keys, threads=1)
    assert (found[:10] == -2).all()
    np.testing.assert_array_equal(found[10:], levels[10:])


def test_unseen_levels_and_combinations_get_the_prior():
    train = read_table([["a", "x"], ["a", "y"], ["b", "x"], ["c", None]])
    learned = learn(train, [0.0, 1.0, 2.0, 3.0], None, None, n_target_borders=0, priors=[Prior(7.0)])
    new = conform([["z", "x"], ["b", "y"], ["b", None], ["b", "x"]], train.schema)
    by_first, count, _, _, by_both, count_both = learned.transform(new)
    assert by_first.tolist() == [7.0, 4.5, 4.5, 4.5]
    assert count.tolist() == [0.0, 0.5, 0.5, 0.5]
    assert by_both.tolist() == [7.0, 7.0, 7.0, 4.5]
    assert count_both.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_missing_is_a_level_of_its_own():
    table = read_table([["a"], [None], [None], ["b"]])
    learned = learn(table, [0, 1, 1, 0], 2, None, combinations=[], priors=[Prior(0.5)])
    assert learned.transform(table)[0].tolist() == [0.25, 2.5 / 3, 2.5 / 3, 0.25]


# ---- what is learned -----------------------------------------------------------------------------------------------


def test_statistics_of_classes_and_their_names():
    table = read_table(pd.DataFrame({"city": ["a", "b", "c"], "month": ["x", "y", "x"], "size": [1.0, 2.0, 3.0]}))
    learned = learn_statistics(table, [0, 1, 2], n_classes=3, class_names=["no", "yes", "?"], combinations=[(1, 0)])
    assert [learned.describe(i) for i in range(len(learned.statistics))] == [
        "mean of class 'yes' by city",
        "mean of class '?' by city",
        "frequency of city",
        "mean of class 'yes' by city × month",
        "mean of class '?' by city × month",
        "frequency of city × month",
    ]
    assert repr(learned) == "TargetStatistics(6 statistics of 2 columns or combinations)"


def test_describe_tells_priors_apart_and_names_borders():
    table = table_of([0, 1, 2, 3])
    learned = learn_statistics(table, [1.0, 2.0, 3.0, 4.0], kinds=["mean"], priors=[Prior(), Prior(0.25, 5)])
    assert learned.describe(0) == "mean of target > 2 by c0 with prior 0.5 of weight 1"
    assert learned.describe(1) == "mean of target > 2 by c0 with prior 0.25 of weight 5"
    plain = learn_statistics(table, [1.0, 2.0, 3.0, 4.0], kinds=["mean"], n_target_borders=0)
    assert plain.describe(0) == "mean of target by c0"
    unnamed = learn_statistics(table, [0, 1, 0, 1], kinds=["mean"], n_classes=2)
    assert unnamed.describe(0) == "mean of class 1 by c0"


@pytest.mark.parametrize(("one_hot_max", "columns"), [(1, {(0,), (1,)}), (2, {(1,)}), (3, set())])
def test_columns_of_few_levels_are_left_out(one_hot_max, columns):
    table = table_of([0, 1, 0, 1], [0, 1, -1, 0])  # missing counts as a level
    learned = learn_statistics(table, [0, 1, 0, 1], n_classes=2, one_hot_max=one_hot_max)
    assert {one.columns for one in learned.statistics} == columns == set(learned.keys)


@pytest.mark.parametrize(
    ("y", "weight", "n", "borders"),
    [
        ([1, 2, 3, 4], None, 1, [2]),
        ([1, 2, 3, 4], [1, 1, 1, 9], 1, [3]),
        ([0, 0, 0, 5], None, 1, [0]),
        ([0, 5, 5, 5], None, 1, [0]),  # the median is the largest value: no row would be above it
        ([1, 2, 3, 4], [1, 1, 0, 0], 1, [1]),
        ([1, 2, 3, 4, 5, 6], None, 2, [2, 4]),
        ([1, 1, 2, 2], None, 3, [1]),
        ([7, 7, 7, 7], None, 1, []),
    ],
)
def test_borders_of_numbers_have_rows_on_both_sides(y, weight, n, borders):
    table = table_of(np.arange(len(y)))
    learned = learn_statistics(table, y, weight=weight, kinds=["mean"], n_target_borders=n)
    assert [one.at for one in learned.statistics] == borders


def test_counts_are_shares_of_the_largest_weight():
    table = table_of([0, 0, 1, 2])
    learned = learn_statistics(table, [0, 1, 0, 1], n_classes=2, kinds=["count"], weight=[1, 1, 4, 1])
    assert learned.transform(table)[0].tolist() == [0.5, 0.5, 1.0, 0.25]


def test_a_weight_of_three_is_three_rows_in_full_values():
    table, y = table_of([0, 1, 1, 2]), np.array([1.0, 5.0, 2.0, 3.0])
    copies = np.repeat(np.arange(4), [3, 1, 2, 1])
    a = learn_statistics(table, y, weight=[3, 1, 2, 1], n_target_borders=0)
    b = learn_statistics(table.take(copies), y[copies], n_target_borders=0)
    for x, z in zip(a.values, b.values, strict=True):
        np.testing.assert_allclose(x, z, rtol=1e-15)


@pytest.mark.parametrize("smooth", [1.0, 10.0])
def test_full_means_are_those_of_scikit_learn(smooth):
    from sklearn.preprocessing import TargetEncoder

    rng = np.random.default_rng(4)
    cities, y = rng.integers(0, 30, size=(500, 1)), rng.normal(size=500)
    table = read_table(cities, categorical_features=[0])
    learned = learn_statistics(table, y, kinds=["mean"], n_target_borders=0, priors=[Prior(weight=smooth)])
    encoder = TargetEncoder(smooth=smooth, target_type="continuous").fit(cities, y)
    np.testing.assert_allclose(learned.transform(table)[0], encoder.transform(cities)[:, 0], rtol=1e-12)


def test_a_table_of_numbers_has_no_statistics():
    table = read_table(np.arange(6.0).reshape(3, 2))
    learned = learn_statistics(table, [0, 1, 0], n_classes=2)
    assert learned.statistics == ()
    assert learned.transform(table) == []
    assert learned.ordered(table, [0, 1, 0], draw_orders(3, 2, seed=0)).shape == (2, 0, 3)
    assert TargetStatistics.from_arrays(learned.to_json(), learned.to_arrays(), table.schema).statistics == ()


# ---- files ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(problems())
def test_statistics_survive_a_file(problem):
    table, y, n_classes, w = problem
    learned = learn(table, y, n_classes, w, class_names=None if n_classes is None else list("abcd")[:n_classes])
    content = model_file.to_bytes({"model": "test", "encoder": learned.to_json()}, learned.to_arrays())
    header, arrays = model_file.from_bytes(content)
    back = TargetStatistics.from_arrays(header["encoder"], arrays, table.schema)
    for again in (back, pickle.loads(pickle.dumps(learned))):
        assert again.statistics == learned.statistics
        assert again.class_names == learned.class_names
        assert list(again.keys) == list(learned.keys)
        for a, b in zip(again.transform(table), learned.transform(table), strict=True):
            np.testing.assert_array_equal(a, b)


def test_learned_tables_are_read_only():
    learned = learn(table_of([0, 1, 2], [0, 0, 1]), [0, 1, 0], 2, None)
    for array in (*learned.values, *itertools.chain(*learned.keys.values())):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def damaged_statistic(header, **changes):
    first, *others = header["statistics"]
    return {**header, "statistics": [first | changes, *others]}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda h, a: ([], a), "the header must be an object with the keys .*, got "),
        (lambda h, a: ({**h, "class_names": [1]}, a), r"class_names is \[1\], expected a list of strings"),
        (lambda h, a: ({**h, "statistics": {}}, a), r"statistics is \{\}, expected a list"),
        (lambda h, a: ({**h, "statistics": [{}]}, a), "a statistic must be an object with the keys"),
        (
            lambda h, a: (damaged_statistic(h, columns=[]), a),
            r"columns is \[\], expected rising positions of",
        ),
        (lambda h, a: (damaged_statistic(h, columns=[9]), a), re.escape("columns is [9], expected")),
        (lambda h, a: (damaged_statistic(h, columns=[1, 0]), a), re.escape("columns is [1, 0], expected")),
        (lambda h, a: (damaged_statistic(h, kind="median"), a), "kind is 'median', expected one of"),
        (lambda h, a: (damaged_statistic(h, prior=math.nan), a), "prior is nan, expected a finite float"),
        (lambda h, a: (damaged_statistic(h, prior_weight=0.0), a), "prior_weight is 0.0, expected more than 0"),
        (lambda h, a: (damaged_statistic(h, at=0.5), a), "at is 0.5, expected a class from 0 to 1"),
        (lambda h, a: (damaged_statistic(h, at=2.0), a), "at is 2.0, expected a class from 0 to 1"),
        (lambda h, a: (h, {}), "array level_keys must be int64 of one dimension, got nothing"),
        (
            lambda h, a: (h, a | {"level_keys": a["level_keys"] * 1.0}),
            "level_keys must be int64 .*, got float64",
        ),
        (
            lambda h, a: (h, a | {"level_keys": a["level_keys"][::-1]}),
            r"level_keys\[\d\] = \d must be .* 0 and rise",
        ),
        (
            lambda h, a: (h, a | {"level_keys": a["level_keys"] - 9}),
            r"level_keys\[0\] = -\d must be .* 0 and rise",
        ),
        (
            lambda h, a: (h, a | {"level_start": a["level_start"][:-1]}),
            r"must be int64 of \(4,\), got .* \(3,\)",
        ),
        (lambda h, a: (h, a | {"level_start": a["level_start"] + 1}), r"level_start\[0\] = 1 must be 0"),
        (
            lambda h, a: (h, a | {"statistic_values": a["statistic_values"] * math.inf}),
            r"values\[0\] = inf must be",
        ),
        (
            lambda h, a: (h, a | {"statistic_start": np.array([0, 2, 4, 6, 8, 9, *a["statistic_start"][6:]])}),
            r"number of values of statistic \d is \d, expected \d",
        ),
    ],
)
def test_damaged_statistics_are_refused(damage, message):
    table = table_of([0, 1, 2], [0, 0, 1])
    learned = learn(table, [0, 1, 0], 2, None, class_names=["no", "yes"], priors=[Prior()])
    header, arrays = damage(learned.to_json(), learned.to_arrays())
    with pytest.raises(ValueError, match=f"invalid target statistics: .*{message}"):
        TargetStatistics.from_arrays(header, arrays, table.schema)


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ([0, 1], {}, "target has shape (2,), but the table has 3 rows: give one number per row"),
        ([0, math.nan, 1], {}, "target is nan in row 1: remove or fill such rows"),
        ([0, 1, math.inf], {}, "target is inf in row 2: remove or fill such rows"),
        ([0, 1, 2], {"n_classes": 2}, "target is 2 in row 2: give class codes from 0 to 1"),
        ([0, 0.5, 1], {"n_classes": 2}, "target is 0.5 in row 1: give class codes from 0 to 1"),
        ([0, 1, 0], {"weight": [1, 1]}, "weight has shape (2,), but the table has 3 rows: give one number per row"),
        ([0, 1, 0], {"weight": [1, -2, 1]}, "weight is -2 in row 1: weights must be 0 or more"),
        ([0, 1, 0], {"weight": [0, 0, 0]}, "weight is zero in all rows: give at least one row some weight"),
        ([1e308, 1e308, 0], {}, "the sum of weight × target overflows: divide the target or the weights by a constant"),
        ([1e300, 1, 0], {"weight": [1e30, 1, 1]}, "the sum of weight × target overflows"),
        ([0, 1, 0], {"kinds": ["median"]}, "kinds has ['median']: use 'mean' and 'count'"),
        ([0, 1, 0], {"combinations": [(0, 3)]}, "combination (0, 3) has 3, but the table has columns 0 to 2"),
        (
            [0, 1, 0],
            {"combinations": [(0, 2)]},
            "combination (0, 2) has column 'x2', which is numeric: name it in categorical_features",
        ),
        ([0, 1, 0], {"combinations": [(1,)]}, "combination (1,): give two or more different columns"),
        ([0, 1, 0], {"combinations": [(1, 1)]}, "combination (1, 1): give two or more different columns"),
    ],
)
def test_errors_of_learning(target, options, message):
    table = read_table([["a", "x", 1.0], ["b", "y", 2.0], ["c", "x", 3.0]])
    with pytest.raises(ValueError, match=re.escape(message)):
        learn_statistics(table, target, **options)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_prior_must_be_finite(value):
    for prior, weight in ((value, 1.0), (1e300, 1e300)):
        with pytest.raises(ValueError, match=r"a prior has value .*: use a smaller number, or None for the mean"):
            Prior(prior, weight)
    with pytest.raises(ValueError, match=r"a prior has weight .*: use a finite number above 0"):
        Prior(weight=value)


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ([0, 1, 2], "orders must be permutations of 3 rows"),
        ([[0, 1]], "orders must be permutations of 3 rows"),
        ([[0.0, 1.0, 2.0]], "orders must be permutations of 3 rows"),
        ([[2, 1, 0], [0, 1, 1]], "order 1 does not hold each of the 3 rows once; use draw_orders"),
        ([[0, 1, 3]], "order 0 does not hold each of the 3 rows once"),
        ([[0, 1, -1]], "order 0 does not hold each of the 3 rows once"),
    ],
)
def test_orders_must_be_permutations(orders, message):
    table = table_of([0, 1, 2])
    learned = learn_statistics(table, [0, 1, 0], n_classes=2)
    with pytest.raises(ValueError, match=message):
        learned.ordered(table, [0, 1, 0], orders)


# ---- what order is for ---------------------------------------------------------------------------------------------


def log_loss(y, probability):
    return -np.mean(np.log(np.where(y == 1, probability, 1 - probability)))


def test_boosting_overfits_plain_statistics_of_noise_and_not_ordered_ones():
    rng = np.random.default_rng(0)
    table = table_of(rng.integers(0, 2000, 8000), n_categories=2000)
    y = rng.integers(0, 2, 8000).astype(float)
    train, test = table.take(np.arange(4000)), table.take(np.arange(4000, 8000))
    learned = learn_statistics(train, y[:4000], n_classes=2, kinds=["mean"])
    plain, new = (learned.transform(rows)[0][:, None] for rows in (train, test))
    ordered = learned.ordered(train, y[:4000], draw_orders(4000, 1, seed=0))[0, 0][:, None]
    losses = {}
    for name, encoded in (("plain", plain), ("ordered", ordered)):
        model = BoostedTreesClassifier(n_estimators=50, random_state=0).fit(encoded, y[:4000])
        losses[name] = [
            log_loss(target, model.predict_proba(rows)[:, 1]) for rows, target in ((encoded, y[:4000]), (new, y[4000:]))
        ]
    assert losses["plain"][0] < 0.45  # far below log 2, which is all that can be known
    assert losses["plain"][1] > 0.85
    assert losses["ordered"][0] > 0.66
    assert losses["ordered"][1] < 0.75


def test_plain_statistics_of_distinct_categories_are_the_target():
    """The example of Prokhorenkova et al. 2018, section 3.2: one threshold separates training rows perfectly."""
    n = 1000
    y = np.random.default_rng(0).integers(0, 2, n).astype(float)
    table = table_of(np.arange(n))
    learned = learn_statistics(table, y, n_classes=2, kinds=["mean"])
    prior = learned.statistics[0].prior
    np.testing.assert_array_equal(learned.transform(table)[0] > (0.5 + prior) / 2, y == 1)
    assert (learned.ordered(table, y, draw_orders(n, 3, seed=1)) == prior).all()


@pytest.mark.parametrize("rows_of_level", [2, 5, 20])
def test_plain_statistics_shift_by_one_in_n_and_ordered_ones_do_not(rows_of_level):
    """Targets are coins: that of a row should not show in its statistic.

    4 (value − ½) (y − ½) has E[value | y = 1] − E[value | y = 0] as expectation. The difference of the means over the
    rows of each class has not: of a given number of ones, one fewer is left for the others.
    """
    rng = np.random.default_rng(rows_of_level)
    table = table_of(np.repeat(np.arange(40), rows_of_level))
    shift = {"plain": [], "ordered": []}
    for repeat in range(300):
        y = rng.integers(0, 2, table.n_rows).astype(float)
        learned = learn_statistics(table, y, n_classes=2, kinds=["mean"], priors=[Prior(0.5)])
        ordered = learned.ordered(table, y, draw_orders(table.n_rows, 1, seed=0, first=repeat))[0, 0]
        for name, column in (("plain", learned.transform(table)[0]), ("ordered", ordered)):
            shift[name].append(4 * np.mean((column - 0.5) * (y - 0.5)))
    error = {name: 3 * np.std(values) / math.sqrt(len(values)) for name, values in shift.items()}
    assert np.mean(shift["plain"]) == pytest.approx(1 / (rows_of_level + 1), abs=error["plain"])
    assert np.mean(shift["plain"]) > 5 * error["plain"]
    assert abs(np.mean(shift["ordered"])) < error["ordered"]
