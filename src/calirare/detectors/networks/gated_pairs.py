"""Gram matrices of networks whose hidden units open and close: by pairs of nodes, all units at once.

Where row i of the Jacobian for hidden unit k is Σ_u L_iu g_uk s_u, with s_u the columns that the unit reads at node u and
g_uk what the unit lets through there,

    K = Σ_k L diag(g_k) S Sᵀ diag(g_k) Lᵀ = L ((S Sᵀ) ∘ (g gᵀ)) Lᵀ ,

which has no sum over units and columns together. It is the shorter way where neighbourhoods overlap, or words are few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.arrays import as_dense
from calirare.data.sparse import in_threads

SPARSE_COST = 10
"""Time of a multiplication in a sparse product, in those of a dense one."""
_PAIR_BYTES = 2 * 2**20
"""Small enough for a core's cache."""
_STRIP_BYTES = 64 * 2**20


def cost_of_pairs(features: np.ndarray | sp.csr_array, parts: int, units: int) -> float:
    """Multiplications of `add_gated_pairs`, sparse ones counted as they take."""
    size, width = features.shape
    products = size * width if isinstance(features, np.ndarray) else SPARSE_COST * features.nnz
    return float(size * (products + parts**2 * size * units) / 2)


def add_gated_pairs(
    kernel: np.ndarray, local: sp.csr_array, features: np.ndarray | sp.csr_array, gates: np.ndarray
) -> None:
    """Add L ((S Sᵀ + 1) ∘ Φ_cd) Lᵀ to `kernel`, `(n, parts, n, parts)`, Φ_cd being g_c g_dᵀ; the 1 is a bias's.

    The sum is symmetric in the two nodes of a pair, so each pair is looked at once.

    Args:
        kernel: Changed in place.
        local: L, `(n, m)`.
        features: S, `(m, columns)`, in the precision of the products.
        gates: g, `(parts, m, units)`.
    """
    size, parts, n = features.shape[0], len(gates), local.shape[0]
    block = max(1, _PAIR_BYTES // (4 * size))
    at_once = block * max(1, _STRIP_BYTES // (4 * n * parts**2 * block))
    local, open_at = local.astype(features.dtype), torch.from_numpy(gates.astype(features.dtype))
    starts = range(0, size, block)

    def pairs_from(start: int) -> np.ndarray:
        products: np.ndarray = features[start:] @ as_dense(features[start : start + block]).T
        return products

    strips = np.empty((parts, parts, n, min(at_once, size)), dtype=features.dtype)
    for start, pairs in zip(starts, _map_over(features)(pairs_from, starts), strict=True):
        here, end = slice(start, start + block), min(start + block, size)
        pairs += 1.0
        pairs[:block] /= 2  # a pair within the block stands there twice
        from_here, place = local[:, start:], slice(start % at_once, start % at_once + end - start)
        for c in range(parts):
            for d in range(parts):
                gated = pairs * (open_at[c, start:] @ open_at[d, here].T).numpy()
                strips[c, d, :, place] = from_here @ gated
        if end == size or not end % at_once:
            _add_strips(kernel, strips[..., : place.stop], local[:, end - place.stop : end].T)


def _add_strips(kernel: np.ndarray, strips: np.ndarray, last: sp.csc_array) -> None:
    """Close the pairs of a few last nodes, and the same pairs turned round."""
    for c in range(len(strips)):
        for d in range(len(strips)):
            part = strips[c, d] @ last
            kernel[:, c, :, d] += part
            kernel[:, d, :, c] += part.T


def _map_over(features: np.ndarray | sp.csr_array) -> Any:
    """How to go through blocks: sparse products in our threads; dense ones leave the cores to BLAS."""
    return map if isinstance(features, np.ndarray) else in_threads
