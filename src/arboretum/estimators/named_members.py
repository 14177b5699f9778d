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
        pairs = [pair for pair in given if isinstance(pair, list | tuple) and len(pair) == 2]
        return {name: member for name, member in pairs if isinstance(name, str)}

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
            kind = type(self.estimators)
            self.estimators = kind((name, replaced.get(name, member)) for name, member in self.estimators)
        return super().set_params(**params)  # type: ignore[misc, no-any-return]
