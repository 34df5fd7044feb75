"""Why the estimator says what it says of a node: the columns that made it, and the labels that pull it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
from scipy.special import softmax

from calirare.calibration.stack import StackScaling
from calirare.data.graph import RareGraph
from calirare.detectors.base import Contributions, Detector, DetectorInputs, Progress, Sender
from calirare.detectors.networks.network import Network
from calirare.detectors.stack import Stack
from calirare.estimator.known_again import is_graph_of_fit
from calirare.estimator.left_out import LeftOutPredictions
from calirare.features.columns import Columns
from calirare.uncertainty.explanation import Explanation, make_explanation
from calirare.uncertainty.pulls import Pulls, strongest_pulls

_SHORT = 1e-4
"""A way between two logits that is too short to measure a slope on."""


class Explanations(LeftOutPredictions):
    """What made each answer."""

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
        return found.with_labels(
            *self.label_pulls(graph, index),
            ids=graph.ids,
            class_names=self.class_names_,
            of_graph=is_graph_of_fit(self, graph),
        )

    def label_pulls(self, graph: RareGraph, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The labels' half of `explain`: (labelled nodes, their classes, how far each moves this node's P(rare)).

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> nodes, labels, pull = clf.label_pulls(graph, 7)
        >>> bool(abs(pull).max() == abs(clf.explain(graph, 7).pull[0]))
        True
        """
        inputs, whole, rows = self.inputs(graph), self._logits(graph), self.detector_.left_out_rows
        without = self._without(whole, self._logits_without(inputs, rows, np.array([node]))[0], node, inputs)
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

    def explain_columns(self, inputs: DetectorInputs, logits: np.ndarray, row: int) -> Explanation:
        """The columns' half of `explain`, for one row of inputs whose logits the detector has given."""
        probability = float(self._to_probabilities(logits, inputs)[row, self.rare_class_])
        found = next(self.shares_of(inputs, np.array([row])))
        return make_explanation(row, probability, found, self._slope(logits, row, inputs, float(found.shares.sum())))

    def column_shares(self, graph: RareGraph, nodes: np.ndarray, *, networks: bool = True) -> Iterator[Contributions]:
        """How the columns made the logit of each of some nodes: the quick half of `explain`.

        Of a stack the shares are those of the weighted logit, before it is drawn to the base rate where skill is not fully
        shown; of a single detector those of its own.

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
        without = all(isinstance(one, Network | Sender) for one in self.members_)
        return None if without else self.inputs(graph).columns

    def _without(self, whole: np.ndarray, changed: np.ndarray, node: int, inputs: DetectorInputs) -> np.ndarray:
        """P(rare) of the node for each of its changed logits; a calibrator that looks at the graph wants them all."""
        if not self.looks_at_graph:
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
        The logit of a stack is the weighted one, which moves otherwise only where it is drawn to the base rate.
        """
        calibrator, rare = self.calibrator_, self.rare_class_
        stack = isinstance(calibrator, StackScaling)
        if stack and calibrator.keep_ == 1:
            return 1.0
        ends = np.array([0.0, -told]) if abs(told) > _SHORT else np.array([_SHORT, -_SHORT])
        from_here = ends[:, None] * np.eye(whole.shape[-1])[rare]
        if stack:
            p = calibrator.drawn(softmax(calibrator.scores(whole[[node]]) + from_here, axis=1))[:, rare]
        else:
            p = self._without(whole, whole[node] + from_here, node, inputs)
        p = np.clip(p, 1e-15, 1 - 1e-15)
        moved = np.log(p) - np.log1p(-p)
        return float((moved[0] - moved[1]) / (ends[0] - ends[1]))
