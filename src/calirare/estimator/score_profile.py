"""The scores of the fit in a few numbers, kept with the model, so that scoring can tell when they are not as they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.data.tables.profile import of_numbers


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
