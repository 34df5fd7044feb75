"""The paper's objective: cross-entropy and the expected individual calibration error, traded off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.objectives.cross_entropy import weighted_cross_entropy
from calirare.detectors.networks.task import Task
from calirare.metrics.individual import expected_individual_calibration_error


def left_out_changes(task: Task) -> Tensor:
    """`(n, n, C)` for a model in training: what removing each of the task's labels does to the others' logits."""
    engine = LeaveOneOut(
        task.model,
        task.inputs,
        task.nodes.cpu().numpy(),
        task.y.cpu().numpy(),
        task.weights.double().cpu().numpy(),
        task.weight_decay,
    )
    return engine.changes_among_labelled().to(task.inputs.dtype)


@dataclass
class CaliRare:
    """L = (1 - t) L_CE + t L_EICE over the training nodes, with a real gradient in both terms.

    The gradient flows through p_v, p_v(θ₋ᵢ), r_i and the quantiles. What the removal of a label does to the logits
    is held constant and computed again every `refresh` epochs, from epoch `warm_up` on, by `changes_of`.

    Note:
        The paper's published code turned the second term into a number without a gradient; see `docs/reproduction.md`.
    """

    around_labels: ClassVar[bool] = True

    trade_off: float = 0.1
    coverage: float = 0.9
    refresh: int = 20
    warm_up: int = 20
    changes_of: Callable[[Task], Tensor] = left_out_changes
    _changes: Tensor | None = field(default=None, repr=False)

    def loss(self, task: Task, epoch: int) -> Tensor:
        if epoch >= self.warm_up and (self._changes is None or (epoch - self.warm_up) % self.refresh == 0):
            self._changes = self.changes_of(task)
        logits = task.model(task.inputs)[task.nodes]
        cross_entropy = weighted_cross_entropy(task, logits)
        if self._changes is None or self.trade_off == 0:
            return (1 - self.trade_off) * cross_entropy
        return (1 - self.trade_off) * cross_entropy + self.trade_off * self.eice(task, logits, self._changes)

    def eice(self, task: Task, logits: Tensor, changes: Tensor) -> Tensor:
        """EICE of the training nodes for logits `(n, C)` and left-out changes `(n, n, C)`."""
        by_class = logits.T[:, :, None] + changes.permute(2, 0, 1)  # softmax over two that lie together is slow
        left_out = by_class.softmax(dim=0).permute(1, 2, 0)
        own = left_out.diagonal(dim1=0, dim2=1).T
        return expected_individual_calibration_error(
            logits.softmax(dim=1), left_out, own, task.y, coverage=self.coverage
        )
