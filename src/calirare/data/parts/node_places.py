"""From the ids in an edge table to places in the node table, batch after batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calirare.data.arrays import all_below
from calirare.data.tables.gathering.ids import as_whole, check_ids, find_places

if TYPE_CHECKING:
    import polars as pl

_SPREAD = 4
"""Whole-number ids are looked up in an array if it is at most this many times as long as there are nodes."""


class NodePlaces:
    """Where each node stands in the table.

    >>> import polars as pl
    >>> places = NodePlaces(pl.Series("id", [7, 5, 6]))
    >>> [ends.tolist() for ends in places.of(pl.Series("a", [5, 5]), pl.Series("b", [6, 7]))]
    [[1, 1], [2, 0]]
    """

    def __init__(self, ids: pl.Series) -> None:
        check_ids(ids)
        self.ids = ids
        self._table: np.ndarray | None = None
        whole = as_whole(ids)
        if whole is not None and len(whole):
            values = whole.to_numpy()
            self._least = int(values.min())
            spread = int(values.max()) - self._least + 1
            if spread <= _SPREAD * len(values) + 1_000:
                self._table = np.full(spread, -1, dtype=np.int64)
                self._table[values - self._least] = np.arange(len(values))

    def of(self, source: pl.Series, target: pl.Series, *, drop_unknown: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Places of both ends of every edge; with `drop_unknown` -1 where an end is no node.

        Raises:
            InputError: An edge names a node that is not there.
        """
        if self._table is not None:
            start, end = self._look_up(source), self._look_up(target)
            if start is not None and end is not None:
                return start, end
        return find_places(self.ids, source, target, drop_unknown=drop_unknown)

    def _look_up(self, ends: pl.Series) -> np.ndarray | None:
        """Places of one end, None where any is not in the array."""
        whole = as_whole(ends)
        if self._table is None or whole is None or whole.null_count():
            return None
        index = whole.to_numpy() - self._least
        if not all_below(index, len(self._table)):
            return None
        places = self._table[index]
        return None if (places < 0).any() else places
