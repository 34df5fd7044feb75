"""GETS: a mixture of experts on logits, attributes and degree gives each node its temperature."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import softmax
from torch import Tensor, nn

from calirare.benchmark.competitors.calibrators import on_held_out
from calirare.calibration.base import Calibrator
from calirare.data.inputs import GraphInputs
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.fitting.loop import seeded
from calirare.detectors.networks.fitting.optimizers import minimise

PARTS = ("logits", "attributes", "degree")
INPUTS = tuple(chosen for size in (1, 2, 3) for chosen in combinations(range(len(PARTS)), size))
"""What each of the seven experts reads."""


class _Mixture(nn.Module):
    """Experts e, two-layer GCNs on their inputs, and a gate that mixes the best `top` of them at each node."""

    def __init__(self, num_classes: int, num_features: int, hidden: int, top: int) -> None:
        super().__init__()
        self.top = top
        widths = (num_classes, num_features, 1)
        self.first = nn.ModuleList(
            nn.ModuleList(nn.Linear(widths[k], hidden, bias=False) for k in chosen) for chosen in INPUTS
        )
        self.second = nn.ModuleList(nn.Linear(hidden, 1) for _ in INPUTS)
        self.gate = nn.ModuleList(nn.Linear(width, len(INPUTS), bias=False) for width in widths)

    def forward(self, inputs: list[Any], propagate: SparseMatrix, nodes: Tensor | None) -> Tensor:
        """`(N,)` or `(n,)`: what each node's logits are multiplied by."""
        said = []
        for chosen, first, second in zip(INPUTS, self.first, self.second, strict=True):
            units = _summed([inputs[k] for k in chosen], first)
            said.append(propagate @ second(F.relu(propagate @ units)))
        experts = F.softplus(torch.cat(said, dim=1) + 0.55)  # softplus(0.55) is about one: the logits as they come
        scores = _summed(inputs, self.gate)
        best = scores.topk(self.top, dim=1)
        weight = torch.zeros_like(scores).scatter(1, best.indices, F.softmax(best.values, dim=1))
        mixed = (weight * experts).sum(dim=1)
        return mixed if nodes is None else mixed[nodes]


def _summed(inputs: list[Any], layers: Any) -> Tensor:
    """Σ input @ W: one dense layer on all inputs side by side, without putting them side by side."""
    total: Tensor = inputs[0] @ layers[0].weight.T
    for one, layer in zip(inputs[1:], layers[1:], strict=True):
        total = total + one @ layer.weight.T
    return total


class GETS(Calibrator):
    """z'_v = z_v · Σ_e w_e(v) t_e(v): the weights w by a sparse gate, the factors t by seven experts.

    Each expert is a GCN on one of the seven choices among logits, attributes and degree. All of it by the likelihood
    of the held-out labels. Source: key `zhuang2025`; without the gate's training noise, so that a seed gives one answer.

    Args:
        hidden: Units of an expert.
        top: Experts that are mixed at a node.
        epochs, lr, weight_decay: Of Adam.
        seed: Of the first weights.
    """

    needs_graph = True

    def __init__(
        self, hidden: int = 16, top: int = 2, epochs: int = 100, lr: float = 0.01, weight_decay: float = 5e-4,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.hidden, self.top, self.epochs = hidden, top, epochs
        self.lr, self.weight_decay, self.seed = lr, weight_decay, seed

    def _fit_on_graph(
        self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray, nodes: np.ndarray, graph: GraphInputs
    ) -> None:
        inputs, chosen = _inputs(logits, graph), torch.from_numpy(nodes)
        own, classes = torch.from_numpy(logits[nodes]).float(), torch.from_numpy(y.astype(np.int64))
        share = torch.from_numpy(weights).float()
        with seeded(self.seed):
            model = self._model(graph)

            def loss() -> Tensor:
                scaled = own * model(inputs, graph.normalized, chosen)[:, None]
                return (share * F.cross_entropy(scaled, classes, reduction="none")).sum()

            minimise(loss, model.parameters(), steps=self.epochs, lr=self.lr, weight_decay=self.weight_decay)
        self.weights_ = torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy()

    def _model(self, graph: GraphInputs) -> _Mixture:
        return _Mixture(self.num_classes_, graph.num_features, self.hidden, self.top)

    def _predict_on_graph(self, logits: np.ndarray, graph: GraphInputs) -> np.ndarray:
        model = self._model(graph)
        torch.nn.utils.vector_to_parameters(torch.from_numpy(self.weights_), model.parameters())
        with torch.no_grad():
            factor = model(_inputs(logits, graph), graph.normalized, None).double().numpy()
        return softmax(logits * factor[:, None], axis=1)


def _inputs(logits: np.ndarray, graph: GraphInputs) -> list[Any]:
    degree = np.log1p(np.asarray(graph.adjacency.sum(axis=1)).ravel())
    degree = (degree - degree.mean()) / max(float(degree.std()), 1e-9)
    return [torch.from_numpy(logits).float(), graph.x, torch.from_numpy(degree[:, None]).float()]


COMPETITORS = on_held_out("gets", "a mixture of experts", GETS, "zhuang2025", slow=True)
