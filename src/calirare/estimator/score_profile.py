"""The scores of the fit in a few numbers, so that scoring and monitoring can tell when they are not as they were.

Scoring compares P(rare) of all nodes with the deciles that the model keeps. Monitoring compares the nodes without a label alone,
run after run, and cuts more finely where alerts come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.data.tables.schema.profile import of_numbers
from calirare.uncertainty.posterior import finite_logit

_LEVELS = (*np.arange(1, 10) / 10, 0.95, 0.99)
_FEWEST = 100
"""Fewer nodes without a label are no distribution to compare with."""


def profile_scores(
    probability: np.ndarray, left_out: np.ndarray, nodes: np.ndarray, scored: np.ndarray
) -> dict[str, Any]:
    """Profiles of P(rare) over the graph of the fit.

    `"scored"`: every node as it is scored. `"left_out"`: labelled nodes by what the model says of each without its label,
    which is how it will score nodes of a new table.

    Args:
        probability: `(N,)` P(rare) of every node.
        left_out: `(n,)` P(rare) of the labelled nodes without their labels; empty where there is none.
        nodes: `(n,)` the labelled nodes.
        scored: The nodes that are scored.

    >>> found = profile_scores(np.array([0.9, 0.1, 0.2]), np.array([0.6]), np.array([0]), np.arange(3))
    >>> [(name, profile["count"], round(profile["mean"], 2)) for name, profile in found.items()]
    [('scored', 3, 0.4), ('left_out', 3, 0.3)]
    """
    honest = probability.copy()
    if left_out.size:
        honest[nodes] = left_out
    return {name: _profile(values[scored]) for name, values in (("scored", probability), ("left_out", honest))}


def _profile(values: np.ndarray) -> dict[str, Any]:
    return {**of_numbers(values), "mean": float(values.mean()) if values.size else 0.0}


def scores_without_labels(probability: np.ndarray, left_out: np.ndarray, unlabelled: np.ndarray) -> np.ndarray:
    """P(rare) of nodes like those that will be scored: the ones without a label.

    Where nearly all nodes of the fit have one, what the model says of these without their labels stands in.

    Args:
        probability: `(N,)` P(rare) of every node.
        left_out: `(n,)` P(rare) of the labelled nodes without their labels.
        unlabelled: The nodes without a label.
    """
    return probability[unlabelled] if unlabelled.size >= _FEWEST else left_out


def profile_logits(probability: np.ndarray) -> dict[str, Any]:
    """Profile of logit P(rare), cut where 10, 20, … 90, 95 and 99% of the nodes lie below.

    >>> len(profile_logits(np.linspace(0.01, 0.99, 200))["cuts"])
    11
    """
    z = finite_logit(probability)
    cuts = np.unique(np.quantile(z, _LEVELS, method="lower")).tolist()
    return of_numbers(z, {"cuts": cuts, "least": float(z.min()), "greatest": float(z.max())})
