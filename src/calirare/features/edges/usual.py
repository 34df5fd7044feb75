"""Numbers of edges beside what is usual at the other end: a price beside what others paid for the same part.

Numbers are compared as asinh(value / median size): plain near 0, logarithmic far from it. The usual at an end is the mean of
the numbers of its other edges and one of the population's. Where it tells nothing of a number, nothing is compared.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.directions import Direction, at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import LARGEST_EDGE_VALUE, EdgeGroups, Moments
from calirare.features.edges.plan import EdgePlan, PlannedColumn

AGAINST_USUAL = " against the other end's usual, "
_TELLS = 0.05
"""Share of the variance of a number that the other end's usual must tell."""


def plan_comparison(values: np.ndarray, table: EdgeTable) -> tuple[tuple[Direction, ...], float, float]:
    """(directions in which an edge's number is compared, the numbers' median size, their mean on the scale)."""
    known = ~np.isnan(values)
    sizes = np.minimum(np.abs(values[known & (values != 0)]), LARGEST_EDGE_VALUE)
    if not sizes.size:
        return (), 1.0, 0.0
    size = max(float(np.median(sizes)), 1 / LARGEST_EDGE_VALUE)
    scaled = on_scale(values, size)
    middle, spread, found = float(scaled[known].mean()), float(scaled[known].var()), []
    for which in directions_of(table.directed):
        _, other = ends_of_edges(table, which)
        mine = at_ends(scaled, other)
        apart = _apart(mine, other, _usual(mine, other, int(other.max()) + 1), middle)
        if np.nanmean(np.square(apart)) < (1 - _TELLS) * spread:
            found.append(which)
    return tuple(found), size, middle


def usual_of(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> np.ndarray:
    """`(num_nodes, 2K)`: sum and number of what is compared, at each node as the other end."""
    found = np.zeros((num_nodes, plan.num_usual))
    for k, (_, values, _, other, _) in enumerate(_comparisons(table, plan)):
        found[:, 2 * k : 2 * k + 2] = _usual(values, other, num_nodes)
    return found


def compared_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, usual: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name: the mean of the differences, and their size (root mean square).

    Args:
        table: All edges of N nodes; others may be named from N on.
        plan: What is compared.
        num_nodes: N.
        usual: What `usual_of` gives for all nodes that the table names.
    """
    for k, (column, values, own, other, which) in enumerate(_comparisons(table, plan)):
        apart = _apart(values, other, usual[:, 2 * k : 2 * k + 2], column.middle)
        found = Moments.of(apart, EdgeGroups(own, num_nodes))
        yield f"{column.name}{AGAINST_USUAL}mean of {which}", found.mean
        yield f"{column.name}{AGAINST_USUAL}size of {which}", np.hypot(found.mean, found.spread)


_Comparison = tuple["PlannedColumn", np.ndarray, np.ndarray, np.ndarray, str]


def _comparisons(table: EdgeTable, plan: EdgePlan) -> Iterator[_Comparison]:
    """What is compared: the column, scaled values, nodes, their other ends, and the direction; all NaN without the column."""
    for column in plan.columns:
        found = table.column(column.name, "number")
        values = np.full(len(table), np.nan) if found is None else found.values
        for which in column.compared:
            own, other = ends_of_edges(table, which)
            yield column, at_ends(on_scale(values, column.size), other), own, other, which


def on_scale(values: np.ndarray, size: float) -> np.ndarray:
    """Plain near 0, logarithmic far from it."""
    return np.arcsinh(np.clip(values, -LARGEST_EDGE_VALUE, LARGEST_EDGE_VALUE) / size)


def _usual(values: np.ndarray, other: np.ndarray, num_nodes: int) -> np.ndarray:
    kept = ~np.isnan(values) & (other < num_nodes)
    total = np.bincount(other[kept], weights=values[kept], minlength=num_nodes)
    return np.stack([total, np.bincount(other[kept], minlength=num_nodes)], axis=1)


def _apart(values: np.ndarray, other: np.ndarray, usual: np.ndarray, middle: float) -> np.ndarray:
    """Each edge's number less the usual at its other end, itself left out."""
    total, count = usual[other].T
    return values - (total - values + middle) / np.maximum(count, 1)
