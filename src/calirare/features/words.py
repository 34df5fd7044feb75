"""Many attributes, such as words, in the few directions that neighbours share.

With X the rows scaled to length one, D the rarity of each word, log((1 + N) / (1 + nodes that have it)), and S the mean
over a node and its neighbours, the directions are the leading right singular vectors of S² X D. Smoothing first leaves
the topics on which neighbours agree; the chance of single words, which is most of X, would take up the room of others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg import eigh

from calirare.data.sparse.products import single_product

MOST_DIRECTIONS = 32
_BLOCK = 8
_STEPS = 12
"""Of the Krylov space, which so has 96 directions, three for each that is wanted."""
_NEW = 0.5
"""Of a direction's length, outside of the space known: less is rounding, where the space is exhausted."""
Operator = Callable[[np.ndarray], np.ndarray]


def learn_directions(x: np.ndarray | sp.csr_array, adjacency: sp.csr_array, seed: int) -> np.ndarray:
    """`(F, k)` float32: D times the leading directions, by Rayleigh and Ritz in a block Krylov space. Source: key
    `halko2011`.

    Args:
        x: `(N, F)` attributes; of dense ones all weigh the same.
        adjacency: `(N, N)` ones between neighbours.
        seed: Of the random start.

    >>> basis = learn_directions(sp.csr_array(np.eye(4)[[0, 0, 1, 1, 1]]), sp.csr_array((5, 5)), seed=0)
    >>> basis.shape, basis.argmax(axis=0).tolist()
    ((4, 2), [0, 1])
    """
    weights = _rarity(x).astype(np.float32)[:, None]
    count = max(1, min(MOST_DIRECTIONS, min(x.shape) - 1))
    space, image = _krylov(_normal_operator(x, adjacency, weights), x.shape[1], seed)
    found = (space.T @ image).astype(np.float64)
    values, turn = eigh((found + found.T) / 2)
    leading = np.argsort(-values, kind="stable")[:count]
    leading = leading[values[leading] > 1e-6 * max(float(values[-1]), 1e-30)]
    basis = space @ turn[:, leading].astype(np.float32)
    largest = np.take_along_axis(basis, np.abs(basis).argmax(axis=0)[None], axis=0)
    return np.ascontiguousarray(weights * basis * np.sign(largest))


def _normal_operator(x: np.ndarray | sp.csr_array, adjacency: sp.csr_array, weights: np.ndarray) -> Operator:
    """v ↦ MᵀM v with M = S² X D, in single precision: twice as fast, and directions are no finer."""
    rows = unit_rows(x, np.float32)
    across, back, around = single_product(rows), single_product(rows.T), single_product(adjacency)
    share = np.repeat(1.0 / (1.0 + np.diff(adjacency.indptr)), _BLOCK).astype(np.float32).reshape(-1, _BLOCK)

    def apply(v: np.ndarray) -> np.ndarray:
        u, part = across(weights * v), share[:, : v.shape[1]]
        for _ in range(2):
            u += around(u)
            u *= part
        for _ in range(2):
            u *= part
            u += around(u)
        return weights * back(u)

    return apply


def _krylov(apply: Operator, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis `(F, m)` of the space that a random block and `apply` span, and `apply` of it."""
    width, done = min(_BLOCK, size), 0
    start = np.random.default_rng(seed).standard_normal((size, width)).astype(np.float32)
    block = _orthonormal(start)[0]
    space, image = np.empty((2, size, width * min(_STEPS, size // width)), dtype=np.float32)
    while block.size and done + block.shape[1] <= space.shape[1]:
        here = slice(done, done + block.shape[1])
        done = here.stop
        space[:, here], image[:, here] = block, apply(block)
        known = space[:, :done]
        fresh = _orthonormal(image[:, here] - known @ (known.T @ image[:, here]))[0]
        fresh, left = _orthonormal(fresh - known @ (known.T @ fresh))  # once more, for what rounding left of the known
        block = fresh[:, np.abs(left.diagonal()) > _NEW]
    return space[:, :done], image[:, :done]


def _orthonormal(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q and R; by torch, in a third of NumPy's time."""
    basis, left = torch.linalg.qr(torch.from_numpy(block))
    return basis.numpy(), left.numpy()


def directions(x: np.ndarray | sp.csr_array, basis: np.ndarray) -> np.ndarray:
    """`(N, k)` float32: how far each row points in each direction."""
    return single_product(unit_rows(x, np.float32))(basis.astype(np.float32, copy=False))


def words_of(x: Any, count: int) -> Any:
    """The last so many attributes: those that are words."""
    return x if count == x.shape[1] else x[:, x.shape[1] - count :]


def unit_rows(x: Any, kind: type[np.floating[Any]] = np.float64) -> Any:
    """Rows divided by their Euclidean length, in this precision; rows of zeros stay."""
    if not sp.issparse(x):
        length = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
        return (x / np.where(length > 0, length, 1.0)).astype(kind, copy=False)
    squares = sp.csr_array((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape).sum(axis=1)
    length = np.sqrt(squares)
    scale = np.repeat(1.0 / np.where(length > 0, length, 1.0), np.diff(x.indptr))
    return sp.csr_array(((x.data * scale).astype(kind, copy=False), x.indices, x.indptr), shape=x.shape)


def _rarity(x: Any) -> np.ndarray:
    if not sp.issparse(x):
        return np.ones(x.shape[1])
    stored = x.indices if x.data.all() else x.indices[x.data != 0]
    having = np.bincount(stored, minlength=x.shape[1])
    return np.log((1.0 + x.shape[0]) / (1.0 + having))
