"""How the numbers of a node's later edges differ from those of its earlier ones: a meter that has run slower since May.

Later are edges after the mean of the node's own times. With E the mean of the earlier numbers and L that of the later ones
the change is (L - E) / (|L| + |E|): -1 to 1, and 0 where both are 0. It is told where more nodes changed than would by
chance: more than with the edges of each node dealt to earlier and later at random.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.directions import Direction, at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, Moments, means_of
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.telling import of_some_nodes
from calirare.features.edges.usual import on_scale

TREND = ", change from earlier to later "
_FEWEST_EDGES = 4
"""Earlier and later ones each, of the nodes by which it is seen whether nodes change."""
_FEWEST_NODES = 50
"""By which it is seen."""
_SOME_EDGES = 200_000
"""By which it is seen, about: all of some nodes."""
_BY_CHANCE = 0.01
"""Share of the nodes that are taken to have changed if nothing but chance is at work."""
_TELLS, _SURE = 0.015, 3.0
"""Share that it takes, and standard errors beyond chance."""
_MOST = 0.5
"""A number that changes with most nodes goes with time, as a counter does."""


def plan_trend(values: np.ndarray, size: float, table: EdgeTable) -> tuple[Direction, ...]:
    """Directions in which it is told how a number of a node's edges changed.

    Args:
        values: `(E,)` the numbers.
        size: Their median size.
        table: The edges; when they were says its first time.
    """
    times = next((column.values for column in table.columns if column.kind == "time"), None)
    if times is None:
        return ()
    scaled = on_scale(values, size)
    return tuple(which for which in directions_of(table.directed) if _nodes_change(scaled, times, table, which))


def _nodes_change(values: np.ndarray, times: np.ndarray, table: EdgeTable, which: str) -> bool:
    own, _ = ends_of_edges(table, which)
    some = of_some_nodes(own, _SOME_EDGES)
    values, times, own = at_ends(values, own)[some], at_ends(times, own)[some], own[some]
    groups = EdgeGroups(own, int(own.max(initial=-1)) + 1)
    dealt = np.where(np.isnan(times), np.nan, np.random.default_rng(0).permutation(len(own)))
    found, by_chance = (_apart(*_halves(values, order, groups)) for order in (times, dealt))
    if min(len(found), len(by_chance)) < _FEWEST_NODES:
        return False
    share = float(np.mean(found > np.quantile(by_chance, 1 - _BY_CHANCE)))
    doubt = np.sqrt(_BY_CHANCE * (1 / len(found) + 1 / len(by_chance)))
    return max(_TELLS, _BY_CHANCE + _SURE * float(doubt)) < share < _MOST


def trend_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no earlier or no later number; nodes from N on are not told of."""
    there = {column.name: column.values for column in table.columns if column.kind in ("number", "time")}
    for which in directions_of(plan.directed):
        told = [one.name for one in plan.columns if which in one.changing and one.name in there]
        if not told or plan.clock not in there:
            continue
        own, _ = ends_of_edges(table, which)
        times, groups = at_ends(there[plan.clock], own), EdgeGroups(own, num_nodes)
        for name in told:
            earlier, later = (half.mean for half in _halves(at_ends(there[name], own), times, groups))
            size = np.abs(later) + np.abs(earlier)
            yield f"{name}{TREND}{which}", np.divide(later - earlier, size, out=0.0 * size, where=size > 0)


def _halves(values: np.ndarray, times: np.ndarray, groups: EdgeGroups) -> tuple[Moments, Moments]:
    """Of the numbers of each node's earlier and later edges."""
    middle = np.full(len(times), np.nan)
    middle[groups.order] = groups.spread_out(means_of(times, groups))
    earlier, later = (Moments.of(np.where(side, values, np.nan), groups) for side in (times < middle, times > middle))
    return earlier, later


def _apart(earlier: Moments, later: Moments) -> np.ndarray:
    """How far apart the means are, in standard errors, of the nodes with some edges in both."""
    some = np.minimum(earlier.count, later.count) >= _FEWEST_EDGES
    a, b = earlier.count[some], later.count[some]
    error = np.sqrt((earlier.squares + later.squares)[some] / (a + b - 2) * (1 / a + 1 / b))
    apart = np.abs(later.mean - earlier.mean)[some]
    return np.divide(apart, error, out=np.zeros_like(apart), where=error > 0)
