"""GATS: a temperature for every node, by attention over its neighbours' logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.special import softmax
from torch import Tensor

from calirare.calibration.base import Calibrator
from calirare.data.arrays import all_below
from calirare.data.inputs import GraphInputs
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.fitting.loop import seeded
from calirare.detectors.networks.fitting.optimizers import minimise
from calirare.errors import InputError

_SLOPE = 0.2
_SMALLEST_TEMPERATURE = 0.01
_SMALLEST_FACTOR = 0.01


class GATS(Calibrator):
    """z'_v = z_v / T_v with a temperature from the neighbourhood N̂(v) of the node, itself included:

        T_v = T₀ + 1/H Σ_h softplus( ω δ_v + Σ_{u ∈ N̂(v)} α_vu γ_u τ_u^h )
        α_vu = softmax_u( leaky_relu( (z_v/γ_v) · (z_u/γ_u) ) )

    τ_u = W (z_u, sorted, min-max normalised); δ_v is the confidence of v less the mean confidence of N̂(v); γ_u is
    one learned number at the nodes that trained the model, another at their direct neighbours, and 1 elsewhere.
    W, ω, T₀ and the two γ are learned by Adam on the weighted likelihood. Source: key `hsu2022`.

    Args:
        heads: H.
        epochs: Steps of Adam.
        lr: Its learning rate.
        weight_decay: Its L2 penalty.
        train_nodes: Nodes that trained the model; their places are read, never their labels. Default: those that the
            estimator trained on, none where the calibrator is used alone.
        seed: Of the first W.

    Note:
        T and γ are kept above 0.01; the published code leaves both free. With two classes the normalised logits are always
        (0, 1), so that T varies by δ and γ alone. On a graph with another number of nodes than at fit, the places of the
        training nodes mean nothing and γ is 1 everywhere.
    """

    needs_graph = True

    def __init__(
        self,
        heads: int = 8,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        train_nodes: np.ndarray | None = None,
        seed: int = 0,
    ) -> None:
        self.heads = heads
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.train_nodes = train_nodes
        self.seed = seed

    def knowing(self, train_nodes: np.ndarray) -> Self:
        self._known = train_nodes
        return self

    def _fit_on_graph(
        self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray, nodes: np.ndarray, graph: GraphInputs
    ) -> None:
        places = np.asarray(getattr(self, "_known", ()) if self.train_nodes is None else self.train_nodes)
        self.num_nodes_ = graph.num_nodes
        self.train_nodes_ = places.astype(np.int64)
        self._check_places()
        around = self._neighbourhoods(logits, graph, nodes)
        own, classes, share = (torch.from_numpy(one) for one in (logits[nodes], y.astype(np.int64), weights))
        with seeded(self.seed):
            projection = torch.nn.init.xavier_uniform_(torch.empty(logits.shape[1], self.heads, dtype=torch.float64))
        slope = torch.zeros((), dtype=torch.float64)
        offset, factors = torch.ones((), dtype=torch.float64), torch.ones(2, dtype=torch.float64)
        parameters = [value.requires_grad_() for value in (projection, slope, offset, factors)]

        def loss() -> Tensor:
            temperature = around.temperature(projection, slope, offset, factors)
            return (share * F.cross_entropy(own / temperature[:, None], classes, reduction="none")).sum()

        minimise(loss, parameters, steps=self.epochs, lr=self.lr, weight_decay=self.weight_decay)
        self.projection_, self.factors_ = projection.detach().numpy(), factors.detach().numpy()
        self.slope_, self.offset_ = float(slope.detach()), float(offset.detach())

    def restore(self, state: dict[str, Any]) -> Self:
        super().restore(state)._check_places()
        return self

    def _check_places(self) -> None:
        places = self.train_nodes_
        if not all_below(places, self.num_nodes_):
            raise InputError(f"train_nodes must lie in 0…{self.num_nodes_ - 1}, the nodes of the graph.")

    def _neighbourhoods(self, logits: np.ndarray, graph: GraphInputs, nodes: np.ndarray) -> _Neighbourhoods:
        train_nodes = self.train_nodes_ if graph.num_nodes == self.num_nodes_ else self.train_nodes_[:0]
        return _Neighbourhoods.make(logits, graph.adjacency, nodes, train_nodes)

    def _predict_on_graph(self, logits: np.ndarray, graph: GraphInputs) -> np.ndarray:
        return softmax(logits / self.temperature(logits, graph)[:, None], axis=1)

    def temperature(self, logits: np.ndarray, graph: GraphInputs) -> np.ndarray:
        """T `(N,)`: what the logits of each node are divided by."""
        around = self._neighbourhoods(logits, graph, np.arange(graph.num_nodes))
        learned = (torch.as_tensor(value) for value in (self.projection_, self.slope_, self.offset_, self.factors_))
        return around.temperature(*learned).numpy()


@dataclass(frozen=True)
class _Neighbourhoods:
    """What does not change while fitting, one row per pair (target, neighbour), sorted by target.

    Args:
        sums: `(targets, pairs)`: sums the pairs of each target.
        counts: `(targets,)` pairs of each target.
        similarity: `(pairs,)` z_v · z_u.
        sorted_logits: `(pairs, C)` of the neighbour u.
        near: `(pairs, 3)` each: one-hot place of target and of neighbour: trained, next to a trained node, neither.
        lead: `(targets,)` δ_v.
    """

    sums: SparseMatrix
    counts: np.ndarray
    similarity: Tensor
    sorted_logits: Tensor
    near: tuple[Tensor, Tensor]
    lead: Tensor

    @classmethod
    def make(
        cls, logits: np.ndarray, adjacency: sp.csr_array, nodes: np.ndarray, train_nodes: np.ndarray
    ) -> _Neighbourhoods:
        size = len(logits)
        linked = sp.csr_array(adjacency.astype(bool) + sp.eye_array(size, dtype=bool, format="csr"))
        pairs = linked[nodes]
        counts = np.diff(pairs.indptr)
        target, source = np.repeat(nodes, counts), pairs.indices
        sums = sp.csr_array((np.ones(pairs.nnz), np.arange(pairs.nnz), pairs.indptr), shape=(len(nodes), pairs.nnz))
        ordered = np.sort(logits, axis=1) - logits.min(axis=1, keepdims=True)
        ordered /= np.maximum(ordered[:, -1:], np.finfo(np.float64).tiny)
        confidence = softmax(logits, axis=1).max(axis=1)
        place = np.full(size, 2)
        place[linked[train_nodes].indices] = 1
        place[train_nodes] = 0
        one_hot = np.eye(3)[place]
        return cls(
            sums=SparseMatrix(sums),
            counts=counts,
            similarity=torch.from_numpy(np.einsum("ec,ec->e", logits[target], logits[source])),
            sorted_logits=torch.from_numpy(ordered[source]),
            near=(torch.from_numpy(one_hot[target]), torch.from_numpy(one_hot[source])),
            lead=torch.from_numpy(confidence[nodes] - (sums @ confidence[source]) / counts),
        )

    def temperature(self, projection: Tensor, slope: Tensor, offset: Tensor, factors: Tensor) -> Tensor:
        """T_v of the targets, `(targets,)`."""
        gamma = torch.cat([factors.clamp(min=_SMALLEST_FACTOR), factors.new_ones(1)])
        at_target, at_source = (place @ gamma for place in self.near)
        scores = F.leaky_relu(self.similarity / (at_target * at_source), _SLOPE)
        starts = np.cumsum(self.counts) - self.counts
        largest = np.maximum.reduceat(scores.detach().numpy(), starts)
        attention = torch.exp(scores - torch.from_numpy(np.repeat(largest, self.counts)))
        parts = (attention * at_source)[:, None] * (self.sorted_logits @ projection)
        aggregated = (self.sums @ parts) / (self.sums @ attention[:, None])
        heads = F.softplus(slope * self.lead[:, None] + aggregated)
        return (heads.mean(dim=1) + offset).clamp(min=_SMALLEST_TEMPERATURE)
