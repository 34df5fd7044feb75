"""Every node's score as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calirare.classifier import RareCategoryClassifier
    from calirare.data.graph import RareGraph


def score_table(classifier: RareCategoryClassifier, graph: RareGraph, *, coverage: float = 0.9) -> dict[str, np.ndarray]:
    """One row per node, as columns.

    Args:
        classifier: Fitted.
        graph: The nodes to score.
        coverage: Of the interval and of the set.

    Returns:
        `id`; `probability` of the rare class with its interval `lower` to `upper`; `prediction`, the cost-sensitive
        decision; `set`, the classes that the coverage does not rule out ("none" where it rules out all).

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, seed=0)
    >>> table = score_table(cr.RareCategoryClassifier(epochs=5).fit(graph), graph)
    >>> list(table)
    ['id', 'probability', 'lower', 'upper', 'prediction', 'set']
    """
    names = np.array(classifier.class_names_, dtype=object)
    intervals = classifier.predict_interval(graph, coverage=coverage)
    return {
        "id": graph.ids,
        "probability": classifier.predict_proba(graph)[:, classifier.rare_class_],
        "lower": intervals.lower,
        "upper": intervals.upper,
        "prediction": names[classifier.predict(graph)],
        "set": name_sets(classifier.predict_set(graph, coverage=coverage), names),
    }


def name_sets(member: np.ndarray, names: np.ndarray) -> np.ndarray:
    """The classes of each row in words.

    >>> name_sets(np.array([[True, False], [True, True], [False, False]]), np.array(["normal", "fraud"])).tolist()
    ['normal', 'normal or fraud', 'none']
    """
    kinds, row = np.unique(member, axis=0, return_inverse=True)
    words = np.array([" or ".join(names[kind]) or "none" for kind in kinds], dtype=object)
    return words[row.ravel()]
