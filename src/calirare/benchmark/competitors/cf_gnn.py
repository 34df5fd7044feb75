"""CF-GNN: a small GCN that corrects the logits so that the sets get smaller, trained on half of the held-out labels."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import softmax
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.benchmark.competitors.calibrators import held_out_gcn
from calirare.benchmark.competitors.set_scores import COVERAGE
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.fitting.loop import seeded
from calirare.detectors.networks.fitting.optimizers import minimise
from calirare.uncertainty.conformal import class_thresholds

SHARPNESS = 0.1


class Correction(nn.Module):
    """z' = z + Â relu(Â z W) V."""

    def __init__(self, propagate: SparseMatrix) -> None:
        super().__init__()
        self.propagate = propagate
        self.first, self.second = nn.Linear(2, 16), nn.Linear(16, 2)

    def forward(self, z: Tensor) -> Tensor:
        return z + self.propagate @ self.second(F.relu(self.propagate @ self.first(z)))


def inefficiency(p: Tensor, y: Tensor) -> Tensor:
    """Smoothed mean size of the sets of the given nodes, each class with its own soft threshold."""
    size = torch.zeros(())
    for c in (0, 1):
        own = 1 - p[y == c, c]
        if len(own):
            size = size + torch.sigmoid((torch.quantile(own, COVERAGE) - (1 - p[:, c])) / SHARPNESS).mean()
    return size


def answer(problem: Problem, epochs: int = 100) -> Answer:
    """Sets of the corrected logits, their thresholds by the other half of the held-out labels. Source: key `huang2023`."""
    trained, split = held_out_gcn(problem)
    logits = torch.from_numpy(trained.detector.logits(trained.inputs)).float()
    labels = problem.graph.y[split.val]
    if np.bincount(labels, minlength=2).min() < 2:
        return Answer(None, np.ones((problem.graph.num_nodes, 2), dtype=bool))  # too few labels to promise anything
    tune, calibrate = train_test_split(split.val, test_size=0.5, stratify=labels, random_state=problem.seed)
    y = torch.from_numpy(problem.graph.y[tune])
    with seeded(problem.seed):
        model = Correction(trained.inputs.tensors.normalized)

        def loss() -> Tensor:
            p = model(logits)[tune].softmax(dim=1)
            return inefficiency(p, y) + F.nll_loss(p.clamp_min(1e-9).log(), y)

        minimise(loss, model.parameters(), steps=epochs, lr=0.01, weight_decay=5e-4)
        with torch.no_grad():
            scores = 1 - softmax(model(logits).double().numpy(), axis=1)
    limits = class_thresholds(scores[calibrate], problem.graph.y[calibrate], COVERAGE)
    return Answer(None, np.asarray(scores <= limits))


COMPETITORS = (
    Competitor(
        "gcn + cf-gnn",
        "sets",
        answer,
        group="gcn calibrators",
        source="huang2023",
        reads="three quarters train, an eighth corrects, an eighth sets the thresholds",
    ),
)
