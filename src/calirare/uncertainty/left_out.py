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
