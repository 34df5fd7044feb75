"""How many different values a node's edges with the same neighbour have: many ports at one server, many cards at one shop.

Sums over all edges do not tell it: a host that asks ten servers for one port each sees as many as one that tries ten at one server.
A node is told the greatest number over its neighbours; and of the edges that lead once more to the same neighbour, the share
that bring a new value, drawn towards 1/4 where they are few. It is told of categories, and of whole numbers with few values.

It is told where values go with the neighbour, so that many are odd: where nodes see fewer new ones, surely and by a fifth, than with the
values of each node dealt to its edges at random. No label is read for that, and a node that is varied everywhere does not make it told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.edges.again import deal
from calirare.features.edges.directions import Direction, at_ends, directions_of, ends_of_edges
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.telling import of_some_nodes

VARIED = " with the same neighbour, greatest number of "
NEW = " new with the same neighbour"
_MOST_VALUES = 1_000
"""Of whole numbers; with more they are amounts."""
_OFTEN = 20
"""Edges that each of them has, on average."""
_NEW_ADDED, _ALL_ADDED = 1.0, 4.0
"""Edges with a new value, and of all, that are added to the share."""
_FEWEST_NODES = 50
"""With several edges to one neighbour."""
_FEWER = 0.8
"""New values that there are, beside those with values dealt."""
_SURELY = 3.5
"""Standard errors by which there are fewer."""


@dataclass(frozen=True, eq=False)
class Met:
    """Nodes and neighbours.

    Args:
        node: `(P,)`.
        count: `(P,)` of their edges.
        different: `(P,)` values of these.
    """

    node: np.ndarray
    count: np.ndarray
    different: np.ndarray

    @classmethod
    def of(cls, own: np.ndarray, other: np.ndarray, codes: np.ndarray) -> Self:
        """Of edges `(E,)` and their values, below 0 where missing; a node is no neighbour of itself.

        >>> met = Met.of(np.array([0, 0, 0, 0, 1]), np.array([1, 1, 1, 2, 1]), np.array([5, 6, 5, -1, 7]))
        >>> met.node.tolist(), met.count.tolist(), met.different.tolist()
        ([0], [3], [2])
        """
        kept = (codes >= 0) & (own != other)
        pair, place = np.unique(own[kept] * (1 + int(other.max(initial=0))) + other[kept], return_inverse=True)
        size = 1 + int(codes.max(initial=0))
        values = np.unique(place * size + codes[kept])
        node = pair // (1 + int(other.max(initial=0)))
        return cls(node, np.bincount(place, minlength=pair.size), np.bincount(values // size, minlength=pair.size))

    def greatest(self, num_nodes: int) -> np.ndarray:
        """`(N,)` different values over each node's neighbours, NaN where it has none."""
        greatest = np.full(num_nodes, np.nan)
        np.fmax.at(greatest, self.node, self.different)
        return greatest

    def new(self, num_nodes: int) -> np.ndarray:
        """`(N,)` edges that bring a new value, but for the first with each neighbour."""
        return np.bincount(self.node, weights=self.different - 1, minlength=num_nodes)

    def more(self, num_nodes: int) -> np.ndarray:
        """`(N,)` edges but for the first with each neighbour."""
        return np.bincount(self.node, weights=self.count - 1, minlength=num_nodes)


def varied_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no neighbour, or none with several edges; nodes from N on are not told of."""
    for which in directions_of(plan.directed):
        own, other = ends_of_edges(table, which)
        mine = own < num_nodes
        for one in plan.columns:
            column = table.column(one.name, one.kind) if which in one.varied else None
            if column is not None:
                codes = at_ends(_codes(column), own)
                met = Met.of(own[mine], other[mine], codes[mine])
                new, more = met.new(num_nodes), met.more(num_nodes)
                yield f"{one.name}, different ones{VARIED}{which}", met.greatest(num_nodes)
                share = (new + _NEW_ADDED) / (more + _ALL_ADDED)
                yield f"{one.name}{NEW}, share of {which}", np.where(more > 0, share, np.nan)


def _codes(column: EdgeColumn) -> np.ndarray:
    """`(E,)` a number for each value, -1 where it is missing."""
    if column.kind == "category":
        return column.values.astype(np.int64)
    _, codes = np.unique(column.values, return_inverse=True)
    return np.where(np.isnan(column.values), -1, codes).astype(np.int64)


def plan_varied(table: EdgeTable) -> dict[str, tuple[Direction, ...]]:
    """By category and number, directions in which it is told."""
    columns = [column for column in table.columns if _has_few(column)]
    return {
        column.name: tuple(which for which in directions_of(table.directed) if _tells(table, _codes(column), which))
        for column in columns
    }


def _has_few(column: EdgeColumn) -> bool:
    """Whether these are categories, or whole numbers that come again and again."""
    if column.kind == "category":
        return len(column.categories) > 2
    known = column.values[~np.isnan(column.values)] if column.kind == "number" else np.empty(0)
    if not known.size or (known % 1 != 0).any():
        return False
    return bool(2 < np.unique(known).size <= min(_MOST_VALUES, known.size / _OFTEN))


def _tells(table: EdgeTable, codes: np.ndarray, which: Direction) -> bool:
    own, other = ends_of_edges(table, which)
    known = (at_ends(codes, own) >= 0) & (own != other)
    own, other, codes = own[known], other[known], at_ends(codes, own)[known]
    some, rng = of_some_nodes(own), np.random.default_rng(0)
    if not some.any():
        return False
    mine, theirs, num_nodes = own[some], other[some], int(own.max()) + 1
    met = Met.of(mine, theirs, codes[some])
    several = met.more(num_nodes) > 0
    if several.sum() < _FEWEST_NODES:
        return False
    by_node = [Met.of(mine, theirs, codes[places[some]]) for places in deal(own, np.unique(mine), rng)]
    dealt = np.mean([one.new(num_nodes)[several] for one in by_node], axis=0)
    fewer = dealt - met.new(num_nodes)[several]
    error = fewer.std() / np.sqrt(fewer.size)
    return bool(fewer.sum() > (1 - _FEWER) * dealt.sum() and fewer.mean() > _SURELY * error)
