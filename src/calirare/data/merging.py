"""Parallel edges as one: the rule stands here, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import all_below, as_floats, as_indices
from calirare.errors import InputError


def merge_edges(
    edge_index: Any, edge_weight: Any, num_nodes: int, *, rows_count: bool = False
) -> tuple[np.ndarray, np.ndarray | None]:
    """Both directions of every edge once, sorted by source and target, self-loops dropped: the one rule for them all.

    A pair of nodes weighs the sum over all rows that join it, in either direction. A list that gives every edge in both
    directions with the same weight, as PyG keeps undirected graphs, says each edge twice, and half of that sum is
    meant. Pairs that weigh nothing are no edges.

    Args:
        edge_index: `(2, E)` node indices.
        edge_weight: `(E,)` weights that are not negative, or None: then no weights come back.
        num_nodes: Number of nodes.
        rows_count: Every row is an event of its own, also where the list is the same in both directions: the rows of a
            table.

    >>> merge_edges([[0, 1], [1, 0]], [1.0, 2.0], 2)[1].tolist(), merge_edges([[0, 1], [1, 0]], [2.0, 2.0], 2)[1].tolist()
    ([3.0, 3.0], [2.0, 2.0])
    """
    edge_index = as_indices(edge_index, "edge_index")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index must have shape (2, E); got {edge_index.shape}.")
    if not all_below(edge_index, num_nodes):
        raise InputError(
            f"edge_index must name nodes 0…{num_nodes - 1}; got {int(edge_index.min())}…{int(edge_index.max())}."
        )
    source, target = edge_index
    values = np.ones(source.size) if edge_weight is None else _checked_weights(edge_weight, source.shape)
    if not source.size:  # nodes alone, as in every question to the service
        return edge_index.astype(np.int64), None if edge_weight is None else values.astype(np.float32)
    keep = source != target
    one_way = sp.csr_array((values[keep], (source[keep], target[keep])), shape=(num_nodes, num_nodes))
    one_way.sum_duplicates()
    both = one_way if not rows_count and _says_all_twice(one_way) else one_way + one_way.T.tocsr()
    both.eliminate_zeros()
    both.sort_indices()
    both = both.tocoo()
    index = np.vstack([both.row, both.col]).astype(np.int64)
    if edge_weight is None:
        return index, None
    with np.errstate(over="ignore"):
        weight = both.data.astype(np.float32)
    if not np.isfinite(weight).all():
        raise InputError("edge_weight must be finite; the weights of repeated edges add up to more than 3.4e+38.")
    return index, weight


def _checked_weights(edge_weight: Any, shape: tuple[int, ...]) -> np.ndarray:
    weight = as_floats(edge_weight, "edge_weight")
    if weight.shape != shape:
        raise InputError(f"edge_weight must hold one weight per edge, shape {shape}; got {weight.shape}.")
    if (weight < 0).any():
        raise InputError(f"edge_weight must be finite and not negative; got {weight.min():g}.")
    return weight.astype(np.float64)


def _says_all_twice(one_way: sp.csr_array) -> bool:
    """Whether the matrix of weights is symmetric, up to rounding."""
    back = one_way.T.tocsr()
    one_way.sort_indices()
    back.sort_indices()
    same = np.array_equal(one_way.indptr, back.indptr) and np.array_equal(one_way.indices, back.indices)
    return same and bool(np.allclose(one_way.data, back.data, rtol=1e-6, atol=0.0))
