"""How edges follow one another in time: how evenly, and how soon and how whole what came in goes out again.

Of each time, outgoing and incoming edges apart (of an undirected table: all): the least gap between two, and how uneven gaps
are, their spread over their mean: 0 of a clockwork, 1 of chance, more of bursts. Of the first time, where edges have a
direction: the wait from an incoming edge to the next outgoing one, a geometric mean, for waits differ by orders of magnitude;
and how far each number of that outgoing edge is from the incoming one's, on the scale of `usual`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.day_parts import DAY
from calirare.features.edges.groups import EdgeGroups, Moments, means_of
from calirare.features.edges.plan import EdgePlan, PlannedColumn
from calirare.features.edges.usual import on_scale

UNEVENNESS = ", unevenness of gaps of "
LEAST_GAP = ", least gap of "
WAIT = ", wait of incoming until outgoing"
CHANGE = ", change from incoming to next outgoing"
AT_ONCE = 2_000_000
"""Edges that are sorted at a time."""
_SHORTEST = 1e-3
"""Days below which waits count as about equal; of times in steps, one step."""


def rhythm_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> dict[str, np.ndarray]:
    """`(N,)` columns by name, NaN where a node has too few edges to tell; nodes from N on are not told of."""
    found: dict[str, list[np.ndarray]] = {}
    for start, stop in node_ranges(len(table), num_nodes):
        for name, column in _of_some(table, plan, start, stop):
            found.setdefault(name, []).append(column)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def node_ranges(num_edges: int, num_nodes: int) -> Iterator[tuple[int, int]]:
    """Ranges of nodes with a few million edges each, so that sorting them takes little memory; one where there are few.

    >>> list(node_ranges(100, 7)), list(node_ranges(5_000_000, 7))
    ([(0, 7)], [(0, 2), (2, 5), (5, 7)])
    """
    cuts = np.linspace(0, num_nodes, 2 + max(num_edges - 1, 0) // AT_ONCE).round().astype(int).tolist()
    return zip(cuts[:-1], cuts[1:], strict=True)


def _of_some(table: EdgeTable, plan: EdgePlan, start: int, stop: int) -> Iterator[tuple[str, np.ndarray]]:
    """Of the nodes of a range."""
    size = stop - start
    inside = [(ends >= start) & (ends < stop) for ends in (table.source, table.target)]
    for planned in plan.columns:
        rows = by_time(table, planned, inside[0] | inside[1]) if planned.kind == "time" else None
        if rows is None:
            continue
        ordered = table.take(rows)
        # Those outside of the range are nobody: what is theirs is not told here.
        ends = [
            np.where(mine[rows], one - start, size)
            for mine, one in zip(inside, (ordered.source, ordered.target), strict=True)
        ]
        ordered = replace(ordered, source=ends[0], target=ends[1])
        yield from _gaps(planned, ordered, plan.directed, size)
        if plan.directed and planned.name == plan.clock:
            yield from _passed_on(planned, ordered, plan, size)


def by_time(table: EdgeTable, planned: PlannedColumn, mine: np.ndarray) -> np.ndarray | None:
    """Rows of a mask whose time is known, in its order; None where the table has no such column."""
    if table.column(planned.name, "time") is None:
        return None
    rows = table.in_order_of(planned.name)
    return rows if mine.all() else rows[mine[rows]]


def times_of(planned: PlannedColumn, table: EdgeTable) -> np.ndarray:
    """In days or in steps."""
    values = next(column.values for column in table.columns if column.name == planned.name)
    return (values - planned.origin) / (DAY if planned.in_days else 1.0)


def unit_of(planned: PlannedColumn) -> str:
    """A time's name, with its unit where that is known."""
    return f"{planned.name} in days" if planned.in_days else planned.name


def shortest_of(planned: PlannedColumn) -> float:
    """Below which times apart count as about equal."""
    return _SHORTEST if planned.in_days else 1.0


def _gaps(
    planned: PlannedColumn, ordered: EdgeTable, directed: bool, num_nodes: int
) -> Iterator[tuple[str, np.ndarray]]:
    times = times_of(planned, ordered)
    sides = [("outgoing", ordered.source, times), ("incoming", ordered.target, times)]
    if not directed:
        sides = [("edges", np.stack([ordered.source, ordered.target], axis=1).ravel(), np.repeat(times, 2))]
    for which, ends, when in sides:
        groups = EdgeGroups(ends, num_nodes)
        before = np.diff(when[groups.order], prepend=np.nan)
        before[(np.cumsum(groups.counts) - groups.counts)[groups.filled]] = np.nan  # the first edge of a node
        found = Moments.of_sorted(before, groups)
        some, mean = found.count > 0, np.where(found.count > 1, found.mean, np.nan)
        yield f"{unit_of(planned)}{LEAST_GAP}{which}", np.where(some, found.least, np.nan)
        yield f"{planned.name}{UNEVENNESS}{which}", np.divide(found.spread, mean, where=mean > 0, out=mean * np.nan)


def _passed_on(
    planned: PlannedColumn, ordered: EdgeTable, plan: EdgePlan, num_nodes: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Of every incoming edge that outgoing ones follow, at the same moment or later; several at once count as their mean."""
    ordered = ordered.take(ordered.source != ordered.target)
    times = times_of(planned, ordered)
    edge, leaves, node = _visits(ordered, times, num_nodes)
    came, left = np.flatnonzero(~leaves), np.flatnonzero(leaves)
    following = np.searchsorted(left, came)
    came, following = came[following < left.size], following[following < left.size]
    same = node[left[following]] == node[came]
    came, following = came[same], following[same]
    groups, first, out = EdgeGroups(node[came], num_nodes), edge[came], edge[left]
    shortest = shortest_of(planned)
    waits = means_of(np.log(times[out[following]] - times[first] + shortest), groups)
    yield unit_of(planned) + WAIT, np.exp(waits) - shortest
    moment = np.cumsum((np.diff(node[left], prepend=-1) != 0) | (np.diff(times[out], prepend=np.nan) != 0)) - 1
    at_once = EdgeGroups(moment, int(moment.max(initial=-1)) + 1)
    for number in plan.columns:
        column = ordered.column(number.name, "number")
        if number.kind == "number" and column is not None:
            values = on_scale(column.values, number.size)
            change = np.abs(means_of(values[out], at_once)[moment[following]] - values[first])
            yield number.name + CHANGE, means_of(change, groups)


def _visits(ordered: EdgeTable, times: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every edge at either end: (the edge, whether it leaves, the node), by node, then time, what comes before what leaves."""
    edge, leaves = np.tile(np.arange(len(ordered)), 2), np.repeat([False, True], len(ordered))
    rank = np.cumsum(np.diff(times, prepend=times[:1]) > 0)
    by_time = np.argsort(np.concatenate([2 * rank, 2 * rank + 1]), kind="stable")  # two ascending runs: linear
    node = np.concatenate([ordered.target, ordered.source])[by_time]
    groups = EdgeGroups(node, num_nodes)
    order = by_time[groups.order]
    return edge[order], leaves[order], groups.nodes
