"""Each node's place in the graph: degree, clustering, core, component, reach.

Only who is joined to whom is read of an adjacency, never its values, and a few million ends at a time: with 100 million
edges every array of all ends counts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from calirare.data.graph import RareGraph
from calirare.data.sparse import in_threads, small_index

STRUCTURE = DEGREE, LOG_DEGREE, CLUSTERING, CORE, SIZE, REACH = (
    "degree",
    "log degree",
    "clustering",
    "core number",
    "size of component",
    "two-hop reach (neighbours' degrees added)",
)
"""The columns, in their order."""
MOST_PATHS = 2_000_000_000
"""Paths of two edges that are looked at for triangles; a graph with more goes without the clustering coefficient."""
_PATHS_AT_ONCE = 10_000_000
_ENDS_AT_ONCE = 4_000_000
logger = logging.getLogger(__name__)


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
        DEGREE: degree,
        LOG_DEGREE: np.log1p(degree),
        CLUSTERING: clustering(adjacency),
        CORE: core_numbers(adjacency).astype(np.float64),
        SIZE: component_sizes(adjacency).astype(np.float64),
        REACH: _over_ends(adjacency, degree),
    }


def neighbours(graph: RareGraph) -> sp.csr_array:
    """The symmetric adjacency of ones; `edge_index` is sorted and free of repeats, so nothing is sorted again."""
    source, target = graph.edge_index
    starts = np.zeros(graph.num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=graph.num_nodes), out=starts[1:])
    index = small_index(source.size)
    parts = (np.ones(source.size), target.astype(index), starts.astype(index))
    return sp.csr_array(parts, shape=(graph.num_nodes, graph.num_nodes))


def component_sizes(adjacency: sp.csr_array) -> np.ndarray:
    """Number of nodes that each node is connected to, itself included."""
    if not adjacency.shape[0]:
        return np.zeros(0, dtype=np.int64)
    # In a symmetric graph strong components are the components, and are found without its transpose.
    _, component = connected_components(adjacency, directed=True, connection="strong")
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
    order = np.argsort(degree, kind="stable")
    rank = np.empty(degree.size, dtype=small_index(degree.size))
    rank[order] = np.arange(degree.size)
    out = np.zeros(degree.size, dtype=np.int64)
    for nodes, ends in _ends_of(adjacency, order):
        out[nodes] = _sums((rank[ends] > np.repeat(rank[nodes], degree[nodes])).astype(np.int64), degree[nodes])
    paths = float(out.astype(np.float64) @ degree)
    if paths > MOST_PATHS:
        logger.warning("clustering is left out: %.1e paths of two edges are more than %.0e.", paths, MOST_PATHS)
        return None
    upwards = _upwards(adjacency, order, rank, out)
    downwards = upwards.T.tocsr()
    downwards.data = upwards.data  # ones, too
    middle, highest = _closed_paths(downwards, upwards)
    lowest, _ = _closed_paths(upwards, upwards)
    found: np.ndarray = (middle + highest + lowest)[rank]
    return found


def _upwards(adjacency: sp.csr_array, order: np.ndarray, rank: np.ndarray, out: np.ndarray) -> sp.csr_array:
    """The edges from smaller to larger rank, nodes in the order of their ranks."""
    starts = np.concatenate([[0], np.cumsum(out[order])])
    index = small_index(int(starts[-1]))
    indices, done = np.empty(int(starts[-1]), dtype=index), 0
    for nodes, ends in _ends_of(adjacency, order):
        to = rank[ends]
        to = to[to > np.repeat(rank[nodes], np.diff(adjacency.indptr)[nodes])]
        indices[done : done + to.size] = to
        done += to.size
    data = np.ones(indices.size, dtype=np.float32)  # counts of paths between two nodes stay far below 2²⁴
    found = sp.csr_array((data, indices, starts.astype(index)), shape=adjacency.shape)
    found.sort_indices()
    return found


def _closed_paths(first: sp.csr_array, upwards: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Row and column sums of (first @ upwards) ∘ upwards, in blocks of rows that fit in memory."""
    size = upwards.shape[0]
    work = np.concatenate([[0], np.cumsum(_over_ends(first, np.diff(upwards.indptr).astype(np.float64)))])
    cuts = [0]
    while cuts[-1] < size:
        enough = np.searchsorted(work, work[cuts[-1]] + _PATHS_AT_ONCE, side="right")
        cuts.append(max(cuts[-1] + 1, int(enough) - 1))

    def closed(block: tuple[int, int]) -> sp.csr_array:
        rows = slice(*block)
        return sp.csr_array((first[rows] @ upwards).multiply(upwards[rows]))

    rows, columns = [np.zeros(0)], np.zeros(size)
    for paths in in_threads(closed, pairwise(cuts)):
        rows.append(paths.sum(axis=1, dtype=np.float64))
        np.add.at(columns, paths.indices, paths.data)
    return np.concatenate(rows), columns


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
            reached = [wave[:0]]
            for _, ends in _ends_of(adjacency, wave):
                np.subtract.at(left, ends, 1)  # those taken away stay below zero
                now = left[ends]
                reached.append(ends[(now >= 0) & (now <= level)])
            wave = np.unique(np.concatenate(reached))
        alive = alive[left[alive] >= 0]
    return core, waves


def _ends_of(adjacency: sp.csr_array, nodes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A few of the nodes at a time, and their neighbours, one list after the other."""
    starts = adjacency.indptr[nodes]
    lengths = adjacency.indptr[nodes + 1] - starts
    until = np.cumsum(lengths, dtype=np.int64)
    cuts = [0, *(np.flatnonzero(np.diff(until // _ENDS_AT_ONCE)) + 1), nodes.size]
    for block in map(slice, cuts[:-1], cuts[1:]):
        sizes = lengths[block]
        shift = starts[block] - until[block] + sizes + (until[block.start - 1] if block.start else 0)
        positions = np.repeat(shift, sizes)
        positions += np.arange(positions.size, dtype=positions.dtype)
        yield nodes[block], adjacency.indices[positions]


def _over_ends(adjacency: sp.csr_array, values: np.ndarray) -> np.ndarray:
    """`(N,)` the sum of `values` over each node's neighbours: the product with an adjacency of ones."""
    found = np.zeros(adjacency.shape[0])
    for nodes, ends in _ends_of(adjacency, np.arange(found.size)):
        found[nodes] = _sums(values[ends], np.diff(adjacency.indptr)[nodes])
    return found


def _sums(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sums of lists that stand one after the other, empty ones too; of whole numbers, so that the way does not matter."""
    ends = np.cumsum(lengths)
    total = np.concatenate([[0], np.cumsum(values)])
    return np.asarray(total[ends] - total[ends - lengths])
