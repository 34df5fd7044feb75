"""The estimator that ties training, calibration and uncertainty together."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor, nn

from calirare.calibration.base import Calibrator, share_weights
from calirare.calibration.cross_fit import out_of_fold_evidence
from calirare.calibration.jackknife import left_out_evidence
from calirare.data.graph import RareGraph, Split
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.backbone import ModuleBackbone
from calirare.detectors.networks.loop import Progress
from calirare.detectors.networks.weights import ClassCosts, class_totals, node_weights
from calirare.errors import InputError, NotFittedError
from calirare.estimator.fitting import (
    FitSettings,
    ReadLabels,
    TrainedBackbone,
    choose_device,
    fit_backbone,
    require_graph,
)
from calirare.estimator.methods import Method, get_method
from calirare.influence.leave_one_out import LeaveOneOut
from calirare.influence.model import predict_logits
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds
from calirare.uncertainty.explanation import Explanation, explain_node
from calirare.uncertainty.jackknife import Intervals, LeftOut, bounds_of_class, jackknife_deviation


class RareCategoryClassifier(ClassifierMixin, BaseEstimator):
    """Finds the rare nodes of a graph and says how far each call can be trusted.

    Args:
        backbone: `"gcn"`, `"gat"`, `"gin"`, `"sage"`, or a `torch.nn.Module` with
            `forward(x, edge_index, edge_weight)` that returns logits.
        method: A name from `calirare.methods()`.
        prior: `"natural"`: probabilities at the population's class shares. `"balanced"`: as if every class were as
            frequent as the others, so that the largest probability is the cost-sensitive decision.
        rare_share: The rare class's share of the population; default: that of the validation labels, else of all labels.
        hidden: Hidden units.
        dropout: Dropout of the hidden layer.
        epochs: Training epochs.
        lr: Adam's learning rate.
        weight_decay: λ of the L2 penalty. 5e-4 suits thousands of sparse words, 5e-3 a few dense columns.
        seed: Same seed, same machine: same result.
        device: `"auto"`, `"cpu"` or `"cuda"`.
        class_costs: `"inverse_frequency"`, one cost per class, or None.
        patience: Stop when the validation loss has not fallen for this many epochs; only for methods that train on
            the training labels alone and read validation labels.
        settle: Share of the epochs, the last ones, without dropout. Training then comes to rest, which is where leaving
            a label out by one Newton step agrees with retraining. 0: the paper's training, which `calirare` and
            `calirare_code` always get.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=600, seed=0)
    >>> clf = cr.RareCategoryClassifier(epochs=20, weight_decay=5e-3).fit(graph)
    >>> clf.predict_proba(graph).shape
    (600, 2)
    """

    def __init__(
        self,
        backbone: str | nn.Module = "gcn",
        method: str = "jackknife",
        prior: str = "natural",
        rare_share: float | None = None,
        hidden: int = 16,
        dropout: float = 0.5,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        seed: int = 0,
        device: str = "auto",
        class_costs: ClassCosts = "inverse_frequency",
        patience: int | None = None,
        settle: float = 0.25,
    ) -> None:
        self.backbone = backbone
        self.method = method
        self.prior = prior
        self.rare_share = rare_share
        self.hidden = hidden
        self.dropout = dropout
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.seed = seed
        self.device = device
        self.class_costs = class_costs
        self.patience = patience
        self.settle = settle

    # Fitting

    def fit(self, graph: RareGraph, split: Split | None = None, *, progress: Progress | None = None) -> Self:
        """Train on the labels the method declares, then calibrate.

        Args:
            graph: The graph; not changed.
            split: Which labels train and validate. Without it every known label is used.
            progress: Called with (epoch, epochs, loss) after each epoch.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, seed=0)
        >>> split = cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=20, weight_decay=5e-3).fit(graph, split)
        >>> clf.classes_, clf.labelled_nodes_.size, len(clf.history_.loss)
        (array([0, 1]), 151, 20)
        """
        return self.calibrate(self.train_backbone(graph, split, progress=progress), graph, split)

    def train_backbone(
        self,
        graph: RareGraph,
        split: Split | None = None,
        *,
        inputs: GraphInputs | None = None,
        progress: Progress | None = None,
    ) -> TrainedBackbone:
        """The first half of `fit`. Methods with the same objective and training labels can share its result.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, seed=0)
        >>> trained = cr.RareCategoryClassifier(epochs=20, weight_decay=5e-3).train_backbone(graph)
        >>> for prior in ("natural", "balanced"):
        ...     clf = cr.RareCategoryClassifier(prior=prior, weight_decay=5e-3).calibrate(trained, graph)
        ...     print(prior, bool(clf.predict_proba(graph)[:, 1].mean() < 0.1))
        natural True
        balanced False
        """
        method = get_method(self.method)
        settings = self._settings()
        labels = ReadLabels.of(method, graph, split, self.seed)
        inputs = inputs or GraphInputs(graph, choose_device(self.device))
        return fit_backbone(settings, method, inputs, labels, graph.num_classes, progress)

    def calibrate(self, trained: TrainedBackbone, graph: RareGraph, split: Split | None = None) -> Self:
        """The second half of `fit`: calibrate a trained backbone on the labels the method declares.

        See `train_backbone` for an example.
        """
        method = get_method(self.method)
        if self.prior not in ("natural", "balanced"):
            raise InputError(f"prior must be 'natural' or 'balanced'; got {self.prior!r}.")
        labels = ReadLabels.of(method, graph, split, self.seed)
        self._adopt(trained, graph, labels)
        self.split_ = split
        totals = class_totals(trained.labels.train_y, trained.weights, graph.num_classes)
        natural = labels.shares(graph, self.rare_share)
        self.shares_ = natural if self.prior == "natural" else np.full(graph.num_classes, 1 / graph.num_classes)
        self.calibrator_, self.decision_ = None, None
        if method.calibrator is not None:
            evidence = self._evidence(method, trained, labels)
            self.calibrator_ = self._fit_calibrator(method, trained, evidence, self.shares_)
            if not self.calibrator_.keeps_decision:
                self.decision_ = self._fit_calibrator(method, trained, evidence, totals)
        return self

    def _adopt(self, trained: TrainedBackbone, graph: RareGraph, labels: ReadLabels) -> None:
        """Write the fitted state that does not depend on calibration."""
        self.classes_ = np.arange(graph.num_classes)
        self.class_names_ = graph.class_names
        self.rare_class_ = graph.rare_class
        self.n_features_in_ = graph.num_features
        self.feature_names_ = graph.feature_names
        self.schema_ = graph.schema
        self.model_ = trained.model
        self.history_ = trained.history
        self.labelled_nodes_ = labels.train_nodes
        self.labelled_y_ = labels.train_y
        self._trained: TrainedBackbone | None = trained
        self._graph: RareGraph | None = graph
        self._left_out: LeftOut | None = None

    def _evidence(
        self, method: Method, trained: TrainedBackbone, labels: ReadLabels
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """(logits, y, nodes) to calibrate on."""
        if method.evidence == "val":
            return trained.logits, labels.val_y, labels.val_nodes
        nodes, y = labels.train_nodes, labels.train_y
        if method.evidence == "cross_fit":
            logits = out_of_fold_evidence(
                lambda rows, fold: trained.retrain(method, rows, fold), nodes, y, seed=self.seed
            )
            return logits, y, None
        trained.warn_if_left_out_is_doubtful()
        return self._left_out_logits(), y, None

    def _fit_calibrator(
        self,
        method: Method,
        trained: TrainedBackbone,
        evidence: tuple[np.ndarray, np.ndarray, np.ndarray | None],
        shares: np.ndarray,
    ) -> Calibrator:
        logits, y, nodes = evidence
        calibrator = method.calibrator()  # type: ignore[misc]
        if hasattr(calibrator, "train_nodes"):
            calibrator.train_nodes = trained.labels.train_nodes
        return calibrator.fit(logits, y, weights=share_weights(y, shares), nodes=nodes, graph=trained.inputs)

    @classmethod
    def from_trained(
        cls,
        module: nn.Module,
        graph: RareGraph,
        split: Split | None = None,
        method: str = "jackknife",
        *,
        class_costs: ClassCosts = None,
        **arguments: Any,
    ) -> Self:
        """Calibrate a PyG module that is already trained, without held-out labels and without touching its weights.

        Args:
            module: Trained; `forward(x, edge_index)` or `forward(x, edge_index, edge_weight)` gives logits.
            graph: The graph it was trained on.
            split: `split.train`: the nodes whose labels trained it; default: every known label.
            method: A method that calibrates, for instance `"jackknife"` or `"temperature"`.
            class_costs: The class weights it was trained with; None: none.
            arguments: Other arguments of the estimator; give `weight_decay` as trained.

        >>> import calirare as cr
        >>> from torch_geometric.nn import GCNConv
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> module = GCNConv(graph.num_features, 2)  # train it as you are used to
        >>> clf = cr.RareCategoryClassifier.from_trained(module, graph, weight_decay=5e-3)
        >>> clf.predict_proba(graph).shape
        (300, 2)
        """
        self = cls(backbone=module, method=method, class_costs=class_costs, **arguments)
        chosen = get_method(method)
        labels = ReadLabels.of(chosen, graph, split, self.seed)
        if split is not None and chosen.trains_on == "train+val":
            labels = ReadLabels(split.train, graph.y[split.train], split.val[:0], graph.y[split.val[:0]])
        if chosen.evidence == "cross_fit":
            raise InputError("method 'cross_fit' retrains; from_trained leaves the module as it is. Use 'jackknife'.")
        settings = self._settings()
        inputs = GraphInputs(graph, choose_device(self.device))
        weights = node_weights(labels.train_y, graph.num_classes, class_costs)
        model = ModuleBackbone(module, graph.num_classes).to(inputs.device)
        trained = TrainedBackbone(model, inputs, labels, weights, settings, graph.num_classes)
        only_train = None if split is None else Split(train=labels.train_nodes, val=labels.val_nodes)
        return self.calibrate(trained, graph, only_train)

    # Predicting

    def predict_proba(self, graph: RareGraph) -> np.ndarray:
        """`(N, C)` float64 probabilities; columns are `classes_`.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> bool(abs(clf.predict_proba(graph).sum(axis=1) - 1).max() < 1e-12)
        True
        """
        inputs = self._inputs(graph)
        return self._to_probabilities(predict_logits(self.model_, inputs).double().cpu().numpy(), inputs)

    def predict(self, graph: RareGraph) -> np.ndarray:
        """The cost-sensitive decision under the training weights, `(N,)`, whatever the prior.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> clf.predict(graph).shape, set(clf.predict(graph).tolist()) <= {0, 1}
        ((500,), True)
        """
        inputs = self._inputs(graph)
        logits = predict_logits(self.model_, inputs).double().cpu().numpy()
        scores = logits if self.decision_ is None else self.decision_.predict_proba(logits, graph=inputs)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_left_out(self) -> np.ndarray:
        """`(n, C)`: what the model says of each of `labelled_nodes_` without its label.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> honest, fitted = clf.predict_left_out(), clf.predict_proba(graph)[clf.labelled_nodes_]
        >>> rare = clf.labelled_y_ == 1
        >>> bool(honest[rare, 1].mean() < fitted[rare, 1].mean())  # rare labels prop themselves up
        True
        """
        self._require_fitted()
        return self._left_out_probabilities() if self._left_out is None else self._left_out.probabilities

    def predict_interval(self, graph: RareGraph, coverage: float = 0.9) -> Intervals:
        """Jackknife interval of P(rare) for every node, within [0, 1].

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> interval, p = clf.predict_interval(graph, coverage=0.9), clf.predict_proba(graph)[:, 1]
        >>> bool(((interval.lower <= p) & (p <= interval.upper)).all())
        True
        """
        rows, table = self.left_out_table(graph)
        residuals = self.left_out_.residuals(rows, self.rare_class_)
        return Intervals(*bounds_of_class(table, residuals, coverage=coverage, clip=True))

    def predict_deviation(self, graph: RareGraph) -> np.ndarray:
        """Jackknife standard error of P(rare), `(N,)`: how much each call hangs on single labels.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> clf.predict_deviation(graph).shape
        (500,)
        """
        _, table = self.left_out_table(graph)
        return jackknife_deviation(table, self.predict_proba(graph)[:, self.rare_class_], len(self.labelled_nodes_))

    def predict_set(self, graph: RareGraph, coverage: float = 0.9) -> np.ndarray:
        """`(N, C)` bool: class-conditional conformal sets; a node's true class is inside with the coverage, per class.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=600, rare_share=0.2, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> sets = clf.predict_set(graph, coverage=0.8)
        >>> rare = (graph.original_y == 1) & (graph.y == -1)
        >>> bool(sets[rare, 1].mean() > 0.7)
        True
        """
        thresholds = conformal_thresholds(self.predict_left_out(), self.labelled_y_, coverage)
        return conformal_sets(self.predict_proba(graph), thresholds)

    def individual_calibration_error(
        self, graph: RareGraph, coverage: float = 0.9, *, clip: bool = False
    ) -> np.ndarray:
        """ICE of every node, `(N,)`; its mean is EICE. See `calirare.metrics.individual` for what it does not see.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> bool(clf.individual_calibration_error(graph).mean() < 0.05)
        True
        """
        probabilities = self.predict_proba(graph)
        predicted = probabilities.argmax(axis=1)
        result = np.empty(graph.num_nodes)
        for c in np.unique(predicted):
            nodes = predicted == c
            rows, table = self.left_out_table(graph, int(c))
            residuals = self.left_out_.residuals(rows, int(c))
            lower, upper = bounds_of_class(table[nodes], residuals, coverage=coverage, clip=clip)
            result[nodes] = np.abs((lower + upper) / 2 - probabilities[nodes, c])
        return result

    def explain(self, graph: RareGraph, node: int) -> Explanation:
        """The labelled nodes that pull this node's P(rare), with sign and size, strongest first.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> why = clf.explain(graph, node=7)
        >>> why.node, len(why) == clf.labelled_nodes_.size, bool(abs(why.pull[0]) >= abs(why.pull[1]))
        (7, True, True)
        """
        inputs = self._inputs(graph)
        if not 0 <= node < graph.num_nodes:
            raise InputError(f"node must be one of 0…{graph.num_nodes - 1}; got {node}.")
        return explain_node(
            self.model_,
            inputs,
            self.left_out_,
            lambda logits: self._to_probabilities(logits, inputs),
            node,
            self.rare_class_,
            node_by_node=self.calibrator_ is not None and self.calibrator_.needs_graph,
        )

    def left_out_table(self, graph: RareGraph, of_class: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(rows of `labelled_nodes_`, `(N, m)` P(class) of every node by the model without each of these labels).

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> rows, table = clf.left_out_table(graph)
        >>> table.shape == (graph.num_nodes, rows.size)
        True
        """
        inputs = self._inputs(graph)
        chosen = self.rare_class_ if of_class is None else of_class

        def to_probability(logits: Tensor) -> Tensor:
            if self.calibrator_ is None:
                return logits.softmax(dim=-1)[..., chosen]
            return self.calibrator_.predict_class(logits, chosen, graph=inputs)

        return self.left_out_.table(self.model_, inputs, to_probability)

    # Keeping

    def save(self, path: str | Path, graph: RareGraph | None = None) -> None:
        """Write the fitted model to a folder that is safe to load; with `graph`, the graph beside it.

        >>> import calirare as cr, tempfile
        >>> graph = cr.make_transactions(num_nodes=500, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(epochs=100, weight_decay=5e-3).fit(graph)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(folder, graph)
        ...     bool((cr.load(folder).predict_proba(graph) == clf.predict_proba(graph)).all())
        True
        """
        from calirare.persistence.folder import save

        save(self, path, graph)

    # Inside

    def _settings(self) -> FitSettings:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be a whole number from 0 to 2⁶³ - 1; got {self.seed!r}.")
        return FitSettings(**{name: getattr(self, name) for name in FitSettings.__dataclass_fields__})

    @property
    def left_out_(self) -> LeftOut:
        """The left-out models; computed at the first question that needs them."""
        self._require_fitted()
        if self._left_out is None:
            engine = self._engine()
            self._left_out = LeftOut.from_engine(
                engine, left_out_evidence(engine), self._left_out_probabilities(), self.seed
            )
        return self._left_out

    def _left_out_logits(self) -> np.ndarray:
        return left_out_evidence(self._engine()) if self._left_out is None else self._left_out.logits

    def _left_out_probabilities(self) -> np.ndarray:
        logits = self._left_out_logits()
        if self.calibrator_ is None or not self.calibrator_.needs_graph or self._trained is None:
            return self._to_probabilities(logits, None)
        whole = self._trained.logits
        whole[self.labelled_nodes_] = logits
        return np.asarray(self._to_probabilities(whole, self._trained.inputs)[self.labelled_nodes_])

    def _engine(self) -> LeaveOneOut:
        if self._trained is None:
            raise NotFittedError("this model was loaded without its left-out models; fit it again.")
        return self._trained.leave_one_out()

    def _to_probabilities(self, logits: np.ndarray, inputs: GraphInputs | None) -> np.ndarray:
        if self.calibrator_ is None:
            return np.asarray(softmax(logits, axis=1))
        return self.calibrator_.predict_proba(logits, graph=inputs)

    def _inputs(self, graph: RareGraph) -> GraphInputs:
        self._require_fitted()
        require_graph(graph)
        if graph.num_features != self.n_features_in_:
            raise InputError(
                f"the graph has {graph.num_features} features; the model was fitted on {self.n_features_in_}."
            )
        if (
            self.feature_names_ is not None
            and graph.feature_names is not None
            and graph.feature_names != self.feature_names_
        ):
            pairs = zip(self.feature_names_, graph.feature_names, strict=True)
            at_fit, now = next(pair for pair in pairs if pair[0] != pair[1])
            raise InputError(
                f"features differ from those at fit: expected {at_fit!r}, got {now!r}. Read the tables with the model's schema."
            )
        if self._trained is not None and graph is self._graph:
            return self._trained.inputs
        return GraphInputs(graph, choose_device(self.device))

    def _require_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("RareCategoryClassifier is not fitted; call fit(graph, split) first.")
