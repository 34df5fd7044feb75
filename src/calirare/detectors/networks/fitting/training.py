"""Train a network as a method says: which objective, which labels, and whether it comes to rest at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from calirare.data.checks import check_count, is_number
from calirare.data.inputs import GraphInputs
from calirare.detectors.base import LabelledNodes, Progress
from calirare.detectors.networks.fitting.loop import History, train
from calirare.detectors.networks.fitting.rest import come_to_rest
from calirare.detectors.networks.objectives import CrossEntropy, Objective
from calirare.detectors.networks.task import Task
from calirare.errors import InputError, NumericalError

_LARGEST_RATE = 1e6
"""Learning rates and weight decays beyond it overflow in single precision after a few steps."""


@dataclass(frozen=True)
class Refinement:
    """A second round of training, on the validation labels, as the paper's published code has it."""

    objective: Callable[[], Objective]
    epochs: int
    lr: float


@dataclass(frozen=True)
class Training:
    """What a method changes about the training of a network.

    Args:
        objective: Makes the objective for one fit.
        validation: Labels that early stopping watches and that a refinement trains on.
        stops_early: Whether `patience` watches the validation labels.
        refinement: A second round of training, or None.
        rests: Whether training ends without dropout and at rest. The paper's own methods train as the paper does; an
            objective of one's own ends where it ends, since rest is that of the plain cross-entropy.
        gives_up: Whether it stays where it is when rest is far, as a refit in a fold may, from which no step is taken.
    """

    objective: Callable[[], Objective] = CrossEntropy
    validation: LabelledNodes | None = None
    stops_early: bool = False
    refinement: Refinement | None = None
    rests: bool = True
    gives_up: bool = False

    def around_labels(self, patience: int | None) -> bool:
        """Whether it reads logits of the labels that it trains on, and of no other nodes."""
        watches = self.stops_early and patience is not None
        reads_validation = self.validation is not None and (watches or self.refinement is not None)
        return not reads_validation and getattr(self.objective(), "around_labels", False)


@dataclass(frozen=True)
class Schedule:
    """The numbers that a network is trained with."""

    epochs: int
    lr: float
    weight_decay: float
    settle: float
    patience: int | None

    def __post_init__(self) -> None:
        check_count(self.epochs, "epochs")
        if self.patience is not None:
            check_count(self.patience, "patience")
        if not is_number(self.settle) or not 0 <= self.settle <= 1:
            raise InputError(f"settle must lie in [0, 1]; got {self.settle!r}.")
        if not is_number(self.lr) or not 0 < self.lr <= _LARGEST_RATE:
            raise InputError(f"lr must be positive, and at most {_LARGEST_RATE:g}; got {self.lr!r}.")
        decay = self.weight_decay
        if not is_number(decay) or not 0 <= decay <= _LARGEST_RATE:
            raise InputError(f"weight_decay must be 'left_out' or a number from 0 to {_LARGEST_RATE:g}; got {decay!r}.")


def train_network(
    model: nn.Module,
    inputs: GraphInputs,
    labels: LabelledNodes,
    schedule: Schedule,
    training: Training,
    seed: int,
    progress: Progress | None = None,
) -> History:
    """Fit `model` in place.

    Raises:
        NumericalError: Training left the range of numbers.
    """
    task = Task.of(model, inputs, labels, schedule.weight_decay)
    validation = None
    if training.validation is not None:
        validation = Task.of(model, inputs, training.validation, schedule.weight_decay)
    refinement = training.refinement
    total = schedule.epochs + (refinement.epochs if refinement else 0)
    history = train(
        task,
        training.objective(),
        epochs=schedule.epochs,
        lr=schedule.lr,
        seed=seed,
        validation=validation if training.stops_early else None,
        patience=schedule.patience,
        settle=schedule.settle if training.rests else 0.0,
        progress=_telling(progress, 0, total),
    )
    if refinement is not None and validation is not None:
        more = train(
            validation,
            refinement.objective(),
            epochs=refinement.epochs,
            lr=refinement.lr,
            seed=seed,
            progress=_telling(progress, schedule.epochs, total),
        )
        history.loss.extend(more.loss)
    if training.rests and training.objective is CrossEntropy and history.best_epoch is None:
        _rest(task, history, training.gives_up)
    return history


def _telling(progress: Progress | None, done: int, total: int) -> Callable[[int, int, float], None] | None:
    """What one round of training calls after each epoch, where `done` of all epochs came before it."""
    if progress is None:
        return None
    return lambda epoch, _, loss: progress((done + epoch) / total, f"loss {loss:.4f}")


def _rest(task: Task, history: History, gives_up: bool) -> None:
    rest = come_to_rest(task, gives_up=gives_up)
    if not math.isfinite(rest.slope):
        raise NumericalError("training left the range of numbers; scale the features and the edge weights.")
    history.rest_steps, history.slope = rest.steps, rest.slope
