"""Fit again with the reviewers' decisions as labels, and say what that changed.

A decision "rare" or "normal" is a label, stronger than one that came with the data; "unsure" and what was taken back are
none. Decided nodes join the training labels and leave validation and test. Reviewed cases are no random draw, so they
must not move the population's share of rare nodes: it stays that of the labels before any decision.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone

from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.detectors.base import Progress
from calirare.errors import LabelError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.labels import ReadLabels
from calirare.estimator.methods import get_method
from calirare.evaluation.paired import PairedLikelihood, compare_likelihood
from calirare.metrics import Summary
from calirare.review.quality import headline_metrics
from calirare.review.snapshot import Snapshot, index_of
from calirare.review.store.decisions import Decision, DecisionStore
from calirare.review.store.events import EventLog
from calirare.review.store.network import check_network
from calirare.review.versions import Base

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Decided:
    """Decisions as labels: `(k,)` nodes, ascending, and whether each is rare."""

    nodes: np.ndarray
    rare: np.ndarray


@dataclass(frozen=True)
class Change:
    """What a refit changed.

    Args:
        num_decisions: Decisions used as labels.
        labels_before, labels_after: How many labels trained each model.
        before, after: Metrics on the newer one's labels, each judged by what the model says without that label.
        likelihood: What the newer one gains on them.
    """

    num_decisions: int
    labels_before: int
    labels_after: int
    before: Summary
    after: Summary
    likelihood: PairedLikelihood


def read_decisions(where: str | Path, graph: RareGraph, network: str = "") -> list[Decision]:
    """The current decisions about a graph in a database, a model folder or an SQLite file."""
    store = DecisionStore.open(where, network=network, create=False)
    try:
        check_network(EventLog(store.database, store.network), graph, "--decisions")
        return list(store.current().values())
    finally:
        store.close()


def as_labels(decisions: Iterable[Decision], index: dict[str, int], scored: np.ndarray) -> Decided:
    """The decisions that say something about nodes of this graph that are scored; `index` gives the node by its stored name."""
    found = {
        index[one.node_id]: one.decision == "rare"
        for one in decisions
        if one.decision in ("rare", "normal") and one.node_id in index
    }
    nodes = sorted(set(found) & set(scored.tolist()))
    if len(nodes) < len(found):
        logger.warning(
            "%d decisions are about nodes of kinds that carry no labels; they are left out.", len(found) - len(nodes)
        )
    return Decided(np.array(nodes, dtype=np.int64), np.array([found[node] for node in nodes], dtype=bool))


def fit_with_decisions(
    clf: RareCategoryClassifier,
    graph: RareGraph,
    base: Base,
    decided: Decided,
    *,
    other_class: np.ndarray | None = None,
    progress: Progress | None = None,
) -> tuple[RareCategoryClassifier, RareGraph]:
    """(a fresh model fitted with the decisions, the graph with them as labels). Nothing given is changed.

    Args:
        clf: Its arguments are used again; it need not be fitted.
        graph: The graph; its labels do not matter, those of `base` do.
        base: Labels and split before any decision.
        decided: From `as_labels`.
        other_class: `(N,)` the class that "normal" means for each node, where there are more than two.
        progress: See `RareCategoryClassifier.fit`.
    """
    if not decided.nodes.size:
        raise LabelError("there is no decision “rare” or “normal” to fit with; decide some cases first.")
    before = graph.with_labels(base.y)
    y = base.y.copy()
    if other_class is None:
        normal = next(c for c in range(graph.num_classes) if c != graph.rare_class)
        other_class = np.full(graph.num_nodes, normal)
    y[decided.nodes] = np.where(decided.rare, graph.rare_class, other_class[decided.nodes])
    labelled = graph.with_labels(y)
    fresh, split = clone(clf), _extended(base.split, decided.nodes)
    counted = ReadLabels.of(get_method(clf.method), before, base.split, clf.seed).counted(before)
    trained = fresh.fit_detector(labelled, split, progress=progress)
    return fresh.calibrate(trained, labelled, split, counted), labelled


def fit_from_store(
    clf: RareCategoryClassifier,
    graph: RareGraph,
    split: Split | None,
    where: str | Path,
    *,
    network: str = "",
    progress: Progress | None = None,
) -> tuple[RareCategoryClassifier, RareGraph, Decided]:
    """(fitted model, graph with the decisions as labels, the decisions used), for a graph fresh from its tables."""
    decided = as_labels(read_decisions(where, graph, network), index_of(graph), graph.scored)
    fitted, labelled = fit_with_decisions(clf, graph, Base(graph.y, split), decided, progress=progress)
    return fitted, labelled, decided


def refit(
    snapshot: Snapshot, decided: Decided, progress: Progress | None = None
) -> tuple[RareCategoryClassifier, RareGraph]:
    """`fit_with_decisions` for a snapshot: "normal" is the class that its model finds most probable but rare."""
    other = None
    if snapshot.graph.num_classes > 2:
        probabilities = snapshot.clf.predict_proba(snapshot.graph)
        probabilities[:, snapshot.graph.rare_class] = -1
        other = probabilities.argmax(axis=1)
    return fit_with_decisions(
        snapshot.clf, snapshot.graph, snapshot.base, decided, other_class=other, progress=progress
    )


def _extended(split: Split | None, nodes: np.ndarray) -> Split | None:
    if split is None:
        return None
    return Split(
        train=np.union1d(split.train, nodes),
        val=np.setdiff1d(split.val, nodes),
        test=np.setdiff1d(split.test, nodes),
    )


def compare_models(before: Snapshot, after: Snapshot, num_decisions: int) -> Change:
    """Both models on the labels of the newer one, each by predictions that never saw the label."""
    nodes, y = after.clf.labelled_nodes_, after.clf.labelled_y_
    rare = (y == after.clf.rare_class_).astype(np.int64)
    old, new = _honest(before, nodes), _honest(after, nodes)
    return Change(
        num_decisions=num_decisions,
        labels_before=len(before.clf.labelled_nodes_),
        labels_after=len(nodes),
        before=headline_metrics(rare, old),
        after=headline_metrics(rare, new),
        likelihood=compare_likelihood(rare, old, new, after.clf.base_rate_),
    )


def _honest(snapshot: Snapshot, nodes: np.ndarray) -> np.ndarray:
    own = snapshot.without_own_label
    plain = snapshot.scores.probability
    return np.array([own.get(node, plain[node]) for node in nodes.tolist()])
