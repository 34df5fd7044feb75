"""Dates of nodes, beside each other and beside the times of edges: a claim soon after the policy began, a trade just before the news.

Of every two dates of a node, the days between. Of a clock of the edges and a date of an end, if that falls among the edges'
times: the mean of the days from the date to the edge, and the shares of edges shortly before and after it, which means as near
as one edge in twenty is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, islice, product
from typing import get_args

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.tables.schema.node_columns import is_moment
from calirare.features.edges.day_parts import DAY
from calirare.features.edges.directions import at_ends, directions_of, ends_of_edges
from calirare.features.edges.node_numbers import End, NodeNumber, as_told, find_numbers
from calirare.features.edges.plan import DatedEdges, EdgePlan, PlannedColumn

BESIDE = tuple(f" {when} {end} " for when, end in product(("before", "after"), get_args(End)))
"""In the names of columns that say when edges were beside a date."""
_MOST_DATES = 4
_NEAR = 0.05
"""Share of the edges that are near a date."""
_AMONG = 0.05
"""Share of the edges whose date must fall among the edges' times."""


def find_dates(graph: RareGraph) -> tuple[NodeNumber, ...]:
    """The first few dates among the attributes, as the schema says."""
    return tuple(islice(find_numbers(graph, is_moment), _MOST_DATES))


def days_between(days: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Of every two dates.

    >>> [(name, column.tolist()) for name, column in days_between({"began": np.array([3.0]), "claimed": np.array([5.0])})]
    [('claimed after began, in days', [2.0])]
    """
    for (first, start), (second, stop) in combinations(days.items(), 2):
        yield f"{second} after {first}, in days", stop - start


def plan_dates(planned: PlannedColumn, table: EdgeTable, days: Mapping[str, np.ndarray]) -> tuple[DatedEdges, ...]:
    """What is told of a time of the edges beside the dates of their ends, `(N,)` days by name."""
    found, times = [], _times(planned, table)
    if not planned.in_days or times is None:
        return ()
    among = np.nanmin(times), np.nanmax(times)
    for date, which, end in product(days, directions_of(table.directed), get_args(End)):
        apart, dates = _apart(times, table, which, end, days[date])
        known = np.isfinite(apart)
        if known.any() and np.mean((dates[known] >= among[0]) & (dates[known] <= among[1])) >= _AMONG:
            found.append(DatedEdges(date, end, which, as_told(np.quantile(np.abs(apart[known]), _NEAR), 2)))
    return tuple(found)


def dated_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, days: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no such edges.

    Args:
        table: All edges of N nodes; others may be named from N on.
        plan: What is told.
        num_nodes: N.
        days: Dates of all nodes that the table names, as days since 1970.
    """
    for planned in plan.columns:
        times = _times(planned, table)
        if times is None:
            continue
        for told in planned.dated:
            apart, _ = _apart(times, table, told.which, told.end, days[told.date])
            node = ends_of_edges(table, told.which)[0]
            known = ~np.isnan(apart) & (node < num_nodes)
            node, apart = node[known], apart[known]
            count = np.bincount(node, minlength=num_nodes).astype(np.float64)
            count[count == 0] = np.nan
            near, whose = np.abs(apart) <= told.near, f"{told.end} {told.date}"
            for what, values in (
                (f"{planned.name} in days after {whose}, mean", apart),
                (f"{planned.name} at most {told.near:g} days before {whose}, share", near & (apart < 0)),
                (f"{planned.name} at most {told.near:g} days after {whose}, share", near & (apart >= 0)),
            ):
                total = np.bincount(node, weights=values, minlength=num_nodes)
                yield f"{what} of {told.which}", total / count


def _times(planned: PlannedColumn, table: EdgeTable) -> np.ndarray | None:
    """In days since 1970; None where the table has no such column, or no time in it is known."""
    column = table.column(planned.name, "time")
    return None if column is None or np.isnan(column.values).all() else column.values / DAY


def _apart(
    times: np.ndarray, table: EdgeTable, which: str, end: str, days: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(days from the date of an end to each edge, those dates); of edges without direction each edge twice."""
    own, other = ends_of_edges(table, which)
    dates = days[own if end == "own" else other]
    return at_ends(times, own) - dates, dates
