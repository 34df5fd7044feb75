"""The Jacobian of the two-layer GCN in closed form: no autograd, no dense features, no n × P array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from calirare.data.arrays import as_dense
from calirare.data.inputs import GraphInputs
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.influence.gated_gram import GatedGram, ranked_patterns
from calirare.detectors.networks.influence.jacobian import contrast_basis
from calirare.detectors.networks.influence.row_products import (
    cost_of_gram,
    gram_of,
    grouped_products,
    in_pattern,
    over_reached,
    summed_by,
)
from calirare.detectors.networks.local_jacobian import rows_of

_BLOCK_BYTES = 64 * 2**20
_PUSH_BYTES = 8 * 2**20
_MOST_ROWS = 2**23
"""Numbers of a Jacobian that is held as a whole where many ask for it: 64 MB."""


class GCNJacobian:
    """J for Z = Â relu(A₁) W₂ᵀ + b₂, A₁ = Â X W₁ᵀ + b₁, with m the 0/1 mask of A₁ > 0 and s = Â X.

    For contrast c of node v, with W̃ = Bᵀ W₂ `(contrasts, hidden)`:

        ∂z̃_vc/∂W₁[k, :] = W̃[c, k] Σ_u Â_vu m_uk s_u        ∂z̃_vc/∂b₁[k] = W̃[c, k] Σ_u Â_vu m_uk
        ∂z̃_vc/∂W₂[j, :] = B[j, c] Σ_u Â_vu relu(A₁)_u        ∂z̃_vc/∂b₂[j] = B[j, c]

    so that K = J Jᵀ needs only products over the labelled nodes' neighbourhoods. Sums over features, which are long and
    have no cancellation, and `push`, which touches every node, run in the model's own precision; the rest, and every
    solve with K, in float64.
    """

    most_bent = 0.5

    def __init__(self, model: GCNBackbone, inputs: GraphInputs) -> None:
        self.inputs = inputs
        self.basis = contrast_basis(model.output.out_features).to(inputs.device)
        self.num_contrasts = self.basis.shape[1]
        self.num_parameters = sum(value.numel() for value in model.parameters())
        self.names = [name for name, _ in model.named_parameters()]
        self.shapes = [value.shape for value in model.parameters()]
        with torch.no_grad():
            self.before = model.hidden_input(inputs)
            self.active = self.before > 0
            self.output = model.output.weight.detach().double(), model.output.bias.detach().double()
            self.weight = self.basis.T @ self.output[0]
        self.hidden = self.active.shape[1]
        self.float_type = np.float64 if self.before.dtype == torch.float64 else np.float32

    def _neighbourhood(self, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray, np.ndarray | sp.csr_array]:
        """Rows of Â for `nodes` over their neighbours only, the neighbours, and s = Â X of the neighbours."""
        local, neighbours = over_reached(self.inputs.normalized, nodes)
        first, *second = self._factors(neighbours)
        return local, neighbours, first @ second[0] if second else first

    def _factors(self, nodes: np.ndarray) -> list[Any]:
        """What multiplies to s = Â X at these nodes: s, or for sparse X two that hold fewer numbers than their product."""
        if isinstance(self.inputs.x, SparseMatrix):
            spread, far = over_reached(self.inputs.normalized, nodes)
            return [spread.astype(self.float_type), self.inputs.x.csr[far].astype(self.float_type)]
        index = torch.from_numpy(nodes).to(self.inputs.device)
        return [self.inputs.propagated_x[index].cpu().numpy().astype(self.float_type)]

    def _relu(self, nodes: np.ndarray) -> np.ndarray:
        return rows_of(self.before, nodes).clip(min=0)

    def gram(self, nodes: np.ndarray) -> Tensor:
        local, neighbours, features = self._neighbourhood(nodes)
        active = rows_of(self.active, neighbours)
        weight, n = self.weight.cpu().numpy(), len(nodes)
        gated = GatedGram(local, features, active * weight[:, None])
        by_unit = gated.cost >= self.hidden * cost_of_gram(local, features)
        first = self._by_unit(local, features, active) if by_unit else gated.kernel()
        last = np.hstack([local @ self._relu(neighbours), np.ones((n, 1))])
        pieces = [weight * (local @ active)[:, None], np.kron(np.eye(self.num_contrasts), last[:, None])]
        rest = torch.from_numpy(np.concatenate(pieces, axis=2).reshape(n * self.num_contrasts, -1))
        kernel = torch.from_numpy(first.reshape(n * self.num_contrasts, -1))
        return kernel.addmm_(rest, rest.T).to(self.inputs.device)

    def _by_unit(self, local: sp.csr_array, features: Any, active: np.ndarray) -> np.ndarray:
        """Σ_k W̃[c, k] W̃[c', k] R_k R_kᵀ, one hidden unit at a time: best where neighbourhoods are large."""
        n, weight = local.shape[0], self.weight.cpu().numpy()
        kernel = np.zeros((n, self.num_contrasts, n, self.num_contrasts))
        local, active = local.astype(self.float_type), active.astype(self.float_type)
        for k in range(self.hidden):
            unit = gram_of(in_pattern(local.data * active[local.indices, k], local) @ features)
            for c, d in np.ndindex(self.num_contrasts, self.num_contrasts):
                kernel[:, c, :, d] += weight[c, k] * weight[d, k] * unit
        return kernel

    def rows(self, nodes: np.ndarray) -> Iterator[Tensor]:
        block = max(1, _BLOCK_BYTES // (8 * self.num_parameters * self.num_contrasts))
        for start in range(0, len(nodes), block):
            yield self._block_of_rows(nodes[start : start + block])

    def _block_of_rows(self, nodes: np.ndarray) -> Tensor:
        local, neighbours, features = self._neighbourhood(nodes)
        active = rows_of(self.active, neighbours)
        weight, basis = self.weight.cpu().numpy(), self.basis.cpu().numpy()
        n = len(nodes)
        unit = np.empty((n, self.hidden, self.inputs.num_features))
        for k in range(self.hidden):
            unit[:, k] = as_dense(in_pattern(local.data * active[local.indices, k], local) @ features)
        propagated = local @ self._relu(neighbours)
        pieces = {
            "input.weight": weight[None, :, :, None] * unit[:, None],
            "input_bias": weight[None] * (local @ active)[:, None],
            "output.weight": basis.T[None, :, :, None] * propagated[:, None, None],
            "output.bias": np.broadcast_to(basis.T[None], (n, self.num_contrasts, basis.shape[0])),
        }
        flat = np.concatenate([pieces[name].reshape(n, self.num_contrasts, -1) for name in self.names], axis=2)
        return torch.from_numpy(flat).to(self.inputs.device)

    def pull(self, nodes: np.ndarray, coefficients: Tensor) -> Tensor:
        columns = coefficients.shape[2]
        if columns > self.hidden and len(nodes) * self.num_contrasts * self.num_parameters <= _MOST_ROWS:
            whole = torch.cat(list(self.rows(nodes))).reshape(-1, self.num_parameters)
            return coefficients.double().reshape(-1, columns).T @ whole
        local, neighbours = over_reached(self.inputs.normalized, nodes)
        active, relu = rows_of(self.active, neighbours), self._relu(neighbours)
        rank, _ = ranked_patterns(active)
        odd = np.flatnonzero(rank)
        all_factors, odd_factors = self._factors(neighbours), self._factors(neighbours[odd])
        array = coefficients.double().cpu().numpy()
        block = max(1, _PUSH_BYTES // (8 * max(len(neighbours) * self.num_contrasts, len(odd) * self.hidden)))
        found = []
        for start in range(0, array.shape[2], block):
            some = array[:, :, start : start + block]
            spread = (local.T @ some.reshape(len(some), -1)).reshape(len(neighbours), self.num_contrasts, -1)
            low = spread.astype(self.float_type)
            first = self._from_common(all_factors, low, active[rank.argmin()])
            if len(odd):
                first += self._from_odd(odd_factors, low[odd], active[odd] - active[rank.argmin()])
            found.append(self._pulled(first, spread, some, active, relu))
        return torch.from_numpy(np.concatenate(found)).to(self.inputs.device)

    def _from_common(self, factors: list[Any], spread: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Σ_u s_u Σ_c W̃[c, k] m_k `spread`_uc, `(features, hidden, columns)`: with equal masks one sum serves all k."""
        pulled = _pulled_through(factors, spread.reshape(len(spread), -1)).reshape(-1, *spread.shape[1:])
        return np.einsum("fcb,ck->fkb", pulled, (self.weight.cpu().numpy() * shown).astype(self.float_type))

    def _from_odd(self, factors: list[Any], spread: np.ndarray, apart: np.ndarray) -> np.ndarray:
        """The same where masks differ by `apart`, `(u, hidden)`."""
        gates = (self.weight.cpu().numpy()[:, None] * apart).astype(self.float_type)
        hidden = np.einsum("cuk,ucb->ukb", gates, spread).reshape(len(spread), -1)
        return _pulled_through(factors, hidden).reshape(-1, self.hidden, spread.shape[2])

    def _pulled(
        self, first: np.ndarray, spread: np.ndarray, array: np.ndarray, active: np.ndarray, relu: np.ndarray
    ) -> np.ndarray:
        """`(columns, P)` for a few columns, so that what lies between stays in the cache."""
        columns, basis, flat = array.shape[2], self.basis.cpu().numpy(), spread.reshape(len(spread), -1)
        shape = self.hidden, self.num_contrasts, columns
        pieces = {
            "input.weight": first.transpose(2, 1, 0),
            "input_bias": np.einsum("ck,kcb->bk", self.weight.cpu().numpy(), (active.T @ flat).reshape(shape)),
            "output.weight": np.einsum("jc,kcb->bjk", basis, (relu.T @ flat).reshape(shape)),
            "output.bias": (basis @ array.sum(axis=0)).T,
        }
        return np.concatenate([pieces[name].reshape(columns, -1) for name in self.names], axis=1)

    def push(self, directions: Tensor) -> Tensor:
        inputs, columns = self.inputs, len(directions)
        by_name = self._by_name(directions.to(self.before.dtype))
        basis, weight = self.basis.to(self.before), self.weight.to(self.before)
        stacked = by_name["input.weight"].reshape(columns * self.hidden, -1).T
        bias, output = by_name["input_bias"].reshape(-1), torch.einsum("bjk,jc->cbk", by_name["output.weight"], basis)
        # Of sparse features the product is made for all nodes at once, of dense ones node block by node block.
        whole = inputs.normalized @ (inputs.x @ stacked) if isinstance(inputs.x, SparseMatrix) else None
        block = inputs.num_nodes if whole is not None else max(1, _PUSH_BYTES // (4 * columns * self.hidden))
        inner = torch.empty(
            inputs.num_nodes, self.num_contrasts, columns, dtype=self.before.dtype, device=self.before.device
        )
        for start in range(0, inputs.num_nodes, block):
            here = slice(start, start + block)
            first = (whole if whole is not None else inputs.propagated_x[here] @ stacked) + bias
            first = first.reshape(-1, columns, self.hidden) * self.active[here, None]
            inner[here] = (first @ weight.T).transpose(1, 2)
            inner[here] += torch.einsum("nk,cbk->ncb", self.before[here].clamp(min=0), output)
        pushed = inputs.normalized @ inner.reshape(inputs.num_nodes, -1)
        return pushed.reshape(inputs.num_nodes, self.num_contrasts, columns) + torch.einsum(
            "bj,jc->cb", by_name["output.bias"], basis
        )

    def moved(self, nodes: np.ndarray, directions: Tensor) -> Tensor:
        """As `Moves.moved`: of the node and its neighbours, what the hidden layer was at rest and how it changes."""
        local, neighbours, features = self._neighbourhood(nodes)
        by_name = {name: piece.cpu().numpy() for name, piece in self._by_name(directions.double()).items()}
        before, (weight, bias) = rows_of(self.before, neighbours), (one.cpu().numpy() for one in self.output)
        weight, bias = weight + by_name["output.weight"], bias + by_name["output.bias"]
        change = grouped_products(features, local.indices, local.indptr, by_name["input.weight"])
        change += np.repeat(by_name["input_bias"], np.diff(local.indptr), axis=0)
        hidden = np.maximum(before[local.indices] + change, 0)
        found = np.einsum("njk,nk->nj", weight, summed_by(local, hidden)) + bias
        return torch.from_numpy(found).to(self.inputs.device)

    def _by_name(self, directions: Tensor) -> dict[str, Tensor]:
        """The pieces of each direction, `(columns, P)`, in the shapes of the parameters."""
        pieces = directions.split([shape.numel() for shape in self.shapes], dim=1)
        named = zip(self.names, self.shapes, pieces, strict=True)
        return {name: piece.reshape(len(directions), *shape) for name, shape, piece in named}

    @property
    def push_width(self) -> int:
        return (self.hidden if isinstance(self.inputs.x, SparseMatrix) else 0) + 4 * self.num_contrasts


def _pulled_through(factors: list[Any], dense: np.ndarray) -> np.ndarray:
    """sᵀ `dense`, s being the product of the factors."""
    for factor in factors:
        dense = factor.T @ dense
    return dense
