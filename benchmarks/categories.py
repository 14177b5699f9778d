"""What a user of each library writes to get string columns in: part of the measured time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class CategoryCodes:
    """pandas ``category`` columns with the categories seen in training; unseen ones become missing."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    def fit(self, X: Any) -> Any:
        """Learn the categories and return the encoded training table."""
        encoded = X.astype(dict.fromkeys(self.columns, "category")) if self.columns else X
        self.kinds = {name: encoded[name].dtype for name in self.columns}
        return encoded

    def __call__(self, X: Any) -> Any:
        if not self.columns:
            return X
        from pandas import Categorical

        codes = {name: kind.categories.get_indexer(X[name]) for name, kind in self.kinds.items()}
        return X.assign(**{name: Categorical.from_codes(codes[name], dtype=kind) for name, kind in self.kinds.items()})


class OrdinalCodes:
    """Numbers from 0 below ``most`` + 1, the rarest categories merged; unseen and missing ones become NaN."""

    def __init__(self, columns: Sequence[str], most: int | None = 254) -> None:
        self.columns = list(columns)
        self.most = most

    def fit(self, X: Any) -> Any:
        """Learn the codes and return the encoded training table."""
        if not self.columns:
            return X
        from sklearn.preprocessing import OrdinalEncoder

        self.encoder = OrdinalEncoder(
            max_categories=self.most,
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=np.nan,
        )
        return self._replaced(X, self.encoder.fit_transform(X[self.columns]))

    def __call__(self, X: Any) -> Any:
        return self._replaced(X, self.encoder.transform(X[self.columns])) if self.columns else X

    def _replaced(self, X: Any, codes: Any) -> Any:
        return X.assign(**dict(zip(self.columns, codes.T, strict=True)))


class MissingAsText:
    """Missing categories as empty strings, the only form CatBoost accepts."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.fill = dict.fromkeys(columns, "")

    def __call__(self, X: Any) -> Any:
        return X.fillna(self.fill) if self.fill else X
