"""Many attributes, such as words, in the few directions that neighbours share.

With X the rows scaled to length one, D the rarity of each word, log((1 + N) / (1 + nodes that have it)), and S the mean
over a node and its neighbours, the directions are the leading right singular vectors of S² X D. Smoothing first leaves
the topics on which neighbours agree; the chance of single words, which is most of X, would take up the room of others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

MOST_DIRECTIONS = 32
_SPARE = 10
_ROUNDS = 5


def learn_directions(x: np.ndarray | sp.csr_array, adjacency: sp.csr_array, seed: int) -> np.ndarray:
    """`(F, k)` float32: D times the leading directions, by randomised subspace iteration. Source: key
    `halko2011`.

    Args:
        x: `(N, F)` attributes; of dense ones all weigh the same.
        adjacency: `(N, N)` ones between neighbours.
        seed: Of the random start.

    >>> basis = learn_directions(sp.csr_array(np.eye(4)[[0, 0, 1, 1, 1]]), sp.csr_array((5, 5)), seed=0)
    >>> basis.shape, basis.argmax(axis=0).tolist()
    ((4, 2), [0, 1])
    """
    rows, weights = unit_rows(x), _rarity(x)[:, None]
    smooth = adjacency + sp.eye_array(adjacency.shape[0], format="csr")
    smooth = sp.csr_array(sp.diags_array(1.0 / smooth.sum(axis=1)) @ smooth)
    count = max(1, min(MOST_DIRECTIONS, min(x.shape) - 1))

    def forwards(v: np.ndarray) -> Any:
        return smooth @ (smooth @ (rows @ (weights * v)))

    def backwards(u: np.ndarray) -> Any:
        return weights * (rows.T @ (smooth.T @ (smooth.T @ u)))

    v = np.random.default_rng(seed).standard_normal((x.shape[1], min(count + _SPARE, *x.shape)))
    for _ in range(_ROUNDS):
        v = np.linalg.qr(backwards(forwards(v)))[0]
    _, values, turn = np.linalg.svd(np.linalg.qr(forwards(v))[1])
    basis = (v @ turn.T)[:, :count][:, values[:count] > 1e-6 * max(float(values[0]), 1e-30)]
    largest = np.take_along_axis(basis, np.abs(basis).argmax(axis=0)[None], axis=0)
    return np.ascontiguousarray(weights * basis * np.sign(largest), dtype=np.float32)


def directions(x: np.ndarray | sp.csr_array, basis: np.ndarray) -> np.ndarray:
    """`(N, k)` float32: how far each row points in each direction."""
    return np.asarray(unit_rows(x) @ basis, dtype=np.float32)


def unit_rows(x: Any) -> Any:
    """Rows divided by their Euclidean length, float64; rows of zeros stay."""
    if not sp.issparse(x):
        length = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
        return x / np.where(length > 0, length, 1.0)
    squares = sp.csr_array((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape).sum(axis=1)
    length = np.sqrt(squares)
    scale = 1.0 / np.where(length > 0, length, 1.0)
    return sp.csr_array((x.data * np.repeat(scale, np.diff(x.indptr)), x.indices, x.indptr), shape=x.shape)


def _rarity(x: Any) -> np.ndarray:
    if not sp.issparse(x):
        return np.ones(x.shape[1])
    having = np.bincount(x.indices[x.data != 0], minlength=x.shape[1])
    return np.asarray(np.log((1.0 + x.shape[0]) / (1.0 + having)))
