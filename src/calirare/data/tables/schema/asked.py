"""What the caller said of the tables; where nothing was said, what the schema of a fit says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calirare.data.tables.cells.kinds import KIND_OF_TYPE, LEFT_OUT
from calirare.errors import InputError

_TYPE_OF_KIND = {kind: type for type, kind in KIND_OF_TYPE.items()}


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
    same: tuple[str, ...] | None = None

    @classmethod
    def of(cls, **said: Any) -> Asked:
        """From arguments of `read_tables`; those that are left out say nothing."""
        names = {key: said.get(key) for key in ("id", "source", "target", "weight", "label", "time")}
        kinds = {key: said.get(key) for key in ("directed", "edge_type", "node_type", "bipartite")}
        drop, keep = (bool(said.get(f"{what}_unknown_edges")) for what in ("drop", "keep"))
        if drop and keep:
            raise InputError("edges to unknown nodes can be kept or dropped, not both; say one of them.")
        types, same = dict(said.get("types") or {}), said.get("same")
        if isinstance(same, str):
            same = [same]
        kinds["same"] = None if same is None else tuple(same)
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
            same=fit.same,
            drop_unknown=self.drop_unknown or (fit.drop_unknown and not self.keep_unknown),
            keep_unknown=self.keep_unknown or (fit.keep_unknown and not self.drop_unknown),
        )


def arguments_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read_tables` that repeat what was said of tables with this schema.

    Means, categories and medians are learned again; which column is what stays. Columns that were left out because they
    said nothing then are judged again.

    >>> from calirare.data.tables.reading import read_tables
    >>> nodes = {"key": [1, 2, 3], "code": [7, 8, 9], "bad": ["y", "n", "n"]}
    >>> read = read_tables(nodes, {"a": [1], "b": [2]}, label="bad", rare="y", types={"code": "categorical"})
    >>> arguments_of(read.schema)["types"], arguments_of(read.schema)["label"]
    ({'code': 'categorical'}, 'bad')
    """
    edges, nodes, label = schema["edges"], schema.get("nodes", {}), schema["label"] or {}
    one_table = len(edges.get("tables", ())) <= 1
    return {
        "id": schema["id"],
        "label": label.get("column"),
        "rare": label.get("rare"),
        "source": edges["source"] if one_table else None,
        "target": edges["target"] if one_table else None,
        "weight": edges.get("weight"),
        "directed": edges.get("directed", True),
        "edge_type": edges.get("type"),
        "drop_unknown_edges": bool(edges.get("drop_unknown")),
        "keep_unknown_edges": bool(edges.get("keep_unknown")),
        "node_type": nodes.get("type"),
        "time": edges.get("time") or nodes.get("time"),
        "same": list(nodes.get("same", ())),
        "types": _kinds(schema["columns"], "type") | _kinds(edges.get("columns", ()), "kind"),
    }


def _kinds(columns: Iterable[Mapping[str, Any]], key: str) -> dict[str, str]:
    """What each column is, where that was learned or said; a column that the user left out stays out."""
    found = {}
    for column in columns:
        kind = _TYPE_OF_KIND.get(column[key], column[key])
        if kind != "ignore" or column.get("reason") == LEFT_OUT:
            found[column["name"]] = kind
    return found
