"""What ``model.explain`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Predictions split into what each column did.

    Parameters
    ----------
    values : float64 array (rows, columns), or (rows, columns, outputs) if there are several outputs
        What each column did. With interactions (rows, columns, columns[, outputs]): off the diagonal, what pairs did
        together, half of it in each triangle; on the diagonal, what a column did alone. A row sums to the value of its
        column.
    base_values : float64 array (rows,), or (rows, outputs)
        The prediction if nothing were known of the row.
    data : array (rows, columns)
        The rows as they were given.
    feature_names : list of str
        Names of the columns.
    output_names : list of str or None
        Names of the outputs, if there are several that have names.

    Examples
    --------
    >>> import arboretum as arb
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [9.0, 5.0]])
    >>> model = arb.BoostedTreesRegressor(min_samples_leaf=1).fit(X, X[:, 0])
    >>> explanation = model.explain(X)
    >>> explanation
    Explanation(4 rows, 2 columns)
    >>> bool(np.allclose(explanation.base_values + explanation.values.sum(axis=1), model.predict(X)))
    True
    >>> explanation.values[:, 1]
    array([0., 0., 0., 0.])
    """

    values: NDArray[np.float64]
    base_values: NDArray[np.float64]
    data: NDArray[Any]
    feature_names: list[str]
    output_names: list[str] | None = None

    @property
    def has_interactions(self) -> bool:
        """Whether values are those of pairs of columns."""
        return self.values.ndim == self.base_values.ndim + 2

    @property
    def predictions(self) -> NDArray[np.float64]:
        """Predictions before the link: base values and the sum of the values."""
        columns = (1, 2) if self.has_interactions else 1
        return np.asarray(self.base_values + self.values.sum(axis=columns))

    def to_shap(self) -> Any:
        """Return the ``shap.Explanation`` that the plots of the package shap take.

        Returns
        -------
        shap.Explanation
        """
        return import_module("shap").Explanation(
            self.values,
            self.base_values,
            self.data,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        outputs = f", {self.base_values.shape[1]} outputs" if self.base_values.ndim == 2 else ""
        return f"Explanation({rows} rows, {columns} columns{outputs}{', interactions' * self.has_interactions})"
