"""Where the nodes that trained a model are in a graph, also where rows stand in another order or labels were corrected.

By place first: a graph that is asked about is mostly that of the fit. Else by ids, of which a model keeps keys. Places and ids
alone can mislead: two banks number their accounts alike. So the labels must agree too, better than by luck.
"""

from __future__ import annotations

import numpy as np

from calirare.data.arrays import labels_agree
from calirare.data.graph import RareGraph, require_graph
from calirare.data.node_keys import node_keys, places_of
from calirare.detectors.spreading import Spreading
from calirare.estimator.fitted import Fitted

NOWHERE = -1


def trained_at(clf: Fitted, graph: RareGraph) -> np.ndarray | None:
    """`(n,)` the node of `graph` that each of `labelled_nodes_` is, `NOWHERE` for none; None in another network.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, seed=0)
    >>> clf = cr.RareCategoryClassifier(detector="linear").fit(graph)
    >>> bool((trained_at(clf, graph) == clf.labelled_nodes_).all()), trained_at(clf, cr.make_transactions(300, seed=1))
    (True, None)
    """
    require_graph(graph)
    nodes, y = clf.labelled_nodes_, clf.labelled_y_
    if nodes.max(initial=NOWHERE) < graph.num_nodes and labels_agree(y, graph.y[nodes]):
        return nodes
    found, _ = _by_ids(clf, graph)
    there = found != NOWHERE
    return found if labels_agree(y[there], graph.y[found[there]]) else None


def held_out_at(clf: Fitted, graph: RareGraph, trained: np.ndarray) -> np.ndarray:
    """The nodes of `graph` whose labels are known and were read for validation, where others are `trained_at`."""
    in_place = np.array_equal(trained, clf.labelled_nodes_)
    return np.intersect1d(clf.held_out_nodes_ if in_place else _by_ids(clf, graph)[1], graph.known)


def say_if_unlabelled(clf: Fitted, graph: RareGraph) -> str:
    """What to know of a graph without labels where ids are those of nodes that trained the model; else empty.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
    >>> clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", "spreading"])).fit(graph)
    >>> said = say_if_unlabelled(clf, graph.with_labels(np.full(300, -1)))
    >>> said.startswith(f"{graph.known.size} of these nodes have ids of nodes"), say_if_unlabelled(clf, graph)
    (True, '')
    """
    count = 0 if graph.known.size else int((_by_ids(clf, graph)[0] != NOWHERE).sum())
    if not count:
        return ""
    return (
        f"{count:,} of these nodes have ids of nodes whose labels the model has read. The tables hold no labels that would leave "
        "them out (--label, --labels), so they are decided like the others."
    )


def _by_ids(clf: Fitted, graph: RareGraph) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of `graph` that have the ids of `labelled_nodes_` and of `held_out_nodes_`, `NOWHERE` for none."""
    size = clf.labelled_nodes_.size
    found = np.full(size + clf.held_out_nodes_.size, NOWHERE)
    keys = _label_keys(clf)
    if keys is not None and graph.node_ids is not None:
        of_graph = node_keys(graph)
        order = np.argsort(of_graph)
        at, there = places_of(keys, of_graph[order])
        found[: keys.size][there] = order[at[there]]
    return found[:size], found[size:]


def is_graph_of_fit(clf: Fitted, graph: RareGraph) -> bool:
    """Whether the nodes that trained the model are in `graph`, at their places."""
    found = trained_at(clf, graph)
    return found is not None and np.array_equal(found, clf.labelled_nodes_)


def _label_keys(clf: Fitted) -> np.ndarray | None:
    """Keys of the nodes that trained the model, then of those held out; None where it keeps none.

    An older calirare kept those of the first in `spreading` alone: of no use where others were read too.
    """
    if clf.state_.keys is not None:
        return clf.state_.keys
    if np.setdiff1d(clf.held_out_nodes_, clf.labelled_nodes_).size:
        return None
    keys = next((one.label_keys_ for one in clf.members_ if isinstance(one, Spreading)), None)
    return keys if keys is not None and keys.size == clf.labelled_nodes_.size else None
