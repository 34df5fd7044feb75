"""The estimator that ties detection, calibration and uncertainty together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import nn

from calirare.data.arrays import UNKNOWN, as_array, as_doubles
from calirare.data.graph import RareGraph, require_graph
from calirare.data.inputs import choose_device
from calirare.data.split import Split
from calirare.detectors.base import Detector, DetectorInputs
from calirare.detectors.networks.defaults import WEIGHT_DECAY
from calirare.detectors.networks.fitting.weights import ClassCosts
from calirare.detectors.networks.members import Module
from calirare.detectors.networks.module import ModuleNetwork
from calirare.detectors.networks.network import Network
from calirare.detectors.registry import make_detector
from calirare.errors import InputError, ModelFormatError
from calirare.estimator.evidence import gather_evidence, require_same_classes
from calirare.estimator.fitting import Fitting, TrainedDetector, require_logits
from calirare.estimator.labels import ReadLabels
from calirare.estimator.methods import get_method
from calirare.estimator.score_profile import UNLABELLED, profile_scores, scores_without_labels
from calirare.estimator.shares import OtherShares
from calirare.estimator.specs import describe_detector, plain, rebuild_detector
from calirare.estimator.state import from_record, make_calibrator, to_record
from calirare.metrics import Summary
from calirare.metrics.bootstrap import NUM_RESAMPLES
from calirare.persistence.folder import read_folder, write_folder


class RareCategoryClassifier(Fitting, OtherShares, ClassifierMixin, BaseEstimator):
    """Finds the rare nodes of a graph and says how far each call can be trusted.

    Args:
        detector: `"auto"`: several detectors, weighed by what they say of labels that they did not see. Or one by name
            (`calirare.detectors.detectors()`), as an object with its own parameters, or a `torch.nn.Module` with
            `forward(x, edge_index, edge_weight)` that returns logits.
        method: A name from `calirare.methods()`. Methods of the paper that train or calibrate otherwise than
            `"jackknife"` are for networks; with `"auto"` they use the GCN.
        prior: `"natural"`: probabilities at the population's class shares. `"balanced"`: as if every class were as
            frequent as the others, so that the largest probability is the cost-sensitive decision.
        rare_share: The rare class's share of the population; default: that of the validation labels, else of all labels.
        seed: Same seed, same machine: same result.
        device: `"auto"`, `"cpu"` or `"cuda"`.
        class_costs: `"inverse_frequency"`, one cost per class, or None.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
    >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    >>> clf.predict_proba(graph).shape
    (300, 2)
    """

    def __init__(
        self,
        detector: str | Detector | nn.Module = "auto",
        method: str = "jackknife",
        prior: str = "natural",
        rare_share: float | None = None,
        seed: int = 0,
        device: str = "auto",
        class_costs: ClassCosts = "inverse_frequency",
    ) -> None:
        self.detector = detector
        self.method = method
        self.prior = prior
        self.rare_share = rare_share
        self.seed = seed
        self.device = device
        self.class_costs = class_costs

    def set_params(self, **params: Any) -> Self:
        """Change arguments; those of a detector that is an object as `detector__NAME`.

        >>> import calirare as cr
        >>> cr.RareCategoryClassifier(cr.detectors.GCN()).set_params(seed=1, detector__hidden=8)
        RareCategoryClassifier(detector=GCN(hidden=8), seed=1)
        """
        detector = params.get("detector", self.detector)
        nested = [name for name in params if name.startswith("detector__")]
        if nested and isinstance(detector, str):
            raise InputError(
                f"{nested[0]} is for a detector that is an object; this one is the name {detector!r}. Give the object: "
                f"detector=cr.detectors.{type(make_detector(detector)).__name__}()."
            )
        return super().set_params(**params)

    # Fitting: `calirare.estimator.fitting`

    @classmethod
    def from_trained(
        cls,
        module: nn.Module,
        graph: RareGraph,
        split: Split | None = None,
        method: str = "jackknife",
        *,
        weight_decay: float = WEIGHT_DECAY,
        class_costs: ClassCosts = None,
        **arguments: Any,
    ) -> Self:
        """Calibrate a PyG module that is already trained, without held-out labels and without touching its weights.

        Args:
            module: Trained; `forward(x, edge_index)` or `forward(x, edge_index, edge_weight)` gives logits.
            graph: The graph it was trained on.
            split: `split.train`: the nodes whose labels trained it. Default: the split that came with the graph, else every
                known label.
            method: A method that calibrates, for instance `"jackknife"` or `"temperature"`.
            weight_decay: λ that it was trained with.
            class_costs: The class weights it was trained with; None: none.
            arguments: Other arguments of the estimator.

        >>> import calirare as cr, torch
        >>> from torch_geometric.nn import GCNConv
        >>> graph = cr.make_transactions(num_nodes=100, rare_share=0.3, seed=0)
        >>> module = GCNConv(graph.num_features, 2)  # trained as you are used to
        >>> x, edges, y = torch.tensor(graph.x), torch.tensor(graph.edge_index), torch.tensor(graph.y)
        >>> steps = torch.optim.Adam(module.parameters(), lr=0.1, weight_decay=5e-3)
        >>> for _ in range(30):
        ...     steps.zero_grad()
        ...     torch.nn.functional.cross_entropy(module(x, edges), y).backward()
        ...     _ = steps.step()
        >>> clf = cr.RareCategoryClassifier.from_trained(module, graph, weight_decay=5e-3)
        >>> clf.predict_proba(graph).shape
        (100, 2)
        """
        if not isinstance(module, nn.Module):
            raise InputError(f"module must be a torch.nn.Module; got {type(module).__name__}.")
        require_graph(graph)
        detector = Module(module, weight_decay=weight_decay)
        self = cls(detector=detector, method=method, class_costs=class_costs, **arguments)
        chosen, split = get_method(method), graph.public_split if split is None else split
        read = ReadLabels.of(chosen, graph, split, self._seed())
        if split is not None and chosen.trains_on == "train+val":
            read = ReadLabels(split.train, graph.y[split.train], split.val[:0], graph.y[split.val[:0]])
        if chosen.evidence == "cross_fit" or chosen.changes_training:
            raise InputError(f"method {method!r} retrains; from_trained leaves the module as it is. Use 'jackknife'.")
        inputs = DetectorInputs(graph, device=choose_device(self.device), seed=self._seed())
        labels = self._labelled(graph, read.train_nodes, read.train_y)
        fitted = make_detector(detector)
        assert isinstance(fitted, Network)
        fitted.adopt(ModuleNetwork(module, graph.num_classes), inputs, labels, self._seed())
        require_logits(fitted.logits(inputs))
        only_train = None if split is None else Split(train=read.train_nodes, val=read.val_nodes)
        return self.calibrate(TrainedDetector(fitted, inputs, labels), graph, only_train)

    # Predicting

    def score(self, graph: RareGraph, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the nodes with known labels that `predict` gets right; unknown ones (-1) do not count.

        Args:
            graph: The graph.
            y: `(N,)` labels; default: the graph's own.
            sample_weight: `(N,)` weights of the nodes, or None.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> bool(clf.score(graph) == (clf.predict(graph) == graph.y)[graph.known].mean())
        True
        """
        require_graph(graph)
        if y is None:
            require_same_classes(self, graph)
        labels = graph.y if y is None else as_array(y, "y")
        if labels.shape != (graph.num_nodes,) or labels.dtype.kind not in "biu":
            raise InputError(
                f"y must hold one class per node, a whole number, {graph.num_nodes} in all; got {labels.dtype} of shape {labels.shape}."
            )
        weights = np.ones(labels.shape) if sample_weight is None else as_doubles(sample_weight, "sample_weight")
        if weights.shape != labels.shape or (weights < 0).any():
            raise InputError(f"sample_weight must hold one number per node, 0 or more; got shape {weights.shape}.")
        known = labels != UNKNOWN
        if not known.any():
            raise InputError("y must hold at least one known label; all are -1.")
        if not weights[known].any():
            raise InputError("sample_weight must be above 0 for a node with a known label; it is 0 for all of them.")
        right = self.predict(graph)[known] == labels[known]
        return float(np.average(right, weights=weights[known]))

    def evaluate(
        self,
        graph: RareGraph,
        nodes: Any = None,
        *,
        budget: int | None = None,
        coverage: float = 0.95,
        num_resamples: int = NUM_RESAMPLES,
    ) -> Summary:
        """Every metric with its interval, on nodes whose labels are known and did not make the answers.

        Nodes whose labels trained the model are judged by what it says of each without its label. For a verdict in
        words see `calirare.evaluation.evaluate`.

        Args:
            graph: The graph of the fit, or another one with known labels.
            nodes: The nodes that judge, as indices or a mask. Default: the test nodes of the split, else every label that
                the model has not read if there are at least 50, else those that trained it. The first two must hold rare
                nodes and others.
            budget: With it, recall within the budget is among the metrics.
            coverage: Of the intervals.
            num_resamples: Of the bootstrap.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> found = cr.RareCategoryClassifier(detector="linear").fit(graph).evaluate(graph, num_resamples=20)
        >>> found.num_nodes, bool(found["roc_auc"].value > 0.8)
        (131, True)
        """
        evidence = gather_evidence(self, graph, nodes)
        return evidence.summary(budget=budget, coverage=coverage, num_resamples=num_resamples, seed=self._seed())

    # Keeping

    def save(self, path: str | Path, graph: RareGraph | None = None) -> None:
        """Write the fitted model to a folder that is safe to load; with `graph`, the graph beside it.

        With its graph, which holds ids and labels, the model keeps keys of the ids whose labels it has read, and knows these
        nodes again where rows stand in another order. Without, it knows them by their places alone.

        >>> import calirare as cr, tempfile
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(folder, graph)
        ...     bool((cr.load(folder).predict_proba(graph) == clf.predict_proba(graph)).all())
        True
        """
        left_out = self.predict_left_out()
        self._require_as_fitted()
        arguments = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        arguments["detector"] = describe_detector(self.detector)
        scores, keys = self.state_.scores, None
        if graph is not None:
            keys, rare = self.state_.keys, self.rare_class_
            probability = self.predict_proba(graph)[:, rare]
            honest = scores_without_labels(probability, left_out[:, rare], graph.unlabelled)
            scores = {UNLABELLED: profile_scores(honest)} if honest.size else None
        write_folder(path, to_record(replace(self.state_, scores=scores, keys=keys), arguments), graph)

    def _require_as_fitted(self) -> None:
        """Refuse to write arguments that are not those of the fitted parts: such a folder could not be loaded."""
        now = self._make_detector(get_method(self.method)), make_calibrator(self.method, self.detector_)
        fitted = self.detector_, self.calibrator_
        if describe_detector(now[0]) != describe_detector(fitted[0]) or type(now[1]) is not type(fitted[1]):
            raise InputError(
                "detector and method must be those of the fit to save the model; fit again, or set them back."
            )


def load(path: str | Path, module: nn.Module | None = None) -> RareCategoryClassifier:
    """Read a model folder written by `save`. Nothing in it is executed.

    Args:
        path: The folder.
        module: The module, for a model whose network was a user's own: code is never stored.

    >>> import calirare as cr, tempfile
    >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cr.RareCategoryClassifier(detector="linear").fit(graph).save(folder)
    ...     load(folder).predict(graph).shape
    (300,)
    """
    record = read_folder(path)
    try:
        arguments = dict(record.header["arguments"])
        detector = rebuild_detector(arguments.pop("detector"), module)
        classifier = RareCategoryClassifier(detector=detector, **arguments)
        spec = classifier._make_detector(get_method(classifier.method))
        classifier.state_, classifier.asked_ = from_record(record, classifier.method, spec), None
    except (KeyError, TypeError, IndexError, AttributeError, RuntimeError, ValueError, OverflowError) as error:
        if isinstance(error, ModelFormatError):
            raise
        said = " ".join(str(error).split())  # torch's go over several lines
        if module is not None and isinstance(error, RuntimeError):
            raise InputError(f"module must be the one that was fitted; this one has other weights ({said}).") from error
        raise ModelFormatError(
            f"{path} is not a complete calirare model ({type(error).__name__}: {said}); save it again."
        ) from error
    return classifier
