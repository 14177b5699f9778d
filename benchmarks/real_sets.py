"""Real tables under ``--data`` for studies: where they lie, what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.task import Kind, Settings, Task

EMPLOYEE_CODES = (
    "RESOURCE",
    "MGR_ID",
    "ROLE_ROLLUP_1",
    "ROLE_ROLLUP_2",
    "ROLE_DEPTNAME",
    "ROLE_TITLE",
    "ROLE_FAMILY_DESC",
    "ROLE_FAMILY",
    "ROLE_CODE",
)
PURCHASE_CODES = (
    "User_ID",
    "Occupation",
    "Marital_Status",
    "Product_Category_1",
    "Product_Category_2",
    "Product_Category_3",
)
CENSUS_CODES = ("industry_code", "occupation_code", "own_business_or_self_employed", "veterans_benefits", "year")


@dataclass(frozen=True)
class RealSet:
    """A file and its target; ``codes`` are numbers that name categories, ``drop`` columns that tell the answer."""

    kind: Kind
    file: str
    target: str
    codes: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def found(self, folder: Path | None) -> bool:
        """Whether the folder holds the file."""
        return folder is not None and (folder / self.file).exists()

    def folds(self, folder: Path, most_rows: int, n_folds: int, settings: Settings) -> Iterator[Task]:
        """Yield the tasks of a shuffled cross-validation, stratified for classes."""
        from sklearn.model_selection import KFold, StratifiedKFold

        X, y = self.read(folder, most_rows)
        splitter = (KFold if self.kind == "regression" else StratifiedKFold)(n_folds, shuffle=True, random_state=0)
        categorical = tuple(name for name in X.columns if X[name].dtype == object)
        for train, test in splitter.split(X, y):
            yield Task(self.kind, X.iloc[train], y[train], X.iloc[test], y[test], settings, categorical=categorical)

    def read(self, folder: Path, most_rows: int) -> tuple[Any, NDArray[Any]]:
        """Return the columns and the target of at most ``most_rows`` rows drawn at random."""
        frame = read_frame(folder / self.file)
        frame = frame.sample(min(most_rows, len(frame)), random_state=0).drop(columns=list(self.drop))
        y = frame.pop(self.target).to_numpy()
        y = y.astype(np.float64) if self.kind == "regression" else np.unique(y, return_inverse=True)[1]
        return text_and_numbers(frame, self.codes), y


def read_frame(file: Path) -> Any:
    """Read a table by the ending of its name; "?" is missing, as the UCI repository writes it."""
    import pandas as pd

    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    return pd.read_csv(file, sep="\t" if ".tsv" in file.name else ",", na_values="?")


def text_and_numbers(X: Any, codes: tuple[str, ...]) -> Any:
    """Return text and ``codes`` as strings with NaN for missing, all else as float32."""
    numeric = [name for name in X.columns if X[name].dtype.kind in "biuf" and name not in codes]
    text = [name for name in X.columns if name not in numeric]
    strings = X[text].astype(str).astype(object).where(X[text].notna(), np.nan)
    return X.astype(dict.fromkeys(numeric, np.float32)).assign(**{name: strings[name] for name in text})


SETS: dict[str, RealSet] = {
    "adult": RealSet("binary", "adult/train.csv.gz", "income"),
    "bank": RealSet("binary", "bank_marketing/bank-full.csv", "deposit", drop=("duration",)),
    "german": RealSet("binary", "german_credit/germancredit_labelled.csv", "creditability"),
    "census": RealSet("binary", "census_income_kdd/train.parquet", "income", CENSUS_CODES, drop=("instance_weight",)),
    "amazon": RealSet("binary", "amazon_employee_access/train.csv.gz", "ACTION", EMPLOYEE_CODES),
    "phoneme": RealSet("binary", "pmlb/phoneme.tsv.gz", "target"),
    "covertype": RealSet("multiclass", "covertype/covertype_20k.parquet", "Cover_Type"),
    "satimage": RealSet("multiclass", "pmlb/satimage.tsv.gz", "target"),
    "optdigits": RealSet("multiclass", "pmlb/optdigits.tsv.gz", "target"),
    "dna": RealSet("multiclass", "ydf_test_data/dna.csv.gz", "LABEL"),
    "california": RealSet("regression", "california_housing/housing_geron.csv", "median_house_value"),
    "ames": RealSet("regression", "ames_housing/AmesHousing.csv", "SalePrice", ("MS SubClass",), ("Order", "PID")),
    "abalone": RealSet("regression", "ydf_test_data/abalone.csv.gz", "Rings"),
    "wine": RealSet("regression", "wine_quality/wine.csv", "quality"),
    "black_friday": RealSet("regression", "black_friday/train.parquet", "Purchase", PURCHASE_CODES),
    "cpu_act": RealSet("regression", "pmlb/197_cpu_act.tsv.gz", "target"),
    "house_8L": RealSet("regression", "pmlb/218_house_8L.tsv.gz", "target"),
    "puma8NH": RealSet("regression", "pmlb/225_puma8NH.tsv.gz", "target"),
}
