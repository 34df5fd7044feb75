"""A graph as it was at a moment: only the edges before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.data.merging import merge_edges
from calirare.errors import InputError, nearest

if TYPE_CHECKING:
    from calirare.data.graph import RareGraph


def moment(when: float | str | np.datetime64) -> float:
    """A moment as edge columns keep it: seconds since 1970 in UTC, or a number in the table's own steps.

    >>> moment("2024-01-01"), moment(200)
    (1704067200.0, 200.0)
    """
    if isinstance(when, (str, np.datetime64)):
        try:
            value = np.datetime64(str(when), "us")
        except ValueError:
            raise InputError(f"a moment must be a number or a date such as 2024-01-31T18:05; got {when!r}.") from None
        return float(value.astype(np.int64)) / 1e6
    return float(when)


def time_column(edges: EdgeTable | None, name: str | None) -> np.ndarray:
    """The times of the edges: the column of this name, else the first that is a time."""
    columns = {column.name: column for column in (edges.columns if edges is not None else ())}
    times = [column.name for column in columns.values() if column.kind == "time"]
    if name is None:
        if not times:
            raise InputError("the edges must have a column of times; this graph's have none. Name it with time=….")
        name = times[0]
    if name not in columns or columns[name].kind == "category":
        raise InputError(f"time must name a column of times of the edges; got {name!r}: {nearest(name, times)}")
    return columns[name].values


def edges_before(graph: RareGraph, when: float | str | np.datetime64, *, time: str | None = None) -> RareGraph:
    """The graph with the edges before a moment alone, so that nothing of what came later is seen.

    Nodes, attributes and labels stay; edges without a time stay out. Edge weights cannot be told apart by time and are
    added up again only where the schema says which column they are.

    Args:
        graph: With edges that have a time.
        when: Seconds since 1970, a number in the table's own steps, or a date.
        time: Which column; default: the first that is a time.

    >>> from calirare.data.tables.reading import read_tables
    >>> nodes = {"id": ["a", "b", "c"], "x": [1, 2, 3], "y": [0, 1, 0]}
    >>> edges = {"source": ["a", "b"], "target": ["b", "c"], "time": ["2024-01-01 10:00", "2024-02-01"]}
    >>> graph = read_tables(nodes, edges, label="y", rare=1)
    >>> edges_before(graph, "2024-01-15").num_edges, graph.num_edges
    (1, 2)
    """
    times = time_column(graph.edges, time)
    assert graph.edges is not None  # time_column has looked
    kept = graph.edges.take(np.nan_to_num(times, nan=np.inf) < moment(when))
    weight = _weights(graph, kept)
    edge_index, edge_weight = merge_edges(
        np.vstack([kept.source, kept.target]), weight, graph.num_nodes, rows_count=True
    )
    return replace(graph, edges=kept, edge_index=edge_index, edge_weight=edge_weight)


def _weights(graph: RareGraph, kept: EdgeTable) -> np.ndarray | None:
    if graph.edge_weight is None:
        return None
    name = ((graph.schema or {}).get("edges") or {}).get("weight")
    found = [column.values for column in kept.columns if column.name == name and column.kind == "number"]
    if not found:
        raise InputError(
            "this graph has edge weights that are no column of its edges; they cannot be taken as of a moment."
        )
    return found[0]


def first_seen(graph: RareGraph, time: str | None = None) -> np.ndarray:
    """`(N,)` when each node came: its own time where the graph knows it, else that of its first edge; NaN for neither."""
    if graph.node_time is not None and time in (None, ((graph.schema or {}).get("nodes") or {}).get("time")):
        return graph.node_time
    times = time_column(graph.edges, time)
    assert graph.edges is not None  # time_column has looked
    first = np.full(graph.num_nodes, np.inf)
    known = ~np.isnan(times)
    for ends in (graph.edges.source, graph.edges.target):
        np.minimum.at(first, ends[known], times[known])
    return np.where(np.isinf(first), np.nan, first)
