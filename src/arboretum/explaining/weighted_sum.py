"""SHAP values of combined models: a weighted sum of forests is a sum of trees, and Shapley values are linear.

::

    f = b + Σ αᵢ fᵢ   ⇒   values of f = Σ αᵢ · values of fᵢ

This holds for means and linear stacks of members whose answers are sums of trees: predictions of numbers without a
link, probabilities of forests, raw scores of boosted classifiers, scores of rankers, risks of forests and of the
loss of Cox.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from arboretum.ensembles.combining.asking import Asked
from arboretum.ensembles.combining.combiners import LogPool
from arboretum.ensembles.combining.joint import Combined, combined
from arboretum.ensembles.members.goals import Classes
from arboretum.estimators.combined import CombinedModel
from arboretum.explaining.explanation import Explanation
from arboretum.losses import Cox, Ordinal
from arboretum.model.heads import ClassLossHead, ClassMeanHead, Head, RiskHead, VoteHead, label_names
from arboretum.model.members import is_ours
from arboretum.model.model import Model

INSTEAD = "; importances(X, y) shuffles columns of any model"


def explain_sum(model: CombinedModel, X: Any, explain: Callable[[Any, Any], Explanation]) -> Explanation:
    """Add up the explanations of the members.

    Parameters
    ----------
    model : estimator
        A combined model.
    X : table
        Rows to explain.
    explain : callable
        From a member and rows to its explanation.
    """
    members: Any = model.learned()
    joint = combined(members)
    if joint.combiner is None:
        raise TypeError(
            f"the final estimator of this {type(model).__name__} is not a weighted sum of its members, which SHAP "
            f"values would add up: use final_estimator=None{INSTEAD}"
        )
    classes = joint.goal.classes if isinstance(joint.goal, Classes) else None
    try:
        factors, constant = joint.combiner.coefficients(1 if classes is None else len(classes))
    except TypeError as error:
        raise TypeError(f"{error}{INSTEAD}") from None
    rows = members.rows(X)
    total: Explanation | None = None
    for one, factor in zip(joint.asked, factors, strict=True):
        for part in one.parts:
            member = members.parts[part]
            require_sum(one, member)
            own = explain(member, rows)
            share = factor / len(one.parts) if own.base_values.ndim == 2 else factor[0] / len(one.parts)
            if total is None:
                base = own.base_values * share + (constant if own.base_values.ndim == 2 else constant[0])
                total = replace(own, values=own.values * share, base_values=base)
            else:
                values, base = total.values + own.values * share, total.base_values + own.base_values * share
                total = replace(total, values=values, base_values=base)
    assert total is not None
    several = classes is not None and total.base_values.ndim == 2
    return replace(total, output_names=label_names(np.asarray(classes)) if several else total.output_names)


def require_sum(one: Asked, member: Any) -> None:
    """Reject a member whose answer is not what its SHAP values sum to."""
    who = f"member {one.name!r} ({type(member).__name__})"
    if not is_ours(member):
        raise TypeError(f"{who} is not a forest of arboretum, whose sums of trees SHAP values would split{INSTEAD}")
    learned: Any = member.learned()
    by_trees = isinstance(learned, Model)
    if not by_trees and not isinstance(learned.joint, Combined):  # its own explanation says why not
        return
    if not (_answers_by_sums(learned.head, one.method) if by_trees else _sums(learned.joint, one.method)):
        raise TypeError(
            f"{who} is asked for {one.method}, which is not a sum of its trees, so SHAP values cannot be added up: "
            f"{_cure(learned.head) if by_trees else 'explain the members one by one'}{INSTEAD}"
        )


def _sums(joint: Combined, method: str) -> bool:
    """Whether a combined model is asked for what its own SHAP values sum to."""
    if isinstance(joint.goal, Classes):
        return method == ("decision_function" if isinstance(joint.combiner, LogPool) else "predict_proba")
    return method == "predict"


def _answers_by_sums(head: Head, method: str) -> bool:
    if method == "decision_function":
        return isinstance(head, VoteHead) or (isinstance(head, ClassLossHead) and not isinstance(head.loss, Ordinal))
    if method == "predict_proba":
        return isinstance(head, ClassMeanHead)
    if isinstance(head, RiskHead):  # minus the sum for times
        return isinstance(head.loss, Cox)
    return head.classes is None and bool(head.is_affine)


def _cure(head: Head) -> str:
    if isinstance(head, ClassLossHead):
        return 'stack with stack_method="decision_function"'
    return "explain the members one by one"
