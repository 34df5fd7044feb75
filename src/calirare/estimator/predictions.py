"""What a fitted estimator says of every node of a graph."""

from __future__ import annotations

import logging

import numpy as np
from scipy.special import softmax

from calirare.data.graph import RareGraph, require_graph
from calirare.data.inputs import choose_device
from calirare.data.tables.schema.node_columns import scaled_otherwise
from calirare.detectors.base import DetectorInputs
from calirare.errors import InputError
from calirare.estimator.asked import AskedGraph
from calirare.estimator.fitted import Fitted

logger = logging.getLogger(__name__)
_QUITE = 0.25
"""Standard deviations by which a column may be scaled otherwise; a table that grew is within it."""


def as_they_come(logits: np.ndarray) -> np.ndarray:
    """Probabilities before calibration; of a stack the mean of its members'."""
    probabilities = np.asarray(softmax(logits, axis=-1))
    return probabilities if probabilities.ndim == 2 else np.asarray(probabilities.mean(axis=1))


class Predictions(Fitted):
    """Probabilities and calls; the graph that was asked about last costs once."""

    device: str
    asked_: AskedGraph | None

    def predict_proba(self, graph: RareGraph) -> np.ndarray:
        """`(N, C)` float64 probabilities; columns are `classes_`.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> bool(abs(clf.predict_proba(graph).sum(axis=1) - 1).max() < 1e-12)
        True
        """
        return self._to_probabilities(self._logits(graph), self.inputs(graph))

    def predict_uncalibrated(self, graph: RareGraph) -> np.ndarray:
        """`(N, C)`: what the detector says before calibration; of a stack, its members' mean.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> clf.predict_uncalibrated(graph).shape
        (300, 2)
        """
        return as_they_come(self._logits(graph))

    def predict(self, graph: RareGraph) -> np.ndarray:
        """The likeliest class of each node under the prior, `(N,)`: it never contradicts the probability.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> bool((clf.predict(graph) == clf.predict_proba(graph).argmax(axis=1)).all())
        True
        """
        return self.classes_[self.predict_proba(graph).argmax(axis=1)]

    def _to_probabilities(self, logits: np.ndarray, inputs: DetectorInputs) -> np.ndarray:
        calibrator = self.calibrator_
        if calibrator is None:
            return softmax(logits, axis=1)
        graph = inputs.tensors if calibrator.needs_graph else None
        return np.asarray(calibrator.predict_proba(logits, graph=graph))

    def _ask(self, graph: RareGraph) -> AskedGraph:
        state = self.state_
        require_graph(graph)
        if not graph.num_nodes:
            raise InputError("the graph must have at least one node; it has none.")
        if graph.num_features != state.num_features:
            raise InputError(
                f"the graph has {graph.num_features} features; the model was fitted on {state.num_features}."
            )
        at_fit, now = state.feature_names, graph.feature_names
        if at_fit is not None and now is not None and at_fit != now:
            first = next(pair for pair in zip(at_fit, now, strict=True) if pair[0] != pair[1])
            raise InputError(
                f"features differ from those at fit: expected {first[0]!r}, got {first[1]!r}. "
                "Read the tables with the model's schema."
            )
        if self.asked_ is None or self.asked_.graph is not graph:
            self._require_same_scale(graph)
            device = choose_device(self.device)
            state.detector.to(device)
            self.asked_ = AskedGraph(graph, DetectorInputs(graph, state.recipe, device, self._seed()))
        return self.asked_

    def _require_same_scale(self, graph: RareGraph) -> None:
        """Warn of tables that were read on their own, and refuse them where the same value is quite another number there.

        A generated graph was never read, and has nothing seen in it.
        """
        at_fit, now = self.state_.schema, graph.schema
        if at_fit is None or now is None or "seen" not in now or scaled_otherwise(at_fit, now) is None:
            return
        way = "Read the tables with the model's schema: read_tables(…, schema=clf.schema_)."
        name = scaled_otherwise(at_fit, now, _QUITE)
        if name is not None:
            raise InputError(f"the graph must be read as at the fit; column {name!r} is scaled otherwise. {way}").see(
                "guides/tables.md"
            )
        logger.warning("column %r is scaled a little otherwise than at the fit. %s", scaled_otherwise(at_fit, now), way)

    def inputs(self, graph: RareGraph) -> DetectorInputs:
        """The graph as the model's detectors read it, with columns as at the fit."""
        return self._ask(graph).inputs

    def _logits(self, graph: RareGraph) -> np.ndarray:
        asked = self._ask(graph)
        return asked.answer("logits", lambda: (self.detector_.logits(asked.inputs),))[0]
