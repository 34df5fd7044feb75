"""One class against all others: how their labels and names become two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calirare.data.arrays import UNKNOWN


def rare_or_not(y: np.ndarray, rare_class: int) -> np.ndarray:
    """1 for the rare class, 0 for the others, `UNKNOWN` where the class is not known.

    >>> rare_or_not(np.array([2, 0, -1]), rare_class=2).tolist()
    [1, 0, -1]
    """
    return np.where(y == UNKNOWN, UNKNOWN, (y == rare_class).astype(np.int64))


def names_of_two(names: Sequence[str], rare: str) -> tuple[str, str]:
    """What to call the others together, and the rare class.

    >>> names_of_two(["ok", "fraud"], "fraud"), names_of_two(["a", "b", "c"], "c")
    (('ok', 'fraud'), ('not c', 'c'))
    """
    rest = [name for name in names if name != rare]
    return rest[0] if len(rest) == 1 else f"not {rare}", rare
