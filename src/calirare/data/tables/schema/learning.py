"""The schema of tables that are read for the first time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calirare.data.tables.cells.kinds import kind_of
from calirare.data.tables.gathering.ids import same_type
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.data.tables.schema.asked import Asked
from calirare.data.tables.schema.edge_cells import learn_edge_cells
from calirare.data.tables.schema.edge_columns import kinds_of_edges, learn_edge_columns
from calirare.data.tables.schema.labels import Labels
from calirare.data.tables.schema.node_columns import FORMAT, SPARSE_WIDTH, feature_names, learn_columns

_MOST = 0.9
"""Share of a column's different values that must be ids of nodes before we say that it names nodes."""


def learn_schema(found: NodeRows, rows: EdgeRows, labels: Labels, asked: Asked, *, from_edges: bool) -> dict[str, Any]:
    """All but what the columns looked like and what was counted."""
    names: dict[str, Any] = asked.names
    time = names["time"]
    edge_time = time if time in rows.frame.columns else None
    node_time = time if time in found.frame.columns and edge_time is None else None
    roles = {name for name in (names["id"], names["label"], node_time) if name is not None}
    columns = learn_columns(found.frame.head(found.num_described), roles, asked.types)
    of_edges, directed = kinds_of_edges(rows, asked.types, edge_time), asked.directed is not False
    columns = [_names_nodes(column, found, asked.types) for column in columns]
    kinds = () if found.type is None else sorted({found.type_names[k] for k in found.type[labels.y >= 0]})
    plan = {
        "format": FORMAT,
        "id": names["id"],
        "label": {"column": names["label"], "rare": labels.rare, "values": labels.values},
        "nodes": {
            "type": asked.node_type,
            "types": list(found.type_names),
            "labelled": list(kinds),
            "time": node_time,
            "from_edges": from_edges,
        },
        "edges": {
            "source": rows.tables[0]["source"],
            "target": rows.tables[0]["target"],
            "weight": names["weight"],
            "directed": directed,
            "drop_unknown": asked.drop_unknown,
            "keep_unknown": asked.keep_unknown,
            "type": asked.edge_type,
            "types": list(rows.type_names),
            "time": edge_time,
            "tables": [dict(table) for table in rows.tables],
            "columns": learn_edge_columns(rows, of_edges),
            "cells": learn_edge_cells(rows, of_edges, directed=directed),
        },
        "columns": columns,
    }
    if node_time is not None:
        kind = kind_of(found.frame[node_time])
        plan["nodes"]["clock"] = {"text": kind.style, "unit": kind.unit}
    return {**plan, "sparse": len(feature_names(plan)) > SPARSE_WIDTH}


def _names_nodes(column: dict[str, Any], found: NodeRows, types: Mapping[str, str]) -> dict[str, Any]:
    """A column that is left out, with a word where it holds ids of nodes: the manager of each, say."""
    if column["type"] != "ignore" or column["name"] in types:
        return column
    rows = found.frame[column["name"]].drop_nulls()
    if rows.dtype.is_nested() or not rows.is_duplicated().any():  # numbers of rows may look like ids
        return column
    values = rows.unique()
    ids, values = same_type(found.frame[found.id], [values])
    if values.is_in(ids.implode()).mean() < _MOST:  # type: ignore[operator]
        return column
    return {**column, "reason": f"{column['reason']}; of nodes, which a further table of edges (--edges) would join"}
