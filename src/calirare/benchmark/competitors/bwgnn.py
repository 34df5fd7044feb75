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
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.fitting.loop import seeded
from calirare.detectors.networks.fitting.optimizers import Adam
from calirare.metrics.detection import average_precision

ORDER = 2


def beta_wavelets(order: int) -> np.ndarray:
    """`(order + 1, order + 1)`: the coefficients of W_i(λ) = (λ/2)^i (1 - λ/2)^(C-i) / (2 B(i+1, C-i+1)), C the order.

    >>> beta_wavelets(1).round(3).tolist()
    [[1.0, -0.5], [0.0, 0.5]]
    """
    half, rest = Polynomial([0, 0.5]), Polynomial([1, -0.5])
    rows = [half**i * rest ** (order - i) / (2 * beta(i + 1, order - i + 1)) for i in range(order + 1)]
    return np.array([np.pad(row.coef, (0, order + 1 - len(row.coef))) for row in rows])


class BWGNN(nn.Module):
    """h = relu(relu(x V) U); [W_0(L) h, …, W_C(L) h] into two dense layers. Source: key `tang2022`.

    The first of the two mixes the filters, so polynomials of L meet its weights first: Σ_k L^k h M_k, by Horner's rule.
    Its last product is taken at the nodes asked for alone.
    """

    def __init__(self, num_features: int, hidden: int = 64, order: int = ORDER) -> None:
        super().__init__()
        self.theta = torch.from_numpy(beta_wavelets(order)).float()
        self.before = nn.Sequential(nn.Linear(num_features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mix = nn.Linear(hidden * (order + 1), hidden)
        self.output = nn.Linear(hidden, 2)

    def forward(self, x: Tensor, laplacian: SparseMatrix, nodes: Tensor, rows: SparseMatrix) -> Tensor:
        """Logits of `nodes`; `rows` are theirs of the Laplacian."""
        h = self.before(x)
        of_filter = self.mix.weight.view(len(self.mix.weight), len(self.theta), -1)
        mix = torch.einsum("ik,oih->kho", self.theta, of_filter)
        found = h @ mix[-1]
        for weights in mix[1:-1].flip(0):
            found = laplacian @ found + h @ weights
        found = rows @ found + h[nodes] @ mix[0] + self.mix.bias
        return self.output(torch.relu(found))


def around(
    table: Tensor, laplacian: SparseMatrix, asked: np.ndarray, hops: int
) -> tuple[Tensor, SparseMatrix, Tensor, SparseMatrix]:
    """What a filter of this order reads to answer for some nodes, as arguments of `BWGNN.forward`: they come first.

    Rows of nodes further out are cut short; no answer asks for their products.
    """
    nodes = asked
    for _ in range(hops):
        nodes = np.concatenate([nodes, np.setdiff1d(laplacian.csr[nodes].indices, nodes)])
    near = SparseMatrix(laplacian.csr[nodes][:, nodes], symmetric=True)
    first = np.arange(len(asked))
    return table[nodes], near, torch.from_numpy(first), SparseMatrix(near.csr[first])


def answer(problem: Problem, epochs: int = 100, lr: float = 0.01) -> Answer:
    """As its authors train it: Adam, loss weighted by normal to rare, the epoch with the best validation average precision."""
    split = problem.held_out
    x = attributes(problem)
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6) if x.shape[1] < 128 else x
    table = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    laplacian, asked = _laplacian(problem), np.concatenate([split.train, split.val])
    here = around(table, laplacian, asked, ORDER)
    y, num_train = torch.from_numpy(problem.graph.y[asked]), len(split.train)
    counts = torch.bincount(y[:num_train], minlength=2)
    weight = torch.tensor([1.0, counts[0] / counts[1].clamp(min=1)])
    with seeded(problem.seed):
        model = BWGNN(table.shape[1], order=ORDER)
        optimizer = Adam(model.parameters(), lr=lr)
        best: tuple[float, Any] = (-1.0, None)
        for _ in range(epochs):
            optimizer.zero_grad()
            logits = model(*here)
            F.cross_entropy(logits[:num_train], y[:num_train], weight=weight).backward()
            held_out = logits[num_train:].detach()
            score = average_precision(y[num_train:].numpy(), (held_out[:, 1] - held_out[:, 0]).numpy())
            if score > best[0]:
                best = score, copy.deepcopy(model.state_dict())
            optimizer.step()
        model.load_state_dict(best[1])
        with torch.no_grad():
            logits = model(table, laplacian, torch.arange(len(table)), laplacian)
    return Answer(problem.to_population(logits.softmax(dim=1)[:, 1].double().numpy()))


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
