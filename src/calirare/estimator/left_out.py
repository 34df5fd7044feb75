"""Questions to the models that missed a label: what they say of it, of every other node, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
from scipy.special import softmax
from torch import Tensor

from calirare.data.graph import RareGraph
from calirare.detectors.base import Contributions, Detector, DetectorInputs, Progress
from calirare.detectors.networks.network import Network
from calirare.detectors.spreading import Spreading
from calirare.detectors.stack import Stack
from calirare.estimator.answers import Answers, as_they_come
from calirare.estimator.asked import AskedGraph
from calirare.estimator.known_again import is_graph_of_fit
from calirare.features.columns import Columns
from calirare.uncertainty.explanation import Explanation, make_explanation
from calirare.uncertainty.jackknife import (
    Intervals,
    bounds_of_class,
    jackknife_deviation,
    left_out_table,
    residuals_of,
)
from calirare.uncertainty.pulls import Pulls, strongest_pulls
from calirare.uncertainty.skill import Skill, no_skill

_BLOCK_NUMBERS = 2**19
"""Nodes times left-out models that are asked at once: few enough to tell how far it is, enough to share what a block costs."""
_SHORT = 1e-4
"""A way between two logits that is too short to measure a slope on."""


class LeftOutAnswers(Answers):
    """What the estimator answers from its left-out models."""

    def predict_left_out(self) -> np.ndarray:
        """`(n, C)`: what the model says of each of `labelled_nodes_` without its label.

        Neither the detector nor the calibration map has seen the label.

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
        calibrator, before = self.calibrator_, self.asked_
        if calibrator is not None and calibrator.needs_graph and before is not None and before.graph is not graph:
            self.predict_left_out()  # which looks at the graph of the fit, while that is at hand
        return super()._ask(graph)

    def left_out_uncalibrated(self) -> np.ndarray:
        """`(n, C)`: the same of each of `labelled_nodes_` without its label."""
        return as_they_come(self.detector_.left_out_logits())

    def skill(self) -> Skill:
        """Whether what the model says of its labels without them can be told from the base rate."""
        rare = self.rare_class_
        return no_skill(self.predict_left_out()[:, rare], self.labelled_y_ == rare)

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
        self, graph: RareGraph, coverage: float = 0.9, *, clip: bool = False, nodes: np.ndarray | None = None
    ) -> np.ndarray:
        """ICE of every node, `(N,)`, or of some; its mean is EICE. See `calirare.metrics.individual` for what it does not see.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> bool(clf.individual_calibration_error(graph).mean() < 0.05)
        True
        """
        probabilities = self.predict_proba(graph)[slice(None) if nodes is None else nodes]
        predicted = probabilities.argmax(axis=1)
        result = np.empty(len(predicted))
        for c in np.unique(predicted).tolist():
            mine = predicted == c
            if nodes is None:
                rows, table = self.left_out_table(graph, c)
                table = table[mine]
            else:
                rows, table = self._left_out_at(graph, nodes[mine], c)
            residuals = residuals_of(self.predict_left_out(), self.labelled_y_, rows, c)
            lower, upper = bounds_of_class(table, residuals, coverage=coverage, clip=clip)
            result[mine] = np.abs((lower + upper) / 2 - probabilities[mine, c])
        return result

    def explain(self, graph: RareGraph, node: Any) -> Explanation:
        """The columns that made this node's P(rare), and the labelled nodes that pull it, with sign and size.

        Args:
            graph: The graph.
            node: Index of the node, or its id where ids are text.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> why = clf.explain(graph, node=7)
        >>> why.node, len(why) == clf.labelled_nodes_.size, bool(abs(why.share[0]) >= abs(why.share[1]))
        (7, True, True)
        >>> bool(abs(why.base + why.share.sum() - why.logit) < 1e-9)
        True
        """
        inputs, index = self.inputs(graph), graph.index_of(node)
        found = self.explain_columns(inputs, self._logits(graph), index)
        return found.with_labels(*self.label_pulls(graph, index), graph.ids, of_graph=is_graph_of_fit(self, graph))

    def label_pulls(self, graph: RareGraph, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The labels' half of `explain`: (labelled nodes, their classes, how far each moves this node's P(rare)).

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> nodes, labels, pull = clf.label_pulls(graph, 7)
        >>> bool(abs(pull).max() == abs(clf.explain(graph, 7).pull[0]))
        True
        """
        inputs, whole, detector = self.inputs(graph), self._logits(graph), self.detector_
        rows = detector.left_out_rows
        without = self._without(whole, detector.logits_without_at(inputs, rows, np.array([node]))[0], node, inputs)
        probability = self._without(whole, whole[[node]], node, inputs)
        return self.labelled_nodes_[rows], self.labelled_y_[rows], probability - without

    def strongest_pulls(
        self, graph: RareGraph, nodes: np.ndarray, count: int = 3, *, progress: Progress | None = None
    ) -> Pulls:
        """The `count` labels that pull each of some nodes most; of many nodes in less time than one by one.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> found, why = clf.strongest_pulls(graph, np.array([9, 7])), clf.explain(graph, 7)
        >>> bool((found.node[1] == why.labelled_node[:3]).all()), bool(np.allclose(found.pull[1], why.pull[:3]))
        (True, True)
        """
        probability = self.predict_proba(graph)[nodes, self.rare_class_]
        rows, table = self._left_out_at(graph, nodes, self.rare_class_, progress)
        return strongest_pulls(table, probability, self.labelled_nodes_[rows], self.labelled_y_[rows], count)

    def _left_out_at(
        self, graph: RareGraph, nodes: np.ndarray, chosen: int, progress: Progress | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rows of labels, `(n, m)` P(chosen class) of some nodes by the model without each of these labels)."""
        if self.calibrator_ is not None and self.calibrator_.needs_graph:  # what is said of one hangs on all others
            rows, table = self.left_out_table(graph, chosen)
            return rows, table[nodes]
        inputs, rows = self.inputs(graph), self.detector_.left_out_rows
        table, block = np.empty((len(nodes), len(rows))), max(1, _BLOCK_NUMBERS // max(1, len(rows)))
        for start in range(0, len(nodes), block):
            logits = self.detector_.logits_without_at(inputs, rows, nodes[start : start + block])
            found = self._to_probabilities(logits.reshape(-1, *logits.shape[2:]), inputs)[:, chosen]
            table[start : start + block] = found.reshape(logits.shape[:2])
            if progress is not None:
                progress(min(start + block, len(nodes)) / len(nodes), "labels that pull")
        return rows, table

    def explain_columns(self, inputs: DetectorInputs, logits: np.ndarray, row: int) -> Explanation:
        """The columns' half of `explain`, for one row of inputs whose logits the detector has given."""
        probability = float(self._to_probabilities(logits, inputs)[row, self.rare_class_])
        found = next(self.shares_of(inputs, np.array([row])))
        told = float(found.shares.sum())
        slope = 1.0 if isinstance(self.detector_, Stack) else self._slope(logits, row, inputs, told)
        return make_explanation(row, probability, found, slope)

    def column_shares(self, graph: RareGraph, nodes: np.ndarray, *, networks: bool = True) -> Iterator[Contributions]:
        """How the columns made the logit of each of some nodes: the quick half of `explain`.

        Of a stack the shares are those of the calibrated logit; of a single detector those of its own.

        Args:
            graph: The graph.
            nodes: Their indices.
            networks: False leaves networks out, whose shares take a gradient through the surroundings of each node. The
                shares are then those of the other detectors, and add up to their part of the logit alone.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> (found,) = clf.column_shares(graph, np.array([7]))
        >>> len(found.shares) == len(clf.explain(graph, 7).share)
        True
        """
        return self.shares_of(self.inputs(graph), nodes, lambda one: networks or not isinstance(one, Network))

    def shares_of(
        self, inputs: DetectorInputs, nodes: np.ndarray, told: Callable[[Detector], bool] = lambda one: True
    ) -> Iterator[Contributions]:
        """`column_shares` of some rows of inputs, by the detectors that are `told`; the base is theirs alone."""
        detector, rare = self.detector_, self.rare_class_
        if isinstance(detector, Stack):
            weights = np.asarray(self.calibrator_.slopes(rare), dtype=np.float64)
            chosen = np.array([told(one) for one in detector.members_])
            return detector.weighted_contributions(inputs, nodes, rare, weights, chosen)
        if not told(detector):
            return repeat(Contributions(0.0, (), (), np.zeros(0)), len(nodes))
        return detector.contributions_of(inputs, nodes, rare)

    def columns(self, graph: RareGraph) -> Columns | None:
        """The columns that the detectors read beside the attributes; None where none does."""
        without = all(isinstance(one, Network | Spreading) for one in self.members_)
        return None if without else self.inputs(graph).columns

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

    def _without(self, whole: np.ndarray, changed: np.ndarray, node: int, inputs: DetectorInputs) -> np.ndarray:
        """P(rare) of the node for each of its changed logits; a calibrator that looks at the graph wants them all."""
        if self.calibrator_ is None or not self.calibrator_.needs_graph:
            return self._to_probabilities(changed, inputs)[:, self.rare_class_]
        found = np.empty(len(changed))
        for place, logits in enumerate(changed):
            replaced = whole.copy()
            replaced[node] = logits
            found[place] = self._to_probabilities(replaced, inputs)[node, self.rare_class_]
        return found

    def _slope(self, whole: np.ndarray, node: int, inputs: DetectorInputs, told: float) -> float:
        """How far the node's calibrated logit moves per unit of the detector's own, as the columns add what is `told` in all.

        Not the slope where the node is: the steps of isotonic regression, and probabilities of 0 and 1, have none there.
        """
        ends = np.array([0.0, -told]) if abs(told) > _SHORT else np.array([_SHORT, -_SHORT])
        logits = whole[node] + ends[:, None] * np.eye(whole.shape[1])[self.rare_class_]
        p = np.clip(self._without(whole, logits, node, inputs), 1e-15, 1 - 1e-15)
        moved = np.log(p) - np.log1p(-p)
        return float((moved[0] - moved[1]) / (ends[0] - ends[1]))
