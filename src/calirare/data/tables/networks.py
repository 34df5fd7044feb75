"""Graphs from NetworkX, by way of the two tables they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calirare.data.graph import RareGraph
from calirare.data.tables.reading import read_tables
from calirare.errors import InputError

if TYPE_CHECKING:
    import networkx

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
    if not hasattr(network, "is_multigraph"):
        raise InputError(f"network must be a NetworkX graph; got {type(network).__name__}.")
    nodes = _columns([((node,), attributes) for node, attributes in network.nodes(data=True)], "nodes")
    edges = _columns([(ends[:2], ends[-1]) for ends in network.edges(data=True)], "edges")
    said = {"id": "node", "source": "source", "target": "target", "directed": network.is_directed(), **options}
    return read_tables(nodes, edges, label=label, rare=rare, **said)


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
