"""How near in time others meet a node at the other ends of its edges: accounts that post the same within seconds.

Of every edge, the time to the nearest edge of somebody else at its other end; of a node, the geometric mean over its edges, and
the share of those that are as near as one in twenty is. It is kept as sums, so that the edges of each other end can be looked
at apart from those of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.directions import Direction, directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups
from calirare.features.edges.plan import NUM_MET, EdgePlan, PlannedColumn
from calirare.features.edges.rhythm import by_time, node_ranges, shortest_of, times_of, unit_of

MEETING = " others at the other end, "
APART = f" apart from{MEETING}"
_NEAR = 0.05
"""Share of the edges that are near others."""


def plan_meetings(planned: PlannedColumn, table: EdgeTable) -> tuple[tuple[Direction, float], ...]:
    """Directions in which nodes meet, and what is near in each."""
    size = 1 + int(max(table.source.max(initial=-1), table.target.max(initial=-1)))
    times = {which: _to_nearest(table, planned, which, size, size)[1] for which in directions_of(table.directed)}
    return tuple((which, float(np.quantile(apart, _NEAR))) for which, apart in times.items() if apart.size)


def meetings(table: EdgeTable, plan: EdgePlan, num_ends: int, num_nodes: int, only: str = "") -> np.ndarray:
    """`(num_nodes, NUM_MET * K)`: of each node's edges to other ends below `num_ends`; it adds up over these.

    Args:
        table: Edges, among them all of the nodes below `num_ends`.
        plan: Of the edge columns.
        num_ends: Other ends that count.
        num_nodes: Nodes that are told of; the table may name others behind them.
        only: A direction; default: all. The numbers of others are 0.
    """
    found = np.zeros((num_nodes, plan.num_met))
    for k, (planned, which, close) in enumerate(_met(plan)):
        if only not in ("", which):
            continue
        node, apart = _to_nearest(table, planned, which, num_ends, num_nodes)
        sums = (np.log(apart + shortest_of(planned)), apart <= close, np.ones(apart.size))
        for at, values in enumerate(sums, NUM_MET * k):
            found[:, at] = np.bincount(node, weights=values, minlength=num_nodes)
    return found


def meeting_columns(met: np.ndarray, plan: EdgePlan) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name from what `meetings` gave, NaN where nobody else is there."""
    for k, (planned, which, close) in enumerate(_met(plan)):
        logs, near, count = met[:, NUM_MET * k : NUM_MET * (k + 1)].T
        count = np.where(count > 0, count, np.nan)
        apart = np.exp(logs / count) - shortest_of(planned)
        yield f"{unit_of(planned)}{APART}{which}", apart
        within = f"{close:g} days" if planned.in_days else f"{close:g}"
        yield f"{planned.name} within {within} of{MEETING}share of {which}", near / count
        # So it is called in models of earlier versions; a new recipe leaves out what is there already.
        yield f"{planned.name} near{MEETING}share of {which}", near / count


def _met(plan: EdgePlan) -> Iterator[tuple[PlannedColumn, str, float]]:
    for column in plan.columns:
        for which, close in column.near:
            yield column, which, close


def _to_nearest(
    table: EdgeTable, planned: PlannedColumn, which: str, num_ends: int, num_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """(nodes, the time from each of their edges to the nearest one of another node at the same other end, where there is one)."""
    found, bare = [(np.empty(0, dtype=np.int64), np.empty(0))], with_times_alone(table)
    for start, stop in node_ranges(len(table), num_ends):
        inside = [(ends >= start) & (ends < stop) for ends in (table.source, table.target)]
        mine = {"outgoing": inside[1], "incoming": inside[0], "edges": inside[0] | inside[1]}[which]
        rows = by_time(table, planned, mine)
        if rows is not None and rows.size:
            found.append(_within(bare.take(rows), planned, which, (start, stop), num_nodes))
    nodes, apart = zip(*found, strict=True)
    return np.concatenate(nodes), np.concatenate(apart)


def with_times_alone(table: EdgeTable) -> EdgeTable:
    """The edges without what `meetings` does not read."""
    times = tuple(column for column in table.columns if column.kind == "time")
    return replace(table, columns=times, type=None, type_names=())


def _within(
    ordered: EdgeTable, planned: PlannedColumn, which: str, ends: tuple[int, int], num_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same at the other ends of a range; all edges of these, in the order of time."""
    node, other = ends_of_edges(ordered, which)
    times = times_of(planned, ordered)
    if which == "edges":  # each edge at either end, in the order of time
        node, other, times = node.reshape(2, -1).T.ravel(), other.reshape(2, -1).T.ravel(), np.repeat(times, 2)
    kept = (node != other) & (other >= ends[0]) & (other < ends[1])
    node, other, times, num_ends = node[kept], other[kept] - ends[0], times[kept], ends[1] - ends[0]
    groups = EdgeGroups(other, num_ends)
    node, times = node[groups.order], times[groups.order]
    end = groups.nodes
    first = (np.diff(end, prepend=-1) != 0) | (np.diff(node, prepend=-1) != 0)  # of a row of edges of one node
    run, starts = np.cumsum(first) - 1, np.flatnonzero(first)
    before, after = np.full(starts.size, -np.inf), np.full(starts.size, np.inf)
    same = end[starts[1:]] == end[starts[1:] - 1]
    before[1:][same] = times[starts[1:] - 1][same]
    after[:-1][same] = times[starts[1:]][same]
    told = node < num_nodes
    node, times, run = node[told], times[told], run[told]
    apart = np.minimum(times - before[run], after[run] - times)
    known = np.isfinite(apart)
    return node[known], apart[known]
