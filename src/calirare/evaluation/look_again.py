"""Labels to look at again: those that surprise the model most when it has not seen them, by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.calibration.base import at_shares
from calirare.data.graph import RareGraph
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.known_again import is_graph_of_fit
from calirare.uncertainty.label_errors import doubtful_labels

MOST = 20
WORDS = (
    "The labels that the model finds least likely without having seen them, the least likely first. Many are right: rare nodes "
    "are rare. But wrong labels gather here, and each that is put right helps the next fit."
)


@dataclass(frozen=True)
class DoubtfulLabel:
    """A label that the model would have called otherwise.

    Args:
        node: Index in the graph.
        id: The user's name for it.
        label: The class that it has, and where several values of the table are one class, its own.
        likelier: The class that the model calls likeliest without this label.
        probability: Of its label, without it.
    """

    node: int
    id: str
    label: str
    likelier: str
    probability: float


def look_again(clf: RareCategoryClassifier, graph: RareGraph, most: int = MOST) -> list[DoubtfulLabel]:
    """The labels that the model would have called otherwise, the most surprising first; none for another graph.

    None either where no skill is shown: such a model finds every rare label unlikely, and doubts none for a reason.

    Args:
        clf: Fitted.
        graph: The graph of the fit, which has the names.
        most: How many to give.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=400, rare_share=0.2, labelled_share=0.5, seed=0)
    >>> found = look_again(cr.RareCategoryClassifier(detector="linear").fit(graph), graph, most=3)
    >>> len(found), found[0].label != found[0].likelier, found[0].probability <= found[1].probability < 0.5
    (3, True, True)
    """
    if not is_graph_of_fit(clf, graph) or not clf.skill().shown:
        return []
    y, names = clf.labelled_y_, clf.class_names_
    counted = np.bincount(y, minlength=len(names)) / y.size
    ranked = doubtful_labels(at_shares(clf.predict_left_out(), counted / clf.shares_), y)
    otherwise = np.flatnonzero(ranked.likelier != y[ranked.row])[:most]
    nodes = clf.labelled_nodes_[ranked.row[otherwise]]
    own = _own_words(graph)
    return [
        DoubtfulLabel(int(node), str(name), own.get(int(node), names[label]), names[likelier], float(p))
        for node, name, label, likelier, p in zip(
            nodes,
            graph.ids[nodes].tolist(),
            y[ranked.row[otherwise]],
            ranked.likelier[otherwise],
            ranked.probability[otherwise],
            strict=True,
        )
    ]


def _own_words(graph: RareGraph) -> dict[int, str]:
    """The labels of nodes that are one of several values of the other class, as the table spells them, by node."""
    learned = graph.schema_of("label")
    values = learned.get("values", ())
    if graph.original_y is None or len(values) <= 2:
        return {}
    other = graph.class_names[1 - graph.rare_class]
    nodes = np.flatnonzero((graph.original_y >= 0) & (graph.y >= 0) & (graph.y != graph.rare_class))
    found = {int(node): values[graph.original_y[node]] for node in nodes}
    return {node: f"{other} ({word})" for node, word in found.items() if word != learned["rare"]}
