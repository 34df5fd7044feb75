"""Labelled nodes that are copies of one another, so that they can be left out together.

A detector that is asked about a node without its label, but with the label of its copy, has seen the answer.
"""

from __future__ import annotations

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

MOST_TIMES = 8
"""Attributes that more nodes share say nothing about who is a copy among a node's neighbours."""


def find_copies(graph: RareGraph, nodes: np.ndarray) -> np.ndarray:
    """`(n,)` group numbers of `nodes`: equal for copies, 0, 1, … in order of appearance.

    Copies have equal attributes, equal neighbours (none at all is equal too; neighbours that are copies of each other
    count as one) and, where the graph has an edge table, edges that say the same. Two rules keep nodes apart that are
    alike without being copies: a group may hold a twentieth of the labels at most (always three), and at least a quarter
    of the labels must differ; else a graph with few or discrete attributes would become one group.

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
    """A hash of all that the tables say of each node; equal, up to one chance in 2⁶⁴, only if that is equal."""
    rows = np.full(graph.num_nodes, -1)
    rows[nodes] = np.arange(nodes.size)
    said = _attribute_traces(graph)
    alike = _stands_for(said)
    around = neighbours(graph)[nodes]
    who = np.repeat(np.arange(nodes.size), np.diff(around.indptr))
    traces: np.ndarray = _mix(said[nodes]) ^ _sum_once(who, _mix(alike[around.indices]), nodes.size)
    if graph.edges is not None:
        table = graph.edges.take((rows[graph.edges.source] >= 0) | (rows[graph.edges.target] >= 0))
        who, seen = _edges_seen(table, rows, alike)
        traces ^= _mix(_sum_once(who, seen, nodes.size))
    if graph.node_type is not None:
        traces ^= _mix(graph.node_type[nodes].astype(np.uint64) + np.uint64(1))
    return traces


def _attribute_traces(graph: RareGraph) -> np.ndarray:
    """`(N,)` hash of each node's attributes."""
    x: Any = graph.x
    if sp.issparse(x):
        entries = _mix(_mix(np.arange(x.shape[1], dtype=np.uint64))[x.indices] ^ _bits(x.data))
        totals = np.concatenate([[np.uint64(0)], np.cumsum(entries, dtype=np.uint64)])
        return totals[x.indptr[1:]] - totals[x.indptr[:-1]]
    found = np.zeros(graph.num_nodes, dtype=np.uint64)
    for place, column in enumerate(x.T):
        found += _mix(_mix(np.array([place], dtype=np.uint64)) ^ _bits(column))
    return found


def _stands_for(said: np.ndarray) -> np.ndarray:
    """`(N,)` the first node with the same attributes, where these stand a few times; else the node itself.

    A neighbour that is a copy is no other neighbour; attributes that many nodes have make nobody a copy.
    """
    _, first, group, sizes = np.unique(said, return_index=True, return_inverse=True, return_counts=True)
    own = np.arange(said.size)
    return np.where(sizes[group] <= MOST_TIMES, first[group], own).astype(np.uint64)


def _edges_seen(table: EdgeTable, rows: np.ndarray, alike: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, hash of what an edge says as seen from it) of every end of an edge that has a row."""
    content = np.zeros(len(table), dtype=np.uint64)
    if table.type is not None:
        content = _mix(content ^ table.type.view(np.uint64))
    for column in table.columns:
        content = _mix(
            content ^ (_bits(column.values) if column.kind != "category" else column.values.astype(np.uint64))
        )
    side = np.uint64(1 if table.directed else 0)
    who = np.concatenate([rows[table.source], rows[table.target]])
    seen = np.concatenate([_mix(content ^ _mix(alike[table.target])), _mix(content ^ _mix(alike[table.source]) ^ side)])
    return who[who >= 0], seen[who >= 0]


def _sum_once(who: np.ndarray, said: np.ndarray, size: int) -> np.ndarray:
    """`(size,)` sums over each one's hashes, in whatever order, equal ones counted once."""
    pairs = _mix(said) ^ _mix(who.astype(np.uint64))  # one number each sorts eight times as fast as two
    order = np.argsort(pairs)
    fresh = np.ones(who.size, dtype=bool)
    fresh[1:] = np.diff(pairs[order]) != 0
    who, said = who[order], said[order]
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, who[fresh], said[fresh])
    return sums


def _bits(values: np.ndarray) -> np.ndarray:
    """Of numbers, as they are; -0.0 is 0.0."""
    return np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)


def _mix(bits: np.ndarray) -> np.ndarray:
    """SplitMix64's finish: every bit of the result depends on every bit."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits
