"""Bring a trained network to rest: to where its loss without dropout has no slope left.

Leaving a label out by one Newton step asks about an optimum. A few hundred epochs of Adam with dropout end near one, not
at it, and the step then speaks of a network that was never there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from calirare.detectors.networks.fitting.optimizers import LBFGS
from calirare.detectors.networks.fitting.replay import Replayed, is_steady
from calirare.detectors.networks.objectives.cross_entropy import weighted_cross_entropy
from calirare.detectors.networks.task import Task

_MOST_STEPS = 120
_LAST_STEPS = 180
"""Most steps where the slope is still beyond `STEEPEST`: folds would cost five trainings."""
_AT_REST = 0.03
"""Slope at which steps end; one Newton step then differs from a refit by less than the labels' own noise."""
_SOON = 60
_NEAR_REST = 0.2
"""Slope at which steps end once `_SOON` were taken. What is left changes a step little; a slope of 0.7 puts it a twentieth off
refits."""
STEEPEST = 1.5
"""Slope beyond which a network is not at rest: one step from a steeper end is off refits (measured by
`benchmarks/left_out_evidence.py`)."""
_BLOCK = 15
"""Steps between two looks at the slope."""
_MEMORY = 20


@dataclass(frozen=True)
class Rest:
    """How a network came to rest.

    Args:
        steps: L-BFGS steps taken.
        slope: ‖∇L‖ / (λ‖θ‖), L being the loss with its penalty: the slope left, in units of the penalty's own.
    """

    steps: int
    slope: float


def come_to_rest(task: Task, most_steps: int | None = None, *, gives_up: bool = False) -> Rest:
    """Full-batch L-BFGS on the weighted cross-entropy with the L2 penalty, in eval mode, until the slope is small.

    Without `most_steps`, sixty steps at most, as many again as long as slope is left, and again as long as it is too much
    for a step. Who `gives_up` goes no further than the sixty where it is too much, and than as many again elsewhere.
    """
    soon, most = (_SOON, _MOST_STEPS) if most_steps is None else (most_steps, most_steps)
    last = most if gives_up or most_steps is not None else _LAST_STEPS
    task.model.eval()
    parameters = [value for value in task.model.parameters() if value.requires_grad]
    optimizer = LBFGS(
        parameters,
        max_iter=_BLOCK,
        history_size=_MEMORY,
        line_search_fn="strong_wolfe",
        tolerance_grad=0.0,
        tolerance_change=0.0,
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = weighted_cross_entropy(task, task.model(task.inputs)[task.nodes])
        value = value + task.weight_decay / 2 * sum(one.square().sum() for one in parameters)
        value.backward()
        return value.detach()

    replayed = task.inputs.device.type == "cuda" and is_steady(task.model)
    evaluate = Replayed(loss, task.inputs.device) if replayed else loss
    kept = [value.detach().clone() for value in parameters]
    steps, slope = 0, slope_of(task)
    while steps < last and slope > (_AT_REST if steps < soon else _NEAR_REST if steps < most else STEEPEST):
        optimizer.step(evaluate)  # type: ignore[no-untyped-call]
        steps, before = steps + _BLOCK, slope
        slope = slope_of(task)
        if not slope < float("inf"):  # a line search that left the range of numbers: stay where it was good
            _put_back(parameters, kept)
            return Rest(steps, before)
        kept = [value.detach().clone() for value in parameters]
        if gives_up and steps == soon and slope > STEEPEST:
            break
    optimizer.zero_grad()
    return Rest(steps, slope)


@torch.no_grad()
def _put_back(parameters: list[nn.Parameter], kept: list[Tensor]) -> None:
    for value, good in zip(parameters, kept, strict=True):
        value.copy_(good)


def slope_of(task: Task) -> float:
    """‖∇L‖ / (λ‖θ‖) of the task's loss with its penalty, in eval mode."""
    task.model.eval()
    parameters = [value for value in task.model.parameters() if value.requires_grad]
    with torch.enable_grad():
        value = weighted_cross_entropy(task, task.model(task.inputs)[task.nodes])
        gradients = torch.autograd.grad(value, parameters, materialize_grads=True)
    pull = [gradient + task.weight_decay * one.detach() for gradient, one in zip(gradients, parameters, strict=True)]
    size = torch.stack([one.detach().norm() for one in parameters]).norm()
    slope = torch.stack([one.norm() for one in pull]).norm()
    return float(slope / (max(task.weight_decay, 1e-6) * size.clamp(min=1e-12)))
