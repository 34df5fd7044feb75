"""Gram matrices of networks whose hidden units open and close: all units at once.

Where row i of the Jacobian for hidden unit k is Σ_u L_iu g_uk s_u, with s_u the columns that the unit reads at node u and
g_uk what the unit lets through there,

    K = Σ_k L diag(g_k) S Sᵀ diag(g_k) Lᵀ = L ((S Sᵀ) ∘ (g gᵀ)) Lᵀ ,

which has no sum over units and columns together. Often nearly all nodes open the same units, as on graphs
of words. With p and q such common patterns, and L_p the part of L over the nodes that show p,

    K = Σ_pq (g_p · g_q) (L_p S) (L_q S)ᵀ  +  Σ_p Σ_u (g_p · g_u) (L_p S) s_u L_uᵀ and its transpose  +  the pairs of odd nodes,

u being the odd nodes, so that only their own pairs are gone through one by one.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.arrays import as_dense
from calirare.data.sparse.products import SPARSE_COST
from calirare.data.threads import in_threads
from calirare.detectors.networks.influence.row_products import cost_of_gram, gram_of

_MOST_COMMON = 4
"""Patterns that count as common; their price grows with the square."""
_PAIR_BYTES = 2 * 2**20
"""Small enough for a core's cache."""
_STRIP_BYTES = 64 * 2**20


class Common(NamedTuple):
    """L_p S of a common pattern, and g_p `(contrasts, units)`."""

    rows: Any
    gates: np.ndarray


class GatedGram:
    """L ((S Sᵀ) ∘ Φ_cd) Lᵀ for all contrasts c and d, Φ_cd being g_c g_dᵀ.

    Args:
        local: L, `(n, m)`.
        features: S, `(m, columns)`, in the precision of the products.
        gates: g, `(contrasts, m, units)`.

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
        self.of_row = self.of_product / local.shape[0]
        costs = [self._cost(common) for common in range(len(self.count) + 1)]
        self.common, self.cost = int(np.argmin(costs)), min(costs)

    def _cost(self, common: int) -> float:
        """With this many common patterns."""
        odd = self.size - int(self.count[:common].sum())
        pairs = odd * (odd / 2 * self.of_pair + self.of_row * min(common, 1))
        return float(pairs + common ** (1 if len(self.gates) == 1 else 2) * self.of_product)

    def kernel(self) -> np.ndarray:
        """`(n, contrasts, n, contrasts)` float64."""
        place = np.where(self.rank < self.common, self.rank, -1)
        order = np.argsort(place, kind="stable")  # odd nodes first, then pattern by pattern
        cuts = np.searchsorted(place[order], np.arange(self.common + 1))
        local, features = sp.csr_array(self.local[:, order]).astype(self.features.dtype), self.features[order]
        gates, pieces = self.gates[:, order], [slice(*ends) for ends in zip(cuts[:-1], cuts[1:], strict=True)]
        common = [Common(local[:, piece] @ features[piece], gates[:, piece.start]) for piece in pieces]
        kernel = _of_common(common) if common else np.zeros((local.shape[0], len(gates)) * 2)
        if cuts[0]:
            odd = slice(0, int(cuts[0]))
            _add_odd(kernel, sp.csr_array(local[:, odd]), features[odd], gates[:, odd], common)
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


def _of_common(common: list[Common]) -> np.ndarray:
    """The pairs of nodes that both show a common pattern.

    Of a single contrast turning the units changes nothing, so they are turned until the k-th pattern opens k of them: a
    Gram matrix for each pattern then does, in place of one for each pair.
    """
    rows = [one.rows for one in common]
    if len(common[0].gates) == 1:
        turned = np.linalg.qr(np.stack([one.gates[0] for one in common]).T)[1].astype(rows[0].dtype)
        mixed = (sum(turned[k, p] * rows[p] for p in range(k, len(rows))) for k in range(len(turned)))
        return reduce(np.ndarray.__iadd__, map(gram_of, mixed))[:, None, :, None]
    products = gram_of(np.vstack(rows) if isinstance(rows[0], np.ndarray) else sp.csr_array(sp.vstack(rows, "csr")))
    shown = np.stack([one.gates for one in common])
    between = np.einsum("pck,qdk->pqcd", shown, shown)
    n, num_contrasts = rows[0].shape[0], shown.shape[1]
    kernel = np.zeros((n, num_contrasts, n, num_contrasts))
    for p, q in np.ndindex(between.shape[:2]):
        product = products[p * n : (p + 1) * n, q * n : (q + 1) * n]
        kernel += between[p, q][None, :, None, :] * product[:, None, :, None]
    return kernel


def _add_odd(kernel: np.ndarray, local: sp.csr_array, features: Any, gates: np.ndarray, common: list[Common]) -> None:
    """The pairs of the odd nodes, over which `local` goes; a sum that is symmetric, so each pair is looked at once."""
    n, odd, num_contrasts = len(kernel), local.shape[1], len(gates)
    block = max(1, _PAIR_BYTES // (4 * max(odd, n)))
    at_once = block * max(1, _STRIP_BYTES // (4 * n * num_contrasts**2 * block))
    open_at, starts = torch.from_numpy(gates.astype(features.dtype)), range(0, odd, block)

    def products_from(start: int) -> list[np.ndarray]:
        some = as_dense(features[start : start + block]).T
        return [rows @ some for rows in (features[start:], *(one.rows for one in common))]

    strips = np.empty((num_contrasts, num_contrasts, n, min(at_once, odd)), dtype=features.dtype)
    for start, (pairs, *others) in zip(starts, _map_over(features)(products_from, starts), strict=True):
        end = start + pairs.shape[1]
        pairs[: end - start] /= 2  # a pair within the block stands there twice
        from_here, place = local[:, start:], slice(start % at_once, start % at_once + end - start)
        for c, d in np.ndindex(num_contrasts, num_contrasts):
            here = open_at[d, start:end].T
            strip = from_here @ (pairs * (open_at[c, start:] @ here).numpy())
            for one, products in zip(common, others, strict=True):
                strip += products * (one.gates[c].astype(features.dtype) @ here.numpy())
            strips[c, d, :, place] = strip
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
