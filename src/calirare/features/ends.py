"""The ends of edges: the neighbours of some nodes, one list after the other.

A few million at a time: with 100 million edges every array of all ends counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

AT_ONCE = 4_000_000


def ends_of(adjacency: sp.csr_array, nodes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A few of the nodes at a time, and their neighbours, one list after the other."""
    starts = adjacency.indptr[nodes]
    lengths = adjacency.indptr[nodes + 1] - starts
    until = np.cumsum(lengths, dtype=np.int64)
    if not nodes.size or until[-1] <= AT_ONCE:
        cuts = [0, nodes.size]
    else:
        cuts = [0, *(np.flatnonzero(np.diff(until // AT_ONCE)) + 1), nodes.size]
    for block in map(slice, cuts[:-1], cuts[1:]):
        sizes, before = lengths[block], until[block.start - 1] if block.start else 0
        positions = np.repeat(starts[block] - until[block] + sizes + before, sizes)
        positions += np.arange(positions.size)
        yield nodes[block], adjacency.indices[positions]


def over_ends(adjacency: sp.csr_array, values: np.ndarray) -> np.ndarray:
    """`(N,)` the sum of `values` over each node's neighbours: the product with an adjacency of ones."""
    found = np.zeros(adjacency.shape[0])
    for nodes, ends in ends_of(adjacency, np.arange(found.size)):
        found[nodes] = sums(values[ends], np.diff(adjacency.indptr)[nodes])
    return found


def starts_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where lists of these lengths begin, one after the other, and where the last one ends.

    >>> starts_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def sums(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sums of lists that stand one after the other, empty ones too; of whole numbers, so that the way does not matter."""
    ends = np.cumsum(lengths)
    total = np.concatenate([[0], np.cumsum(values)])
    return total[ends] - total[ends - lengths]


def over_root(adjacency: sp.csr_array, sent: np.ndarray) -> np.ndarray:
    """`(n, k)`: what neighbours send, `(N, k)`, as often as each of n rows says, over the root of what the row adds up to.

    >>> over_root(sp.csr_array(np.array([[0, 4, 4, 4, 4], [0, 0, 0, 0, 0]])), np.array([[9.0], [1.0], [2.0], [3.0], [4.0]]))
    array([[10.],
           [ 0.]])
    """
    return adjacency @ sent * inverse_root(row_sums(adjacency.indptr, adjacency.data))[:, None]


def row_sums(starts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of each row, by where the rows start; 0 of one without entries.

    >>> row_sums(np.array([0, 2, 2, 3]), np.array([1.0, 3.0, 7.0])).tolist()
    [4.0, 0.0, 7.0]
    """
    sums, some = np.zeros(len(starts) - 1), np.flatnonzero(np.diff(starts))
    if some.size:
        sums[some] = np.add.reduceat(weights, starts[some])
    return sums


def inverse_root(sums: np.ndarray) -> np.ndarray:
    """One over the root of each; 1 where nothing is."""
    return np.asarray(1 / np.sqrt(np.where(sums > 0, sums, 1.0)))
