"""What the caller said of the tables, and what the schema of a fit says where nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from calirare.data.tables.schema.relearn import arguments_of
from calirare.errors import InputError


@dataclass(frozen=True)
class Asked:
    """What the caller said of the tables."""

    names: dict[str, str | None]
    rare: Any
    types: dict[str, str]
    directed: bool | None
    edge_type: str | None
    node_type: str | None
    drop_unknown: bool
    keep_unknown: bool
    bipartite: bool | None

    @classmethod
    def of(cls, **said: Any) -> Asked:
        """From arguments of `read_tables`; those that are left out say nothing."""
        names = {key: said.get(key) for key in ("id", "source", "target", "weight", "label", "time")}
        kinds = {key: said.get(key) for key in ("directed", "edge_type", "node_type", "bipartite")}
        drop, keep = (bool(said.get(f"{what}_unknown_edges")) for what in ("drop", "keep"))
        if drop and keep:
            raise InputError("edges to unknown nodes can be kept or dropped, not both; say one of them.")
        types = dict(said.get("types") or {})
        return cls(names=names, rare=said.get("rare"), types=types, drop_unknown=drop, keep_unknown=keep, **kinds)

    def ends_apart(self, schema: Mapping[str, Any] | None) -> dict[str, str] | None:
        """Which ends of the edges name a kind of their own, as at fit; None: that is still to be decided."""
        if self.node_type is not None and not self.bipartite:
            return {}
        return None if schema is None else schema.get("nodes", {}).get("apart", {})

    def as_at_fit(self, schema: Mapping[str, Any]) -> Asked:
        """With the schema's answer wherever the caller said nothing."""
        fit = Asked.of(**arguments_of(schema))
        return replace(
            self,
            names={key: fit.names[key] if name is None else name for key, name in self.names.items()},
            directed=fit.directed if self.directed is None else self.directed,
            edge_type=fit.edge_type if self.edge_type is None else self.edge_type,
            node_type=fit.node_type if self.node_type is None else self.node_type,
            drop_unknown=self.drop_unknown or (fit.drop_unknown and not self.keep_unknown),
            keep_unknown=self.keep_unknown or (fit.keep_unknown and not self.drop_unknown),
        )
