"""What a user of each library writes to get string columns in: part of the measured time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class CategoryCodes:
    """pandas ``category`` columns with the categories seen in training; unseen ones become missing."""

    def __init__(self, X: Any, columns: Sequence[str]) -> None:
        self.kept = {name: X[name].astype("category").dtype for name in columns}

    def __call__(self, X: Any) -> Any:
        return X.astype(self.kept) if self.kept else X


class OrdinalCodes:
    """Numbers from 0 below 255, the rarest categories merged; unseen and missing ones become NaN."""

    def __init__(self, X: Any, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        if self.columns:
            from sklearn.preprocessing import OrdinalEncoder

            self.encoder = OrdinalEncoder(
                max_categories=254,
                handle_unknown="use_encoded_value",
                unknown_value=np.nan,
                encoded_missing_value=np.nan,
            )
            self.encoder.fit(X[self.columns])

    def __call__(self, X: Any) -> Any:
        if not self.columns:
            return X
        codes = self.encoder.transform(X[self.columns])
        return X.assign(**dict(zip(self.columns, codes.T, strict=True)))


def missing_as_text(columns: Sequence[str]) -> Callable[[Any], Any]:
    """Return a function that writes missing categories as an empty string, as CatBoost wants them."""

    def fill(X: Any) -> Any:
        return X.fillna(dict.fromkeys(columns, "")) if columns else X

    return fill
