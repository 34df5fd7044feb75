"""Weighted cross-entropy, plain or with smoothed labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from calirare.detectors.networks.task import Task


def weighted_cross_entropy(task: Task, logits: Tensor, smoothing: float = 0.0) -> Tensor:
    """Σ_i w_i ℓ(z_i, y_i) with labels (1 - s) y_i + s/C; `logits` are those of `task.nodes`."""
    losses = F.cross_entropy(logits, task.y, reduction="none", label_smoothing=smoothing)
    return (task.weights * losses).sum()


@dataclass
class CrossEntropy:
    """Σ_i w_i ℓ(z_i, y_i)."""

    around_labels: ClassVar[bool] = True
    steady: ClassVar[bool] = True

    def loss(self, task: Task, epoch: int) -> Tensor:
        return weighted_cross_entropy(task, task.model(task.inputs)[task.nodes])


@dataclass
class SmoothedCrossEntropy:
    """Cross-entropy against (1 - s) y_i + s/C. Source: key `szegedy2016`."""

    around_labels: ClassVar[bool] = True
    steady: ClassVar[bool] = True

    smoothing: float = 0.1

    def loss(self, task: Task, epoch: int) -> Tensor:
        return weighted_cross_entropy(task, task.model(task.inputs)[task.nodes], self.smoothing)
