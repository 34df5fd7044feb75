"""How even a node's edges with the same neighbour are: a host that calls one server every hour, a firm that pays one sum again and again.

Of each node and neighbour, the numbers of their edges, or the gaps between their times: with A and B the quartiles, their
unevenness is (B - A) / (|A| + |B|), 0 of a clockwork and of one sum. Few values are even by chance; they count as if there were
a few more of unevenness 1/2. A node is told the least over its neighbours.

It is told where more nodes have an even neighbour than would by chance: than with the values of each node dealt to its edges
at random, than with those of each neighbour dealt, and, of times, than with any others drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.edges.directions import Direction, at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import LARGEST_EDGE_VALUE, EdgeGroups
from calirare.features.edges.plan import EdgePlan

AGAIN = " with the same neighbour, "
_FEWEST = 4
"""Values of a node and a neighbour."""
_MORE = 4
"""Values of unevenness 1/2 that are added."""
_MOST_OF_END = 0.8
"""Share of an end's edges with one neighbour; with more, what is even is told of that end already."""
_FEWEST_NODES = 50
"""By which it is seen whether some have an even neighbour."""
_SOME_EDGES = 100_000
"""By which it is seen, about: all of some nodes."""
_DEALS = 2
"""Times that values are dealt, in each way."""
_BY_CHANCE = 0.005
"""Share of the nodes that are taken to have an even neighbour if nothing but chance is at work."""
_TELLS, _SURE = 0.01, 3.0
"""Share that it takes, and standard errors beyond chance."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nodes and neighbours with several edges.

    Args:
        node: `(P,)`.
        neighbour: `(P,)`.
        count: `(P,)` of their edges.
        edge: `(Q,)` the edges, one neighbour's behind the other's.
    """

    node: np.ndarray
    neighbour: np.ndarray
    count: np.ndarray
    edge: np.ndarray

    @classmethod
    def of(cls, own: np.ndarray, other: np.ndarray) -> Self:
        """Of edges between nodes `(E,)` and their other ends `(E,)`."""
        edge = np.flatnonzero(own != other)
        key = own[edge] * (1 + int(other.max(initial=0))) + other[edge]
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        count = np.diff(first, append=edge.size)
        often = count >= _FEWEST
        start = edge[order[first[often]]]
        return cls(own[start], other[start], count[often], edge[order[np.repeat(often, count)]])

    def at(self, chosen: np.ndarray) -> Neighbours:
        """Some of them, by a mask."""
        edge = self.edge[np.repeat(chosen, self.count)]
        return Neighbours(self.node[chosen], self.neighbour[chosen], self.count[chosen], edge)

    def turned(self) -> Neighbours:
        """The same, seen from the other end."""
        return replace(self, node=self.neighbour, neighbour=self.node)

    def unevenness(self, values: np.ndarray, in_time: bool) -> np.ndarray:
        """`(P,)`, NaN where there are too few values.

        Args:
            values: `(Q,)` of their edges, NaN where missing.
            in_time: Of the gaps between them; edges of one moment count once.
        """
        known = ~np.isnan(values)
        place = np.repeat(np.arange(self.count.size), self.count)[known]
        mine = np.clip(values[known], -LARGEST_EDGE_VALUE, LARGEST_EDGE_VALUE)
        mine = mine[np.lexsort((mine, place))]
        if in_time:
            gaps = np.diff(mine)
            follows = (np.diff(place) == 0) & (gaps > 0)
            place, mine = place[1:][follows], gaps[follows]
            mine = mine[np.lexsort((mine, place))]
        count = np.bincount(place, minlength=self.count.size)
        return np.where(count >= _FEWEST, _unevenness(mine, count), np.nan)

    def least(self, uneven: np.ndarray, num_nodes: int) -> np.ndarray:
        """`(N,)` over each node's neighbours, NaN where there is none."""
        least = np.full(num_nodes, np.nan)
        np.fmin.at(least, self.node, uneven)
        return least


def _unevenness(values: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Of groups of so many values, one behind the other, each in ascending order."""
    values, start = np.append(values, 0.0), np.cumsum(count) - count
    quartiles = []
    for share in (0.25, 0.75):
        place = share * np.maximum(count - 1, 0)
        below = place.astype(np.int64)
        low, high = values[start + below], values[start + np.ceil(place).astype(np.int64)]
        quartiles.append(low + (place - below) * (high - low))
    first, third = quartiles
    size = np.abs(first) + np.abs(third)
    uneven = np.divide(third - first, size, out=np.zeros(count.size), where=size > 0)
    return np.asarray((count * uneven + _MORE / 2) / (count + _MORE))


def again_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no neighbour with enough edges; nodes from N on are not told of."""
    there = {(column.name, column.kind): column.values for column in table.columns}
    for which in directions_of(plan.directed):
        told = [one for one in plan.columns if which in one.again and (one.name, one.kind) in there]
        if not told:
            continue
        own, other = ends_of_edges(table, which)
        mine = own < num_nodes
        neighbours = Neighbours.of(own[mine], other[mine])
        for one in told:
            values, in_time = at_ends(there[one.name, one.kind], own)[mine], one.kind == "time"
            what = "unevenness of gaps" if in_time else "unevenness"
            least = neighbours.least(neighbours.unevenness(values[neighbours.edge], in_time), num_nodes)
            yield f"{one.name}, {what}{AGAIN}least of {which}", least


def plan_again(table: EdgeTable) -> dict[str, tuple[Direction, ...]]:
    """By number and time, directions in which more nodes have an even neighbour than would by chance."""
    ways, found = directions_of(table.directed), dict[str, list[Direction]]()
    columns = [column for column in table.columns if column.kind in ("number", "time")]
    ends = ends_of_edges(table, ways[0])
    met = Neighbours.of(*ends)
    if not columns or met.count.size < _FEWEST_NODES:
        return {}
    rng = np.random.default_rng(0)
    dealt = [deal(one, met_there, rng) for one, met_there in zip(ends, (met.node, met.neighbour), strict=True)]
    for which in ways:
        for name in _even(columns, met, ends, dealt):
            found.setdefault(name, []).append(which)
        met, ends, dealt = met.turned(), ends[::-1], dealt[::-1]
    return {name: tuple(found[name]) for name in found}


def deal(ends: np.ndarray, chosen: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """`(E,)` the edge whose value each edge gets: any one of the same end, if that is chosen; several times."""
    is_chosen = np.zeros(int(ends.max()) + 1, dtype=bool)
    is_chosen[chosen] = True
    some, deals = np.flatnonzero(is_chosen[ends]), []
    order = some[EdgeGroups(ends[some], is_chosen.size).order]
    for _ in range(_DEALS):
        mixed, place = rng.permutation(some), np.arange(ends.size)
        place[order] = mixed[EdgeGroups(ends[mixed], is_chosen.size).order]
        deals.append(place)
    return deals


def _even(
    columns: list[EdgeColumn], met: Neighbours, ends: tuple[np.ndarray, np.ndarray], dealt: list[list[np.ndarray]]
) -> Iterator[str]:
    """Names of the columns; `dealt` by either end."""
    own, other = ends
    met = met.at(met.count <= _MOST_OF_END * np.bincount(own)[met.node])
    met = met.at(met.node % (1 + met.edge.size // _SOME_EDGES) == 0)
    among_others = met.at(met.count <= _MOST_OF_END * np.bincount(other)[met.neighbour])
    random = np.random.default_rng(0).random(met.edge.size)
    for column in columns:
        values, in_time = at_ends(column.values, own), column.kind == "time"
        chances = [
            np.concatenate([_least(some, values[places[some.edge]], in_time) for places in deals])
            for some, deals in zip((met, among_others), dealt, strict=True)
        ]
        if in_time:
            chances.append(_least(met, random, in_time))
        if _more_than_by_chance(_least(met, values[met.edge], in_time), chances):
            yield column.name


def _least(met: Neighbours, values: np.ndarray, in_time: bool) -> np.ndarray:
    """Of the nodes that have any."""
    least = met.least(met.unevenness(values, in_time), int(met.node.max(initial=-1)) + 1)
    return least[~np.isnan(least)]


def _more_than_by_chance(found: np.ndarray, chances: list[np.ndarray]) -> bool:
    """Whether more nodes are so even than with any chance of which enough is known."""
    chances = [chance for chance in chances if chance.size >= _FEWEST_NODES]
    if found.size < _FEWEST_NODES or not chances:
        return False
    limit = min(float(np.quantile(chance, _BY_CHANCE)) for chance in chances)
    doubt = np.sqrt(_BY_CHANCE * (1 / found.size + 1 / min(chance.size for chance in chances)))
    return float(np.mean(found < limit)) > max(_TELLS, _BY_CHANCE + _SURE * float(doubt))
