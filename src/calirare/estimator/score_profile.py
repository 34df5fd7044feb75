"""The scores of the fit in a few numbers, kept with the model, so that scoring can tell when they are not as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.tables.profile import of_numbers

if TYPE_CHECKING:
    from calirare.estimator.classifier import RareCategoryClassifier


def profile_scores(clf: RareCategoryClassifier, graph: RareGraph) -> dict[str, Any]:
    """Profiles of P(rare) over the graph of the fit.

    `"scored"`: every node as `predict_proba` scores it. `"left_out"`: labelled nodes by what the model says of each without
    its label, which is how it will score nodes of a new table.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=300, labelled_share=0.5, seed=0)
    >>> found = profile_scores(cr.RareCategoryClassifier("linear").fit(graph), graph)
    >>> sorted(found), found["scored"]["count"]
    (['left_out', 'scored'], 300)
    """
    p = clf.predict_proba(graph)[:, clf.rare_class_]
    honest = p.copy()
    left_out = clf.predict_left_out()
    if len(left_out):
        honest[clf.labelled_nodes_] = left_out[:, clf.rare_class_]
    kept = graph.scored
    return {name: _profile(values[kept]) for name, values in (("scored", p), ("left_out", honest))}


def _profile(values: np.ndarray) -> dict[str, Any]:
    return {**of_numbers(values), "mean": float(values.mean()) if values.size else 0.0}
