"""What left-out predictions are judged by: a probability and a label for each node, of both classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.errors import InputError, LabelError


def check_left_out(probability: Any, y_rare: Any) -> tuple[np.ndarray, np.ndarray]:
    """Left-out P(rare) as float64 and whether each label is rare as bool, `(n,)` each.

    >>> p, rare = check_left_out([0.2, 0.7], [0, 1])
    >>> rare.tolist()
    [False, True]
    """
    p, rare = np.asarray(probability, dtype=np.float64), np.asarray(y_rare, dtype=bool)
    if p.shape != rare.shape or p.ndim != 1:
        raise InputError(
            f"left-out probabilities and y_rare must have one value per label; got {p.shape} and {rare.shape}."
        )
    if not rare.any() or rare.all():
        which = "are" if rare.any() else "are not"
        raise LabelError(f"labels of the rare class and of another are needed; all {rare.size:,} {which} rare.")
    return p, rare


def independent_share(left_out_probability: np.ndarray, rare: np.ndarray, groups: np.ndarray) -> float:
    """How much of an independent label each counts, where those of one group may be rare together.

    1/(1 + (m − 1) ρ), Kish's design effect: m is the size of a label's group on average, ρ how alike two of one group are in
    what their scores leave unsaid, between 0 and 1.

    >>> rare, groups = np.array([True, True, False, False, False, False]), np.array([0, 0, 1, 1, 2, 2])
    >>> [round(independent_share(np.full(6, 1 / 3), rare, told), 3) for told in (groups, np.arange(6))]
    [0.5, 1.0]
    """
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    pairs = float((sizes * (sizes - 1.0)).sum())
    unsaid = rare - left_out_probability
    squares = float((unsaid**2).sum())
    if not pairs or not squares:
        return 1.0
    together = float((np.bincount(group, weights=unsaid) ** 2).sum()) - squares
    alike = min(max(together / pairs / (squares / len(group)), 0.0), 1.0)
    return 1.0 / (1.0 + (float((sizes**2).sum()) / len(group) - 1.0) * alike)
