"""The loss that the paper's published code minimises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from calirare.detectors.networks.objectives.cross_entropy import weighted_cross_entropy
from calirare.detectors.networks.task import Task


@dataclass
class SoftmaxTwice:
    """Cross-entropy of softmax(softmax(z)), times (1 - t): what is left of the paper's loss in its code.

    There the model ends in a softmax, the loss takes a second one, and the EICE term is a number without a gradient.
    Kept for reproduction only; see `docs/reproduction.md`.
    """

    around_labels: ClassVar[bool] = True

    trade_off: float = 0.1

    def loss(self, task: Task, epoch: int) -> Tensor:
        probabilities = task.model(task.inputs)[task.nodes].softmax(dim=1)
        return (1 - self.trade_off) * weighted_cross_entropy(task, probabilities)
