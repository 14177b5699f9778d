"""Laws of sums over places: the rows in any parts give the sums of one place, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.in_places import check_in_places, in_places, parted
from tests.reference.odd_weights import KINDS_OF_WEIGHTS, taken, weights_of

from arboretum.data.queries import Queries
from arboretum.ensembles.boosting.gradients import leaf_gradients
from arboretum.ensembles.boosting.rows import Rows
from arboretum.exact_sums import Units, exact_mean, exact_sum, sum_by_group, sums_and_weight, weight_by_group
from arboretum.losses import Logistic, Multinomial, Poisson

N_PLACES = [1, 2, 3, 7]
N_ROWS = 500
MANY = 1_000_000  # terms of a row: enough to leave fewer bits for each


def terms(dtype: type) -> np.ndarray:
    """Return terms of all sizes that cancel, those of large sizes nearly."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=N_ROWS) * 2.0 ** rng.integers(-60, 60, N_ROWS)
    values[1::2] = -values[::2] * (1 + 1e-6 * rng.random(N_ROWS // 2))
    return values.astype(dtype)


@pytest.mark.parametrize("n_places", N_PLACES)
@pytest.mark.parametrize("kind", KINDS_OF_WEIGHTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_and_means(n_places: int, kind: str, dtype: type) -> None:
    values, weight = terms(dtype), weights_of(kind, N_ROWS)

    def program(part: slice) -> list[float]:
        own, w = values[part], taken(weight, part)
        (one, two), total = sums_and_weight([own, own**2], len(own), w)
        return [exact_sum(own, w), exact_sum(own, w, threads=3), exact_mean(own, w), one, two, total]

    check_in_places(program, N_ROWS, n_places)


@pytest.mark.parametrize("n_places", N_PLACES)
@pytest.mark.parametrize("kind", KINDS_OF_WEIGHTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_by_group(n_places: int, kind: str, dtype: type) -> None:
    values, weight = terms(dtype), weights_of(kind, N_ROWS)
    group = np.random.default_rng(1).integers(0, 6, N_ROWS)
    group[:100] = 7  # in the first places only; group 6 is empty

    def program(part: slice) -> list[np.ndarray]:
        own, w = group[part], taken(weight, part)
        return [sum_by_group(values[part], own, 8, w), weight_by_group(w, own, 8)]

    check_in_places(program, N_ROWS, n_places)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_one_term_that_is_not_finite_is_known_everywhere(odd: float) -> None:
    values = np.ones(N_ROWS)
    values[7] = odd
    group = np.arange(N_ROWS) % 2
    with np.errstate(invalid="ignore"):
        check_in_places(lambda part: sum_by_group(values[part], group[part], 2), N_ROWS, 3)
        check_in_places(lambda part: exact_sum(values[part]), N_ROWS, 3)


def test_means_of_nothing() -> None:
    assert np.isnan(in_places(lambda part: exact_mean(np.ones(0)), [0, 1])).all()


@pytest.mark.parametrize("n_places", N_PLACES)
def test_units_follow_from_all_terms(n_places: int) -> None:
    """Those of the last sums are kept, and are the same everywhere."""
    rng = np.random.default_rng(0)
    sizes = [1.0, 1e-9, 1e-9, 1e12, 0.0]
    rows = [rng.normal(size=N_ROWS) * size * np.exp(rng.normal(size=N_ROWS)) for size in sizes]

    def program(part: slice) -> list[np.ndarray]:
        units = Units(1)

        def in_units(own: np.ndarray):
            def sum_in(unit: np.ndarray):
                whole = np.rint(np.clip(own * unit, -(2.0**51), 2.0**51)).astype(np.int64)
                return np.abs(own).max(initial=0.0, keepdims=True), whole.sum(keepdims=True)

            return sum_in

        return [x for own in rows for x in (units.sums(MANY * len(own[part]), in_units(own[part])), units.last.copy())]

    check_in_places(program, N_ROWS, n_places)


@pytest.mark.parametrize("n_places", N_PLACES)
@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Multinomial(3)], ids=lambda loss: type(loss).__name__)
def test_gradients_by_leaf(n_places: int, loss: Logistic | Poisson | Multinomial) -> None:
    rng = np.random.default_rng(4)
    y, leaf = (
        rng.integers(0, max(loss.n_outputs, 2), N_ROWS).astype(float),
        rng.integers(0, 5, N_ROWS).astype(np.uint32),
    )
    raw, steps, weight = rng.normal(size=(loss.n_outputs, N_ROWS)) * 3, rng.normal(size=5), rng.random(N_ROWS)

    def program(part: slice) -> np.ndarray:
        rows = Rows(None, y[part], weight[part], np.ascontiguousarray(raw[:, part]))
        return leaf_gradients(loss, rows, leaf[part], steps, 0, 1)

    check_in_places(program, N_ROWS, n_places)


@pytest.mark.parametrize("n_places", N_PLACES)
@pytest.mark.parametrize("kind", ["none", "real", "huge"])
def test_queries_keep_their_weights_and_metrics(n_places: int, kind: str) -> None:
    """A query lies in one place; its weight is in the units of all rows."""
    rng = np.random.default_rng(6)
    query, grade, scores = np.repeat(np.arange(50), 10), rng.integers(0, 3, N_ROWS).astype(float), rng.random(N_ROWS)
    weight = weights_of(kind, N_ROWS)
    edges = [slice(10 * part.start, 10 * part.stop) for part in parted(50, n_places)]

    def program(part: slice) -> bytes:
        queries = Queries.of_sorted(query[part])
        return np.float64(queries.mean_metric("ndcg", grade[part], scores[part], 5, taken(weight, part))).tobytes()

    assert set(in_places(program, edges)) == {program(slice(0, N_ROWS))}
