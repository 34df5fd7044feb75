"""Whether both ends of a node's edges are of one category: payments within a country, loans to one's own branch.

A mean over neighbours tells their countries, and a node has its own, but no tree compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.features.edges.directions import directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, means_of
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.telling import telling_parts

ALIKE = " at both ends, share of "
_SAME = "same "
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


def plan_alike(table: EdgeTable, codes: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Names of the columns, of which some nodes have more edges to their like than others, beyond chance; `codes` by name."""
    return tuple(name for name, code in codes.items() if _tells(table, code))


def _tells(table: EdgeTable, code: np.ndarray) -> bool:
    same = _same(code[table.source], code[table.target])
    known = ~np.isnan(same)
    ends = np.stack([table.source[known], table.target[known]])
    return bool(known.any()) and bool(telling_parts([(_SAME, same[known] > 0)], ends))


def alike_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, codes: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no such edges; nodes from N on are not told of.

    Args:
        table: All edges of N nodes.
        plan: What is told.
        num_nodes: N.
        codes: Of all nodes that the table names, as `NodeCategory` gives them.
    """
    for which in directions_of(plan.directed) if plan.alike else ():
        own, other = ends_of_edges(table, which)
        groups = EdgeGroups(own, num_nodes)
        for name in plan.alike:
            yield f"{_SAME}{name}{ALIKE}{which}", means_of(_same(codes[name][own], codes[name][other]), groups)


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 where both are the same, 0 where they differ, NaN where one is not known."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, one == other)
