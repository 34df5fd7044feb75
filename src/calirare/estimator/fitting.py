"""The first half of a fit: which labels a method reads, and the backbone trained on them.

The second half, calibration, starts from a `TrainedBackbone`, so that one trained model can serve many calibrators.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph, Split
from calirare.data.inputs import GraphInputs
from calirare.data.splits import split_labels
from calirare.detectors.networks.backbone import make_backbone
from calirare.detectors.networks.loop import History, Progress, seeded, train
from calirare.detectors.networks.objectives.cross_entropy import weighted_cross_entropy
from calirare.detectors.networks.task import Task
from calirare.detectors.networks.weights import ClassCosts, node_weights
from calirare.errors import InputError, LabelError
from calirare.estimator.methods import Method
from calirare.influence.leave_one_out import LeaveOneOut
from calirare.influence.model import evaluating, predict_logits
from calirare.metrics.inputs import check_count, is_number

logger = logging.getLogger(__name__)
_FAR_FROM_OPTIMUM = 2.5
"""Ratio of effective to assumed weight decay above which one Newton step visibly exaggerates what a label does."""
_BY_HEART = 5e-3
"""Training loss below which the labels have no slope left for a Newton step to follow."""
_MOST_HIDDEN = 100_000
"""Beyond any use, and below what asks for all the memory of a machine before it is refused."""
_LARGEST_RATE = 1e6
"""Learning rates and weight decays beyond it overflow in single precision after a few steps."""
_HELD_OUT_SHARE = 0.25
"""Share of the known labels set aside for a method that calibrates on held-out labels when no split is given."""


@dataclass(frozen=True)
class ReadLabels:
    """The labels a method reads, and no others: nodes and classes for training and for calibration on held-out ones."""

    train_nodes: np.ndarray
    train_y: np.ndarray
    val_nodes: np.ndarray
    val_y: np.ndarray

    @classmethod
    def of(cls, method: Method, graph: RareGraph, split: Split | None, seed: int) -> ReadLabels:
        """Pick them by the method's declaration. Without a split every known label is used."""
        require_graph(graph)
        if split is not None and not isinstance(split, Split):
            raise InputError(
                f"split must be a Split of train, val and test nodes, or None; got {type(split).__name__}."
            )
        if split is None:
            split = _split_of_known(method, graph, seed)
        train_nodes = split.labelled if method.trains_on == "train+val" else split.train
        val_nodes = split.val if method.reads_validation else np.empty(0, dtype=np.int64)
        for part, nodes in (("train", train_nodes), ("val", val_nodes)):
            if nodes.size and nodes.max() >= graph.num_nodes:
                raise InputError(
                    f"split.{part} names node {int(nodes.max())}; the graph has nodes 0…{graph.num_nodes - 1}."
                )
            unknown = nodes[graph.y[nodes] == UNKNOWN]
            if unknown.size:
                raise LabelError(
                    f"split.{part} holds {unknown.size} nodes without a label, first {unknown[:5].tolist()}; leave them out."
                )
        labels = cls(train_nodes, graph.y[train_nodes], val_nodes, graph.y[val_nodes])
        labels._check(method, graph)
        return labels

    def _check(self, method: Method, graph: RareGraph) -> None:
        missing = np.setdiff1d(np.arange(graph.num_classes), self.train_y)
        if missing.size:
            names = [graph.class_names[c] for c in missing]
            raise LabelError(f"training needs at least one label of every class; none of {names} is labelled.")
        if method.evidence == "val" and len(np.unique(self.val_y)) < 2:
            raise LabelError(
                f"method {method.name!r} calibrates on validation labels of at least two classes; "
                f"the split has {len(self.val_y)} validation labels of {len(np.unique(self.val_y))} class(es). "
                "Give more, or use method='jackknife', which needs no held-out labels."
            )

    def shares(self, graph: RareGraph, rare_share: float | None) -> np.ndarray:
        """Class shares of the population: `rare_share` if given, else the validation labels', else the labels' own."""
        y = self.val_y if self.val_y.size else self.train_y
        counts = np.bincount(y, minlength=graph.num_classes).astype(np.float64)
        if (counts == 0).any():
            counts = np.bincount(self.train_y, minlength=graph.num_classes).astype(np.float64)
        shares: np.ndarray = counts / counts.sum()
        if rare_share is None:
            return shares
        if not is_number(rare_share) or not 0 < rare_share < 1:
            raise InputError(f"rare_share must lie between 0 and 1; got {rare_share!r}.")
        others = shares.copy()
        others[graph.rare_class] = 0.0
        shares = (1 - rare_share) * others / others.sum()
        shares[graph.rare_class] = rare_share
        return shares


def _split_of_known(method: Method, graph: RareGraph, seed: int) -> Split:
    known = graph.known
    if not known.size:
        raise LabelError("the graph has no known label; give labels to some nodes of each class.")
    if method.evidence != "val" and method.refinement is None:
        return Split(train=known)
    return split_labels(
        graph, train_fraction=1 - _HELD_OUT_SHARE, val_fraction=_HELD_OUT_SHARE, test_fraction=0.0, seed=seed
    )


@dataclass(frozen=True)
class FitSettings:
    """The estimator's arguments that shape training."""

    backbone: str | nn.Module = "gcn"
    hidden: int = 16
    dropout: float = 0.5
    epochs: int = 200
    lr: float = 0.01
    weight_decay: float = 5e-4
    seed: int = 0
    class_costs: ClassCosts = "inverse_frequency"
    patience: int | None = None
    settle: float = 0.25

    def __post_init__(self) -> None:
        check_count(self.hidden, "hidden", most=_MOST_HIDDEN)
        check_count(self.epochs, "epochs")
        if self.patience is not None:
            check_count(self.patience, "patience")
        if not is_number(self.dropout) or not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1); got {self.dropout!r}.")
        if not is_number(self.settle) or not 0 <= self.settle <= 1:
            raise InputError(f"settle must lie in [0, 1]; got {self.settle!r}.")
        if not is_number(self.lr) or not 0 < self.lr <= _LARGEST_RATE:
            raise InputError(f"lr must be positive, and at most {_LARGEST_RATE:g}; got {self.lr!r}.")
        if not is_number(self.weight_decay) or not 0 <= self.weight_decay <= _LARGEST_RATE:
            raise InputError(
                f"weight_decay must not be negative, and at most {_LARGEST_RATE:g}; got {self.weight_decay!r}."
            )


@dataclass
class TrainedBackbone:
    """A trained model with everything calibration may want to know about how it came to be."""

    model: nn.Module
    inputs: GraphInputs
    labels: ReadLabels
    weights: np.ndarray
    settings: FitSettings
    num_classes: int
    history: History = field(default_factory=History)
    _leave_one_out: LeaveOneOut | None = field(default=None, repr=False)

    @property
    def logits(self) -> np.ndarray:
        """`(N, C)` float64, in eval mode."""
        return predict_logits(self.model, self.inputs).double().cpu().numpy()

    def leave_one_out(self) -> LeaveOneOut:
        """The leave-one-out engine of the training labels, made once for every calibration that asks.

        Its λ is the weight decay plus what stopping early acts like: without the second, left-out predictions of a
        short training are too pessimistic.
        """
        if self._leave_one_out is None:
            self._leave_one_out = LeaveOneOut(
                self.model,
                self.inputs,
                self.labels.train_nodes,
                self.labels.train_y,
                self.weights,
                self.settings.weight_decay + self.history.stopping_decay,
            )
        return self._leave_one_out

    def effective_decay(self) -> float:
        """-⟨∇CE, θ⟩ / ‖θ‖²: equals the weight decay where training has reached its optimum, more where it has not."""
        return self._loss_and_decay()[1]

    def _loss_and_decay(self) -> tuple[float, float]:
        """The training loss in eval mode, and `effective_decay`."""
        labels = self.labels
        task = Task.make(
            self.model,
            self.inputs,
            labels.train_nodes,
            labels.train_y,
            self.weights,
            num_classes=self.num_classes,
            weight_decay=self.settings.weight_decay,
        )
        parameters = [value for value in self.model.parameters() if value.requires_grad]
        with evaluating(self.model), torch.enable_grad():
            loss = weighted_cross_entropy(task, self.model(self.inputs)[task.nodes])
            gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
        along = sum(
            float((gradient * value.detach()).sum()) for gradient, value in zip(gradients, parameters, strict=True)
        )
        decay = -along / max(sum(float(value.detach().square().sum()) for value in parameters), 1e-30)
        return float(loss.detach()), decay

    def warn_if_left_out_is_doubtful(self) -> None:
        """Log a warning where left-out predictions would be too sure, or too pessimistic, to calibrate on."""
        (loss, decay), assumed = self._loss_and_decay(), self.leave_one_out().damping
        if loss < _BY_HEART:
            logger.warning(
                "the network is certain of all its labels (loss %.1e): if it learned them by heart, left-out predictions "
                "are too sure; raise weight_decay or dropout, or compare with method='cross_fit'.",
                loss,
            )
        if decay > _FAR_FROM_OPTIMUM * assumed:
            logger.warning(
                "training stopped far from its optimum (it acts like weight_decay %.1e, not %.1e): left-out predictions "
                "will be too pessimistic; raise weight_decay or epochs.",
                decay,
                assumed,
            )

    def retrain(self, method: Method, rows: np.ndarray, fold: int) -> np.ndarray:
        """Logits `(N, C)` of a fresh model trained on some rows of the training labels."""
        labels = ReadLabels(
            self.labels.train_nodes[rows], self.labels.train_y[rows], self.labels.val_nodes[:0], self.labels.val_y[:0]
        )
        again = fit_backbone(self.settings, method, self.inputs, labels, self.num_classes)
        return again.logits


def fit_backbone(
    settings: FitSettings,
    method: Method,
    inputs: GraphInputs,
    labels: ReadLabels,
    num_classes: int,
    progress: Progress | None = None,
) -> TrainedBackbone:
    """Train a fresh backbone as the method says."""
    with seeded(settings.seed, inputs.device):
        model = make_backbone(
            settings.backbone, inputs.num_features, num_classes, hidden=settings.hidden, dropout=settings.dropout
        ).to(inputs.device, inputs.dtype)
    weights = node_weights(labels.train_y, num_classes, settings.class_costs)

    def task_of(nodes: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Task:
        return Task.make(model, inputs, nodes, y, weights, num_classes=num_classes, weight_decay=settings.weight_decay)

    task, validation = task_of(labels.train_nodes, labels.train_y, weights), None
    if labels.val_nodes.size:
        val_weights = node_weights(labels.val_y, num_classes, settings.class_costs)
        validation = task_of(labels.val_nodes, labels.val_y, val_weights)
    refinement = method.refinement
    total = settings.epochs + (refinement.epochs if refinement else 0)
    history = train(
        task,
        method.objective(),
        epochs=settings.epochs,
        lr=settings.lr,
        seed=settings.seed,
        validation=validation if method.trains_on == "train" else None,
        patience=settings.patience,
        settle=settings.settle if method.settles else 0.0,
        progress=None if progress is None else lambda epoch, _, loss: progress(epoch, total, loss),
    )
    if refinement is not None:
        if validation is None:
            raise LabelError(f"method {method.name!r} fine-tunes on validation labels; the split has none.")
        more = train(
            validation,
            refinement.objective(),
            epochs=refinement.epochs,
            lr=refinement.lr,
            seed=settings.seed,
            progress=None
            if progress is None
            else lambda epoch, _, loss: progress(settings.epochs + epoch, total, loss),
        )
        history.loss.extend(more.loss)
    return TrainedBackbone(model, inputs, labels, weights, settings, num_classes, history)


def require_graph(graph: object) -> None:
    """Refuse what is no graph, with a word on how to get one."""
    if not isinstance(graph, RareGraph):
        raise InputError(
            f"graph must be a RareGraph; got {type(graph).__name__}. Make one with read_tables, from_pyg or RareGraph."
        )


def choose_device(device: str | torch.device) -> torch.device:
    """`"auto"` is a GPU where there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    wrong = f"device must be 'auto', 'cpu' or 'cuda'; got {device!r}."
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise InputError(wrong) from error
    if chosen.type not in ("cpu", "cuda"):
        raise InputError(wrong)
    if chosen.type == "cuda" and not (chosen.index or 0) < torch.cuda.device_count():
        raise InputError(
            f"device {device!r} was asked for, but torch sees {torch.cuda.device_count()} GPUs; use device='auto'."
        )
    return chosen
