"""The only fit loop."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from calirare.detectors.networks.fitting.optimizers import Adam
from calirare.detectors.networks.fitting.replay import Replayed, is_steady
from calirare.detectors.networks.influence.model import evaluating
from calirare.detectors.networks.objectives.base import Objective
from calirare.detectors.networks.objectives.cross_entropy import weighted_cross_entropy
from calirare.detectors.networks.task import Task
from calirare.errors import NumericalError

_CPU = torch.device("cpu")
_MOST_UNREAD = 20
"""Number of epochs after which a NaN loss is noticed at the latest."""
EachEpoch = Callable[[int, int, float], None]
"""Called after every epoch with the epoch (from 1), their number, and the loss."""


@dataclass
class History:
    """Loss by epoch; `validation` is filled when early stopping watches it.

    `rest_steps` and `slope` say how training came to rest (see `calirare.detectors.networks.fitting.rest`);
    None where it was not asked to.
    """

    loss: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    best_epoch: int | None = None
    rest_steps: int = 0
    slope: float | None = None


@contextmanager
def seeded(seed: int, device: torch.device = _CPU) -> Iterator[None]:
    """Torch's random state set by `seed` inside the block and restored after it.

    Users' modules draw their dropout from torch's global state, so a generator of our own would not reach them.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        if device.type == "cuda":
            torch.manual_seed(seed)
        else:  # the former also leaves a note with a stack trace for a GPU that may wake up one day, a millisecond each
            torch.default_generator.manual_seed(seed)
        yield


def train(
    task: Task,
    objective: Objective,
    *,
    epochs: int,
    lr: float,
    seed: int,
    validation: Task | None = None,
    patience: int | None = None,
    settle: float = 0.0,
    progress: EachEpoch | None = None,
) -> History:
    """Fit `task.model` in place with Adam and L2 weight decay.

    With `validation` and `patience`, training stops when the validation loss has not fallen for `patience` epochs
    and the best parameters are restored.

    The last `settle` share of the epochs trains the model as it will be used, in eval mode: the noise of dropout dies
    down, and the model comes to rest where its loss without noise has little slope. Patience may end training before.
    """
    history, on_gpu = History(), task.inputs.device.type == "cuda"
    replayed = on_gpu and is_steady(task.model, objective)
    optimizer = Adam(task.model.parameters(), lr=lr, weight_decay=task.weight_decay, fused=on_gpu, capturable=replayed)
    best = None if validation is None or patience is None else _Best(validation, patience)
    # Reading a loss off a GPU waits for it; where nobody asks for every epoch's, they are read some at a time.
    unwatched = on_gpu and progress is None and patience is None
    losses: list[torch.Tensor] = []
    settled_from = epochs - int(settle * epochs)
    task.model.train()

    def one_epoch() -> torch.Tensor:
        optimizer.zero_grad()
        loss = objective.loss(task, epoch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def fresh_step() -> Callable[[], torch.Tensor]:
        return Replayed(one_epoch, task.inputs.device) if replayed else one_epoch

    step = fresh_step()
    with seeded(seed, task.inputs.device):
        for epoch in range(epochs):
            if epoch == settled_from:
                task.model.eval()
                step = fresh_step()
            losses.append(step())
            if unwatched and epoch + 1 < epochs and len(losses) < _MOST_UNREAD:
                continue
            _read(losses, history)
            if progress is not None:
                progress(epoch + 1, epochs, history.loss[-1])
            if best is not None and best.watch(epoch, history):
                break
    if best is not None:
        task.model.load_state_dict(best.parameters)
    task.model.eval()
    return history


def _read(losses: list[torch.Tensor], history: History) -> None:
    """Move losses into the history, and refuse the first that is not a number."""
    for value in torch.stack(losses).tolist():
        history.loss.append(value)
        if not math.isfinite(value):
            raise NumericalError(
                f"the loss became {value} in epoch {len(history.loss)}; lower lr or scale the features."
            )
    losses.clear()


class _Best:
    """The parameters with the lowest validation loss so far."""

    def __init__(self, task: Task, patience: int) -> None:
        self.task, self.patience = task, patience
        self.loss, self.parameters = math.inf, task.model.state_dict()

    def watch(self, epoch: int, history: History) -> bool:
        """Look at the model after an epoch; whether the loss has not fallen for `patience` epochs."""
        with evaluating(self.task.model), torch.no_grad():
            found = weighted_cross_entropy(self.task, self.task.model(self.task.inputs)[self.task.nodes])
        history.validation.append(float(found))
        if history.validation[-1] < self.loss:
            self.loss, history.best_epoch = history.validation[-1], epoch
            self.parameters = copy.deepcopy(self.task.model.state_dict())
            return False
        return epoch - (history.best_epoch or 0) >= self.patience
