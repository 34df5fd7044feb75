"""In how many triangles each node stands, counted exactly.

With U the edges from the end of smaller degree to the end of larger, either by the paths of U that an edge closes, or,
where a few thousand hubs hold most of the edges, by what the ends of each edge have in common.
"""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from calirare.data.sparse.products import small_index
from calirare.data.threads import in_threads
from calirare.features.ends import ends_of, over_ends, starts_of, sums

MOST_PATHS = 2_000_000_000
"""Paths of two edges that are looked at for triangles; a graph with more goes without the clustering coefficient."""
_PATHS_AT_ONCE = 10_000_000
_EDGES_AT_ONCE = 2_048
_WORDS = (16, 32, 64) if hasattr(np, "bitwise_count") else ()
"""Of 64 hubs each; NumPy before 2.0 does not count bits."""
_MOST_WORDS = 2**20
"""Of all nodes: 8 MB."""
_PATH, _PATH_AROUND = 1.5, 4.0
"""What looking at a path costs, in words that are compared."""
logger = logging.getLogger(__name__)


def triangles(adjacency: sp.csr_array) -> np.ndarray | None:
    """In how many triangles each node stands; None where that takes too many paths."""
    degree = np.diff(adjacency.indptr)
    order = np.argsort(degree, kind="stable")
    rank = np.empty(degree.size, dtype=small_index(degree.size))
    rank[order] = np.arange(degree.size)
    out = np.zeros(degree.size, dtype=np.int64)
    for nodes, ends in ends_of(adjacency, order):
        out[nodes] = sums((rank[ends] > np.repeat(rank[nodes], degree[nodes])).astype(np.int64), degree[nodes])
    paths = float(out.astype(np.float64) @ degree)
    if paths > MOST_PATHS:
        logger.warning(
            "One column is left out: clustering, the share of pairs of neighbours that are joined. To count it would take "
            "%s paths of two edges, and at most %s are looked at. All other columns are made.",
            f"{paths:,.0f}", f"{MOST_PATHS:,}",
        )  # fmt: skip
        return None
    upwards = _upwards(adjacency, order, rank, out)
    words = _words_of_hubs(np.sort(degree)[::-1], 2 * paths)
    return (_by_hubs(upwards, words) if words else _by_rank(upwards))[rank]


def _by_rank(upwards: sp.csr_array) -> np.ndarray:
    """Every triangle has one lowest, one middle and one highest node.

    (UᵀU)∘U counts it at the edge middle → highest, (UU)∘U at the edge lowest → highest. A hub has few edges in U, so
    that the work stays far below the sum of squared degrees.
    """
    downwards = upwards.T.tocsr()
    downwards.data = upwards.data  # ones, too
    middle, highest = _closed_paths(downwards, upwards, upwards)
    lowest, _ = _closed_paths(upwards, upwards, upwards)
    return middle + highest + lowest


def _words_of_hubs(degree: np.ndarray, paths: float) -> int:
    """How many words of 64 hubs make counting by hubs cheapest; 0 where so many `paths` cost less.

    Args:
        degree: `(N,)`, descending.
        paths: Of `_by_rank`.
    """
    squares = np.cumsum(degree[::-1].astype(np.float64) ** 2)[::-1]
    costs = {0: _PATH * paths}
    for words in _WORDS:
        if words * degree.size <= _MOST_WORDS:
            left = squares[64 * words] if 64 * words < degree.size else 0.0
            costs[words] = words * degree.sum() / 2 + _PATH_AROUND * left
    return min(costs, key=lambda words: costs[words])


def _by_hubs(upwards: sp.csr_array, words: int) -> np.ndarray:
    """By what the ends of each edge have in common: two words of bits for 64 hubs, paths for all other neighbours.

    Either end stands in so many triangles with the edge, and each triangle at a node has two of its edges.
    """
    size, first = upwards.shape[0], upwards.shape[0] - 64 * words
    low, high = np.repeat(np.arange(size), np.diff(upwards.indptr)), upwards.indices.astype(np.intp)
    shared = _shared_bits(low, high, size, max(first, 0), words)
    found = np.bincount(low, shared, size) + np.bincount(high, shared, size)
    if first > 0:
        around = sp.csr_array(upwards[:, :first] + upwards.T.tocsr()[:, :first])
        lows, highs = _closed_paths(around, sp.csr_array(around.T), upwards)
        found += lows + highs
    return found / 2


def _shared_bits(low: np.ndarray, high: np.ndarray, size: int, first: int, words: int) -> np.ndarray:
    """For each edge how many neighbours its ends share among the nodes from `first` on."""
    table = np.zeros((size, 8 * words), dtype=np.uint8)
    for node, hub in ((low, high - first), (high, low - first)):
        node, hub = node[hub >= 0], hub[hub >= 0]
        # Each bit is added once, and NumPy adds eight times as fast as it joins bits.
        np.add.at(table.reshape(-1), 8 * words * node + (hub >> 3), np.left_shift(1, hub & 7).astype(np.uint8))
    bits, shared = table.view(np.uint64), np.empty(low.size)
    for start in range(0, low.size, _EDGES_AT_ONCE):
        block = slice(start, start + _EDGES_AT_ONCE)
        shared[block] = np.bitwise_count(bits[low[block]] & bits[high[block]]).sum(axis=1, dtype=np.int32)
    return shared


def _upwards(adjacency: sp.csr_array, order: np.ndarray, rank: np.ndarray, out: np.ndarray) -> sp.csr_array:
    """The edges from smaller to larger rank, nodes in the order of their ranks."""
    starts = starts_of(out[order])
    index = small_index(int(starts[-1]))
    indices, done = np.empty(int(starts[-1]), dtype=index), 0
    for nodes, ends in ends_of(adjacency, order):
        to = rank[ends]
        to = to[to > np.repeat(rank[nodes], np.diff(adjacency.indptr)[nodes])]
        indices[done : done + to.size] = to
        done += to.size
    data = np.ones(indices.size, dtype=np.float32)  # counts of paths between two nodes stay far below 2²⁴
    found = sp.csr_array((data, indices, starts.astype(index)), shape=adjacency.shape)
    found.sort_indices()
    return found


def _closed_paths(first: sp.csr_array, then: sp.csr_array, upwards: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Row and column sums of (first @ then) ∘ upwards, in blocks of rows that fit in memory."""
    size = upwards.shape[0]
    work = np.concatenate([[0], np.cumsum(over_ends(first, np.diff(then.indptr).astype(np.float64)))])
    cuts = [0]
    while cuts[-1] < size:
        enough = np.searchsorted(work, work[cuts[-1]] + _PATHS_AT_ONCE, side="right")
        cuts.append(max(cuts[-1] + 1, int(enough) - 1))

    def closed(block: tuple[int, int]) -> sp.csr_array:
        rows = slice(*block)
        return sp.csr_array((first[rows] @ then).multiply(upwards[rows]))

    rows, columns = [np.zeros(0)], np.zeros(size)
    for paths in in_threads(closed, pairwise(cuts)):
        rows.append(paths.sum(axis=1, dtype=np.float64))
        columns += np.bincount(paths.indices, paths.data, size)
    return np.concatenate(rows), columns
