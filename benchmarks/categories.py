"""What a user of each library writes to get string columns in: part of the measured time.

Every class has ``fit``, which learns from the training table and returns it encoded, and encodes others when called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Unchanged:
    """The table itself: the library reads it directly."""

    def fit(self, X: Any) -> Any:
        return X

    def __call__(self, X: Any) -> Any:
        return X


class CategoryCodes:
    """pandas ``category`` columns with the categories seen in training; unseen ones become missing."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    def fit(self, X: Any) -> Any:
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


class FilledCodes:
    """Numbers in place of categories, and the median of a column in place of its missing and unseen values."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.codes = OrdinalCodes(columns, most=None)

    def fit(self, X: Any) -> Any:
        encoded = self.codes.fit(X)
        self.median = np.nan_to_num(np.nanmedian(np.asarray(encoded, dtype=np.float64), axis=0))
        return self._filled(encoded)

    def __call__(self, X: Any) -> Any:
        return self._filled(self.codes(X))

    def _filled(self, encoded: Any) -> Any:
        values = np.asarray(encoded, dtype=np.float64)
        return np.where(np.isnan(values), self.median, values)


class FewAsCategories:
    """``category`` columns where there are at most ``most`` levels, numbers in place of the others."""

    def __init__(self, columns: Sequence[str], most: int = 255) -> None:
        self.columns = list(columns)
        self.most = most

    def fit(self, X: Any) -> Any:
        levels = X[self.columns].nunique() if self.columns else {}
        self.few = CategoryCodes([name for name in self.columns if levels[name] <= self.most])
        self.many = OrdinalCodes([name for name in self.columns if levels[name] > self.most], most=None)
        return self.many.fit(self.few.fit(X))

    def __call__(self, X: Any) -> Any:
        return self.many(self.few(X))


class MissingAsText:
    """Missing categories as empty strings, the only form CatBoost accepts."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.fill = dict.fromkeys(columns, "")

    def fit(self, X: Any) -> Any:
        return self(X)

    def __call__(self, X: Any) -> Any:
        return X.fillna(self.fill) if self.fill else X
