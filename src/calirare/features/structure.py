"""Each node's place in the graph: degree, clustering, core, component, reach."""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from calirare.data.graph import RareGraph
from calirare.data.sparse import in_threads

MOST_PATHS = 2_000_000_000
"""Paths of two edges that are looked at for triangles; a graph with more goes without the clustering coefficient."""
_PATHS_AT_ONCE = 10_000_000
_log = logging.getLogger(__name__)


def structure_columns(graph: RareGraph) -> dict[str, np.ndarray]:
    """`(N,)` float64 columns by readable name; direction, weights and repeats of edges do not matter here.

    >>> graph = RareGraph(x=np.eye(4), edge_index=np.array([[0, 1, 2, 2], [1, 2, 0, 3]]), y=np.zeros(4, dtype=int))
    >>> {name: column.tolist() for name, column in structure_columns(graph).items() if name != "log degree"}
    {'degree': [2.0, 2.0, 3.0, 1.0], 'clustering': [1.0, 1.0, 0.333..., 0.0], 'core number': [2.0, 2.0, 2.0, 1.0],
     'size of component': [4.0, 4.0, 4.0, 4.0], "two-hop reach (neighbours' degrees added)": [5.0, 5.0, 5.0, 3.0]}
    """
    return structure_of(neighbours(graph))


def structure_of(adjacency: sp.csr_array) -> dict[str, np.ndarray]:
    """The same from the symmetric adjacency of ones."""
    degree = np.diff(adjacency.indptr).astype(np.float64)
    return {
        "degree": degree,
        "log degree": np.log1p(degree),
        "clustering": clustering(adjacency),
        "core number": core_numbers(adjacency).astype(np.float64),
        "size of component": component_sizes(adjacency).astype(np.float64),
        "two-hop reach (neighbours' degrees added)": adjacency @ degree,
    }


def neighbours(graph: RareGraph) -> sp.csr_array:
    """The symmetric adjacency of ones; `edge_index` is sorted and free of repeats, so nothing is sorted again."""
    source, target = graph.edge_index
    starts = np.zeros(graph.num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=graph.num_nodes), out=starts[1:])
    small = source.size < 2**31 - 1
    index = np.int32 if small else np.int64
    parts = (np.ones(source.size), target.astype(index), starts.astype(index))
    return sp.csr_array(parts, shape=(graph.num_nodes, graph.num_nodes))


def component_sizes(adjacency: sp.csr_array) -> np.ndarray:
    """Number of nodes that each node is connected to, itself included."""
    if not adjacency.shape[0]:
        return np.zeros(0, dtype=np.int64)
    _, component = connected_components(adjacency, directed=False)
    sizes: np.ndarray = np.bincount(component)[component]
    return sizes


def clustering(adjacency: sp.csr_array) -> np.ndarray:
    """Share of the pairs of a node's neighbours that are neighbours themselves; 0 with fewer than two neighbours.

    With U the edges from the end of smaller degree to the end of larger, every triangle has one lowest, one middle and
    one highest node. (UᵀU)∘U counts it at the edge middle → highest, (UU)∘U at the edge lowest → highest. A hub has
    few edges in U, so that the work stays far below the sum of squared degrees.
    """
    counts, degree = triangles(adjacency), np.diff(adjacency.indptr)
    return np.full(degree.size, np.nan) if counts is None else closed_share(counts, degree)


def closed_share(counts: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """The share of pairs of neighbours that are joined, of nodes with these numbers of triangles and neighbours."""
    pairs = degree * (degree - 1.0) / 2
    shares: np.ndarray = np.divide(counts, pairs, out=np.zeros(degree.size), where=pairs > 0)
    return shares


def triangles(adjacency: sp.csr_array) -> np.ndarray | None:
    """In how many triangles each node stands; None where that takes too many paths. See `clustering`."""
    degree = np.diff(adjacency.indptr)
    rank = np.empty(degree.size, dtype=np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(degree.size)
    upwards = sp.triu(adjacency[np.argsort(rank)][:, np.argsort(rank)], format="csr")
    upwards.sort_indices()
    upwards.data = upwards.data.astype(np.float32)  # counts of paths between two nodes stay far below 2²⁴
    downwards = upwards.T.tocsr()
    out, into = np.diff(upwards.indptr).astype(np.float64), np.diff(downwards.indptr)
    paths = float(out @ out + out @ into)
    if paths > MOST_PATHS:
        _log.warning("clustering is left out: %.1e paths of two edges are more than %.0e.", paths, MOST_PATHS)
        return None
    middle, highest = _closed_paths(downwards, upwards)
    lowest, _ = _closed_paths(upwards, upwards)
    found: np.ndarray = (middle + highest + lowest)[rank]
    return found


def _closed_paths(first: sp.csr_array, upwards: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Row and column sums of (first @ upwards) ∘ upwards, in blocks of rows that fit in memory."""
    size = upwards.shape[0]
    work = np.concatenate([[0], np.cumsum(first @ np.diff(upwards.indptr).astype(np.float64))])
    cuts = [0]
    while cuts[-1] < size:
        enough = np.searchsorted(work, work[cuts[-1]] + _PATHS_AT_ONCE, side="right")
        cuts.append(max(cuts[-1] + 1, int(enough) - 1))

    def closed(block: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(*block)
        paths = (first[rows] @ upwards).multiply(upwards[rows]).tocsr()
        return paths.sum(axis=1, dtype=np.float64), paths.sum(axis=0, dtype=np.float64)

    rows, columns = [], np.zeros(size)
    for row_sums, column_sums in in_threads(closed, pairwise(cuts)):
        rows.append(row_sums)
        columns += column_sums
    return np.concatenate([np.zeros(0), *rows]), columns


def core_numbers(adjacency: sp.csr_array) -> np.ndarray:
    """The largest k such that a node lies in a subgraph where everyone has k neighbours."""
    return peel(adjacency)[0]


def peel(adjacency: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Core numbers, and the wave in which each node was taken away.

    Nodes of the smallest degree are taken away in waves; each edge is touched once from either end.
    """
    left = np.diff(adjacency.indptr).astype(np.int64)
    core, waves = np.zeros(left.size, dtype=np.int64), np.zeros(left.size, dtype=np.int64)
    alive = np.arange(left.size)
    level, number = 0, 0
    while alive.size:
        level = max(level, int(left[alive].min()))
        wave = alive[left[alive] <= level]
        while wave.size:
            core[wave], waves[wave] = level, number
            number += 1
            left[wave] = -1
            touched, times = np.unique(_ends(adjacency, wave), return_counts=True)
            here = left[touched] >= 0
            touched = touched[here]
            left[touched] -= times[here]
            wave = touched[left[touched] <= level]
        alive = alive[left[alive] >= 0]
    return core, waves


def _ends(adjacency: sp.csr_array, nodes: np.ndarray) -> np.ndarray:
    """The neighbours of some nodes, one list after the other."""
    starts = adjacency.indptr[nodes].astype(np.int64)
    lengths = adjacency.indptr[nodes + 1] - starts
    before = np.cumsum(lengths) - lengths
    positions = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    ends: np.ndarray = adjacency.indices[positions]
    return ends
