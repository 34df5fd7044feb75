"""A trained network: what it says, and what it would say without its labels."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from torch import nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.base import Contributions, Detector, DetectorInputs, LabelledNodes, Progress
from calirare.detectors.left_out.folds import fold_numbers, folds
from calirare.detectors.networks import judging
from calirare.detectors.networks.contributions import network_contributions
from calirare.detectors.networks.evidence import Evidence, FoldEvidence, StepEvidence, centred, step_logits
from calirare.detectors.networks.fitting.loop import History
from calirare.detectors.networks.fitting.training import Training
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut, choose_solver
from calirare.detectors.networks.influence.model import bounded, predict_logits
from calirare.errors import NumericalError

logger = logging.getLogger(__name__)


class TrainedNetwork(Detector):
    """What every network has once it is trained.

    Attributes:
        model_: The network.
        history_: How training went.
        weight_decay_: λ.
    """

    model_: nn.Module
    history_: History
    weight_decay_: float
    _fitted: tuple[GraphInputs, LabelledNodes, Training, int]
    """The graph, the labels, how it was trained, and the seed."""
    _evidence: Evidence | None
    _solved: LeaveOneOut | None
    _adopted: bool
    """Whether it was trained elsewhere."""

    @abstractmethod
    def _train(
        self, labels: LabelledNodes, seed: int, progress: Progress | None = None, *, gives_up: bool = False
    ) -> tuple[nn.Module, History]:
        """A fresh network, trained on these labels."""

    def _engine(self) -> LeaveOneOut:
        """The engine for the weights as they are; made once, let go when its evidence is kept."""
        if self._solved is None:
            tensors, labels, _, _ = self._fitted
            self._solved = LeaveOneOut(
                self.model_, tensors, labels.nodes, labels.y, labels.weights, self.weight_decay_, groups=labels.groups
            )
        return self._solved

    @property
    def _quicker_folds(self) -> np.ndarray | None:
        """The folds that are refitted because a step for every label would take longer; None where it would not."""
        size = sum(value.numel() for value in self.model_.parameters() if value.requires_grad)
        labels = self._fitted[1]
        way = choose_solver(len(np.unique(labels.groups)), labels.num_classes - 1, size)
        return self._folds() if way == "iterative" else None

    def _folds(self) -> np.ndarray | None:
        """`(n,)` the fold of each label; None where there are too few labels, or networks that are refined by another's."""
        _, labels, training, seed = self._fitted
        return fold_numbers(labels, seed) if training.refinement is None else None

    def _step(self) -> LeaveOneOut | None:
        """The engine, or None where no Newton step can be taken from the weights as they are, or only in very long.

        Where a network adds up its neighbours, hubs can have logits in the hundreds, and the curvature loses its digits.
        """
        if self._quicker_folds is not None:
            return None
        with suppress(NumericalError):
            engine = self._engine()
            engine.left_out_logits  # noqa: B018  refuses what is not finite
            return engine
        return None

    @property
    def evidence_(self) -> Evidence:
        """What the network says of its labelled nodes without their labels; gathered when first asked for."""
        self._check_fitted()
        if self._evidence is None:
            self._evidence, self._solved = self._gather(), None
        return self._evidence

    def _gather(self) -> Evidence:
        tensors, labels, training, seed = self._fitted
        if self._quicker_folds is not None:
            doubt: str | None = "a step for every label would take longer"
        else:
            doubt = judging.doubt(self._step, labels, training.rests, self.history_.slope)
        logits = judging.believed(self._engine(), labels) if doubt is None else None
        if logits is not None:
            return StepEvidence.from_engine(self._engine(), logits, seed)
        doubt = doubt or "a Newton step leads to where the network bends"
        fold = self._folds()
        if fold is None:
            logger.warning("%s: %s, and there are too few labels to refit in folds.", self.name, doubt)
            return StepEvidence.from_engine(self._engine(), step_logits(self._engine()), seed)
        logger.info("%s: %s; left-out evidence comes from refits in folds.", self.name, doubt)
        fit = lambda rows: self._train(labels.take(rows), seed, gives_up=True)[0]  # noqa: E731
        found = FoldEvidence.refit(fit, self.model_, tensors, labels, fold)
        if not self._adopted:
            return found
        own = predict_logits(self.model_, tensors).double().cpu().numpy()[labels.nodes]
        return judging.no_better_than_trained(found, centred(own), labels)

    def skip(self) -> str | None:
        engine = self._step()
        if engine is None or engine.tells_copies_apart:
            return None  # folds will tell
        return judging.no_skill(engine, self._fitted[1])

    def logits(self, inputs: DetectorInputs) -> np.ndarray:
        self._check_fitted()
        return bounded(predict_logits(self.model_, inputs.tensors)).double().cpu().numpy()

    def left_out_logits(self) -> np.ndarray:
        return self.evidence_.logits

    @property
    def left_out_rows(self) -> np.ndarray:
        return self.evidence_.rows

    def logits_without(self, inputs: DetectorInputs, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self.evidence_.logits_without(self.model_, inputs.tensors, rows)

    def logits_without_at(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        return self.evidence_.logits_without_at(self.model_, inputs.tensors, rows, nodes)

    def contributions(self, inputs: DetectorInputs, node: int, rare_class: int) -> Contributions:
        return next(self.contributions_of(inputs, np.array([node]), rare_class))

    def contributions_of(self, inputs: DetectorInputs, nodes: np.ndarray, rare_class: int) -> Iterator[Contributions]:
        return network_contributions(self.model_, inputs, nodes, rare_class)

    def _judge(self) -> float:
        """Left-out loss of the network as it is; infinite where no step can be taken. A fold tells where steps are too dear."""
        (tensors, labels, _, seed), fold = self._fitted, self._quicker_folds
        if fold is None:
            engine = self._step()
            return np.inf if engine is None else judging.loss(step_logits(engine), labels)
        _, kept, left = next(folds(fold))
        model, _ = self._train(labels.take(kept), seed, gives_up=True)
        said = predict_logits(model, tensors).double().cpu().numpy()[labels.nodes[left]]
        return judging.loss(centred(said), labels.take(left))
