"""scikit-learn's own checks of an estimator, as cases of a test."""

from __future__ import annotations

import warnings

from sklearn.utils.estimator_checks import estimator_checks_generator


def checks_of(*estimators):
    """Collect scikit-learn's checks; its one complaint, that it is not inherited from, is meant to be so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Estimator \w+ does not inherit from", UserWarning)
        return [pair for estimator in estimators for pair in estimator_checks_generator(estimator)]
