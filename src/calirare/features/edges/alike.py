"""What both ends of a node's edges have in common: payments within a country, loans to one's own branch; and whose account is older.

A mean over neighbours tells their countries and dates, and a node has its own, but no tree compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.directions import directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, means_of
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.telling import of_some_nodes, telling_parts

ALIKE = " at both ends, share of "
LATER = " after the other end's in days, mean of "
_FEWEST = 0.05
"""Share of the edges both ends of which must have a date."""
_SAME = "same "


def plan_alike(table: EdgeTable, codes: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Names of the columns, of which some nodes have more edges to their like than others, beyond chance; `codes` by name."""
    return tuple(name for name, code in codes.items() if _tells(table, code))


def _tells(table: EdgeTable, code: np.ndarray) -> bool:
    some = of_some_nodes(table.source) | of_some_nodes(table.target)
    source, target = table.source[some], table.target[some]
    same = _same(code[source], code[target])
    known = ~np.isnan(same)
    ends = np.stack([source[known], target[known]])
    return bool(telling_parts(same[known], ends, (_SAME,), lambda mine, _: mine > 0))


def plan_apart(table: EdgeTable, days: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Names of the dates that both ends have, of enough edges, and not always the same; `days` by name."""
    apart = {name: day[table.source] - day[table.target] for name, day in days.items()}
    known = {name: one[~np.isnan(one)] for name, one in apart.items()}
    return tuple(name for name, one in known.items() if one.size > _FEWEST * len(table) and one.any())


def alike_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, beside: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no such edges; nodes from N on are not told of.

    Args:
        table: All edges of N nodes.
        plan: What is told.
        num_nodes: N.
        beside: Of all nodes that the table names: their categories, as `node_categories` gives them, and their dates, in days.
    """
    for which in directions_of(plan.directed) if plan.alike or plan.apart else ():
        own, other = ends_of_edges(table, which)
        groups = EdgeGroups(own, num_nodes)
        for name in plan.alike:
            yield f"{_SAME}{name}{ALIKE}{which}", means_of(_same(beside[name][own], beside[name][other]), groups)
        for name in plan.apart:
            yield f"{name}{LATER}{which}", means_of(beside[name][own] - beside[name][other], groups)


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 where both are the same, 0 where they differ, NaN where one is not known."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, one == other)
