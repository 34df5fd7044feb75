"""Gram matrices of networks whose hidden units open and close: all units at once.

Where row i of the Jacobian for hidden unit k is Σ_u L_iu g_uk s_u, with s_u the columns that the unit reads at node u and
g_uk what the unit lets through there,

    K = Σ_k L diag(g_k) S Sᵀ diag(g_k) Lᵀ = L ((S Sᵀ) ∘ (g gᵀ)) Lᵀ ,

which has no sum over units and columns together. Often nearly all nodes open the same units, as on graphs
of words. With p and q such common patterns, and L_p the part of L over the nodes that show p,

    K = Σ_pq (g_p · g_q) (L_p S) (L_q S)ᵀ  +  the pairs of nodes of which one is odd,

so that only the odd nodes' pairs are gone through one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.arrays import as_dense
from calirare.data.sparse import in_threads
from calirare.detectors.networks.row_products import SPARSE_COST, cost_of_gram, gram_of

_MOST_COMMON = 4
"""Patterns that count as common; their price grows with the square."""
_PAIR_BYTES = 2 * 2**20
"""Small enough for a core's cache."""
_STRIP_BYTES = 64 * 2**20


class GatedGram:
    """L ((S Sᵀ) ∘ Φ_cd) Lᵀ for all contrasts c and d, Φ_cd being g_c g_dᵀ.

    Args:
        local: L, `(n, m)`.
        features: S, `(m, columns)`, in the precision of the products.
        gates: g, `(parts, m, units)`.

    Attributes:
        cost: Multiplications, sparse ones counted as they take.
    """

    def __init__(self, local: sp.csr_array, features: np.ndarray | sp.csr_array, gates: np.ndarray) -> None:
        self.local, self.features, self.gates = local, features, gates
        self.size = features.shape[0]
        self.rank, count = ranked_patterns(gates.transpose(1, 0, 2).reshape(self.size, -1))
        self.count = count[:_MOST_COMMON]
        products = features.size if isinstance(features, np.ndarray) else SPARSE_COST * features.nnz
        self.of_pair = products / self.size + len(gates) ** 2 * gates.shape[2]
        self.of_product = cost_of_gram(local, features)
        costs = [self._cost(common) for common in range(len(self.count) + 1)]
        self.common, self.cost = int(np.argmin(costs)), min(costs)

    def _cost(self, common: int) -> float:
        """With so many common patterns."""
        odd = self.size - int(self.count[:common].sum())
        return float(odd * (self.size - odd / 2) * self.of_pair + common**2 * self.of_product)

    def kernel(self) -> np.ndarray:
        """`(n, parts, n, parts)` float64."""
        place = np.where(self.rank < self.common, self.rank, -1)
        order = np.argsort(place, kind="stable")  # odd nodes first, then pattern by pattern
        cuts = np.searchsorted(place[order], np.arange(self.common + 1))
        local, features = sp.csr_array(self.local[:, order]).astype(self.features.dtype), self.features[order]
        kernel = _of_common(local, features, self.gates[:, order], cuts)
        if cuts[0]:
            _add_pairs(kernel, local, features, self.gates[:, order], int(cuts[0]))
        return kernel


def ranked_patterns(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which pattern each row shows, the commonest being 0, and how many show each.

    >>> rank, count = ranked_patterns(np.array([[0.0, 1.0], [2.0, 0.0], [2.0, 0.0]]))
    >>> rank.tolist(), count.tolist()
    ([1, 0, 0], [2, 1])
    """
    rows = np.ascontiguousarray(rows)
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, pattern, count = np.unique(as_bytes, return_inverse=True, return_counts=True)
    by_count = np.argsort(-count, kind="stable")
    return np.argsort(by_count)[pattern], count[by_count]


def _of_common(local: sp.csr_array, features: Any, gates: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The pairs of nodes from `cuts[0]` on, which show the same gates up to the next cut."""
    n, parts, pieces = local.shape[0], len(gates), [slice(*ends) for ends in zip(cuts[:-1], cuts[1:], strict=True)]
    kernel = np.zeros((n, parts, n, parts))
    if not pieces:
        return kernel
    rows = [local[:, piece] @ features[piece] for piece in pieces]
    products = gram_of(np.vstack(rows) if isinstance(features, np.ndarray) else sp.csr_array(sp.vstack(rows, "csr")))
    shown = gates[:, cuts[:-1]]
    between = np.einsum("cpk,dqk->pqcd", shown, shown)
    if between.size == 1:
        products *= between.item()
        return products[:, None, :, None]
    for p, q in np.ndindex(between.shape[:2]):
        product = products[p * n : (p + 1) * n, q * n : (q + 1) * n]
        kernel += between[p, q][None, :, None, :] * product[:, None, :, None]
    return kernel


def _add_pairs(kernel: np.ndarray, local: sp.csr_array, features: Any, gates: np.ndarray, odd: int) -> None:
    """The pairs of which one is among the first `odd` nodes; a sum that is symmetric, so each pair is looked at once."""
    n, size, parts = len(kernel), local.shape[1], len(gates)
    block = max(1, _PAIR_BYTES // (4 * size))
    at_once = block * max(1, _STRIP_BYTES // (4 * n * parts**2 * block))
    open_at, starts = torch.from_numpy(gates.astype(features.dtype)), range(0, odd, block)

    def pairs_from(start: int) -> np.ndarray:
        products: np.ndarray = features[start:] @ as_dense(features[start : min(start + block, odd)]).T
        return products

    strips = np.empty((parts, parts, n, min(at_once, odd)), dtype=features.dtype)
    for start, pairs in zip(starts, _map_over(features)(pairs_from, starts), strict=True):
        end = start + pairs.shape[1]
        pairs[: end - start] /= 2  # a pair within the block stands there twice
        from_here, place = local[:, start:], slice(start % at_once, start % at_once + end - start)
        for c in range(parts):
            for d in range(parts):
                gated = pairs * (open_at[c, start:] @ open_at[d, start:end].T).numpy()
                strips[c, d, :, place] = from_here @ gated
        if end == odd or not end % at_once:
            _add_strips(kernel, strips[..., : place.stop], local[:, end - place.stop : end])


def _add_strips(kernel: np.ndarray, strips: np.ndarray, last: sp.csr_array) -> None:
    """Close the pairs of a few last nodes, and the same pairs turned round."""
    for c in range(len(strips)):
        for d in range(len(strips)):
            turned: np.ndarray = last @ strips[c, d].T
            kernel[:, d, :, c] += turned
            kernel[:, c, :, d] += torch.from_numpy(turned).T.contiguous().numpy()  # faster than along two ways at once


def _map_over(features: np.ndarray | sp.csr_array) -> Any:
    """How to go through blocks: sparse products in our threads; dense ones leave the cores to BLAS."""
    return map if isinstance(features, np.ndarray) else in_threads
