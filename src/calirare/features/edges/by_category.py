"""How many neighbours a node has by each frequent category of an edge column: how many doctors gave it one drug.

The shares of `edge_columns` do not tell that. A node is no neighbour of itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.sparse.products import small_index
from calirare.features.edges.directions import at_ends, directions_of, ends_of_edges
from calirare.features.edges.plan import EdgePlan, PlannedColumn

NEIGHBOURS_WITH = "distinct neighbours with "
MOST_COUNTED = 8
"""Categories of a column whose neighbours are counted; the most frequent ones."""


def category_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name; nodes from N on are not told of."""
    for planned in plan.columns:
        column = table.column(planned.name, "category")
        if planned.kind == "category" and column is not None:
            for which in directions_of(plan.directed):
                yield from _met_by_category(planned, column, table, which, num_nodes)


def _met_by_category(
    planned: PlannedColumn, column: EdgeColumn, table: EdgeTable, which: str, num_nodes: int
) -> Iterator[tuple[str, np.ndarray]]:
    places = {name: place for place, name in enumerate(planned.categories[:MOST_COUNTED])}
    node, other = ends_of_edges(table, which)
    place = at_ends(column.by_category(places, -1, -1), node)
    kept = (place >= 0) & (node < num_nodes) & (node != other)
    width, shape = len(places), (num_nodes * len(places), int(other.max(initial=-1)) + 1)
    index = small_index(max(*shape, int(kept.sum())))
    ends = (node[kept] * width + place[kept]).astype(index), other[kept].astype(index)
    pairs = sp.csr_array((np.ones(ends[0].size, dtype=np.int8), ends), shape=shape)  # each pair once
    distinct = np.diff(pairs.indptr).reshape(num_nodes, width)
    for category, at in places.items():
        yield f"{NEIGHBOURS_WITH}{planned.name} = {category}, {which}", distinct[:, at]
