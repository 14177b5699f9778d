"""docs/parameters.md: every parameter of every estimator, by group, from the declarations.

``python -m arboretum.estimators.parameter_page > docs/parameters.md``
"""

from __future__ import annotations

import re

import arboretum
from arboretum.parameters.declaring import parameters_of

HEAD = """\
# Parameters

Each parameter with its values and default, what it does, and the estimators that have it. Constructors take parameters
by keyword and check nothing; `fit` and `check_parameters` do. The page is made from the declarations:
`python -m arboretum.estimators.parameter_page > docs/parameters.md`.
"""

# Estimators that are named together where they agree.
FAMILIES = {
    "boosted trees": (
        "BoostedTreesClassifier",
        "BoostedTreesRanker",
        "BoostedTreesRegressor",
        "BoostedTreesSurvival",
    ),
    "random forests": ("RandomForestClassifier", "RandomForestRegressor"),
    "extra trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
    "decision trees": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "AdaBoost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "additive boosting": ("AdditiveBoostingClassifier", "AdditiveBoostingRegressor"),
    "bagging": ("BaggingClassifier", "BaggingRegressor"),
}


def estimators() -> list[type]:
    """Return the public estimators, boosted trees and forests first."""
    public = [getattr(arboretum, name) for name in arboretum.__all__]
    found = [cls for cls in public if isinstance(cls, type) and parameters_of(cls)]
    return sorted(found, key=lambda cls: (-len(parameters_of(cls)), cls.__name__))


def page() -> str:
    """Return docs/parameters.md."""
    groups: dict[str, dict[str, dict[tuple[str, str], list[str]]]] = {}
    for cls in estimators():
        for name, parameter in parameters_of(cls).items():
            variants = groups.setdefault(parameter.group, {}).setdefault(name, {})
            variants.setdefault((parameter.type, parameter.doc), []).append(cls.__name__)
    return HEAD + "".join(
        f"\n## {title}\n" + "".join(_entry(name, variants) for name, variants in parameters.items())
        for title, parameters in groups.items()
    )


def _entry(name: str, variants: dict[tuple[str, str], list[str]]) -> str:
    lines = [f"\n### `{name}`\n"]
    for (values, doc), names in variants.items():
        text = re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", doc.replace("``", "`"))
        lines.append(f"- **{values}** ({', '.join(together(names))}): {text}\n")
    return "".join(lines)


def together(names: list[str]) -> list[str]:
    """Put families in place of their members, if all are there.

    Examples
    --------
    >>> together(["IsolationForest", "ExtraTreesRegressor", "ExtraTreesClassifier", "BaggingRegressor"])
    ['extra trees', '`BaggingRegressor`', '`IsolationForest`']
    """
    rest, found = set(names), []
    for family, members in FAMILIES.items():
        if rest.issuperset(members):
            rest -= set(members)
            found.append(family)
    return [*found, *(f"`{name}`" for name in sorted(rest))]


if __name__ == "__main__":
    print(page(), end="")
