"""The two halves of a fit: a detector on the labels that the method declares, and its calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from torch import nn

from calirare.calibration.base import share_weights
from calirare.calibration.cross_fit import out_of_fold_evidence
from calirare.calibration.stack import left_out_probabilities
from calirare.data.checks import check_share
from calirare.data.graph import RareGraph
from calirare.data.inputs import choose_device
from calirare.data.node_keys import keys_of_nodes
from calirare.data.split import Split
from calirare.data.tables.findings.from_labels import made_from_labels
from calirare.detectors.base import Detector, DetectorInputs, LabelledNodes, Progress
from calirare.detectors.left_out.folds import fold_numbers
from calirare.detectors.networks.fitting.training import Training
from calirare.detectors.networks.fitting.weights import ClassCosts, node_weights
from calirare.detectors.networks.members import GCN, Module
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector
from calirare.detectors.stack import Stack
from calirare.errors import InputError
from calirare.estimator.asked import AskedGraph
from calirare.estimator.beware import log_beware
from calirare.estimator.fitted import Fitted
from calirare.estimator.labels import CountedShares, ReadLabels, move_rare_share
from calirare.estimator.methods import PRIORS, Method, get_method
from calirare.estimator.state import FittedState, make_calibrator
from calirare.features.together import find_groups
from calirare.uncertainty.skill import measure_skill


@dataclass(frozen=True, eq=False)
class TrainedDetector:
    """A fitted detector with what calibration may want to know of how it came to be."""

    detector: Detector
    inputs: DetectorInputs
    labels: LabelledNodes


class Fitting(Fitted):
    """What `fit` does, for an estimator that holds the arguments."""

    detector: str | Detector | nn.Module
    method: str
    prior: str
    rare_share: float | None
    device: str
    class_costs: ClassCosts

    def fit(self, graph: RareGraph, split: Split | None = None, *, progress: Progress | None = None) -> Self:
        """Fit the detector on the labels the method declares, then calibrate.

        What must be known before any number is logged as a warning: that no skill is shown, and columns that are made from
        labels. What neighbours have in these is not read.

        Args:
            graph: The graph; not changed.
            split: Which labels train and validate. Without it: the split that came with the graph, else every known
                label.
            progress: Called with the share of the work that is done, and what is being done.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, seed=0)
        >>> split = cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=20, weight_decay=5e-3)).fit(graph, split)
        >>> clf.classes_, clf.labelled_nodes_.size, len(clf.history_.loss)
        (array([0, 1]), 151, 20)
        """
        trained = self.fit_detector(graph, split, progress=progress)
        self.calibrate(trained, graph, split)
        log_beware(self, graph, tuple(trained.inputs.apart))
        return self

    def fit_detector(
        self,
        graph: RareGraph,
        split: Split | None = None,
        *,
        inputs: DetectorInputs | None = None,
        progress: Progress | None = None,
    ) -> TrainedDetector:
        """The first half of `fit`. Methods with the same objective and training labels can share its result.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, seed=0)
        >>> trained = cr.RareCategoryClassifier(detector="linear").fit_detector(graph)
        >>> for prior in ("natural", "balanced"):
        ...     clf = cr.RareCategoryClassifier(detector="linear", prior=prior).calibrate(trained, graph)
        ...     print(prior, bool(clf.predict_proba(graph)[:, 1].mean() < 0.1))
        natural True
        balanced False
        """
        self._check_shares()  # before the minutes that a fit may take
        method, seed = get_method(self.method), self._seed()
        read = ReadLabels.of(method, graph, split, seed)
        detector = self._make_detector(method)
        if inputs is None:
            made = made_from_labels(graph, *read.all)
            inputs = DetectorInputs(graph, device=choose_device(self.device), seed=seed, apart=made)
        labels = self._labelled(graph, read.train_nodes, read.train_y)
        if isinstance(detector, Network):
            validation = None
            if read.val_nodes.size:
                validation = self._labelled(graph, read.val_nodes, read.val_y)
            training = Training(
                method.objective, validation, method.trains_on == "train", method.refinement, method.rests
            )
            detector.fit(inputs, labels, seed=seed, progress=progress, training=training)
            if isinstance(detector, Module):
                require_logits(detector.logits(inputs))
        else:
            detector.fit(inputs, labels, seed=seed, progress=progress)
        return TrainedDetector(detector, inputs, labels)

    def _check_shares(self) -> None:
        if self.prior not in PRIORS:
            raise InputError(f"prior must be one of {list(PRIORS)}; got {self.prior!r}.")
        if self.rare_share is not None:
            check_share(self.rare_share, "rare_share")

    def calibrate(
        self,
        trained: TrainedDetector,
        graph: RareGraph,
        split: Split | None = None,
        counted: CountedShares | None = None,
    ) -> Self:
        """The second half of `fit`: calibrate a fitted detector on the labels the method declares.

        See `fit_detector` for an example.

        Args:
            trained: From `fit_detector`.
            graph: The graph of the fit.
            split: As given to `fit_detector`.
            counted: The population's class shares where these labels do not tell them; `rare_share` comes before it.
        """
        method, seed = get_method(self.method), self._seed()
        self._check_shares()
        read = ReadLabels.of(method, graph, split, seed)
        counted = counted or read.counted(graph)
        natural = counted.shares
        if self.rare_share is not None:
            natural = move_rare_share(natural, graph.rare_class, self.rare_share)
        shares = natural if self.prior == "natural" else np.full(graph.num_classes, 1 / graph.num_classes)
        calibrator = make_calibrator(self.method, trained.detector)
        if calibrator is not None:
            logits, y, nodes = self._evidence(method, trained, read)
            tensors = trained.inputs.tensors if calibrator.needs_graph else None
            calibrator.knowing(trained.labels.nodes)
            calibrator.fit(logits, y, weights=share_weights(y, shares), nodes=nodes, graph=tensors)
        left_out = np.empty((0, graph.num_classes))
        if calibrator is not None and method.evidence == "left_out":
            left_out = self._cross_fitted(trained.detector, trained.labels, shares)
            rare = graph.rare_class
            keep = measure_skill(left_out[:, rare], trained.labels.y == rare).keep
            if keep < 1:
                left_out = calibrator.draw_to(shares, keep).drawn(left_out)
        self.asked_: AskedGraph | None = AskedGraph(graph, trained.inputs)
        self.state_ = FittedState(
            class_names=graph.class_names,
            rare_class=graph.rare_class,
            num_features=graph.num_features,
            feature_names=graph.feature_names,
            schema=graph.schema,
            recipe=trained.inputs.recipe,
            detector=trained.detector,
            calibrator=calibrator,
            shares=shares,
            num_share_labels=counted.num_labels,
            labels=trained.labels,
            left_out=left_out,
            split=graph.public_split if split is None else split,
            held_out=read.val_nodes,
            degree=graph.degree[trained.labels.nodes],
            keys=keys_of_nodes(graph, np.concatenate([trained.labels.nodes, read.val_nodes])),
        )
        return self

    def _make_detector(self, method: Method) -> Detector:
        detector = make_detector(self.detector)
        stackable = method.evidence == "left_out" and not method.changes_training
        if isinstance(detector, Stack) and not stackable:
            if self.detector != "auto":
                raise InputError(
                    f"a stack is calibrated as a whole by method='jackknife'; got method={self.method!r}. "
                    "Use detector='gcn' for it."
                )
            return GCN()
        if method.changes_training and not isinstance(detector, Network):
            raise InputError(
                f"method {self.method!r} changes how a network is trained; detector must be one, 'gcn' for instance; "
                f"got {detector.name!r}."
            )
        return detector

    def _labelled(self, graph: RareGraph, nodes: np.ndarray, y: np.ndarray) -> LabelledNodes:
        weights = node_weights(y, graph.num_classes, self.class_costs)
        return LabelledNodes(nodes, y, weights, graph.num_classes, find_groups(graph, nodes))

    def _evidence(
        self, method: Method, trained: TrainedDetector, read: ReadLabels
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """(logits, y, nodes) to calibrate on."""
        if method.evidence == "val":
            return trained.detector.logits(trained.inputs), read.val_y, read.val_nodes
        labels = trained.labels
        if method.evidence == "cross_fit":

            def retrain(rows: np.ndarray) -> np.ndarray:
                again = make_detector(trained.detector)
                return again.fit(trained.inputs, labels.take(rows), seed=self._seed()).logits(trained.inputs)

            return out_of_fold_evidence(retrain, labels.nodes, labels.y, seed=self._seed()), labels.y, None
        return trained.detector.left_out_logits(), labels.y, None

    def _cross_fitted(self, detector: Detector, labels: LabelledNodes, shares: np.ndarray) -> np.ndarray:
        """Left-out probabilities of the labelled nodes by calibration maps that did not see their labels either."""
        fold = fold_numbers(labels, self._seed(), num_folds=10)
        logits = detector.left_out_logits()
        return left_out_probabilities(lambda: make_calibrator(self.method, detector), logits, labels.y, shares, fold)


def require_logits(logits: np.ndarray) -> None:
    """Refuse a module that ends in softmax: calibration would take the logarithm of a logarithm."""
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1.0, atol=1e-4):
        raise InputError("the module returns probabilities (rows sum to one); let it return logits, without softmax.")
