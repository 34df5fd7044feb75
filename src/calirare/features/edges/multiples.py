"""Numbers of edges as multiples of a number of either end: a bid beside the estimate, litres beside the size of the tank.

No tree divides. A number of the edges is divided by one of their ends where that tells something of it: where their ratio
varies less, on a logarithmic scale, than the number itself. Units do not matter for that. What is not above 0 has no ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, get_args

import numpy as np

from calirare.data.arrays import LARGEST
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edges.directions import at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, Moments, means_of
from calirare.features.edges.node_numbers import End, NodeNumber, as_told, find_quantities
from calirare.features.edges.plan import EdgePlan, Multiple

OF_ENDS = (*(f" / {end} " for end in get_args(End)), " times the other end's ")
"""In the names of columns that are multiples."""
_MOST_MULTIPLES = 3
"""Of one column of the edges: those that are told the most of."""
TELLS = 0.1
"""Share of the variance of a number's logarithm that its division by the other must take away."""
_STEEPEST = 2.0
"""Powers of the other with which a number may rise at most: it rises steeply with what is a logarithm of it already."""
_HIGH = 0.9
"""Share of the edges whose multiple is not high."""
_FEWEST = 0.05
"""Share of the edges that must have both numbers."""
_SOME_EDGES = 20_000
"""Of which it is seen what tells something."""
_LEAST = 1e-5
"""Numbers of nodes that are smaller than this share of their spread come back from single precision as noise."""


def find_sizes(graph: RareGraph) -> tuple[NodeNumber, ...]:
    """The first few numbers among the attributes that are no dates, most of which are above 0."""
    return find_quantities(graph, lambda column: column["median"] > 0)


def above_zero(number: NodeNumber, x: Any) -> np.ndarray:
    """`(N,)` its values, NaN where it is missing or not above 0."""
    values = number.values(x)
    return np.where(values > _LEAST * number.scale, values, np.nan)


def plan_multiples(column: EdgeColumn, table: EdgeTable, sizes: Mapping[str, np.ndarray]) -> tuple[Multiple, ...]:
    """What a number of the edges is divided by, the most telling first; `sizes` are those of the nodes by name."""
    step = max(1, len(table) // _SOME_EDGES)
    table, values = table.take(slice(None, None, step)), column.values[::step]
    found = []
    for number, which, end in product(sizes, directions_of(table.directed), get_args(End)):
        own, other = ends_of_edges(table, which)
        size, value = sizes[number][own if end == "own" else other], at_ends(values, own)
        logs = logs_of_both(value, size)
        if logs is None:
            continue
        log, beside = logs
        left = np.var(log - beside) / max(np.var(log), 1e-300)
        if left < 1 - TELLS and np.cov(log, beside)[0, 1] < _STEEPEST * np.var(beside):
            high = np.exp(min(np.quantile(log - beside, _HIGH), np.log(LARGEST)))
            found.append((left, Multiple(number, end, which, as_told(high, 3))))
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0])[:_MOST_MULTIPLES])


def logs_of_both(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The logarithms of two numbers where both are above 0; None where that is on too few edges."""
    both = (one > 0) & (other > 0)
    return (np.log(one[both]), np.log(other[both])) if enough(int(both.sum()), len(both)) else None


def enough(count: int, edges: int) -> bool:
    """Whether so many of the edges can tell something."""
    return count > max(2, _FEWEST * edges)


def multiple_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, sizes: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no such edges.

    Args:
        table: All edges of N nodes; others may be named from N on.
        plan: What is divided by what.
        num_nodes: N.
        sizes: Of all nodes that the table names, as `OwnPlan.above_zero` gives them.
    """
    there = {column.name: column.values for column in table.columns if column.kind == "number"}
    divided = [(one.name, told) for one in plan.columns if one.name in there for told in one.multiples]
    ways = {told.which for _, told in divided}
    groups = {which: EdgeGroups(ends_of_edges(table, which)[0], num_nodes) for which in ways}
    for name, told in divided:
        own, other = ends_of_edges(table, told.which)
        with np.errstate(over="ignore"):  # cut by `Moments`
            times = at_ends(there[name], own) / sizes[told.number][own if told.end == "own" else other]
        yield from _said(name, told, times, groups[told.which])


def _said(name: str, told: Multiple, times: np.ndarray, groups: EdgeGroups) -> Iterator[tuple[str, np.ndarray]]:
    found, whose = Moments.of(times, groups), f"{told.end} {told.number}"
    statistics = {"mean": found.mean, "least": found.least, "greatest": found.greatest}
    if told.end == "own":
        statistics["sum"] = found.total
    for what, column in statistics.items():
        yield f"{name} / {whose}, {what} of {told.which}", np.where(found.count > 0, column, np.nan)
    if told.end != "own":
        high = np.where(np.isnan(times), np.nan, times > told.high)
        yield f"{name} above {told.high:g} times {whose}, share of {told.which}", means_of(high, groups)
