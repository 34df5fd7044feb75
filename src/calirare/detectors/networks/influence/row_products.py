"""Sparse rows over a few columns; and R Rᵀ of rows that are dense, sparse, or dense in the columns that many rows share and sparse in all others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from calirare.data.sparse.products import SPARSE_COST, SparseMatrix

_MOST_GATHERED = 2**14
"""Rows that are picked at once."""
MOST_ADDED = 2**10
"""Products that are added up in the rows' own precision: of 50,000 in single precision the sum was off by 5e-5."""


def gram_of(rows: np.ndarray | sp.csr_array) -> np.ndarray:
    """`(n, n)` float64: R Rᵀ. A few columns at a time, the fullest first, so that each block is of one kind.

    >>> rows = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> gram_of(rows).tolist() == gram_of(sp.csr_array(rows)).tolist() == [[5.0, 6.0], [6.0, 9.0]]
    True
    """
    result: np.ndarray | None = None
    for product in _grams(rows):
        result = product.astype(np.float64) if result is None else np.add(result, product, out=result)
    return np.zeros((rows.shape[0],) * 2) if result is None else result


def _grams(rows: np.ndarray | sp.csr_array) -> Iterator[np.ndarray]:
    """R Rᵀ of a few columns at a time."""
    width = rows.shape[1]
    if isinstance(rows, np.ndarray):
        for start in range(0, width, MOST_ADDED):
            some = rows[:, start : start + MOST_ADDED]
            yield some @ some.T  # of an array with itself BLAS makes one half only
        return
    count = np.bincount(rows.indices, minlength=width)
    columns = rows.T.tocsr()[np.argsort(-count, kind="stable")[: np.count_nonzero(count)]]
    for start in range(0, columns.shape[0], MOST_ADDED):
        some = columns[start : start + MOST_ADDED]
        dense = some.toarray()
        full = 2 * SPARSE_COST * some.nnz > dense.size
        yield dense.T @ dense if full else some.T.tocsr() @ dense


def cost_of_gram(local: sp.csr_array, columns: np.ndarray | sp.csr_array) -> float:
    """Multiplications of `gram_of(local @ columns)` at most, sparse ones counted as they take."""
    n, width = int(local.shape[0]), int(columns.shape[1])
    dense = n**2 * width / 2
    if isinstance(columns, np.ndarray):
        return dense
    reached = np.minimum((local != 0) @ np.diff(columns.indptr), width).sum()
    return min(dense, SPARSE_COST * n * float(reached))


def leaner(rows: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
    """Sparse rows as dense ones where these take less memory; a number and its place take three times a number."""
    return rows.toarray() if not isinstance(rows, np.ndarray) and 3 * rows.nnz > np.prod(rows.shape) else rows


def in_pattern(values: np.ndarray, pattern: sp.csr_array) -> sp.csr_array:
    """The sparse array with `values` at the places of `pattern`."""
    return sp.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)


def summed_by(local: sp.csr_array, values: np.ndarray) -> np.ndarray:
    """`(n, units)`: Σ_u L_iu times what stands in `values`, `(entries, units)`, for each entry of L's row i.

    >>> summed_by(sp.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]])), np.array([[1.0], [10.0]])).ravel().tolist()
    [21.0, 0.0]
    """
    entries = np.arange(local.nnz)
    return sp.csr_array((local.data, entries, local.indptr), shape=(local.shape[0], local.nnz)) @ values


def over_reached(matrix: SparseMatrix, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of a matrix over the columns that they reach alone, and which these are."""
    rows = matrix.csr[nodes]
    place = np.zeros(rows.shape[1], dtype=rows.indices.dtype)
    place[rows.indices] = 1
    reached = np.flatnonzero(place)
    place[reached] = np.arange(len(reached))
    return sp.csr_array((rows.data, place[rows.indices], rows.indptr), shape=(len(nodes), len(reached))), reached


def grouped_products(
    columns: np.ndarray | sp.csr_array, places: np.ndarray, starts: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """`(len(places), units)`: the rows at `places` of `columns` times the weights of the group that each stands in.

    Args:
        columns: `(m, F)`.
        places: Which rows, group by group.
        starts: `(groups + 1,)` where each group begins, and the end.
        weights: `(groups, units, F)`.

    >>> columns = np.array([[1.0, 2.0], [3.0, 0.0]])
    >>> weights = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> for of_any_kind in (columns, sp.csr_array(columns)):
    ...     print(grouped_products(of_any_kind, np.array([0, 1, 0]), np.array([0, 2, 3]), weights).ravel().tolist())
    [1.0, 3.0, 2.0]
    [1.0, 3.0, 2.0]
    """
    found = np.zeros((len(places), weights.shape[1]))
    few = np.split(np.arange(len(weights)), np.flatnonzero(np.diff(starts[:-1] // _MOST_GATHERED)) + 1)
    for groups in few:
        first = starts[groups[0]]
        rows = columns[places[first : starts[groups[-1] + 1]]]
        for group in groups.tolist():
            here = slice(starts[group] - first, starts[group + 1] - first)
            found[starts[group] : starts[group + 1]] = _times(rows, here, weights[group])
    return found


def _times(rows: np.ndarray | sp.csr_array, here: slice, weight: np.ndarray) -> np.ndarray:
    """Some of the rows times `weight`ᵀ; SciPy would take longer to make an array of a few sparse rows than to multiply it."""
    if isinstance(rows, np.ndarray):
        return np.asarray(rows[here] @ weight.T)
    ends = rows.indptr[here.start : here.stop + 1]
    found, full = np.zeros((len(ends) - 1, len(weight))), np.flatnonzero(np.diff(ends))
    if full.size:
        inside = slice(ends[0], ends[-1])
        products = rows.data[inside, None] * weight.T[rows.indices[inside]]
        found[full] = np.add.reduceat(products, ends[full] - ends[0])
    return found
