"""Real tables of graded rows within queries, under ``--data``; some hold the natural groups of a table of numbers.

Those that other projects publish for their own tests: ``mslr/`` holds ``msn1.fold1.*.5k.txt`` of the source archive of
rankeval 0.8.2, ``catboost_querywise/`` the files ``train`` and ``test`` of ``catboost/pytest/data/querywise``.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_sets import read_frame

MOST_ROWS_OF_QUERY = 40  # of tables whose groups are not lists that anybody ranks
YANDEX_GRADES = (0.035, 0.105, 0.275, 0.51)  # between 0, 0.07, 0.14, 0.41 and 0.61


@dataclass(frozen=True)
class Graded:
    """Rows sorted by query, as other libraries want them."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    query: NDArray[np.int64]

    @classmethod
    def of(cls, X: Any, y: Any, query: Any) -> Graded:
        """Sort rows by query; queries become numbers."""
        number = np.unique(np.asarray(query), return_inverse=True)[1]
        order = np.argsort(number, kind="stable")
        return cls(np.asarray(X, np.float64)[order], np.asarray(y, np.float64)[order], number[order])

    @classmethod
    def joined(cls, parts: Sequence[Graded]) -> Graded:
        """Join tables whose queries differ."""
        firsts = np.cumsum([0, *(part.n_queries for part in parts)])
        query = np.concatenate([part.query + first for part, first in zip(parts, firsts, strict=False)])
        return cls(np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts]), query)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query[-1]) + 1

    def of_queries(self, chosen: NDArray[np.int64]) -> Graded:
        """Return the rows of some queries."""
        kept = np.isin(self.query, chosen)
        return Graded.of(self.X[kept], self.y[kept], self.query[kept])


def mq2008_parts(folder: Path) -> list[Graded]:
    """Read LETOR 4.0 in its five parts."""
    frame = read_frame(folder / "mq2008" / "mq2008.parquet").sort_values("qid", kind="stable")
    return [
        Graded.of(part.drop(columns=["subset", "label", "qid"]), part["label"], part["qid"])
        for _, part in frame.groupby("subset")
    ]


def svmlight(file: Path, n_features: int) -> Graded:
    """Read SVMlight with query ids."""
    from sklearn.datasets import load_svmlight_file

    X, y, query = load_svmlight_file(str(file), n_features=n_features, query_id=True)
    return Graded.of(X.toarray(), y, query)


def mslr_parts(folder: Path) -> list[Graded]:
    """Read the first 5,000 rows of the training and test parts of MSLR-WEB10K."""
    return [svmlight(folder / "mslr" / f"msn1.fold1.{name}.5k.txt", 137) for name in ("train", "test")]


def lightgbm_parts(folder: Path) -> list[Graded]:
    """Read LightGBM's own example of lambdarank, given as sizes of queries."""
    from sklearn.datasets import load_svmlight_file

    def part(name: str) -> Graded:
        place = folder / "lightgbm_examples"
        with gzip.open(place / f"rank.{name}.gz") as file:
            X, y = load_svmlight_file(file, n_features=301)
        sizes = np.loadtxt(place / f"rank.{name}.query", dtype=np.int64)
        return Graded.of(X.toarray(), y, np.repeat(np.arange(len(sizes)), sizes))

    return [part("train"), part("test")]


def querywise_parts(folder: Path) -> list[Graded]:
    """Read what CatBoost tests its ranking with: pages of a search, graded in five steps, some of them averaged."""

    def part(name: str) -> Graded:
        rows = np.genfromtxt(folder / "catboost_querywise" / name, delimiter="\t")
        return Graded.of(rows[:, 5:], np.searchsorted(YANDEX_GRADES, rows[:, 2]), rows[:, 1])

    return [part("train"), part("test")]


def drawn_groups(frame: Any, group: Any, grade: Any) -> Graded:
    """Rank rows within natural groups, at most 40 rows drawn of each; text becomes codes."""
    numbers = frame.apply(lambda column: column if column.dtype.kind in "biuf" else column.astype("category").cat.codes)
    whole = Graded.of(numbers, grade, group)
    drawn = np.random.default_rng(0).permutation(len(whole.y))
    drawn = drawn[np.argsort(whole.query[drawn], kind="stable")]
    place = np.arange(len(drawn)) - np.searchsorted(whole.query, whole.query)
    kept = np.sort(drawn[place < MOST_ROWS_OF_QUERY])
    return Graded.of(whole.X[kept], whole.y[kept], whole.query[kept])


def quintiles(values: Any) -> NDArray[np.int64]:
    """Grade numbers by the fifth of all rows that they are in."""
    return np.searchsorted(np.quantile(values, [0.2, 0.4, 0.6, 0.8]), values)


def synthetic(folder: Path) -> list[Graded]:
    """Read YDF's drawn table, the grades rounded."""
    parts = []
    for name in ("train", "test"):
        frame = read_frame(folder / "ydf_test_data" / f"synthetic_ranking_{name}.csv.gz")
        group, grade = frame.pop("GROUP"), frame.pop("LABEL").round().clip(0, 4)
        parts.append(drawn_groups(frame, group, grade))
    return parts


def homes(folder: Path) -> list[Graded]:
    """Homes of Ames within their neighbourhood, by price."""
    frame = read_frame(folder / "ames_housing" / "AmesHousing.csv").drop(columns=["Order", "PID"])
    return [drawn_groups(frame, frame.pop("Neighborhood"), quintiles(frame.pop("SalePrice")))]


def blocks(folder: Path) -> list[Graded]:
    """Blocks of California within half a degree of latitude and longitude, by price."""
    frame = read_frame(folder / "california_housing" / "housing_geron.csv")
    cell = np.floor(2 * frame["latitude"]) * 1000 + np.floor(2 * frame["longitude"])
    return [drawn_groups(frame, cell, quintiles(frame.pop("median_house_value")))]


def purchases(folder: Path) -> list[Graded]:
    """Products that 1,500 persons bought on Black Friday, by what they paid."""
    frame = read_frame(folder / "black_friday" / "train.parquet")
    frame = frame[frame["User_ID"] <= np.unique(frame["User_ID"])[1500]].drop(columns=["Product_ID"])
    return [drawn_groups(frame, frame.pop("User_ID"), quintiles(frame.pop("Purchase")))]


def flights(folder: Path) -> list[Graded]:
    """Flights of a day from New York, by their delay: more than a quarter, half and a whole hour."""
    frame = read_frame(folder / "flights_nyc13" / "flights.parquet").dropna(subset=["arr_delay"])
    day, grade = 100 * frame["month"] + frame["day"], np.searchsorted([15, 30, 60], frame["arr_delay"])
    columns = ["sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance", "flight"]
    return [drawn_groups(frame[columns], day, grade)]


@dataclass(frozen=True)
class RankingSet:
    """A set, read in the parts that it comes in."""

    file: str
    parts: Callable[[Path], list[Graded]]

    def found(self, folder: Path) -> bool:
        """Whether the folder holds it."""
        return (folder / self.file).exists()

    def read(self, folder: Path) -> Graded:
        """Return all of its rows."""
        parts = self.parts(folder)
        columns = np.nanmax(np.abs(np.concatenate([part.X for part in parts])), axis=0) > 0
        return Graded.joined([replace(part, X=part.X[:, columns]) for part in parts])


RANKING_SETS: dict[str, RankingSet] = {
    "mq2008": RankingSet("mq2008/mq2008.parquet", mq2008_parts),
    "mslr": RankingSet("mslr/msn1.fold1.train.5k.txt", mslr_parts),
    "lightgbm": RankingSet("lightgbm_examples/rank.train.gz", lightgbm_parts),
    "querywise": RankingSet("catboost_querywise/train", querywise_parts),
    "synthetic": RankingSet("ydf_test_data/synthetic_ranking_train.csv.gz", synthetic),
    "homes": RankingSet("ames_housing/AmesHousing.csv", homes),
    "blocks": RankingSet("california_housing/housing_geron.csv", blocks),
    "purchases": RankingSet("black_friday/train.parquet", purchases),
    "flights": RankingSet("flights_nyc13/flights.parquet", flights),
}
