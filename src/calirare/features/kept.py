"""Which columns a recipe keeps: those that vary and are not equal to an earlier one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from calirare.features.columns import ColumnGroup
from calirare.features.own import spell
from calirare.features.propagation import Propagated

_AT_ONCE = 4_096
_TURNED_AT_ONCE = 1_024


class Kept:
    """Columns that vary and differ, with the population's mean in place of what is missing."""

    def __init__(self, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        self.names: list[str] = []
        self.groups: list[ColumnGroup] = []
        self.means: list[float] = []
        self._names: set[str] = set()
        self._columns: list[np.ndarray] = []
        self._alike: defaultdict[float, list[np.ndarray]] = defaultdict(list)
        self._words: tuple[sp.csr_array, np.ndarray] | None = None

    def add_words(self, words: sp.csr_array, names: Sequence[str]) -> None:
        """Before all other columns: words `(N, F)` that vary and differ from each other, told from what is stored of them."""
        by_word, places, known = words.tocsc(), np.full(len(names), -1), set[tuple[bytes, bytes]]()
        by_word.eliminate_zeros()
        means = by_word.sum(axis=0, dtype=np.float64) / max(self.num_nodes, 1)
        for k, (start, stop) in enumerate(pairwise(by_word.indptr)):
            rows, counts = by_word.indices[start:stop], by_word.data[start:stop]
            stored = rows.tobytes(), counts.tobytes()
            if rows.size and (rows.size < self.num_nodes or counts.min() < counts.max()) and stored not in known:
                known.add(stored)
                places[k] = len(self.names)
                self._note(names[k], "own", means[k])
        self._words = words, places

    def add(self, name: str, group: ColumnGroup, column: np.ndarray, *, whatever: bool = False) -> None:
        """Keep a column, if it varies and is not yet there."""
        column = np.ascontiguousarray(column)  # one pass over a column of a matrix; all that follows is quick
        total = float(column.sum(dtype=np.float64))
        mean = total / max(column.size, 1)
        if np.isnan(total):  # something is missing
            mean = _mean(column)
            column = filled(column, mean)
            total = float(column.sum(dtype=np.float64))
        alike = self._alike[total]  # equal columns have equal sums
        new = column.size and column.min() < column.max() and not any(np.array_equal(column, one) for one in alike)
        if whatever or new:
            alike.append(column)
            self._columns.append(column)
            self._note(name, group, mean)

    def add_block(self, found: Propagated, values: np.ndarray) -> None:
        """Write the columns that vary behind those that are there; the name of an attribute is not taken."""
        block, known = found.values, max(1, int((~found.alone).sum()))
        means = block.sum(axis=0, dtype=np.float64) / known
        block[found.alone] = means
        varies = _varies(block[:_AT_ONCE])  # most columns show it in their first rows
        if not varies.all():
            varies = _varies(block)
        kept = [k for k in np.flatnonzero(varies) if found.names[k] not in self._names]
        start = len(self.names)
        values[:, start : start + len(kept)] = block if len(kept) == len(varies) else block[:, kept]
        for k in kept:
            self._note(found.names[k], "neighbours", means[k])

    def _note(self, name: str, group: ColumnGroup, mean: float) -> None:
        self.names.append(name)
        self._names.add(name)
        self.groups.append(group)
        self.means.append(float(mean))

    def share_apart(self, k: int) -> float:
        """The share of nodes that are not at the median of a column: all but a few, or those few that have a rare category."""
        column = self._columns[k - len(self.names)]  # counted from behind: words are not among them
        return float(np.mean(column != np.median(column)))

    def matrix(self, width: int) -> np.ndarray:
        """The columns so far, with room for others; they are handed over, not kept."""
        values = np.empty((self.num_nodes, width), dtype=np.float32)
        first = len(self.names) - len(self._columns)
        if self._words is not None:
            spell(*self._words, values)
        for start in range(0, self.num_nodes, _TURNED_AT_ONCE):  # so few rows that turning them stays in the cache
            rows = slice(start, start + _TURNED_AT_ONCE)
            for k, column in enumerate(self._columns, first):
                values[rows, k] = column[rows]
        self._columns.clear()
        self._alike.clear()
        return values


def _varies(block: np.ndarray) -> np.ndarray:
    return block.min(axis=0, initial=np.inf) < block.max(axis=0, initial=-np.inf)


def _mean(column: np.ndarray) -> float:
    """Over what is not missing."""
    known = ~np.isnan(column)
    return float(np.mean(column, where=known, dtype=np.float64)) if known.any() else 0.0


def filled(column: np.ndarray, mean: float) -> np.ndarray:
    """A column with `mean` in place of what is missing."""
    missing = np.isnan(column)
    return np.where(missing, np.asarray(mean, dtype=np.float32), column) if missing.any() else column
