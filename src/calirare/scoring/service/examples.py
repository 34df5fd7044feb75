"""Bodies that the loaded model understands as they are, for the OpenAPI document: two new nodes and an edge between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NEW = ("new-1", "new-2")
_ANY = "any value"
"""Where it counts only whether others have the same."""
_MOMENT = "2024-01-31 12:00:00"


def example_bodies(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Example bodies by name. Values are medians and first categories of the fit, never those of a node."""
    rows = {"nodes": [_node(schema, name) for name in _NEW], "edges": _edges(schema)}
    return {
        "ToScore": rows,
        "ToExplain": {**rows, "id": _NEW[0], "top": 3},
        "ToDecide": {**rows, "cases": [{"id": _NEW[0], "cost_miss": 900.0}], "cost_review": 5.0},
    }


def _node(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    row: dict[str, Any] = {schema["id"]: name}
    said = schema.get("nodes", {})
    if said.get("type"):
        row[said["type"]] = next(iter(said.get("types", ())), None)
    return row | {column["name"]: _value(column) for column in schema["columns"] if column["type"] != "ignore"}


def _edges(schema: Mapping[str, Any]) -> list[dict[str, Any]] | dict[str, list[dict[str, Any]]]:
    """A row, under the name of its table where there are several."""
    same, tables = schema.get("nodes", {}).get("same", ()), schema["edges"].get("tables", ())
    if len(tables) - len(same) < 2:
        return [_edge(schema["edges"], schema["edges"])]
    return {tables[0]["name"]: [_edge(schema["edges"], tables[0])]}


def _edge(said: Mapping[str, Any], ends: Mapping[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {ends["source"]: _NEW[0], ends["target"]: _NEW[1]}
    if said.get("type"):
        row[said["type"]] = next(iter(said.get("types", ())), None)
    if said.get("weight"):
        row[said["weight"]] = 1.0
    row |= dict.fromkeys(said.get("cells", ()), _ANY)
    return row | {column["name"]: _value(column) for column in said.get("columns", ()) if column["kind"] != "ignore"}


def _value(column: Mapping[str, Any]) -> Any:
    if column.get("categories"):
        return column["categories"][0]
    if column.get("words"):
        return " ".join(column["words"][:3])
    if column.get("kind") == "time":
        return _MOMENT
    median = column.get("median", 1.0)
    return float(f"{median:.3g}") if isinstance(median, int | float) else None
