"""Attributes as the categories that the table of nodes says: of which both ends of an edge may have the same."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph

_MOST_COLUMNS = 16


@dataclass(frozen=True)
class NodeCategory:
    """Attributes that are the categories of one column.

    Args:
        name: As in the node table.
        at: The place of the first among the attributes.
        size: How many there are.
    """

    name: str
    at: int
    size: int

    def values(self, x: Any) -> np.ndarray:
        """`(N,)` the number of each node's category, NaN where it has none of them.

        >>> NodeCategory("town", 1, 2).values(np.array([[5.0, 0.0, 1.0], [5.0, 0.0, 0.0]])).tolist()
        [1.0, nan]
        """
        block = sp.coo_array(x[:, self.at : self.at + self.size])
        codes, there = np.full(x.shape[0], np.nan), block.data > 0
        codes[block.row[there]] = block.col[there]
        return codes


def find_categories(graph: RareGraph) -> tuple[NodeCategory, ...]:
    """The first few columns of categories among the attributes."""
    found = (
        NodeCategory(column["name"], place.start, place.stop - place.start)
        for column, place, _ in feature_places(graph.table_columns)
        if column["type"] == "categorical" and place.stop - place.start > 1
    )
    return tuple(islice(found, _MOST_COLUMNS))
