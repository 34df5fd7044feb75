"""Rows of the Jacobians of GraphSAGE and GIN in closed form, over the labelled nodes' neighbourhoods alone.

A backward pass touches the whole graph for every row. But the first layer of both is U = Y W for some columns Y of the
graph, and a node's logit reads U at its neighbours only, so that

    ∂z̃_i/∂W[k, :] = Σ_v Γ_ivk Y_v ,        Γ_ivk = ∂z̃_i/∂U_vk ,    v a neighbour of i, or i itself:

a sparse product per hidden unit k gives the rows of many nodes at once.
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
from calirare.data.sparse import SparseMatrix
from calirare.detectors.networks.gin import GIN
from calirare.detectors.networks.influence.jacobian import AutogradJacobian
from calirare.detectors.networks.influence.model import evaluating
from calirare.detectors.networks.sage import GraphSAGE

_MOST_EDGES = 2**18
"""Of the nodes whose rows are made at once."""
Pieces = dict[str, np.ndarray]


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
    def _pieces(self, nodes: np.ndarray) -> Pieces:
        """By parameter, `(b, parts, …)`: the rows of these nodes."""

    def _fresh_rows(self, nodes: np.ndarray) -> Iterator[Tensor]:
        edges = np.cumsum(np.diff(self._propagation.csr.indptr)[nodes]) // _MOST_EDGES
        for few in np.split(nodes, np.flatnonzero(np.diff(edges)) + 1):
            for start in range(0, len(few), self._block):
                some = few[start : start + self._block]
                pieces = self._pieces(some)
                flat = [pieces[name].reshape(len(some), self.parts, -1) for name in self.parameters]
                yield torch.from_numpy(np.concatenate(flat, axis=2)).to(self.basis)

    def _around(self, nodes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
        """Rows of the propagation over the neighbours alone, and the neighbours."""
        rows = self._propagation.take_rows(nodes)
        around, compact = np.unique(rows.indices, return_inverse=True)
        shape = (len(nodes), len(around))
        return sp.csr_array((rows.data.astype(np.float64), compact, rows.indptr), shape=shape), around

    def _own_columns(self, nodes: np.ndarray) -> Any:
        x = self.inputs.x
        if isinstance(x, SparseMatrix):
            return x.csr[nodes].astype(np.float64)
        return _numbers(x, nodes)

    def _propagated_columns(self, nodes: np.ndarray) -> Any:
        rows = self._propagation.take_rows(nodes).astype(np.float64)
        x = self.inputs.x
        if isinstance(x, SparseMatrix):
            return rows @ x.csr.astype(np.float64)
        around, compact = np.unique(rows.indices, return_inverse=True)
        local = sp.csr_array((rows.data, compact, rows.indptr), shape=(len(nodes), len(around)))
        return local @ _numbers(x, around)


class SAGEJacobian(LocalJacobian):
    """Γ_ivk = m_vk (W̃_self[k] δ_iv + W̃_neighbours[k] M_iv), m the mask of the hidden layer; Y is [X, M X, 1]."""

    def _remember(self, model: GraphSAGE) -> None:
        inputs = self.inputs
        before = model.input_self(inputs.x) + inputs.neighbour_mean @ model.input_neighbours(inputs.x)
        self.hidden = torch.relu(before)

    @property
    def _propagation(self) -> SparseMatrix:
        return self.inputs.neighbour_mean

    def _pieces(self, nodes: np.ndarray) -> Pieces:
        local, around = self._around(nodes)
        own, near = _numbers(self.hidden, nodes), _numbers(self.hidden, around)
        alone = self.contrasts.T @ self.arrays["output_self.weight"]
        together = self.contrasts.T @ self.arrays["output_neighbours.weight"]
        pieces = self._output(own, local @ near)
        for name, columns in (
            ("input_self.weight", self._own_columns),
            ("input_neighbours.weight", self._propagated_columns),
        ):
            at_node, at_others = as_dense(columns(nodes)), columns(around)
            found = np.empty((len(nodes), self.parts, own.shape[1], at_node.shape[1]))
            for k in range(own.shape[1]):
                mine = (own[:, k] > 0)[:, None] * at_node
                theirs = as_dense((local * (near[:, k] > 0)).tocsr() @ at_others)
                found[:, :, k] = alone[:, k, None] * mine[:, None] + together[:, k, None] * theirs[:, None]
            pieces[name] = found
        pieces["input_self.bias"] = alone * (own > 0)[:, None] + together * (local @ (near > 0))[:, None]
        return pieces

    def _output(self, own: np.ndarray, near: np.ndarray) -> Pieces:
        turn = self.contrasts.T[None, :, :, None]
        return {
            "output_self.weight": turn * own[:, None, None],
            "output_neighbours.weight": turn * near[:, None, None],
            "output_self.bias": np.broadcast_to(self.contrasts.T, (len(own), *self.contrasts.T.shape)),
        }


class GINJacobian(LocalJacobian):
    """With a, h the two hidden layers of the first MLP, s = (A + I) h and G = ∂z̃/∂s at the node,

    Γ_ivl = (A + I)_iv 1[a_vl > 0] Σ_k G_ik 1[h_vk > 0] W_first[k, l] ;  Y is [(A + I) X, 1].
    """

    def _remember(self, model: GIN) -> None:
        inputs = self.inputs
        self.inner = torch.relu(inputs.neighbour_sum @ model.input(inputs.x) + model.input_bias)
        self.hidden = torch.relu(model.first(self.inner))
        self.summed = inputs.neighbour_sum @ self.hidden
        self.last = torch.relu(model.second[0](self.summed))

    @property
    def _propagation(self) -> SparseMatrix:
        return self.inputs.neighbour_sum

    def _pieces(self, nodes: np.ndarray) -> Pieces:
        local, around = self._around(nodes)
        inner, hidden = _numbers(self.inner, around), _numbers(self.hidden, around)
        summed, last, weight = _numbers(self.summed, nodes), _numbers(self.last, nodes), self.arrays
        turn = self.contrasts.T
        outer = (turn @ weight["second.2.weight"]) * (last > 0)[:, None]
        slope = outer @ weight["second.0.weight"]
        active = (hidden > 0).astype(np.float64)
        mixed = np.stack([as_dense((local * active[:, k]).tocsr() @ inner) for k in range(active.shape[1])], axis=1)
        pieces = {
            "second.2.weight": turn[None, :, :, None] * last[:, None, None],
            "second.2.bias": np.broadcast_to(turn, (len(nodes), *turn.shape)),
            "second.0.weight": outer[..., None] * summed[:, None, None],
            "second.0.bias": outer,
            "first.weight": slope[..., None] * mixed[:, None],
            "first.bias": slope * (local @ active)[:, None],
        }
        return pieces | self._first_layer(local, slope, active, inner, self._propagated_columns(around))

    def _first_layer(
        self, local: sp.csr_array, slope: np.ndarray, active: np.ndarray, inner: np.ndarray, columns: Any
    ) -> Pieces:
        n, units, first = len(slope), inner.shape[1], self.arrays["first.weight"]
        node, gates = np.repeat(np.arange(n), np.diff(local.indptr)), active[local.indices]
        weights = np.empty((n, self.parts, units, columns.shape[1]))
        bias = np.empty((n, self.parts, units))
        for c in range(self.parts):
            pulls = ((slope[node, c] * gates) @ first) * (inner[local.indices] > 0) * local.data[:, None]
            for k in range(units):
                spread = sp.csr_array((pulls[:, k], local.indices, local.indptr), shape=local.shape)
                weights[:, c, k] = as_dense(spread @ columns)
                bias[:, c, k] = spread.sum(axis=1)
        return {"input.weight": weights, "input_bias": bias}


def _numbers(tensor: Tensor, nodes: np.ndarray) -> np.ndarray:
    index = torch.from_numpy(nodes).to(tensor.device)
    array: np.ndarray = tensor[index].double().cpu().numpy()
    return array
