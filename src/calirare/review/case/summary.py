"""All that the case page shows of one node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.decisions.costs import Thresholds
from calirare.decisions.wording import explain_set, sets_beside
from calirare.errors import CalirareError
from calirare.review.queue import Queue
from calirare.review.view import View
from calirare.uncertainty.conformal import name_sets

_MOST_PULLS = 7


@dataclass(frozen=True, eq=False)
class Case:
    """One node under one view.

    Args:
        node: Index in the graph.
        node_id: Its name.
        probability, lower, upper: P(rare) and its interval.
        alone: P(rare) by each detector alone; empty where there is one.
        ruled_out: What the coverage rules out, and why, in a sentence; empty for a node unlike all labelled ones.
        label: The label that the model has read, or None.
        without_label: P(rare) by the model that never saw that label, or None.
        action: What the costs ask for, or None for a node whose label came with the data.
        other_kind: The kind of a node that is not scored; empty for the others.
        costs: What each call is expected to cost, in a sentence; empty without an action.
        thresholds: Where the action changes.
        place: Its place in the queue, from 0, or None.
        before, after: Names of the nodes before and after it in the queue.
        total: Nodes in the queue.
    """

    node: int
    node_id: str
    probability: float
    lower: float
    upper: float
    alone: dict[str, float]
    ruled_out: str
    label: str | None
    without_label: float | None
    action: str | None
    other_kind: str
    costs: str
    thresholds: Thresholds
    place: int | None
    before: str | None
    after: str | None
    total: int


@dataclass(frozen=True)
class Pull:
    """A labelled node and how far it moves the P(rare) of another."""

    node_id: str
    label: str
    is_rare: bool
    pull: float


def describe_case(queue: Queue, view: View, node: int) -> Case:
    """The numbers and words of a case; cheap."""
    snapshot, scores = queue.snapshot, queue.snapshot.scores
    place, before, after, total = queue.position(view, node)
    action = queue.action_of(view, node)
    label = int(snapshot.label[node])
    names = np.array([snapshot.wording.name(k) for k in range(snapshot.graph.num_classes)], dtype=object)
    return Case(
        node=node,
        node_id=snapshot.ids[node],
        probability=float(scores.probability[node]),
        lower=float(scores.lower[node]),
        upper=float(scores.upper[node]),
        alone=dict(zip(snapshot.clf.weights_, scores.alone[node].tolist(), strict=False)),
        ruled_out=_ruled_out(queue, node, action, names),
        label=None if label == UNKNOWN else str(names[label]),
        without_label=_without_label(queue, node),
        action=action,
        other_kind=snapshot.other_kind.get(node, ""),
        costs="" if action is None else queue.columns(np.array([node]), view)["costs"][0],
        thresholds=queue.thresholds_of(view, node),
        place=place,
        before=None if before is None else snapshot.ids[before],
        after=None if after is None else snapshot.ids[after],
        total=total,
    )


def _ruled_out(queue: Queue, node: int, action: str | None, names: np.ndarray) -> str:
    snapshot = queue.snapshot
    member, wording = snapshot.scores.member[[node]], snapshot.wording
    if not member.any():
        return ""
    if action is not None:
        member = sets_beside(member, np.array([action]), wording.rare_class)
    if len(names) > 2:
        return f"Not ruled out at {wording.coverage:.0%} coverage: {name_sets(member, names)[0]}."
    return explain_set(wording, float(snapshot.scores.probability[node]), member[0], snapshot.set_thresholds)


def pulling_labels(queue: Queue, node: int) -> list[Pull]:
    """The labelled nodes that pull this call; the model is asked once per node."""
    snapshot = queue.snapshot

    def make() -> list[Pull]:
        labelled, label, pull = snapshot.clf.label_pulls(snapshot.graph, node)
        names, rare = snapshot.graph.class_names, snapshot.clf.rare_class_
        strongest = np.argsort(-np.abs(pull), kind="stable")[:_MOST_PULLS]
        return [
            Pull(snapshot.ids[labelled[k]], names[label[k]], bool(label[k] == rare), float(pull[k])) for k in strongest
        ]

    return snapshot.keep("pulls", node, make)


def _without_label(queue: Queue, node: int) -> float | None:
    try:
        return queue.snapshot.without_own_label.get(node)
    except CalirareError:  # a calibrator that wants the training graph, in a model that was loaded without it
        return None
