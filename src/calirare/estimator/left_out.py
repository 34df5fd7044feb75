"""Questions to the models that missed a label: what they say of it and of every other node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax
from torch import Tensor

from calirare.calibration.stack import StackScaling
from calirare.data.arrays import as_nodes
from calirare.data.graph import RareGraph
from calirare.detectors.base import DetectorInputs, Progress
from calirare.detectors.stack import Stack
from calirare.estimator.asked import AskedGraph
from calirare.estimator.predictions import Predictions, as_they_come
from calirare.uncertainty.jackknife import (
    Intervals,
    bounds_of_class,
    jackknife_deviation,
    left_out_table,
    residuals_of,
)
from calirare.uncertainty.skill import Skill, measure_skill

_BLOCK_NUMBERS = 2**19
"""Nodes times left-out models that are asked at once: few enough to tell how far it is, enough to share what a block costs."""


class LeftOutPredictions(Predictions):
    """What the models that missed a label say of it, and of every other node."""

    def predict_left_out(self) -> np.ndarray:
        """`(n, C)`: what the model says of each of `labelled_nodes_` without its label.

        Neither the detector nor the calibration map has seen the label. Other methods than `"jackknife"`, and that one
        where labels are too few to fit maps without some of them, have one map, which may have.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> honest, fitted = clf.predict_left_out(), clf.predict_proba(graph)[clf.labelled_nodes_]
        >>> rare = clf.labelled_y_ == 1
        >>> bool(honest[rare, 1].mean() < fitted[rare, 1].mean())  # rare labels prop themselves up
        True
        """
        if not len(self.state_.left_out):
            self.state_ = replace(self.state_, left_out=self._left_out_probabilities())
        return self.state_.left_out.copy()  # the caller's own, to change as she likes

    def _ask(self, graph: RareGraph) -> AskedGraph:
        if self.looks_at_graph and self.asked_ is not None and self.asked_.graph is not graph:
            self.predict_left_out()  # which looks at the graph of the fit, while that is at hand
        return super()._ask(graph)

    def left_out_uncalibrated(self) -> np.ndarray:
        """`(n, C)`: what the detector says of each of `labelled_nodes_` without its label, before calibration."""
        return as_they_come(self.detector_.left_out_logits())

    def left_out_rare(self) -> tuple[np.ndarray, np.ndarray]:
        """`(n,)` P(rare) of each of `labelled_nodes_` without its label, and `(n,)` bool whether it is rare."""
        return self.predict_left_out()[:, self.rare_class_], self.labelled_y_ == self.rare_class_

    def skill(self) -> Skill:
        """Whether what the model says of its labels without them can be told from the base rate."""
        return measure_skill(*self.left_out_rare())

    def jackknife_interval(self, graph: RareGraph, coverage: float = 0.9) -> Intervals:
        """The paper's jackknife interval of P(rare) for every node, within [0, 1]; EICE is made of it.

        Its width is the typical residual, nearly the same for all nodes: `predict_interval` is the one to believe.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> interval, p = clf.jackknife_interval(graph, coverage=0.9), clf.predict_proba(graph)[:, 1]
        >>> bool(((interval.lower <= p) & (p <= interval.upper)).mean() > 0.95)
        True
        """
        rows, table = self.left_out_table(graph)
        residuals = residuals_of(self.predict_left_out(), self.labelled_y_, rows, self.rare_class_)
        return Intervals(*bounds_of_class(table, residuals, coverage=coverage, clip=True))

    def predict_deviation(self, graph: RareGraph) -> np.ndarray:
        """Jackknife standard error of P(rare), `(N,)`: how much each call hangs on single labels.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> clf.predict_deviation(graph).shape
        (300,)
        """
        _, table = self.left_out_table(graph)
        return jackknife_deviation(table, self.predict_proba(graph)[:, self.rare_class_], len(self.labelled_nodes_))

    def individual_calibration_error(
        self, graph: RareGraph, coverage: float = 0.9, *, clip: bool = False, nodes: Any = None
    ) -> np.ndarray:
        """ICE of every node, `(N,)`, or of some, given as indices or a mask; its mean is EICE. See `calirare.metrics.individual` for what it does not see.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> bool(clf.individual_calibration_error(graph).mean() < 0.05)
        True
        """
        chosen = None if nodes is None else as_nodes(nodes, graph.num_nodes)
        probabilities = self.predict_proba(graph)[slice(None) if chosen is None else chosen]
        predicted = probabilities.argmax(axis=1)
        result = np.empty(len(predicted))
        for c in np.unique(predicted).tolist():
            mine = predicted == c
            if chosen is None:
                rows, table = self.left_out_table(graph, c)
                table = table[mine]
            else:
                rows, table = self._left_out_at(graph, chosen[mine], c)
            residuals = residuals_of(self.predict_left_out(), self.labelled_y_, rows, c)
            lower, upper = bounds_of_class(table, residuals, coverage=coverage, clip=clip)
            result[mine] = np.abs((lower + upper) / 2 - probabilities[mine, c])
        return result

    def _left_out_at(
        self, graph: RareGraph, nodes: np.ndarray, chosen: int, progress: Progress | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rows of labels, `(n, m)` P(chosen class) of some nodes by the model without each of these labels)."""
        if self.looks_at_graph:
            rows, table = self.left_out_table(graph, chosen)
            return rows, table[nodes]
        inputs, rows = self.inputs(graph), self.detector_.left_out_rows
        table, block = np.empty((len(nodes), len(rows))), max(1, _BLOCK_NUMBERS // max(1, len(rows)))
        for start in range(0, len(nodes), block):
            logits = self._logits_without(inputs, rows, nodes[start : start + block])
            found = self._to_probabilities(logits.reshape(-1, *logits.shape[2:]), inputs)[:, chosen]
            table[start : start + block] = found.reshape(logits.shape[:2])
            if progress is not None:
                progress(min(start + block, len(nodes)) / len(nodes), "labels that pull")
        return rows, table

    def _logits_without(self, inputs: DetectorInputs, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """`logits_without_at` of the detector; members of a stack that weigh nothing are not asked."""
        detector, calibrator = self.detector_, self.calibrator_
        if isinstance(detector, Stack) and isinstance(calibrator, StackScaling):
            return detector.logits_without_at(inputs, rows, nodes, calibrator.weights_)
        return detector.logits_without_at(inputs, rows, nodes)

    def left_out_table(self, graph: RareGraph, of_class: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(rows of `labelled_nodes_`, `(N, m)` P(class) of every node by the model without each of these labels).

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> rows, table = clf.left_out_table(graph)
        >>> table.shape == (graph.num_nodes, rows.size)
        True
        """
        asked = self._ask(graph)
        chosen = self.rare_class_ if of_class is None else of_class
        if len(self.classes_) == 2 and chosen != self.rare_class_:
            rows, table = self.left_out_table(graph)
            return rows, 1 - table
        rows, table = asked.answer(f"left out, class {chosen}", lambda: self._table(asked.inputs, chosen))
        return rows, table

    def _table(self, inputs: DetectorInputs, chosen: int) -> tuple[np.ndarray, np.ndarray]:
        calibrator = self.calibrator_

        def to_probability(logits: Tensor) -> Tensor:
            if calibrator is None:
                return logits.softmax(dim=-1)[..., chosen]
            tensors = inputs.tensors if calibrator.needs_graph else None
            return calibrator.predict_class(logits, chosen, graph=tensors)

        return left_out_table(self.detector_, inputs, to_probability)

    def _left_out_probabilities(self) -> np.ndarray:
        state = self.state_
        logits, labels = state.detector.left_out_logits(), state.labels
        if state.calibrator is None:
            return softmax(logits, axis=1)
        if not state.calibrator.needs_graph or self.asked_ is None:
            return state.calibrator.predict_proba(logits)
        inputs = self.asked_.inputs
        whole = state.detector.logits(inputs)
        whole[labels.nodes] = logits
        return self._to_probabilities(whole, inputs)[labels.nodes]
