"""Where to cut P(rare) so that the decisions have the best macro-F1, chosen from left-out labels alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.data.arrays import as_doubles
from calirare.errors import InputError
from calirare.uncertainty.left_out import check_left_out

_RESAMPLES = 100


def macro_f1_at_cuts(probability: np.ndarray, rare: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(cuts, macro-F1): what calling rare all with P ≥ cut would score, for every cut that makes a difference.

    >>> cuts, scores = macro_f1_at_cuts(np.array([0.1, 0.4, 0.8]), np.array([False, True, True]), np.ones(3))
    >>> cuts.tolist(), scores.round(3).tolist()
    ([0.8, 0.4, 0.1], [0.667, 1.0, 0.4])
    """
    order = np.argsort(-probability, kind="stable")
    p, positive, weight = probability[order], rare[order], weights[order]
    last = np.flatnonzero(np.append(p[1:] != p[:-1], True))
    called, hits = np.cumsum(weight)[last], np.cumsum(weight * positive)[last]
    total, all_rare = weight.sum(), float((weight * positive).sum())
    rare_f1 = 2 * hits / np.maximum(called + all_rare, 1e-300)
    rest_hits = (total - called) - (all_rare - hits)
    rest_f1 = 2 * rest_hits / np.maximum((total - called) + (total - all_rare), 1e-300)
    return p[last], (rare_f1 + rest_f1) / 2


def macro_f1_threshold(left_out: Any, y_rare: Any, weights: Any = None) -> float:
    """The P(rare) from which to call a node rare.

    The best cut on the left-out labels jumps with every label; so it is taken on 100 resamples of them, and the mean
    of those cuts, halfway to the next lower score, is the threshold.

    Args:
        left_out: `(n,)` P(rare) of each labelled node by a model that did not see its label.
        y_rare: `(n,)` whether it is rare.
        weights: `(n,)`, where the labels are no random sample: what each stands for.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 2, 4000)
    >>> bool(0.3 < macro_f1_threshold(p, rng.random(4000) < p) < 0.5)
    True
    """
    p, rare = check_left_out(as_doubles(left_out, "left_out"), y_rare)
    share = np.ones(p.size) if weights is None else as_doubles(weights, "weights")
    if share.shape != p.shape:
        raise InputError(f"weights must have one value per label, {p.size} in all; got shape {share.shape}.")
    rng, cuts = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        counts = np.zeros(p.size)
        for group in (np.flatnonzero(rare), np.flatnonzero(~rare)):  # both classes in every resample
            counts[group] = rng.multinomial(group.size, np.full(group.size, 1 / group.size))
        kept = counts > 0
        found, scores = macro_f1_at_cuts(p[kept], rare[kept], (share * counts)[kept])
        best = int(scores.argmax())
        below = found[best + 1] if best + 1 < found.size else 0.0
        cuts.append((found[best] + below) / 2)
    return float(np.mean(cuts))
