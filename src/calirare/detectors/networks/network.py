"""Graph neural networks as detectors: trained, brought to rest, and left out label by label without retraining."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import nn

from calirare.data.around import inputs_around_all
from calirare.data.checks import check_count, is_number
from calirare.data.inputs import GraphInputs
from calirare.detectors.base import DetectorInputs, LabelledNodes, Progress, State
from calirare.detectors.left_out.loss import CLEARLY
from calirare.detectors.networks import judging
from calirare.detectors.networks.defaults import DROPOUT, EPOCHS, HIDDEN, LR, SETTLE, WEIGHT_DECAY
from calirare.detectors.networks.evidence import (
    Evidence,
    restore_evidence,
)
from calirare.detectors.networks.fitting.loop import History, seeded
from calirare.detectors.networks.fitting.rest import STEEPEST, come_to_rest
from calirare.detectors.networks.fitting.training import Schedule, Training, train_network
from calirare.detectors.networks.influence.jacobian import has_two_layers
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.module import forget
from calirare.detectors.networks.task import Task, in_one_order
from calirare.detectors.networks.trained import TrainedNetwork
from calirare.detectors.stored import inside, need, network_weights, under, whole
from calirare.errors import InputError

WeightDecay = float | Literal["left_out"]
Hidden = int | Literal["left_out"]
_DECAYS = (WEIGHT_DECAY, 10 * WEIGHT_DECAY)
"""What `weight_decay="left_out"` chooses from: the first suits thousands of words, the second a few dense columns."""
_WIDTHS = (HIDDEN, 4, 64)
"""What `hidden="left_out"` chooses from, the usual one first."""
_MOST_HIDDEN = 100_000
"""Far beyond any use, and below what would ask for all the memory of a machine."""


class _Candidate(NamedTuple):
    """A trained network among which left-out likelihood chooses."""

    loss: float
    hidden: int
    decay: float
    model: nn.Module
    history: History
    solved: LeaveOneOut | None


class Network(TrainedNetwork):
    """A network with two layers of message passing.

    Args:
        hidden: Hidden units, or `"left_out"`: of 4, 16 and 64 the number whose left-out predictions are the likeliest;
            each is trained once.
        dropout: Dropout of the hidden layer.
        epochs: Training epochs.
        lr: Adam's learning rate.
        weight_decay: λ of the L2 penalty, or `"left_out"`: the value whose left-out predictions are the likeliest.
        settle: Share of the epochs, the last ones, without dropout.
        patience: Stop when the validation loss has not fallen for this many epochs; for methods that read validation
            labels. Such a network does not come to rest.
    """

    learned: ClassVar[str] = "model_"
    sized: ClassVar[bool] = True
    """Whether `hidden` says how large the network is."""

    def __init__(
        self,
        hidden: Hidden = HIDDEN,
        dropout: float = DROPOUT,
        epochs: int = EPOCHS,
        lr: float = LR,
        weight_decay: WeightDecay = WEIGHT_DECAY,
        settle: float = SETTLE,
        patience: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.settle = settle
        self.patience = patience

    @property
    def units(self) -> int:
        """Hidden units: as chosen, else as asked for."""
        return getattr(self, "hidden_", _WIDTHS[0] if self.hidden == "left_out" else self.hidden)

    @property
    def _decays(self) -> tuple[float, ...]:
        return _DECAYS if self.weight_decay == "left_out" else (self.weight_decay,)

    def _schedule(self, decay: float) -> Schedule:
        return Schedule(self.epochs, self.lr, decay, self.settle, self.patience)

    @abstractmethod
    def make(self, num_features: int, num_classes: int) -> nn.Module:
        """A fresh network, its weights drawn from torch's random state."""

    # Fitting

    def fit(
        self,
        inputs: DetectorInputs,
        labels: LabelledNodes,
        *,
        seed: int = 0,
        progress: Progress | None = None,
        training: Training | None = None,
    ) -> Self:
        self._check()
        if not inputs.graph.num_features:
            raise InputError(f"{self.name!r} needs node attributes, and the graph has none; 'auto' does without them.")
        self._fitted, self._adopted = (inputs.tensors, labels, training or Training(), seed), False
        self._evidence: Evidence | None = None
        self._solved: LeaveOneOut | None = None
        self.num_features_, self.num_classes_ = inputs.graph.num_features, labels.num_classes
        widths = _WIDTHS if self.hidden == "left_out" else (self.hidden,)
        best = self._candidate(int(widths[0]), seed, progress, judged=len(widths) > 1)
        for width in widths[1:]:
            other = self._candidate(int(width), seed, progress, judged=True)
            if other.loss < best.loss - CLEARLY / len(labels):
                best = other
        self._take(best)
        return self

    def _candidate(self, hidden: int, seed: int, progress: Progress | None, judged: bool) -> _Candidate:
        """A network of this width, with the decay that suits it; its left-out loss where it is to be judged.

        One step flatters a network that could learn any label, so such a width is no candidate.
        """
        decays = self._decays
        self.hidden_, self.weight_decay_, self._solved = hidden, float(decays[0]), None
        self.model_, self.history_ = self._train(self._fitted[1], seed, progress)
        found = self._present(judged or len(decays) > 1)
        for decay in decays[1:]:
            found = self._moved(found, float(decay))
        if judged and self._quicker_folds is None:
            self._take(found)
            if found.loss < np.inf and judging.learns_anything(self._engine()):
                return found._replace(loss=np.inf)
        return found

    def _present(self, judged: bool) -> _Candidate:
        loss = self._judge() if judged else np.inf
        return _Candidate(loss, self.hidden_, self.weight_decay_, self.model_, self.history_, self._solved)

    def _take(self, chosen: _Candidate) -> None:
        _, self.hidden_, self.weight_decay_, self.model_, self.history_, self._solved = chosen

    def _moved(self, known: _Candidate, decay: float) -> _Candidate:
        """The trained network brought to rest under another decay, if its left-out logits are likelier."""
        self.model_, self._solved, self.weight_decay_ = copy.deepcopy(known.model), None, decay
        read = self._read_by(self.model_, self._fitted[1])
        with in_one_order(read[0]):
            rest = come_to_rest(Task.of(self.model_, *read, decay))
        self.history_ = replace(known.history, slope=rest.slope)
        found = self._present(judged=True)
        return found if found.loss < known.loss and rest.slope <= STEEPEST else known

    def adopt(self, model: nn.Module, inputs: DetectorInputs, labels: LabelledNodes, seed: int) -> Self:
        """Take a copy of a network that was trained elsewhere, as it is."""
        self._check()
        self._fitted, self._adopted = (inputs.tensors, labels, Training(rests=False), seed), True
        self._evidence, self._solved = None, None
        self.num_features_, self.num_classes_ = inputs.graph.num_features, labels.num_classes
        self.weight_decay_ = float(self._decays[0])
        self.model_ = copy.deepcopy(model).to(inputs.tensors.device, inputs.tensors.dtype).eval()
        self.history_ = History()
        return self

    def _train(
        self, labels: LabelledNodes, seed: int, progress: Progress | None = None, *, gives_up: bool = False
    ) -> tuple[nn.Module, History]:
        """A fresh network, trained on these labels."""
        tensors, training = self._fitted[0], replace(self._fitted[2], gives_up=gives_up)
        with seeded(seed, tensors.device):
            model = self.make(self.num_features_, self.num_classes_).to(tensors.device, tensors.dtype)
            if self._adopted:
                forget(model)
        schedule, read = self._schedule(self.weight_decay_), self._read_by(model, labels)
        with in_one_order(read[0]):
            return model, train_network(model, *read, schedule, training, seed, progress)

    def _read_by(self, model: nn.Module, labels: LabelledNodes) -> tuple[GraphInputs, LabelledNodes]:
        """All of the graph that a model reads for these labels, and the labels in it: of two layers what lies around them."""
        tensors, _, training, _ = self._fitted
        if not (training.around_labels(self.patience) and has_two_layers(model)):
            return tensors, labels
        return inputs_around_all(tensors, labels.nodes), replace(labels, nodes=np.arange(len(labels)))

    # Keeping

    def state(self) -> State:
        weights = {name: value.cpu().numpy() for name, value in self.model_.state_dict().items()}
        state = under("weights", weights) | under("evidence", self.evidence_.state())
        sizes = {"num_features": self.num_features_, "num_classes": self.num_classes_, "hidden": self.units}
        return state | under("history", vars(self.history_)) | sizes | {"decay": self.weight_decay_}

    def restore(self, state: State) -> Self:
        self._check()
        weights = network_weights("weights", state)
        self.num_features_, self.num_classes_ = whole(state, "num_features", 1), whole(state, "num_classes", 2)
        stored = sum(value.size for value in weights.values())
        if "hidden" in state:
            self.hidden_ = whole(state, "hidden", 1)
        need(
            not self.sized or self.hidden in ("left_out", self.units) and self.units * self.num_features_ <= stored,
            "hidden and num_features do not fit the weights",
        )
        need(is_number(state.get("decay")) and state["decay"] >= 0, "the weight decay must be a number")
        self.weight_decay_ = float(state["decay"])
        self.model_ = self.make(self.num_features_, self.num_classes_)
        self.model_.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
        self.model_.eval()
        self.history_ = History(**inside("history", state))
        self._solved = None
        self._evidence = restore_evidence(inside("evidence", state), self.model_, self.num_classes_)
        return self

    def to(self, device: torch.device) -> Self:
        self.model_.to(device)
        return self

    def _check(self) -> None:
        if self.hidden != "left_out":
            check_count(self.hidden, "hidden", most=_MOST_HIDDEN)
        if not is_number(self.dropout) or not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1); got {self.dropout!r}.")
        self._schedule(self._decays[0])  # a schedule checks its numbers
