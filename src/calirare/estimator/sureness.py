"""How sure each answer is: intervals of P(rare), sets of classes, and how far the detectors agree."""

from __future__ import annotations

import numpy as np

from calirare.calibration.stack import StackScaling, members_apart
from calirare.data.graph import RareGraph
from calirare.estimator.explanations import Explanations
from calirare.uncertainty.calibration_maps import CalibrationDraws, Drawn
from calirare.uncertainty.conformal import conformal_sets, conformal_thresholds
from calirare.uncertainty.intervals import calibration_draws
from calirare.uncertainty.jackknife import Intervals


class Sureness(Explanations):
    """What the left-out answers leave open."""

    rare_share: float | None

    def predict_interval(self, graph: RareGraph, coverage: float = 0.9) -> Intervals:
        """Of the nodes that score like each one, what share is rare, and how well do the labels pin that down?

        It is wider where hardly any label has as many neighbours as the node (`calirare.uncertainty.by_degree`).

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> interval, p = clf.predict_interval(graph, coverage=0.9), clf.predict_proba(graph)[:, 1]
        >>> bool(((interval.lower <= p) & (p <= interval.upper)).all())
        True
        """
        probability = self.predict_proba(graph)[:, self.rare_class_]
        return self.calibration_draws().interval(probability, coverage, degree=graph.degree)

    def calibration_draws(self) -> CalibrationDraws:
        """The calibration maps that the labels leave open; intervals and forecasts are made of them.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> interval = clf.calibration_draws().interval(np.array([0.1, 0.5]), 0.9)
        >>> bool((interval.lower < interval.upper).all())
        True
        """
        return self._calibration_draws(self._num_share_labels())

    def _calibration_draws(self, num_share_labels: int | None) -> CalibrationDraws:
        """The maps, where the population's share was counted on so many labels; None: where it is known."""
        calibrator = self.calibrator_
        return calibration_draws(
            *self.left_out_rare(),
            rare_share=self.base_rate_,
            num_share_labels=num_share_labels,
            seed=self._seed(),
            undo=None if calibrator is None else Drawn(*calibrator.drawn_of_class(self.rare_class_)),
            degree=self.state_.degree,
            groups=self.state_.labels.groups,
        )

    def predict_set(self, graph: RareGraph, coverage: float = 0.9) -> np.ndarray:
        """`(N, C)` bool: class-conditional conformal sets; a node's true class is inside with the coverage, per class.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=600, rare_share=0.2, labelled_share=0.5, seed=0)
        >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
        >>> sets = clf.predict_set(graph, coverage=0.8)
        >>> rare = (graph.original_y == 1) & (graph.y == -1)
        >>> bool(sets[rare, 1].mean() > 0.7)
        True
        """
        return conformal_sets(self.predict_proba(graph), self.set_thresholds(coverage))

    def set_thresholds(self, coverage: float = 0.9) -> np.ndarray:
        """`(C,)`: a class is in the set of a node where 1 − P of that class is no greater than this."""
        return conformal_thresholds(self.predict_left_out(), self.labelled_y_, coverage, names=self.class_names_)

    def predict_alone(self, graph: RareGraph) -> dict[str, np.ndarray]:
        """P(rare) `(N,)` by each member of a stack alone, through its own Platt map; empty for a single detector.

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> stack = cr.detectors.Stack(["linear", cr.detectors.Forest(trees=20)])
        >>> {name: p.shape for name, p in cr.RareCategoryClassifier(stack).fit(graph).predict_alone(graph).items()}
        {'linear': (300,), 'forest': (300,)}
        """
        logits, calibrator = self._logits(graph), self.calibrator_
        if not isinstance(calibrator, StackScaling) or len(self.weights_) < 2:
            return {}
        return dict(zip(self.weights_, calibrator.alone(logits)[:, :, self.rare_class_].T, strict=True))

    def predict_disagreement(self, graph: RareGraph) -> np.ndarray:
        """How far the members of a stack lie apart about each node, `(N,)`; 0 where there is a single detector.

        The standard deviation of what `predict_alone` gives, weighed as the stack does (`members_apart`).

        >>> import calirare as cr
        >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
        >>> stack = cr.detectors.Stack(["linear", cr.detectors.Forest(trees=20)])
        >>> clf = cr.RareCategoryClassifier(stack).fit(graph)
        >>> found = clf.predict_disagreement(graph)
        >>> found.shape, bool((found >= 0).all() and found.max() < 0.5)
        ((300,), True)
        """
        return members_apart(self.calibrator_, self._logits(graph), self.rare_class_)

    def _num_share_labels(self) -> int | None:
        """How many labels the population's rare share was counted on; None where the user gave it."""
        if self.rare_share is not None:
            return None
        return self.state_.num_share_labels or len(self.held_out_nodes_) or len(self.labelled_nodes_)
