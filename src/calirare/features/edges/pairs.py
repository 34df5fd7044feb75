"""Whether the edges of a node say the same: the share of its pairs of edges with the same value."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from calirare.features.edges.groups import EdgeGroups
from calirare.features.edges.telling import of_some_nodes

EQUAL, UNLIKE = ", equal pairs of ", ", unlike pairs of "
_FEWEST = 0.005
"""Share of the nodes' pairs that are equal, before it is told."""
_MORE = 2.0
"""Times as often as among pairs of any two edges."""
_SOME_EDGES = 100_000
"""Of which it is seen how often any two have the same value, about."""


def how_often(values: np.ndarray, side: EdgeGroups) -> sp.csr_array:
    """`(N, V)` how often each of V values stands at the edges of each node; missing ones are not counted.

    >>> how_often(np.array([5.0, 7.0, 5.0, np.nan]), EdgeGroups(np.array([0, 0, 0, 1]), 2)).toarray().tolist()
    [[2.0, 1.0], [0.0, 0.0]]
    """
    different = np.unique(values[~np.isnan(values)])
    return counted(np.searchsorted(different, values), side.among(~np.isnan(values)), different.size)


def counted(codes: np.ndarray, side: EdgeGroups, size: int) -> sp.csr_array:
    """The same of codes `(E,)` below `size`."""
    shape = (side.counts.size, max(1, size))
    return sp.csr_array((np.ones(side.order.size), (side.nodes, codes[side.order])), shape=shape)


def equal_pairs(often: sp.csr_array) -> np.ndarray:
    """`(N,)` the share of pairs that are equal, NaN where there is no pair.

    >>> equal_pairs(sp.csr_array([[2.0, 1.0], [3.0, 0.0], [1.0, 0.0]])).round(3).tolist()
    [0.333, 1.0, nan]
    """
    count = np.asarray(often.sum(axis=1)).ravel()
    same = np.asarray(often.multiply(often).sum(axis=1)).ravel() - count
    pairs = count * (count - 1)
    return np.divide(same, pairs, out=np.full(count.size, np.nan), where=pairs > 0)


def come_again(values: np.ndarray, ends: np.ndarray) -> bool:
    """Whether two edges of one node have the same value far more often than any two edges.

    Args:
        values: `(E,)` none missing.
        ends: `(2, E)` the nodes at either end, which are looked at apart.

    >>> rng = np.random.default_rng(0)
    >>> payer, amount = np.repeat(np.arange(50), 6), rng.uniform(1, 9, 300)
    >>> ends = np.stack([payer, rng.permutation(payer)])
    >>> come_again(amount, ends), come_again(np.where(payer < 5, 9.99, amount), ends)
    (False, True)
    """
    if values.size < 2:
        return False
    number = np.unique(values[:: 1 + values.size // _SOME_EDGES], return_counts=True)[1].astype(np.float64)
    by_chance = float((number * (number - 1)).sum()) / (number.sum() * (number.sum() - 1.0))
    for end in ends:
        some = of_some_nodes(end)
        often = how_often(values[some], EdgeGroups(end[some], int(end.max()) + 1))
        count = np.asarray(often.sum(axis=1)).ravel()
        pairs = float((count * (count - 1)).sum())
        same = float(often.multiply(often).sum() - count.sum())
        if pairs and same / pairs > max(_FEWEST, _MORE * by_chance):
            return True
    return False
