"""Sparse rows over a few columns; and R Rᵀ of rows that are dense, sparse, or dense in the columns that many rows share and sparse in all others."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from calirare.data.sparse import SparseMatrix

SPARSE_COST = 7
"""Time of a multiplication in a sparse product, in those of a dense one."""
MOST_ADDED = 2**10
"""Products that are added up in the rows' own precision: of 50,000 in single precision the sum was off by 5e-5."""


def gram_of(rows: np.ndarray | sp.csr_array) -> np.ndarray:
    """`(n, n)` float64: R Rᵀ. A few columns at a time, the fullest first, so that each block is of one kind.

    >>> rows = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> gram_of(rows).tolist() == gram_of(sp.csr_array(rows)).tolist() == [[5.0, 6.0], [6.0, 9.0]]
    True
    """
    n, width = rows.shape
    result = np.zeros((n, n))
    product = np.empty((n, n), dtype=rows.dtype)
    if isinstance(rows, np.ndarray):
        for start in range(0, width, MOST_ADDED):
            some = rows[:, start : start + MOST_ADDED]
            result += np.matmul(some, some.T, out=product)  # of an array with itself BLAS makes one half only
        return result
    count = np.bincount(rows.indices, minlength=width)
    columns = rows.T.tocsr()[np.argsort(-count, kind="stable")[: np.count_nonzero(count)]]
    for start in range(0, columns.shape[0], MOST_ADDED):
        some = columns[start : start + MOST_ADDED]
        dense = some.toarray()
        full = 2 * SPARSE_COST * some.nnz > dense.size
        result += np.matmul(dense.T, dense, out=product) if full else some.T.tocsr() @ dense
    return result


def cost_of_gram(local: sp.csr_array, columns: np.ndarray | sp.csr_array) -> float:
    """Multiplications of `gram_of(local @ columns)` at most, sparse ones counted as they take."""
    n, width = int(local.shape[0]), int(columns.shape[1])
    dense = n**2 * width / 2
    if isinstance(columns, np.ndarray):
        return dense
    reached = np.minimum((local != 0) @ np.diff(columns.indptr), width).sum()
    return min(dense, SPARSE_COST * n * float(reached))


def filled(values: np.ndarray, pattern: sp.csr_array) -> sp.csr_array:
    """The sparse array with `values` at the places of `pattern`."""
    return sp.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)


def over_neighbours(matrix: SparseMatrix, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of a matrix over the columns that they reach alone, and which these are."""
    rows = matrix.take_rows(nodes)
    place = np.zeros(rows.shape[1], dtype=rows.indices.dtype)
    place[rows.indices] = 1
    reached = np.flatnonzero(place)
    place[reached] = np.arange(len(reached))
    return sp.csr_array((rows.data, place[rows.indices], rows.indptr), shape=(len(nodes), len(reached))), reached
