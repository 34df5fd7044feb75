"""Rows of the Jacobians of GraphSAGE and GIN in closed form, over the labelled nodes' neighbourhoods alone.

A backward pass touches the whole graph for every row. But the first layer of both is U = Y W for some columns Y of the
graph, and a node's logit reads U at its neighbours only, so that

    ∂z̃_i/∂W[k, :] = Σ_v Γ_ivk Y_v ,        Γ_ivk = ∂z̃_i/∂U_vk ,    v a neighbour of i, or i itself:

a sparse product per hidden unit k gives the rows of many nodes at once. J Jᵀ is a sum over the parameters, so it needs
the rows of one hidden unit at a time and never those of all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from calirare.data.arrays import as_dense
from calirare.data.inputs import GraphInputs
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.backbones.gin import GINBackbone
from calirare.detectors.networks.backbones.sage import SAGEBackbone
from calirare.detectors.networks.influence.gated_gram import GatedGram
from calirare.detectors.networks.influence.jacobian import MOST_KEPT, AutogradJacobian
from calirare.detectors.networks.influence.model import evaluating
from calirare.detectors.networks.influence.row_products import (
    grouped_products,
    in_pattern,
    leaner,
    over_reached,
    summed_by,
)

_MOST_EDGES = 2**18
"""Most edges, times the contrasts, of the nodes whose rows are made at once."""
_FEW_COLUMNS = 16
"""Number of columns up to which `pull` takes one backward pass each rather than making all rows."""
_MOST_EDGES_IN_ALL = 2**20
"""Most edges, likewise, of the nodes whose Gram matrix is made unit by unit."""
Piece = tuple[str, tuple[int | slice, ...], np.ndarray]
"""A parameter, a part of it, and the rows `(b, contrasts, …)` over that part."""


class LocalJacobian(AutogradJacobian):
    """Autograd for `push`, and the closed form for rows, of which all else is made."""

    def __init__(self, model: nn.Module, inputs: GraphInputs) -> None:
        super().__init__(model, inputs)
        self.arrays = {name: value.double().cpu().numpy() for name, value in self.parameters.items()}
        self.contrasts = self.basis.double().cpu().numpy()
        with evaluating(model), torch.no_grad():
            self._remember(model)

    @abstractmethod
    def _remember(self, model: Any) -> None:
        """Keep what the layers say of every node."""

    @property
    @abstractmethod
    def _propagation(self) -> SparseMatrix:
        """Over which a node reads its neighbours."""

    @abstractmethod
    def _pieces(self, nodes: np.ndarray) -> Iterator[Piece]:
        """The rows of these nodes, one part of one parameter after the other."""

    def _fresh_rows(self, nodes: np.ndarray) -> Iterator[Tensor]:
        edges = np.cumsum(self._edges(nodes)) // _MOST_EDGES
        for few in np.split(nodes, np.flatnonzero(np.diff(edges)) + 1):
            for start in range(0, len(few), self._block):
                some = few[start : start + self._block]
                shape = (len(some), self.num_contrasts)
                found = {name: np.empty((*shape, *value.shape)) for name, value in self.arrays.items()}
                for name, where, piece in self._pieces(some):
                    found[name][(slice(None), slice(None), *where)] = piece
                flat = [found[name].reshape(*shape, -1) for name in self.parameters]
                yield torch.from_numpy(np.concatenate(flat, axis=2)).to(self.basis)

    def gram(self, nodes: np.ndarray) -> Tensor:
        size = len(nodes) * self.num_contrasts
        widest = max(value.shape[-1] for value in self.arrays.values())
        kept = size * self.num_parameters <= MOST_KEPT  # `pull` asks for them again
        if kept or size * widest > MOST_KEPT or self._edges(nodes).sum() > _MOST_EDGES_IN_ALL:
            return super().gram(nodes)
        result = np.zeros((size, size))
        for _, _, piece in self._pieces(nodes):
            flat = piece.reshape(size, -1)
            result += flat @ flat.T  # of an array with itself BLAS makes one half only
        return torch.from_numpy(result).to(self.basis.device)

    def pull(self, nodes: np.ndarray, coefficients: Tensor) -> Tensor:
        if coefficients.shape[2] > _FEW_COLUMNS:
            self._keep(nodes)
        return super().pull(nodes, coefficients)

    def _moved_parameters(self, directions: Tensor) -> dict[str, np.ndarray]:
        """`(n, …)` by name: the parameters moved along each row of `directions` `(n, P)`."""
        sizes = [value.numel() for value in self.parameters.values()]
        pieces = zip(self.arrays.items(), directions.double().cpu().split(sizes, dim=1), strict=True)
        return {name: value + piece.numpy().reshape(-1, *value.shape) for (name, value), piece in pieces}

    def _edges(self, nodes: np.ndarray) -> np.ndarray:
        """How many each node has, times the contrasts: of every one a hidden layer's numbers are held."""
        return np.diff(self._propagation.csr.indptr)[nodes].astype(np.int64) * self.num_contrasts

    def _around(self, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
        """Rows of the propagation over the neighbours alone, and the neighbours."""
        local, around = over_reached(self._propagation, nodes)
        return local.astype(np.float64), around

    def _own_columns(self, nodes: np.ndarray) -> Any:
        x = self.inputs.x
        if isinstance(x, SparseMatrix):
            return x.csr[nodes].astype(self.float_type)
        return rows_of(x, nodes).astype(self.float_type)

    def _propagated_columns(self, nodes: np.ndarray) -> Any:
        local, around = self._around(nodes)
        return local.astype(self.float_type) @ self._own_columns(around)

    def _times(self, values: np.ndarray, pattern: sp.csr_array, columns: Any) -> np.ndarray:
        """M @ columns, dense, for `values` at the places of `pattern`, in the model's own precision."""
        return as_dense(in_pattern(values.astype(self.float_type), pattern) @ columns)


class SAGEJacobian(LocalJacobian):
    """Γ_ivk = m_vk (W̃_self[k] δ_iv + W̃_neighbours[k] M_iv), m the mask of the hidden layer; Y is [X, M X, 1].

    So a row goes over L = [I, M], and J Jᵀ can be made by pairs of nodes: see `calirare.detectors.networks.influence.gated_gram`.
    """

    most_bent = 0.2

    def _remember(self, model: SAGEBackbone) -> None:
        inputs = self.inputs
        before = model.input_self(inputs.x) + inputs.neighbour_mean @ model.input_neighbours(inputs.x)
        self.hidden = torch.relu(before)

    @property
    def _propagation(self) -> SparseMatrix:
        return self.inputs.neighbour_mean

    def gram(self, nodes: np.ndarray) -> Tensor:
        local, around = self._around(nodes)
        columns = self._read_columns(np.concatenate([nodes, around]))
        n, units = len(nodes), self.hidden.shape[1]
        own, near = rows_of(self.hidden, nodes), rows_of(self.hidden, around)
        alone, together = self._output_weights()
        gates = np.concatenate([alone[:, None] * (own > 0), together[:, None] * (near > 0)], axis=1)
        gated = GatedGram(sp.csr_array(sp.hstack([sp.eye_array(n), local], format="csr")), columns, gates)
        if gated.cost >= units * (n * self.num_contrasts) ** 2 * columns.shape[1] / 2:
            return super().gram(nodes)
        result = gated.kernel().reshape(n * self.num_contrasts, -1)
        for _, _, piece in self._but_the_first(own, near, local):
            result += piece.reshape(len(result), -1) @ piece.reshape(len(result), -1).T
        return torch.from_numpy(result).to(self.basis.device)

    def _read_columns(self, nodes: np.ndarray) -> Any:
        """[X, M X] of these nodes."""
        pair = self._own_columns(nodes), self._propagated_columns(nodes)
        return np.hstack(pair) if isinstance(pair[0], np.ndarray) else sp.csr_array(sp.hstack(pair, format="csr"))

    def _output_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """W̃_self and W̃_neighbours, `(contrasts, units)` each."""
        turn, arrays = self.contrasts.T, self.arrays
        return turn @ arrays["output_self.weight"], turn @ arrays["output_neighbours.weight"]

    def _pieces(self, nodes: np.ndarray) -> Iterator[Piece]:
        local, around = self._around(nodes)
        own, near = rows_of(self.hidden, nodes), rows_of(self.hidden, around)
        yield from self._but_the_first(own, near, local)
        alone, together = (weight.astype(self.float_type)[..., None] for weight in self._output_weights())
        for name, columns in (
            ("input_self.weight", self._own_columns),
            ("input_neighbours.weight", self._propagated_columns),
        ):
            at_node, at_others = as_dense(columns(nodes)), columns(around)
            for k in range(own.shape[1]):
                mine = (own[:, k] > 0)[:, None] * at_node
                theirs = self._times(local.data * (near[local.indices, k] > 0), local, at_others)
                yield name, (k,), alone[:, k] * mine[:, None] + together[:, k] * theirs[:, None]

    def moved(self, nodes: np.ndarray, directions: Tensor) -> Tensor:
        """As `Moves.moved`: the hidden layer is made of the node, which comes first, and of its neighbours alone."""
        local, around = self._around(nodes)
        both, weight = np.concatenate([nodes, around]), self._moved_parameters(directions)
        places = np.insert(len(nodes) + local.indices, local.indptr[:-1], np.arange(len(nodes)))
        starts = local.indptr + np.arange(len(nodes) + 1)
        hidden = np.repeat(weight["input_self.bias"], np.diff(starts), axis=0)
        hidden += grouped_products(self._own_columns(both), places, starts, weight["input_self.weight"])
        hidden += grouped_products(self._propagated_columns(both), places, starts, weight["input_neighbours.weight"])
        hidden = np.maximum(hidden, 0)
        near = summed_by(local, np.delete(hidden, starts[:-1], axis=0))
        found = np.einsum("njk,nk->nj", weight["output_self.weight"], hidden[starts[:-1]]) + weight["output_self.bias"]
        found += np.einsum("njk,nk->nj", weight["output_neighbours.weight"], near)
        return torch.from_numpy(found).to(self.basis.device)

    def _but_the_first(self, own: np.ndarray, near: np.ndarray, local: sp.csr_array) -> Iterator[Piece]:
        """The rows over all but the first layer's weights."""
        turn, (alone, together) = self.contrasts.T[None, :, :, None], self._output_weights()
        yield "input_self.bias", (), alone * (own > 0)[:, None] + together * (local @ (near > 0))[:, None]
        yield "output_self.weight", (), turn * own[:, None, None]
        yield "output_neighbours.weight", (), turn * (local @ near)[:, None, None]
        yield "output_self.bias", (), np.broadcast_to(self.contrasts.T, (len(own), *self.contrasts.T.shape))


class GINJacobian(LocalJacobian):
    """With a, h the two hidden layers of the first MLP, s = (A + I) h and G = ∂z̃/∂s at the node,

    Γ_ivl = (A + I)_iv 1[a_vl > 0] Σ_k G_ik 1[h_vk > 0] W_first[k, l] ;  Y is [(A + I) X, 1].
    """

    most_bent = 0.2

    def _remember(self, model: GINBackbone) -> None:
        inputs = self.inputs
        self.inner = torch.relu(inputs.neighbour_sum @ model.input(inputs.x) + model.input_bias)
        self.hidden = torch.relu(model.first(self.inner))
        self.summed = inputs.neighbour_sum @ self.hidden
        self.last = torch.relu(model.second[0](self.summed))

    @property
    def _propagation(self) -> SparseMatrix:
        return self.inputs.neighbour_sum

    def _pieces(self, nodes: np.ndarray) -> Iterator[Piece]:
        local, around = self._around(nodes)
        inner, hidden = rows_of(self.inner, around), rows_of(self.hidden, around)
        summed, last, weight = rows_of(self.summed, nodes), rows_of(self.last, nodes), self.arrays
        turn = self.contrasts.T
        outer = (turn @ weight["second.2.weight"]) * (last > 0)[:, None]
        slope = outer @ weight["second.0.weight"]
        active = (hidden > 0).astype(np.float64)
        mixed = [in_pattern(local.data * active[local.indices, k], local) @ inner for k in range(active.shape[1])]
        yield "second.2.weight", (), turn[None, :, :, None] * last[:, None, None]
        yield "second.2.bias", (), np.broadcast_to(turn, (len(nodes), *turn.shape))
        yield "second.0.weight", (), outer[..., None] * summed[:, None, None]
        yield "second.0.bias", (), outer
        yield "first.weight", (), slope[..., None] * np.stack(mixed, axis=1)[:, None]
        yield "first.bias", (), slope * (local @ active)[:, None]
        yield from self._first_layer(local, slope, active, inner, leaner(self._propagated_columns(around)))

    def moved(self, nodes: np.ndarray, directions: Tensor) -> Tensor:
        """As `Moves.moved`: the first MLP is asked about the node and its neighbours alone."""
        local, around = self._around(nodes)
        weight, counts = self._moved_parameters(directions), np.diff(local.indptr)
        inner = grouped_products(
            leaner(self._propagated_columns(around)), local.indices, local.indptr, weight["input.weight"]
        )
        inner = np.maximum(inner + np.repeat(weight["input_bias"], counts, axis=0), 0)
        hidden = grouped_products(inner, np.arange(len(inner)), local.indptr, weight["first.weight"])
        hidden = np.maximum(hidden + np.repeat(weight["first.bias"], counts, axis=0), 0)
        last = np.einsum("nlk,nk->nl", weight["second.0.weight"], summed_by(local, hidden)) + weight["second.0.bias"]
        found = np.einsum("njl,nl->nj", weight["second.2.weight"], np.maximum(last, 0)) + weight["second.2.bias"]
        return torch.from_numpy(found).to(self.basis.device)

    def _first_layer(
        self, local: sp.csr_array, slope: np.ndarray, active: np.ndarray, inner: np.ndarray, columns: Any
    ) -> Iterator[Piece]:
        node, gates = np.repeat(np.arange(len(slope)), np.diff(local.indptr)), active[local.indices]
        scale = (inner[local.indices] > 0) * local.data[:, None]
        pulls = np.stack(
            [((slope[node, c] * gates) @ self.arrays["first.weight"]) * scale for c in range(self.num_contrasts)],
            axis=1,
        )
        yield "input_bias", (), np.add.reduceat(pulls, local.indptr[:-1])
        for k in range(inner.shape[1]):
            rows = [self._times(pulls[:, c, k], local, columns) for c in range(self.num_contrasts)]
            yield "input.weight", (k,), np.stack(rows, axis=1)


def rows_of(tensor: Tensor, nodes: np.ndarray) -> np.ndarray:
    """These rows of a tensor, in float64."""
    index = torch.from_numpy(nodes).to(tensor.device)
    return tensor[index].double().cpu().numpy()
