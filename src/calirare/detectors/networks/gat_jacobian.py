"""Rows of the Jacobian of the graph attention network in closed form, over the labelled nodes' neighbourhoods alone.

A layer of attention gives Σ_v α_iv V_v, α the softmax over i's neighbours of ℓ(a_src·V_v + a_dst·V_i), ℓ the leaky relu.
With m a fixed vector and q_v = m·V_v, its gradient in V is, q̄_i being the mean of q under α and l = ℓ',

    ∂(m · output_i)/∂V_v = α_iv m + κ_iv a_src + δ_iv κ_i a_dst ,    κ_iv = α_iv l_iv (q_v - q̄_i) ,  κ_i = Σ_v κ_iv .

The second layer is this with V = h W₂ᵀ and m a contrast. Its gradient in h, times the slope of the elu, is the m of the
first layer, where V = X Wᵀ head by head.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import as_dense
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.backbones.gat import GATBackbone
from calirare.detectors.networks.backbones.layers import elu
from calirare.detectors.networks.influence.row_products import in_pattern
from calirare.detectors.networks.local_jacobian import LocalJacobian, Piece, rows_of

_MOST_PATHS = 2**22
"""Most paths of two steps in the sparse products that are made at once."""


class _Attention(NamedTuple):
    """Of each place of a sparse pattern: its row, its weight α, and the slope l of the leaky relu there."""

    row: np.ndarray
    weight: np.ndarray
    slope: np.ndarray


def _attend(pattern: sp.csr_array, source: np.ndarray, target: np.ndarray, negative_slope: float) -> _Attention:
    """The softmax over each row, none of which is empty, of ℓ(source + target)."""
    starts = pattern.indptr[:-1]
    row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    score = source[pattern.indices] + target[row]
    slope = np.where(score > 0, 1.0, negative_slope)
    score *= slope
    weight = np.exp(score - np.maximum.reduceat(score, starts)[row])
    return _Attention(row, weight / np.add.reduceat(weight, starts)[row], slope)


class GATJacobian(LocalJacobian):
    """The formula above twice: a row of the Jacobian reaches over the paths of two steps from its node."""

    def _remember(self, model: GATBackbone) -> None:
        self.negative_slope = model.first.negative_slope
        self.values = model.input(self.inputs.x)
        self.hidden = elu(model.first(self.values, self.inputs.neighbourhoods))

    @property
    def _propagation(self) -> SparseMatrix:
        return self.inputs.neighbour_sum  # each node is its own neighbour; the numbers in it are not read

    def _pieces(self, nodes: np.ndarray) -> Iterator[Piece]:
        local, around = self._around(nodes)
        own, hidden = np.searchsorted(around, nodes), rows_of(self.hidden, around)
        weight, turn = self.arrays["second.lin.weight"], self.contrasts
        toward, back = self.arrays["second.att_src"][0, 0], self.arrays["second.att_dst"][0, 0]
        values = hidden @ weight.T
        row, alpha, slope = _attend(local, values @ toward, (values @ back)[own], self.negative_slope)
        worth, starts = (values @ turn)[local.indices], local.indptr[:-1]
        mean = np.add.reduceat(alpha[:, None] * worth, starts)
        kappa = (alpha * slope)[:, None] * (worth - mean[row])
        total = np.add.reduceat(kappa, starts)
        pulled = np.stack([in_pattern(kappa[:, c], local) @ hidden for c in range(self.num_contrasts)], axis=1)
        returned = total[:, :, None] * hidden[own][:, None]
        mixed = in_pattern(alpha, local) @ hidden
        by_class = turn.T[None, :, :, None] * mixed[:, None, None]
        by_class = by_class + toward[:, None] * pulled[:, :, None] + back[:, None] * returned[:, :, None]
        yield "second.lin.weight", (), by_class
        yield "second.att_src", (0, 0), pulled @ weight.T
        yield "second.att_dst", (0, 0), returned @ weight.T
        yield "second.bias", (), np.broadcast_to(turn.T, (len(nodes), *turn.T.shape))
        loops = (local.indices == own[row])[:, None] * total[row]
        gate = np.minimum(hidden, 0.0) + 1.0  # the slope of the elu
        shares = (alpha[:, None], kappa, loops), (turn.T @ weight, toward @ weight, back @ weight)
        yield from self._first_layer(local, around, gate, shares)

    def _first_layer(
        self, local: sp.csr_array, around: np.ndarray, gate: np.ndarray, shares: tuple[Any, Any]
    ) -> Iterator[Piece]:
        (alpha, kappa, loops), (by_contrast, toward, back) = shares
        near, far = self._around(around)
        columns, values = self._own_columns(far), rows_of(self.values, far)
        heads, width = self.arrays["first.att_src"].shape[1:]
        for head in range(heads):
            units = slice(head * width, (head + 1) * width)
            pulls = alpha[..., None] * by_contrast[:, units] + kappa[..., None] * toward[units]
            pulls = (pulls + loops[..., None] * back[units]) * gate[:, None, units][local.indices]
            yield "first.bias", (units,), np.add.reduceat(pulls, local.indptr[:-1])
            yield from self._head(head, local, near, np.searchsorted(far, around), pulls, columns, values[:, units])

    def _head(
        self,
        head: int,
        local: sp.csr_array,
        near: sp.csr_array,
        at: np.ndarray,
        pulls: np.ndarray,
        columns: Any,
        values: np.ndarray,
    ) -> Iterator[Piece]:
        """Rows over one head, `pulls` `(edges, contrasts, units)` being what each node pulls at its neighbours' units."""
        toward, back = self.arrays["first.att_src"][0, head], self.arrays["first.att_dst"][0, head]
        row, alpha, slope = _attend(near, values @ toward, (values @ back)[at], self.negative_slope)
        mean = in_pattern(alpha, near) @ values
        spread = (alpha * slope)[:, None] * (values[near.indices] - mean[row])
        total = np.add.reduceat(spread, near.indptr[:-1])
        returned = np.einsum("epk,ek->ep", pulls, total[local.indices])
        through = self._two_steps(local, pulls, near, spread, columns)
        back_again = np.stack(
            [self._times(returned[:, c], local, columns[at]) for c in range(self.num_contrasts)], axis=1
        )
        units = slice(head * len(toward), (head + 1) * len(toward))
        weight = self.arrays["input.weight"][units].T.astype(self.float_type)
        yield "first.att_src", (0, head), through @ weight
        yield "first.att_dst", (0, head), back_again @ weight
        averaged = in_pattern(alpha.astype(self.float_type), near) @ columns
        toward, back = toward.astype(self.float_type), back.astype(self.float_type)
        for k in range(len(toward)):
            rows = [self._times(pulls[:, c, k], local, averaged) for c in range(self.num_contrasts)]
            piece = np.stack(rows, axis=1) + toward[k] * through + back[k] * back_again
            yield "input.weight", (units.start + k,), piece

    def _two_steps(
        self, local: sp.csr_array, pulls: np.ndarray, near: sp.csr_array, spread: np.ndarray, columns: Any
    ) -> np.ndarray:
        """Σ_k G_k S_k X `(n, contrasts, columns)`, G_k and S_k being `pulls` and `spread` of unit k: the cheaper product first."""
        pulls, spread = pulls.astype(self.float_type), spread.astype(self.float_type)
        result = np.zeros((local.shape[0], self.num_contrasts, columns.shape[1]), dtype=self.float_type)
        paths = in_pattern(np.ones(local.nnz), local) @ np.diff(near.indptr)
        if not self._paths_are_cheaper(paths.sum(), local, near, columns):
            for k in range(spread.shape[1]):
                spread_columns = in_pattern(spread[:, k], near) @ columns
                for c in range(self.num_contrasts):
                    result[:, c] += as_dense(in_pattern(pulls[:, c, k], local) @ spread_columns)
            return result
        cuts = np.flatnonzero(np.diff(np.cumsum(paths) // _MOST_PATHS)) + 1
        below = _below_each_other(near, spread)
        for c in range(self.num_contrasts):
            beside = _beside_each_other(local, pulls[:, c])
            for some in np.split(np.arange(local.shape[0]), cuts):
                result[some, c] = as_dense(beside[some] @ below @ columns)
        return result

    def _paths_are_cheaper(self, paths: float, local: sp.csr_array, near: sp.csr_array, columns: Any) -> bool:
        """Whether (G S) X has fewer multiplications than G (S X), over the units of a head."""
        units, width = self.arrays["first.att_src"].shape[2], columns.shape[1]
        words = width if isinstance(columns, np.ndarray) else columns.nnz / max(1, columns.shape[0])
        reached = min(width, words * near.nnz / near.shape[0])
        return bool(paths * (units + words) < units * (near.nnz * words + local.nnz * reached))


def _beside_each_other(pattern: sp.csr_array, values: np.ndarray) -> sp.csr_array:
    """[G_1, G_2, …], G_k with `values[:, k]` at the places of `pattern`."""
    rows, columns = pattern.shape
    units = values.shape[1]
    indices = pattern.indices[:, None] + columns * np.arange(units)
    return sp.csr_array((values.ravel(), indices.ravel(), pattern.indptr * units), shape=(rows, columns * units))


def _below_each_other(pattern: sp.csr_array, values: np.ndarray) -> sp.csr_array:
    """[S_1; S_2; …], likewise."""
    return sp.csr_array(sp.vstack([in_pattern(values[:, k], pattern) for k in range(values.shape[1])], format="csr"))
