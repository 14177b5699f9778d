"""Bagging: what trees draw, that no draw depends on order or threads, and who is out of the bag."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arboretum import _kernel
from arboretum.data.binning import assign_bins, code_edges, learn_bins
from arboretum.data.table import read_table
from arboretum.ensembles.bagging import trees as bagging
from arboretum.ensembles.bagging.trees import BaggedRows, BaggedTarget, BaggingParams, Draws
from arboretum.growing.grower import SplitRules

N_ROWS = 300
SEEDS = st.integers(0, 2**32 - 1)
law = settings(max_examples=30, deadline=None)


def make_table(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 3, n_rows)
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0.7).astype(np.int32)[:, None]
    return X, y


def binned(X):
    table = read_table(X)
    bin_map = learn_bins(table)
    return table, assign_bins(table, bin_map)


def of_classes(y, weight=None, n_classes=(2,), criterion="gini"):
    return BaggedTarget(criterion, weight, classes=y, n_classes=n_classes)


def copies_of(X, target, draws, seed=5, tree=0):
    _, data = binned(X)
    return draws.pool(data, target, threads=1).bootstrap.copies(seed, tree, len(X))


# ---- draws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "expected"), [(1.0, 300), (0.5, 150), (2.5, 750), (77, 77), (1000, 1000), (1e-9, 1)])
def test_number_of_draws(share, expected):
    X, y = make_table()
    assert copies_of(X, of_classes(y), Draws(share)).sum() == expected


def test_no_draws():
    X, y = make_table()
    _, data = binned(X)
    assert Draws().pool(data, of_classes(y), threads=1).bootstrap.n_draws == 0


def test_draws_with_replacement_are_multinomial():
    """Each row is drawn once on average, is absent with (1 − 1/n)^n, and its count has the variance of a Poisson."""
    X, y = make_table()
    _, data = binned(X)
    bootstrap = Draws(1.0).pool(data, of_classes(y), threads=1).bootstrap
    copies = np.array([bootstrap.copies(1, tree, N_ROWS) for tree in range(1000)])
    assert (copies.sum(axis=1) == N_ROWS).all()
    assert abs((copies == 0).mean() - (1 - 1 / N_ROWS) ** N_ROWS) < 0.003
    assert abs(copies.var() - (1 - 1 / N_ROWS)) < 0.02
    assert abs(copies.mean(axis=0) - 1).max() < 5 / math.sqrt(1000)
    assert len({row.tobytes() for row in copies}) == 1000


def codes_of(X):
    _, data = binned(X)
    return [data.codes.codes(feature) for feature in range(X.shape[1])]


@law
@given(SEEDS, st.booleans(), st.sampled_from(["equal", "whole", "parts"]))
def test_draws_do_not_depend_on_the_order_of_rows(seed, balanced, weights):
    """Rows of equal codes and target are one to a tree: which of them is drawn may change."""
    X, y = make_table(seed)
    rng = np.random.default_rng(seed)
    weight = {
        "equal": None,
        "whole": rng.integers(0, 4, N_ROWS).astype(float),
        "parts": rng.integers(0, 65, N_ROWS) / 64,
    }
    weight, order, draws = weight[weights], rng.permutation(N_ROWS), Draws(1.0, balanced)
    copies = copies_of(X, of_classes(y, weight), draws, seed)
    permuted = copies_of(X[order], of_classes(y[order], None if weight is None else weight[order]), draws, seed)
    content = np.unique(np.column_stack([*codes_of(X), y]), axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(np.bincount(content[order], permuted), np.bincount(content, copies))


@law
@given(SEEDS, st.booleans(), st.sampled_from([1.0, 0.4, 90]))
def test_a_row_of_weight_three_is_drawn_as_three_equal_rows(seed, balanced, share):
    X, y = make_table(seed)
    weight = np.random.default_rng(seed).integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weight)
    draws = Draws(share, balanced)
    table, data = binned(X[rows])  # the same bins for both
    target = of_classes(y[rows])
    repeated = draws.pool(data, target, threads=1).bootstrap.copies(seed, 0, len(rows))
    codes = assign_bins(read_table(X), data.bin_map)
    weighted = draws.pool(codes, of_classes(y, weight.astype(float)), threads=1).bootstrap.copies(seed, 0, N_ROWS)
    content = np.unique(np.column_stack([*codes_of(X), y]), axis=0, return_inverse=True)[1].ravel()  # some are equal
    drawn = np.bincount(content[rows], repeated, content.max() + 1)
    np.testing.assert_array_equal(drawn, np.bincount(content, weighted))
    assert table.n_rows == len(rows)


def test_fractional_weights_are_shares_of_the_draws():
    X, y = make_table()
    weight = np.where(np.arange(N_ROWS) % 3 == 0, 0.5, np.where(np.arange(N_ROWS) % 3 == 1, 2.5, 0.0))
    _, data = binned(X)
    bootstrap = Draws(1.0).pool(data, of_classes(y, weight), threads=1).bootstrap
    assert bootstrap.n_draws == 200  # rows of no weight are none
    copies = np.array([bootstrap.copies(2, tree, N_ROWS) for tree in range(500)])
    assert copies[:, 2::3].sum() == 0
    assert abs(copies[:, 1::3].sum() / copies.sum() - 5 / 6) < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_draws_take_turns_between_classes(weighted):
    rng = np.random.default_rng(3)
    X, _ = make_table()
    y = rng.choice(4, N_ROWS, p=[0.85, 0.1, 0.04, 0.01]).astype(np.int32)[:, None]
    y[:4, 0] = range(4)
    weight = rng.random(N_ROWS) + 0.1 if weighted else None
    for share in (1.0, 10, 3):
        copies = copies_of(X, of_classes(y, weight, (4,)), Draws(share, balanced=True))
        by_class = np.bincount(y[:, 0], copies, minlength=4)
        assert by_class.max() - by_class.min() <= 1
        assert copies.sum() == (share if isinstance(share, int) else N_ROWS)


def test_classes_without_weight_are_not_drawn_from():
    X, y = make_table()
    y = y + np.where(np.arange(N_ROWS) % 10 == 0, 1, 0).astype(np.int32)[:, None]
    weight = np.where(y[:, 0] == 1, 0.0, 1.0)
    copies = copies_of(X, of_classes(y, weight, (3,)), Draws(1.0, balanced=True))
    assert set(y[copies > 0, 0]) == {0, 2}


def test_numbers_have_no_classes_to_balance():
    X, _ = make_table()
    target = BaggedTarget("squared_error", None, numbers=np.nan_to_num(X[:, :1]).copy())
    np.testing.assert_array_equal(copies_of(X, target, Draws(1.0, balanced=True)), copies_of(X, target, Draws(1.0)))


@pytest.mark.parametrize(
    ("weight", "whole"),
    [([1.0, 2.0], True), ([1.0, 0.5], False), ([1e30, 1.0], False), ([0.0, 3.0], True), ([4e6, 1e5], True)],
)
def test_weights_that_rows_can_be_repeated_by(weight, whole):
    assert bagging.is_whole(np.array(weight)) is whole


# ---- growing -------------------------------------------------------------------------------------------------------


def setting(threads=1, n_trees=7, first_tree=0, draws=Draws(1.0), **rules):  # noqa: B008
    X, y = make_table()
    table, data = binned(X)
    target = of_classes(y)
    edges = code_edges(table, data.bin_map)
    bootstrap = draws.pool(data, target, threads).bootstrap
    params = BaggingParams(n_trees, SplitRules(max_features=1, **rules), 11, threads, first_tree)
    return data, edges, target, bootstrap, params


def assert_same_forest(a, b):
    for name, array in a.to_arrays().items():
        np.testing.assert_array_equal(array, b.to_arrays()[name], err_msg=name)


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("seconds", [1.0, 1e-9])
def test_forests_do_not_depend_on_threads_and_batches(threads, seconds, monkeypatch):
    expected, _ = bagging.bag(*setting())
    monkeypatch.setattr(bagging, "SECONDS_A_BATCH", seconds)
    assert_same_forest(bagging.bag(*setting(threads))[0], expected)


def test_a_forest_can_be_grown_in_parts():
    whole, _ = bagging.bag(*setting())
    head, _ = bagging.bag(*setting(n_trees=4))
    tail, _ = bagging.bag(*setting(n_trees=3, first_tree=4))
    assert_same_forest(type(whole).concat([head, tail]), whole)


def test_reports_count_the_trees(monkeypatch):
    monkeypatch.setattr(bagging, "SECONDS_A_BATCH", 0.0)
    reports = []
    bagging.bag(*setting(threads=2, n_trees=5), [reports.append])
    assert [report.number for report in reports] == [2, 4, 5]
    assert {report.n_rounds for report in reports} == {5}


def test_an_interrupt_keeps_the_trees_so_far(monkeypatch):
    monkeypatch.setattr(bagging, "SECONDS_A_BATCH", 0.0)

    def interrupt(report):
        if report.number == 4:
            raise KeyboardInterrupt

    forest, interrupted = bagging.bag(*setting(threads=2), [interrupt])
    assert interrupted
    assert_same_forest(forest, bagging.bag(*setting(n_trees=4))[0])


def test_an_interrupt_before_the_first_tree_is_raised(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(bagging, "grown_to_forest", interrupt)
    with pytest.raises(KeyboardInterrupt):
        bagging.bag(*setting())


@pytest.mark.parametrize("threads", [1, 3])
def test_one_tree_has_risks_that_add_up(threads):
    data, edges, target, _, _ = setting()
    single = bagging.grow_tree(data, edges, target, SplitRules(), seed=0, threads=threads)
    forest = single.forest
    inner = np.flatnonzero(forest.kind)
    left, right = forest.left[inner], forest.right[inner]
    np.testing.assert_allclose(single.weight[inner], single.weight[left] + single.weight[right])
    np.testing.assert_allclose(single.risk[inner], single.risk[left] + single.risk[right] + forest.gain[inner])
    share = target.classes.mean()
    assert single.risk[0] == pytest.approx(2 * N_ROWS * share * (1 - share))


# ---- out of the bag ------------------------------------------------------------------------------------------------


def test_rows_out_of_the_bag_are_those_that_were_not_drawn():
    *_, bootstrap, params = setting()
    for tree in range(3):
        copies = bootstrap.copies(params.seed, tree, N_ROWS)
        rows = np.flatnonzero(bootstrap.copies(params.seed, tree, N_ROWS) == 0)
        np.testing.assert_array_equal(rows, np.flatnonzero(copies == 0))
        assert 0.3 < len(rows) / N_ROWS < 0.45


def test_no_tree_speaks_of_a_row_that_it_saw():
    """Poison the leaves of the rows in the bag: the mean does not notice."""
    args = setting(n_trees=40)
    forest, _ = bagging.bag(*args)
    bootstrap, params = args[3:]
    table = read_table(make_table()[0])
    leaves = forest.apply(table.columns, N_ROWS)
    rows = BaggedRows(lambda first, last: leaves[:, first:last], bootstrap, params.seed, N_ROWS)
    sums, counts = bagging.out_of_bag_sums(replace(forest, base=np.array([2.0])), rows)
    copies = np.array([bootstrap.copies(params.seed, tree, N_ROWS) for tree in range(40)]).T
    out = copies == 0
    np.testing.assert_array_equal(counts, out.sum(axis=1))
    values = forest.value[forest.tree_start[:-1] + leaves, 0]
    expected = 2.0 + np.nansum(np.where(out, values, np.nan), axis=1)
    np.testing.assert_allclose(sums[:, 0], expected, rtol=1e-12)
    np.testing.assert_array_equal(forest.n_rows[forest.tree_start[:-1]], copies.sum(axis=0))


def test_a_row_that_every_tree_saw_has_no_sum():
    args = setting(n_trees=2)
    forest, _ = bagging.bag(*args)
    bootstrap, params = args[3:]
    leaves = forest.apply(read_table(make_table()[0]).columns, N_ROWS)
    rows = BaggedRows(lambda first, last: leaves[:, first:last], bootstrap, params.seed, N_ROWS)
    sums, counts = bagging.out_of_bag_sums(forest, rows)
    assert 0 < (counts == 0).sum() < N_ROWS
    assert (sums[counts == 0] == 0).all()


def test_content_orders_rows_by_what_they_hold():
    X, y = make_table()
    _, data = binned(X)
    order = np.random.default_rng(0).permutation(N_ROWS)
    shuffled = assign_bins(read_table(X[order]), data.bin_map)
    first = _kernel.content_order(data.codes, None, y, None, 1)
    second = _kernel.content_order(shuffled.codes, None, y[order], None, 3)
    assert sorted(first) == list(range(N_ROWS))
    np.testing.assert_array_equal(X[first], X[order][second])
    numbers = X[:, 2:].copy()
    plain, negative = (
        _kernel.content_order(data.codes, None, None, n, 1) for n in (numbers, np.where(numbers == 0, -0.0, numbers))
    )
    np.testing.assert_array_equal(plain, negative)
