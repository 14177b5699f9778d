"""Row samples: each against a plain twin of its definition on the same draws; counts, determinism, independence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.in_places import in_places, parted

from arboretum import _kernel
from arboretum.growing.sampling import ALL_ROWS, Bayesian, Bootstrap, Goss, Mvs, Stratified, Subsample, sample_key

M64 = 2**64 - 1


def mix(x):
    """Give the finaliser of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def draw(seed, counter):
    return mix(seed ^ mix(counter))


@pytest.mark.parametrize("triple", [(0, 0, 0), (1, 2, 3), (2**64 - 1, 2**63, 5), (7, 0x726F7773, 2**40)])
def test_a_draw_is_a_pure_function(triple):
    seed, a, b = triple
    assert _kernel.draw(*triple) == draw(draw(seed, a), b)
    assert _kernel.draw(*triple) == _kernel.draw(*triple)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9])
def test_the_share_of_rows(share):
    rows = _kernel.subsample_rows(200_000, share, 42, 1)
    assert rows.dtype == np.uint32
    assert np.all(np.diff(rows.astype(np.int64)) > 0)
    assert rows[-1] < 200_000
    expected, spread = 200_000 * share, np.sqrt(200_000 * share * (1 - share))
    assert abs(len(rows) - expected) < 5 * spread


def test_rows_are_chosen_by_their_own_draw():
    rows = set(_kernel.subsample_rows(300, 0.4, 9, 1).tolist())
    assert rows == {row for row in range(300) if draw(9, row) / 2**64 < 0.4}


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_samples_do_not_depend_on_threads(threads):
    expected = _kernel.subsample_rows(300_000, 0.2, 7, 1)
    np.testing.assert_array_equal(_kernel.subsample_rows(300_000, 0.2, 7, threads), expected)


@pytest.mark.parametrize("n_rows", [1, 2, 10])
def test_a_sample_is_never_empty(n_rows):
    for key in range(50):
        rows = _kernel.subsample_rows(n_rows, 1e-9, key, 1)
        assert rows.tolist() == [min(range(n_rows), key=lambda row: draw(key, row))]


def test_no_rows_give_no_sample():
    assert len(_kernel.subsample_rows(0, 0.5, 1, 1)) == 0


def test_a_full_share_is_all_rows():
    g, h = gradients(10)
    codes = np.arange(10.0)
    for sampler in (Subsample(), Mvs(), Stratified.of_classes(1.0, codes), Goss(0.5, 0.5), Bayesian(0.0)):
        assert sampler.sample(g, h, key=1, threads=1) == ALL_ROWS


def test_rounds_and_seeds_draw_anew():
    g, h = gradients(1000)

    def rows(seed, number):
        return tuple(Subsample(0.5).sample(g, h, key=sample_key(seed, number), threads=1).rows.tolist())

    samples = {rows(seed, number) for seed in range(5) for number in range(5)}
    assert len(samples) == 25
    assert rows(3, 4) == rows(3, 4)
    # Two rounds share half of a half, if they do not depend on each other.
    shared = len(set(rows(0, 0)) & set(rows(0, 1)))
    assert abs(shared - 250) < 5 * np.sqrt(1000 * 0.25 * 0.75)


# ---- plain twins -----------------------------------------------------------------------------------------------------


def gradients(n_rows, n_outputs=1, seed=0, dtype=np.float64, step=0.0):
    """Gradients of mixed sizes, rounded to multiples of ``step`` to make ties, and hessians."""
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(n_outputs, n_rows)) * np.exp(rng.normal(size=n_rows))
    g = np.round(g / step) * step if step else g
    return g.astype(dtype), rng.random((n_outputs, n_rows)).astype(dtype)


def unit(bits):
    return (bits >> 11) * 2.0**-53


def rank(bits):
    return bits >> 32


def bootstrap_twin(n_rows, n_draws, key):
    copies = [0] * n_rows
    for i in range(n_draws):
        copies[min(int(unit(draw(key, i)) * n_rows), n_rows - 1)] += 1
    return {row: float(n) for row, n in enumerate(copies) if n}


def stratified_twin(codes, share, key):
    chosen = set()
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code).tolist()
        rows.sort(key=lambda row: (rank(draw(key, row)), row))
        chosen |= set(rows[: max(1, round(share * len(rows)))])
    return sorted(chosen)


def goss_twin(g, n_top, n_other, key):
    n_rows = g.shape[1]
    sizes = np.abs(g.astype(np.float64)).sum(axis=0).astype(np.float32)
    order = sorted(range(n_rows), key=lambda row: (-sizes[row], rank(draw(draw(key, 1), row)), row))
    rest = sorted(order[n_top:], key=lambda row: (max(rank(draw(draw(key, 2), row)), 1), row))
    amplified = (n_rows - n_top) / n_other
    return {row: 1.0 for row in order[:n_top]} | {row: amplified for row in rest[:n_other]}


def mvs_probabilities(g, h, share):
    """Compute the definition, with a scale found by bisection."""
    g, h = g.astype(np.float64), h.astype(np.float64)
    root = np.abs(g).sum() / h.sum() if h.sum() else 0.0
    sizes = np.sqrt((g**2 + (root * h) ** 2).sum(axis=0))
    if not sizes.any():
        sizes[:] = 1
    low, high = 0.0, sizes.sum() / (share * len(sizes)) * 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1, sizes / middle).sum() > share * len(sizes) else (low, middle)
    return np.minimum(1, sizes / high)


def as_dict(sample):
    assert sample.rows.dtype == np.uint32
    assert np.all(np.diff(sample.rows.astype(np.int64)) > 0)
    return dict(zip(sample.rows.tolist(), sample.factor.tolist(), strict=True))


KEYS = st.integers(0, M64)


@settings(deadline=None)
@given(st.integers(1, 200), st.floats(0.01, 1.0), KEYS)
def test_bootstrap_is_its_definition(n_rows, share, key):
    g, h = gradients(n_rows)
    n_draws = max(1, round(share * n_rows))
    found = as_dict(Bootstrap(share).sample(g, h, key=key, threads=1))
    assert found == bootstrap_twin(n_rows, n_draws, key)
    assert sum(found.values()) == n_draws


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 8), st.floats(0.01, 0.99), KEYS)
def test_strata_are_their_definition(n_rows, n_classes, share, key):
    codes = np.random.default_rng(n_rows).integers(0, n_classes, n_rows).astype(float)
    g, h = gradients(n_rows)
    sample = Stratified.of_classes(share, codes).sample(g, h, key=key, threads=1)
    assert sample.factor is None
    assert sample.rows.tolist() == stratified_twin(codes, share, key)


def test_numbers_are_cut_into_tenths():
    y = np.random.default_rng(0).normal(size=1000)
    sampler = Stratified.of_numbers(0.3, y)
    np.testing.assert_array_equal(np.diff(sampler.start), 100)
    rows = sampler.sample(*gradients(1000), key=5, threads=1).rows
    np.testing.assert_array_equal(np.histogram(y[rows], np.quantile(y, np.arange(11) / 10))[0], 30)
    # Equal values stay together.
    ties = Stratified.of_numbers(0.5, np.repeat([1.0, 2.0], [90, 10]))
    assert np.diff(ties.start).tolist() == [90, 10]


@settings(deadline=None)
@given(
    st.integers(2, 300),
    st.integers(1, 3),
    st.floats(0, 0.7),
    st.floats(0.01, 0.3),
    KEYS,
    st.sampled_from([0.0, 0.5, 100.0]),
    st.sampled_from([np.float32, np.float64]),
)
def test_goss_is_its_definition(n_rows, n_outputs, top, other, key, step, dtype):
    g, h = gradients(n_rows, n_outputs, seed=n_rows, dtype=dtype, step=step)
    n_top = min(round(top * n_rows), n_rows - 1)
    n_other = min(max(1, round(other * n_rows)), n_rows - n_top)
    sample = Goss(top, other).sample(g, h, key=key, threads=1)
    if n_top + n_other == n_rows:
        assert sample == ALL_ROWS
    else:
        assert as_dict(sample) == goss_twin(g, n_top, n_other, key)
        assert len(sample.rows) == n_top + n_other


def draws(seed, n_rows):
    """Return ``draw`` of all rows at once."""

    def mixed(x):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    return mixed(np.uint64(seed) ^ mixed(np.arange(n_rows, dtype=np.uint64)))


@pytest.mark.parametrize("rates", [(0.2, 0.1), (0.0, 0.3), (0.1, 0.85)])
def test_goss_is_its_definition_where_draws_are_uneven(rates):
    """The limit of the rest is sought where it is likely, three deviations around its mean; some keys lie beyond."""
    n_rows, beyond = 400, 0
    g = gradients(n_rows)[0]
    n_top, n_other = (round(rate * n_rows) for rate in rates)
    order = np.argsort(-np.abs(g[0].astype(np.float32)), kind="stable")
    for key in range(3000):
        rows, factor = Goss(*rates).sample(g, g, key=key, threads=1)
        drawn = draws(draw(key, 2), n_rows)[order[n_top:]]
        others = order[n_top:][np.argsort(drawn >> np.uint64(32), kind="stable")[:n_other]]
        np.testing.assert_array_equal(rows, np.sort(np.concatenate([order[:n_top], others])))
        assert np.sum(factor != 1.0) == n_other
        share = n_other / (n_rows - n_top)
        deviation = np.sqrt(share * (1 - share) / (n_rows - n_top))
        beyond += abs(np.sort(drawn)[n_other - 1] / 2.0**64 - share) > 3 * deviation
    assert beyond > 0


@pytest.mark.parametrize("step", [0.0, 0.25, 100.0])
@pytest.mark.parametrize("threads", [1, 3])
def test_goss_of_several_blocks_is_its_definition(step, threads):
    n_rows, n_top, n_other, key = 50_000, 10_000, 5_000, 12
    g, h = gradients(n_rows, 2, seed=4, dtype=np.float32, step=step)
    sizes = np.abs(g.astype(np.float64)).sum(axis=0).astype(np.float32)
    ranks = [draws(draw(key, i), n_rows) >> np.uint64(32) for i in (1, 2)]
    order = np.lexsort((np.arange(n_rows), ranks[0], -sizes))
    others = order[n_top:][np.lexsort((order[n_top:], ranks[1][order[n_top:]]))[:n_other]]
    expected = dict.fromkeys(order[:n_top].tolist(), 1.0) | dict.fromkeys(others.tolist(), (n_rows - n_top) / n_other)
    assert as_dict(Goss(0.2, 0.1).sample(g, h, key=key, threads=threads)) == expected


@pytest.mark.parametrize("special", [np.inf, np.nan, 1e300, 0.0, 5e-324])
def test_goss_takes_odd_gradients(special):
    g, h = gradients(100)
    g[0, ::10] = special
    sample = Goss(0.2, 0.1).sample(g, h, key=1, threads=1)
    assert len(sample.rows) == 30
    assert special < 1 or set(range(0, 100, 10)) <= set(sample.rows.tolist())


@settings(deadline=None)
@given(
    st.integers(1, 200),
    st.integers(1, 3),
    st.floats(0.05, 0.95),
    KEYS,
    st.sampled_from(["mixed", "sparse", "none", "tails", "no hessian"]),
)
def test_mvs_is_its_definition(n_rows, n_outputs, share, key, kind):
    g, h = gradients(n_rows, n_outputs, seed=n_rows)
    if kind == "sparse":
        g[:, 3:] = h[:, 3:] = 0
    elif kind == "none":
        g[:] = 0
    elif kind == "tails":
        g *= 2.0 ** np.arange(n_rows)
    elif kind == "no hessian":
        h[:] = 0
    p = mvs_probabilities(g, h, share)
    found = as_dict(Mvs(share).sample(g, h, key=key, threads=1))
    draws = np.array([unit(draw(key, row)) for row in range(n_rows)])
    clear = np.abs(draws - p) > 1e-9  # scales found in two ways agree so far
    expected = set(np.flatnonzero(draws < p).tolist())
    assert set(found) - expected <= set(np.flatnonzero(~clear).tolist()) or not expected
    assert expected - set(found) <= set(np.flatnonzero(~clear).tolist())
    np.testing.assert_allclose([1 / p[row] for row in found], list(found.values()), rtol=1e-9)
    if not expected:
        with np.errstate(divide="ignore", invalid="ignore"):
            assert list(found) == [int(np.nanargmin(np.where(p > 0, draws / p, np.inf)))]


def test_mvs_of_gradients_that_are_not_finite_is_refused():
    g, h = gradients(100)
    g[0, 7] = np.inf
    with pytest.raises(OverflowError, match="gradients are not finite"):
        Mvs(0.5).sample(g, h, key=1, threads=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 10.0])
def test_bayesian_factors_are_their_definition(temperature):
    sample = Bayesian(temperature).sample(*gradients(5000), key=11, threads=1)
    assert sample.rows is None
    expected = [(-np.log(1 - unit(draw(11, row)))) ** temperature for row in range(5000)]
    np.testing.assert_allclose(sample.factor, expected, rtol=1e-12)


@pytest.mark.parametrize("sampler", [Goss(0.2, 0.1), Mvs(0.3), Bayesian(), Bootstrap(), Bootstrap(0.3)], ids=str)
def test_sums_of_the_sample_are_unbiased(sampler):
    """Σ factor · g estimates Σ g (times the share of draws, for a bootstrap), and so do hessians."""
    g, h = gradients(2000)
    scale = sampler.share if isinstance(sampler, Bootstrap) else 1.0
    sums = []
    for key in range(400):
        rows, factor = sampler.sample(g, h, key=key, threads=1)
        part = slice(None) if rows is None else rows
        sums.append([(g[0, part] * factor).sum(), (h[0, part] * factor).sum()])
    error = np.std(sums, axis=0) / np.sqrt(len(sums))
    assert np.all(np.abs(np.mean(sums, axis=0) - scale * np.array([g.sum(), h.sum()])) < 4 * error)


def test_mvs_varies_less_than_a_subsample_of_the_same_size():
    g, h = gradients(2000)

    def spread(sampler, scale):
        sums = []
        for key in range(200):
            rows, factor = sampler.sample(g, h, key=key, threads=1)
            sums.append((g[0, rows] * (scale if factor is None else factor)).sum())
        return np.std(sums)

    assert spread(Mvs(0.2), None) < 0.7 * spread(Subsample(0.2), 5.0)


LARGE = np.random.default_rng(0).integers(0, 4, 200_000).astype(float)


@pytest.mark.parametrize(
    "sampler",
    [
        Subsample(0.3),
        Bootstrap(0.7),
        Stratified.of_classes(0.3, LARGE),
        Goss(),
        Mvs(0.3),
        Bayesian(0.5),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
@pytest.mark.parametrize("step", [0.0, 1.0])
def test_no_sample_depends_on_threads(sampler, step):
    g, h = gradients(200_000, 2, dtype=np.float32, step=step)
    expected = sampler.sample(g, h, key=9, threads=1)
    for threads in (2, 3, 8):
        found = sampler.sample(g, h, key=9, threads=threads)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_large_samples_have_exact_counts():
    g, h = gradients(200_000, dtype=np.float32, step=0.25)
    rows, factor = Goss(0.2, 0.1).sample(g, h, key=1, threads=2)
    assert (len(rows), np.sum(factor == 1.0)) == (60_000, 40_000)
    np.testing.assert_array_equal(np.unique(factor), [1.0, 8.0])
    assert np.abs(g[0, rows[factor == 1.0]]).min() >= np.abs(np.delete(g[0], rows[factor == 1.0])).max()
    rows = Stratified.of_classes(0.3, LARGE).sample(g, h, key=1, threads=2).rows
    np.testing.assert_array_equal(np.bincount(LARGE[rows].astype(int)), np.rint(0.3 * np.bincount(LARGE.astype(int))))
    assert abs(len(Mvs(0.3).sample(g, h, key=1, threads=2).rows) - 60_000) < 5 * np.sqrt(60_000)


# ---- rows in several places ------------------------------------------------------------------------------------------


def check_sample_in_places(make, g, h, key, n_places):
    """Compare the samples of all places with that of one; ``make`` returns the sampler of a part of the rows."""
    n_rows = g.shape[1]
    parts = parted(n_rows, n_places, seed=key)

    def program(part):
        own = np.ascontiguousarray(g[:, part]), np.ascontiguousarray(h[:, part])
        return make(part).sample(*own, key=key, threads=2)

    expected = make(slice(0, n_rows)).sample(g, h, key=key, threads=1)
    found = in_places(program, parts)
    if expected.rows is None:
        assert all(sample.rows is None for sample in found)
    else:
        assert all(sample.rows.dtype == np.uint32 for sample in found)
        rows = [part.start + sample.rows for part, sample in zip(parts, found, strict=True)]
        np.testing.assert_array_equal(np.concatenate(rows), expected.rows)
    if expected.factor is None:
        assert all(sample.factor is None for sample in found)
    else:
        assert np.concatenate([sample.factor for sample in found]).tobytes() == expected.factor.tobytes()


TARGET = np.round(np.random.default_rng(5).normal(size=1500), 1)
CODES = np.sort(np.random.default_rng(5).integers(0, 6, 1500)).astype(float)


SAMPLERS = {
    "subsample": lambda part: Subsample(0.3),
    "one row": lambda part: Subsample(1e-12),  # no draw is below: the smallest is taken
    "bootstrap": lambda part: Bootstrap(),
    "few draws": lambda part: Bootstrap(0.4),
    "classes": lambda part: Stratified.of_classes(0.3, CODES[part]),
    "one of each": lambda part: Stratified.of_classes(1e-9, CODES[part]),
    "numbers": lambda part: Stratified.of_numbers(0.3, TARGET[part]),
    "goss": lambda part: Goss(),
    "no top": lambda part: Goss(0.0, 0.3),
    "all": lambda part: Goss(0.5, 0.5),
    "bayesian": lambda part: Bayesian(),
    "cool": lambda part: Bayesian(0.5),
}


@pytest.mark.parametrize("n_places", [1, 2, 3, 7])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("dtype", "n_outputs", "step"), [(np.float32, 1, 0.0), (np.float64, 2, 1.0), (np.float32, 1, 9.0)]
)
def test_places_sample_the_rows_that_one_would(n_places, sampler, dtype, n_outputs, step):
    g, h = gradients(1500, n_outputs, dtype=dtype, step=step)
    check_sample_in_places(SAMPLERS[sampler], g, h, 11, n_places)


@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_places_take_odd_gradients(special):
    g, h = gradients(1500)
    g[0, ::10] = special
    check_sample_in_places(lambda part: Goss(), g, h, 2, 3)


def test_places_sample_many_rows():
    """More are alike in their first digits than are gathered."""
    g, h = np.zeros((1, 300_000), np.float32), np.ones((1, 300_000), np.float32)
    check_sample_in_places(lambda part: Goss(0.3, 0.1), g, h, 3, 3)


def test_mvs_is_refused_among_places():
    g, h = gradients(100)
    with pytest.raises(ValueError, match="sampling='mvs' is not available on a cluster"):
        in_places(lambda part: Mvs(0.5).sample(g, h, key=1, threads=1), [0, 1])
    assert in_places(lambda part: Mvs(1.0).sample(g, h, key=1, threads=1), [0, 1]) == [ALL_ROWS, ALL_ROWS]
