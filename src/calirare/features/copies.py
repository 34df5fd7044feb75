"""Labelled nodes that are copies of one another, so that they can be left out together.

A detector that is asked about a node without its label, but with the label of its copy, has seen the answer.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.structure import neighbours

LARGEST_SHARE = 0.05
"""More labelled nodes than this share (and more than three) that are alike are a common pattern, not copies."""
LEAST_DISTINCT = 0.25
"""Where fewer rows than this share of the labels differ, attributes are few and being alike says nothing."""


def find_copies(graph: RareGraph, nodes: np.ndarray) -> np.ndarray:
    """`(n,)` group numbers of `nodes`: equal for copies, 0, 1, … in order of appearance.

    Copies have equal attributes, equal neighbours (none at all is equal too) and, where the graph has an edge table,
    edges that say the same. Two rules keep nodes apart that are alike without being copies: a group may hold a
    twentieth of the labels at most (always three), and at least a quarter of the labels must differ; else a graph with
    few or discrete attributes would become one group.

    >>> x = np.array([[0.3, 1.0], [0.7, 2.0], [0.3, 1.0], [0.3, 1.0]])
    >>> graph = RareGraph(x=x, edge_index=np.array([[0, 2, 3], [1, 1, 0]]), y=np.array([0, 1, 0, 0]))
    >>> find_copies(graph, np.array([0, 1, 2, 3])).tolist()
    [0, 1, 2, 3]
    >>> find_copies(graph, np.array([3, 1, 2])).tolist()
    [0, 1, 2]
    >>> edge_index = np.array([[0, 2], [1, 1]])
    >>> find_copies(RareGraph(x=x[:3], edge_index=edge_index, y=graph.y[:3]), np.array([2, 1, 0])).tolist()
    [0, 1, 0]
    """
    nodes = np.asarray(nodes, dtype=np.int64)
    traces = _traces(graph, nodes)
    _, first, group, sizes = np.unique(traces, return_index=True, return_inverse=True, return_counts=True)
    if first.size < LEAST_DISTINCT * nodes.size:
        return np.arange(nodes.size)
    believed = sizes <= max(3, LARGEST_SHARE * nodes.size)
    leader = np.where(believed[group], first[group], np.arange(nodes.size))
    return np.asarray(np.unique(leader, return_inverse=True)[1], dtype=np.int64)


def _traces(graph: RareGraph, nodes: np.ndarray) -> np.ndarray:
    """A hash of all that the tables say of each node, as 16 bytes; equal only if that is equal."""
    x: Any = graph.x
    around = neighbours(graph)
    said = None if graph.edges is None else _edge_traces(graph.edges, nodes, graph.num_nodes)
    traces = np.empty(nodes.size, dtype="V16")
    for row, node in enumerate(nodes):
        trace = blake2b(digest_size=16)
        if sp.issparse(x):
            mine = slice(x.indptr[node], x.indptr[node + 1])
            trace.update(x.indices[mine].astype(np.int64).tobytes() + x.data[mine].tobytes())
        else:
            trace.update((x[node] + 0.0).tobytes())  # -0.0 is 0.0
        trace.update(b"|" + around.indices[around.indptr[node] : around.indptr[node + 1]].tobytes())
        trace.update(b"" if said is None else said[row].tobytes())
        trace.update(b"" if graph.node_type is None else graph.node_type[node].tobytes())
        traces[row] = trace.digest()
    return traces


def _edge_traces(table: EdgeTable, nodes: np.ndarray, num_nodes: int) -> np.ndarray:
    """`(n,)` sums, in whatever order, of a hash of every edge as seen from the node."""
    wanted = np.zeros(num_nodes, dtype=bool)
    wanted[nodes] = True
    table = table.take(wanted[table.source] | wanted[table.target])
    content = np.zeros(len(table), dtype=np.uint64)
    if table.type is not None:
        content = _mix(content ^ table.type.view(np.uint64))
    for column in table.columns:
        values = column.values + 0.0 if column.kind != "category" else column.values.astype(np.int64)
        content = _mix(content ^ np.ascontiguousarray(values).view(np.uint64))
    sums = np.zeros(num_nodes, dtype=np.uint64)
    np.add.at(sums, table.source, _mix(content ^ _mix(table.target.view(np.uint64))))
    side = np.uint64(1 if table.directed else 0)
    np.add.at(sums, table.target, _mix(content ^ _mix(table.source.view(np.uint64)) ^ side))
    mine: np.ndarray = sums[nodes]
    return mine


def _mix(bits: np.ndarray) -> np.ndarray:
    """SplitMix64's finish: every bit of the result depends on every bit."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = bits ^ (bits >> np.uint64(31))
    return mixed
