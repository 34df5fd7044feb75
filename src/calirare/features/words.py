"""Many attributes, such as words, in a few directions: a truncated SVD of the rows, each scaled to length one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

MOST_DIRECTIONS = 64


def learn_directions(x: np.ndarray | sp.csr_array, seed: int) -> np.ndarray:
    """`(F, k)` float32 basis of the leading directions of the rows of `x`.

    >>> basis = learn_directions(sp.csr_array(np.eye(4)[[0, 0, 1, 1, 1]]), seed=0)
    >>> np.abs(basis[:, :2]).round(3).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    count = max(1, min(MOST_DIRECTIONS, min(x.shape) - 1))
    _, values, basis = randomized_svd(unit_rows(x), n_components=count, n_iter=4, random_state=seed)
    kept = values > 1e-6 * max(float(values[0]), 1e-30)
    return np.ascontiguousarray(basis[kept].T, dtype=np.float32)


def directions(x: np.ndarray | sp.csr_array, basis: np.ndarray) -> np.ndarray:
    """`(N, k)` float32: how far each row points in each direction."""
    return np.asarray(unit_rows(x) @ basis, dtype=np.float32)


def unit_rows(x: Any) -> Any:
    """Rows divided by their Euclidean length; rows of zeros stay."""
    if not sp.issparse(x):
        length = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
        return x / np.where(length > 0, length, 1.0)
    squares = sp.csr_array((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape).sum(axis=1)
    length = np.sqrt(squares)
    scale = 1.0 / np.where(length > 0, length, 1.0)
    return sp.csr_array((x.data * np.repeat(scale, np.diff(x.indptr)), x.indices, x.indptr), shape=x.shape)
