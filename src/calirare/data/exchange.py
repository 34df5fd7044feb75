"""Graphs from and to NetworkX, and as pandas or polars frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.named_columns import NamedColumns
from calirare.data.tables.files import edge_columns
from calirare.errors import InputError

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars

    from calirare.data.graph import RareGraph

_NAMES = {"nodes": ("node",), "edges": ("source", "target")}


def from_networkx(network: networkx.Graph, *, label: str, rare: Any, **options: Any) -> RareGraph:
    """A graph from a NetworkX one: attributes of nodes and edges become columns, as in `read_tables`.

    Args:
        network: Directed or not, with parallel edges or without.
        label: Attribute of the nodes that tells the rare ones; nodes without it are unknown.
        rare: Its rare value.
        options: Further arguments of `read_tables`.

    >>> import networkx as nx
    >>> network = nx.path_graph(3)
    >>> nx.set_node_attributes(network, {0: "yes", 1: "no"}, "fraud")
    >>> nx.set_node_attributes(network, {0: 1.0, 1: 2.0, 2: 4.0}, "age")
    >>> from_networkx(network, label="fraud", rare="yes").y.tolist()
    [1, 0, -1]
    """
    from calirare.data.tables.reading import read_tables

    if not hasattr(network, "is_multigraph"):
        raise InputError(f"network must be a NetworkX graph; got {type(network).__name__}.")
    nodes = _columns([((node,), attributes) for node, attributes in network.nodes(data=True)], "nodes")
    edges = _columns([(ends[:2], ends[-1]) for ends in network.edges(data=True)], "edges")
    said = {"id": "node", "source": "source", "target": "target", "directed": network.is_directed(), **options}
    return read_tables(nodes, edges, label=label, rare=rare, **said)


def to_networkx(graph: RareGraph) -> networkx.Graph:
    """The graph in NetworkX: features by name, `label` where it is known; every row of the edges with its columns.

    Rows of a table make a `MultiDiGraph`; a graph that knows only who is joined to whom makes a plain `Graph`.
    """
    import networkx as nx

    names = graph.ids.tolist()
    network = nx.Graph() if graph.edges is None else nx.MultiDiGraph()
    for node, row in zip(names, _rows(_features(graph)), strict=True):
        network.add_node(node, **row)
    for node, y in zip(names, graph.y.tolist(), strict=True):
        if y != UNKNOWN:
            network.nodes[node]["label"] = graph.class_names[y]
    for row in _rows(edge_columns(graph)):
        source, target = row.pop("source"), row.pop("target")
        network.add_edge(source, target, **row)
    return network


def to_polars(graph: RareGraph) -> tuple[polars.DataFrame, polars.DataFrame]:
    """Nodes and edges as polars frames: `id`, the features by name, `label`; `source`, `target`, the edges' columns."""
    nodes, edges = _tables(graph)
    return nodes.to_polars(), edges.to_polars()


def to_pandas(graph: RareGraph) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The same as pandas frames."""
    nodes, edges = _tables(graph)
    return nodes.to_pandas(), edges.to_pandas()


def _tables(graph: RareGraph) -> tuple[NamedColumns, NamedColumns]:
    names = np.array([*graph.class_names, None], dtype=object)
    nodes = {"id": graph.ids, **_features(graph), "label": names[np.where(graph.y == UNKNOWN, -1, graph.y)]}
    return NamedColumns(nodes), NamedColumns(edge_columns(graph))


def _features(graph: RareGraph) -> dict[str, Any]:
    dense = graph.x if not hasattr(graph.x, "toarray") else graph.x.toarray()
    names = graph.feature_names or tuple(f"feature_{k}" for k in range(graph.num_features))
    return {name: dense[:, k] for k, name in enumerate(names)}


def _rows(columns: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    values = [column.tolist() if hasattr(column, "tolist") else list(column) for column in columns.values()]
    return (dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)) if values else iter(())


def _columns(rows: list[tuple[tuple[Any, ...], Mapping[str, Any]]], what: str) -> dict[str, list[Any]]:
    """Rows of names and attributes as columns; an attribute that a row lacks is missing there."""
    own = _NAMES[what]
    names = dict.fromkeys(str(name) for _, attributes in rows for name in attributes)
    clash = [name for name in own if name in names]
    if clash:
        raise InputError(f"{what} must not have an attribute called {clash[0]!r}; rename it.")
    columns: dict[str, list[Any]] = {name: [ends[place] for ends, _ in rows] for place, name in enumerate(own)}
    plain = [{str(name): value for name, value in attributes.items()} for _, attributes in rows]
    return columns | {name: [row.get(name) for row in plain] for name in names}
