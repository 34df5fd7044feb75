"""The nodes that may judge a model: those whose labels did not make the answer for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calirare.data.arrays import UNKNOWN, as_nodes
from calirare.data.graph import RareGraph, require_graph
from calirare.errors import LabelError
from calirare.estimator.known_again import NOWHERE, held_out_at, trained_at
from calirare.estimator.left_out import LeftOutPredictions
from calirare.metrics import Summary, summary

Source = Literal["unread", "left_out", "both"]
FEWEST_UNREAD = 50
"""With fewer labels that nothing has read, and that nobody set aside for a test, those that trained the model judge it
better, each left out."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a model says of nodes whose labels are known, by answers that those labels did not make.

    Args:
        source: `"unread"`: neither training nor calibration has read these labels. `"left_out"`: they trained the
            model, and each is judged by the model without it. `"both"`: some of each.
        nodes: `(n,)` index in the graph.
        y: `(n,)` true classes.
        before: `(n, C)` probabilities before calibration.
        after: `(n, C)` calibrated probabilities.
        predicted: `(n,)` the decisions.
        rare_class: The class looked for.
    """

    source: Source
    nodes: np.ndarray
    y: np.ndarray
    before: np.ndarray
    after: np.ndarray
    predicted: np.ndarray
    rare_class: int

    @property
    def y_rare(self) -> np.ndarray:
        """`(n,)` whether each node is rare."""
        return self.y == self.rare_class

    @property
    def probability(self) -> np.ndarray:
        """`(n,)` P(rare) after calibration."""
        return self.after[:, self.rare_class]

    @property
    def calibrates(self) -> bool:
        """Whether before and after differ."""
        return not np.array_equal(self.before, self.after)

    def summary(self, *, before: bool = False, **options: Any) -> Summary:
        """Every metric, after calibration or before it; see `calirare.metrics.summary` for the options."""
        table = self.before if before else self.after
        return summary(self.y, table, self.rare_class, predicted=self.predicted, **options)

    def say(self) -> str:
        """Which nodes these are, in words."""
        words = {
            "unread": "whose labels neither training nor calibration has read",
            "left_out": "that trained the model, each judged by the model without its label",
            "both": "; those that trained the model are judged without their label",
        }[self.source]
        return f"{self.y.size:,} nodes{'' if self.source == 'both' else ' '}{words}"


def read_nodes(clf: LeftOutPredictions, graph: RareGraph) -> np.ndarray | None:
    """The nodes of `graph` whose labels the model has read; None where it was fitted on another graph.

    Labels that came since were not read.
    """
    trained = trained_at(clf, graph)
    return None if trained is None else np.union1d(trained[trained != NOWHERE], held_out_at(clf, graph, trained))


def answered_nodes(clf: LeftOutPredictions, graph: RareGraph, read: np.ndarray | None) -> np.ndarray:
    """The nodes of `graph` whose answer is known: those read (from `read_nodes`), and labels that came since the fit.

    Where the split of the fit keeps labels for testing, labels that were not read answer nothing; nor do those of another
    network all of whose labels are known, for who asks then wants to see what would have been decided.
    """
    if read is None:
        return graph.known if graph.known.size < graph.scored.size else graph.known[:0]
    tests = clf.split_ is not None and clf.split_.test.size
    return read if tests else np.union1d(read, graph.known)


def require_same_classes(clf: LeftOutPredictions, graph: RareGraph) -> None:
    """Refuse labels that are numbered otherwise than at the fit: they would be compared with other classes."""
    require_graph(graph)
    at_fit, now = clf.class_names_, graph.class_names
    turned = sorted(at_fit) == sorted(now) and at_fit != now
    if len(at_fit) != len(now) or graph.rare_class != clf.rare_class_ or turned:
        raise LabelError(
            f"the graph must have the classes of the fit, in their order: {list(at_fit)}, {at_fit[clf.rare_class_]!r} the rare "
            f"one; got {list(now)}, {now[graph.rare_class]!r} the rare one."
        )


def labels_read(graph: RareGraph, read: np.ndarray | None) -> np.ndarray:
    """`(N,)` the labels of the nodes that a model has read (from `read_nodes`), `UNKNOWN` elsewhere."""
    shown = np.full(graph.num_nodes, UNKNOWN)
    if read is not None:
        shown[read] = graph.y[read]
    return shown


def gather_evidence(
    clf: LeftOutPredictions, graph: RareGraph, nodes: Any = None, *, among: np.ndarray | None = None
) -> Evidence:
    """Labels that nothing has read where there are enough, else the training labels, each left out.

    Args:
        clf: Fitted.
        graph: The graph it was fitted on, or another one.
        nodes: Judge by these nodes, as far as their labels are known: an index or a mask. Default: the test nodes of the
            split, else every label that the model has not read if there are at least 50, else those that trained it. The
            first two must hold rare nodes and others.
        among: Only labels of these nodes count; the desk leaves out what reviewers decided, for they decide the cases
            that the model picked.
    """
    require_same_classes(clf, graph)
    read, trained = read_nodes(clf, graph), trained_at(clf, graph)
    if trained is None:
        trained = np.full(clf.labelled_nodes_.size, NOWHERE)
    allowed = graph.known if among is None else np.intersect1d(graph.known, among)
    if nodes is not None:
        allowed = np.intersect1d(allowed, as_nodes(nodes, graph.num_nodes))
    unread = np.setdiff1d(allowed, [] if read is None else read)
    if nodes is not None:
        return _collect(clf, graph, unread, trained, allowed)
    in_place = np.array_equal(trained, clf.labelled_nodes_)
    for_test = clf.split_.test if in_place and clf.split_ is not None else unread[:0]
    if for_test.size:
        unread = np.intersect1d(unread, for_test)
    enough = for_test.size or unread.size >= FEWEST_UNREAD or read is None
    if enough and np.unique(graph.y[unread] == clf.rare_class_).size == 2:
        return _collect(clf, graph, unread, trained, allowed[:0])
    return _collect(clf, graph, unread[:0], trained, allowed)


def _collect(
    clf: LeftOutPredictions, graph: RareGraph, unread: np.ndarray, trained: np.ndarray, allowed: np.ndarray
) -> Evidence:
    """Predictions for the unread nodes, left-out ones for those that trained the model and are allowed."""
    rows = np.flatnonzero(np.isin(trained, allowed))
    if not unread.size and not rows.size:
        raise LabelError(
            "no node with a known label can judge this model. Give the tables a label column with known labels."
        )
    pieces = []
    if unread.size:
        predicted = np.searchsorted(clf.classes_, clf.predict(graph)[unread])
        pieces.append(
            (
                unread,
                graph.y[unread],
                clf.predict_uncalibrated(graph)[unread],
                clf.predict_proba(graph)[unread],
                predicted,
            )
        )
    if rows.size:
        after = clf.predict_left_out()[rows]
        pieces.append(
            (
                trained[rows],
                graph.y[trained[rows]],
                clf.left_out_uncalibrated()[rows],
                after,
                after.argmax(axis=1),
            )
        )
    source: Source = "both" if len(pieces) == 2 else "unread" if unread.size else "left_out"
    nodes, y, before, after, predicted = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    return Evidence(source, nodes, y, before, after, predicted, int(clf.rare_class_))
