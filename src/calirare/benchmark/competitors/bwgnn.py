"""BWGNN: band-pass filters of the Laplacian, the strongest published spectral detector."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from numpy.polynomial import Polynomial
from scipy.special import beta
from torch import Tensor, nn

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.benchmark.competitors.columns import attributes
from calirare.data.sparse import SparseMatrix
from calirare.detectors.networks.loop import seeded
from calirare.detectors.networks.optimizers import Adam
from calirare.metrics.detection import average_precision


def beta_wavelets(order: int) -> np.ndarray:
    """`(order + 1, order + 1)`: the coefficients of W_i(λ) = (λ/2)^i (1 - λ/2)^(C-i) / (2 B(i+1, C-i+1)), C the order.

    >>> beta_wavelets(1).round(3).tolist()
    [[1.0, -0.5], [0.0, 0.5]]
    """
    half, rest = Polynomial([0, 0.5]), Polynomial([1, -0.5])
    rows = [half**i * rest ** (order - i) / (2 * beta(i + 1, order - i + 1)) for i in range(order + 1)]
    return np.array([np.pad(row.coef, (0, order + 1 - len(row.coef))) for row in rows])


class BWGNN(nn.Module):
    """h = relu(relu(x V) U); [W_0(L) h, …, W_C(L) h] into two dense layers. Source: key `tang2022`."""

    def __init__(self, num_features: int, laplacian: SparseMatrix, hidden: int = 64, order: int = 2) -> None:
        super().__init__()
        self.laplacian, self.theta = laplacian, beta_wavelets(order).tolist()
        self.before = nn.Sequential(nn.Linear(num_features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.after = nn.Sequential(nn.Linear(hidden * (order + 1), hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, x: Tensor) -> Tensor:
        powers = [self.before(x)]
        for _ in self.theta[1:]:
            powers.append(self.laplacian @ powers[-1])
        filtered = [sum(c * power for c, power in zip(row, powers, strict=True)) for row in self.theta]
        logits: Tensor = self.after(torch.cat(filtered, dim=1))
        return logits


def answer(problem: Problem, epochs: int = 100, lr: float = 0.01) -> Answer:
    """As its authors train it: Adam, loss weighted by normal to rare, the epoch with the best validation average precision."""
    split, y = problem.held_out, torch.from_numpy(problem.graph.y)
    x = attributes(problem)
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6) if x.shape[1] < 128 else x
    train, val = torch.from_numpy(split.train), split.val
    counts = np.bincount(problem.graph.y[split.train], minlength=2)
    weight = torch.tensor([1.0, counts[0] / max(1, counts[1])], dtype=torch.float32)
    table = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    with seeded(problem.seed):
        model = BWGNN(table.shape[1], _laplacian(problem))
        optimizer = Adam(model.parameters(), lr=lr)
        best: tuple[float, Any] = (-1.0, None)
        for _ in range(epochs):
            optimizer.zero_grad()
            logits = model(table)
            F.cross_entropy(logits[train], y[train], weight=weight).backward()
            score = average_precision(problem.graph.y[val], (logits[val, 1] - logits[val, 0]).detach().numpy())
            if score > best[0]:
                best = score, copy.deepcopy(model.state_dict())
            optimizer.step()
        model.load_state_dict(best[1])
        with torch.no_grad():
            probability = model(table).softmax(dim=1)[:, 1].double().numpy()
    return Answer(problem.to_population(probability))


def _laplacian(problem: Problem) -> SparseMatrix:
    """I - D^(-1/2) A D^(-1/2)."""
    adjacency = problem.graph.adjacency().astype(np.float64)
    scale = sp.diags_array(1 / np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)))
    matrix = sp.eye_array(adjacency.shape[0], format="csr") - scale @ adjacency @ scale
    return SparseMatrix(sp.csr_array(matrix), symmetric=True)


COMPETITORS = (
    Competitor(
        "bwgnn",
        "networks",
        answer,
        group="bwgnn",
        core=True,
        source="tang2022",
        reads="three quarters train, a quarter picks the epoch",
    ),
)
