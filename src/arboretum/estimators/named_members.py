"""An estimator whose parameter ``estimators`` is a list of (name, estimator): they are parameters of it, too."""

from __future__ import annotations

from typing import Any, TypeVar

Named = TypeVar("Named", bound="NamedMembers")


class NamedMembers:
    """Parameters of named members as ``name__parameter``; stands left of ``Estimator`` among the bases."""

    estimators: Any

    def named_members(self) -> dict[str, Any]:
        """Return the members by name; entries that ``fit`` would reject are left out."""
        given = self.estimators if isinstance(self.estimators, list | tuple) else []
        return dict(pair for pair in given if _is_named(pair))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Add named members, and their parameters as ``member__parameter``.
        """
        params: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        for name, member in self.named_members().items() if deep else ():
            params.setdefault(name, member)
            if hasattr(member, "get_params") and not isinstance(member, type):
                params |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return params

    def set_params(self: Named, **params: Any) -> Named:
        """Set parameters, named members, and ``member__parameter``. Unknown names are rejected."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        replaced = {name: params.pop(name) for name in self.named_members() if name in params}
        if replaced:
            self.estimators = [_replaced(given, replaced) for given in self.estimators]
        return super().set_params(**params)  # type: ignore[misc, no-any-return]


def _is_named(given: Any) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2 and isinstance(given[0], str)


def _replaced(given: Any, others: dict[str, Any]) -> Any:
    return (given[0], others.get(*given)) if _is_named(given) else given
