"""What an objective is."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from calirare.detectors.networks.task import Task


class Objective(Protocol):
    """The loss of one epoch. An instance serves one fit and may keep what it needs between epochs.

    One that has `around_labels = True` reads logits of `task.nodes` alone. A network of two layers is then shown what lies
    around them, which comes to the same in less time; any other is shown the whole graph. One that has `steady = True` asks
    the same of the network in every epoch; beside a network that is steady too, a GPU is told once what to do.
    """

    def loss(self, task: Task, epoch: int) -> Tensor:
        """A scalar whose gradient trains `task.model`; weight decay is added by the optimiser."""
