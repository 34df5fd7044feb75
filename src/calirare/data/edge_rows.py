"""The edges of a graph as the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.edge_table import EARLIEST_CLOCK, EdgeColumn, EdgeTable

if TYPE_CHECKING:
    from calirare.data.graph import RareGraph


def edges_as_columns(graph: RareGraph) -> dict[str, Any]:
    """Every row of the edges with its columns as they came; else each edge once, with `weight` where there are weights."""
    edges = graph.edges if graph.edges is not None else pairs_of(graph)
    columns: dict[str, Any] = {"source": graph.ids[edges.source], "target": graph.ids[edges.target]}
    if edges.type is not None:
        columns["type"] = np.array(edges.type_names, dtype=object)[edges.type]
    for column in edges.columns:
        name = column.name if column.name not in columns else f"{column.name} of the edge"
        if column.kind == "category":
            words = np.array([*column.categories, None], dtype=object)  # the last, -1, is missing
            columns[name] = words[column.values]
        elif column.kind == "text":
            columns[name] = np.array([column.words(edge) for edge in range(len(edges))], dtype=object)
        elif column.kind == "time" and np.nanmax(column.values, initial=0.0) > EARLIEST_CLOCK:
            columns[name] = np.where(np.isnan(column.values), np.nan, column.values * 1e6).astype("datetime64[us]")
        else:
            columns[name] = column.values
    return columns


def pairs_of(graph: RareGraph) -> EdgeTable:
    """Who is joined to whom as a table, each pair once, with `weight` where there are weights."""
    once = graph.edge_index[0] < graph.edge_index[1]
    columns = () if graph.edge_weight is None else (EdgeColumn("weight", "number", graph.edge_weight[once]),)
    return EdgeTable(graph.edge_index[0, once], graph.edge_index[1, once], columns, directed=False)
