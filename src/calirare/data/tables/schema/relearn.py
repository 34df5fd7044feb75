"""How tables were read, so that later ones can be read the same way and learned from again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calirare.data.tables.cells.kinds import KIND_OF_TYPE, LEFT_OUT

_TYPE_OF_KIND = {kind: type for type, kind in KIND_OF_TYPE.items()}


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
