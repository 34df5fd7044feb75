"""How many nodes use each value of a column of edges: the users of an address, those who post the same text.

Values are numbers that stand for whole cells (`EdgeTable.cells`), NaN where missing. The source of a directed edge uses its
value; of one without direction both ends do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class CellUsers:
    """How many nodes use each value.

    Args:
        values: `(V,)`, ascending.
        counts: `(V,)` different nodes.
    """

    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, nodes: np.ndarray) -> Self:
        """From values and the nodes that use them, as `uses` gives them, repeats among them.

        >>> CellUsers.of(np.array([7.0, 5.0, 7.0, 7.0]), np.array([1, 1, 2, 2])).number(np.array([5.0, 7.0, 9.0])).tolist()
        [1, 2, 0]
        """
        found, code = np.unique(values, return_inverse=True)
        span = 1 + int(nodes.max(initial=0))
        pairs = np.sort(code * span + nodes)  # quicker than to sort by both
        new = np.ones(pairs.size, dtype=bool)
        new[1:] = pairs[1:] != pairs[:-1]
        return cls(found, np.bincount(pairs[new] // span, minlength=found.size))

    def number(self, cells: np.ndarray) -> np.ndarray:
        """`(E,)` users of some values; 0 of those that nobody uses."""
        if not self.values.size:
            return np.zeros(cells.size, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.values, cells), self.values.size - 1)
        return np.where(self.values[place] == cells, self.counts[place], 0)


def uses(cells: np.ndarray, source: np.ndarray, target: np.ndarray, *, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    """(values, the nodes that use them) of edges whose value is known."""
    known = ~np.isnan(cells)
    ends = (source,) if directed else (source, target)
    return np.tile(cells[known], len(ends)), np.concatenate([end[known] for end in ends])


def others_than_own(
    number: np.ndarray, cells: np.ndarray, source: np.ndarray, target: np.ndarray, *, directed: bool
) -> np.ndarray:
    """`(E,)` float64: the users of each edge's value without its own, NaN where the value is missing.

    >>> others_than_own(np.array([3, 3, 0]), np.array([7.0, 7.0, np.nan]), np.array([0, 1, 1]), np.array([1, 1, 2]), directed=False)
    array([ 1.,  2., nan])
    """
    own = np.ones(source.size) if directed else 2.0 - (source == target)
    return np.where(np.isnan(cells), np.nan, np.maximum(number - own, 0.0))


def others_of(cells: np.ndarray, source: np.ndarray, target: np.ndarray, *, directed: bool) -> np.ndarray:
    """The same where these are all edges.

    >>> others_of(np.array([7.0, 7.0, 5.0]), np.array([0, 1, 1]), np.array([2, 2, 2]), directed=True).tolist()
    [1.0, 1.0, 0.0]
    """
    number = CellUsers.of(*uses(cells, source, target, directed=directed)).number(cells)
    return others_than_own(number, cells, source, target, directed=directed)
