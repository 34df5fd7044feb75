"""Which edge columns, categories and types are summed up per node: decided once, kept for new tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from calirare.data.edge_rows import pairs_of
from calirare.data.edge_table import EARLIEST_CLOCK, MISSING, MOST_CATEGORIES, EdgeColumn, EdgeTable, most_frequent
from calirare.data.graph import RareGraph
from calirare.features.edges.again import plan_again
from calirare.features.edges.alike import plan_alike, plan_apart
from calirare.features.edges.amount_parts import vary_by_amount, vary_by_sign
from calirare.features.edges.customs import plan_customs
from calirare.features.edges.dates import plan_dates
from calirare.features.edges.day_parts import vary_by_day
from calirare.features.edges.likes import plan_likes
from calirare.features.edges.meeting import plan_meetings
from calirare.features.edges.multiples import plan_multiples
from calirare.features.edges.pairs import come_again
from calirare.features.edges.plan import EdgePlan, PlannedColumn
from calirare.features.edges.shared import plan_shared
from calirare.features.edges.trend import plan_trend
from calirare.features.edges.usual import plan_comparison
from calirare.features.edges.varied import plan_varied
from calirare.features.edges.within import plan_within

FEWEST_OF_A_SIGN = 0.05
"""Share of the values that each sign must have before a number is signed: a grade or a balance, no sum with a few refunds."""
MOST_TYPES = 8
"""Edge types that are summed up apart, beside all types together; the most frequent ones."""
MOST_OF_TYPES = 200
"""Columns of single types, about; where there would be more, only numbers, sums and means are taken by type."""


def plan_edges(
    table: EdgeTable | None,
    *,
    compare: bool = True,
    days: Mapping[str, np.ndarray] | None = None,
    sizes: Mapping[str, np.ndarray] | None = None,
    codes: Mapping[str, np.ndarray] | None = None,
) -> EdgePlan | None:
    """The plan for a table; None where there is none.

    Args:
        table: The edges as they came.
        compare: With what the other ends' edges say, where that tells.
        days: Dates of the nodes by name, as `OwnPlan.days` gives them.
        sizes: Numbers of the nodes by name, as `OwnPlan.above_zero` gives them.
        codes: Categories of the nodes by name, as `OwnPlan.codes` gives them.
    """
    if table is None:
        return None
    types: tuple[str, ...] = ()
    if table.type is not None:
        types = tuple(most_frequent(table.type, table.type_names, MOST_TYPES))
    types = types if len(types) > 1 else ()
    columns = tuple(_plan_column(column, table, compare, days or {}, sizes or {}) for column in table.columns)
    again, varied = (plan_again(table), plan_varied(table)) if compare else ({}, {})
    columns = tuple(
        replace(column, again=again.get(column.name, ()), varied=varied.get(column.name, ())) for column in columns
    )
    by_type = len(types) * (3 if table.directed else 1) * (3 + sum(_width(column) for column in columns))
    ends, alike = np.stack([table.source, table.target]), plan_alike(table, codes or {}) if compare else ()
    again_there = compare and any(come_again(ends[1 - k].astype(np.float64), ends[k : k + 1]) for k in (0, 1))
    plan = EdgePlan(table.directed, columns, types, by_type > MOST_OF_TYPES, plan_within(table), alike, again_there)
    if not compare:
        return plan
    customs, shared = plan_customs(table, codes or {}), plan_shared(table)
    return replace(plan, apart=plan_apart(table, days or {}), customs=customs, shared=shared)


def _width(column: PlannedColumn) -> int:
    """About how many columns come of it, in one direction."""
    return len(column.categories) + (1 if column.kind in ("category", "text") else 6)


def edge_table(graph: RareGraph) -> EdgeTable | None:
    """The edges as they came; those with weights alone as a table of one column; None where nothing is known.

    >>> graph = RareGraph(
    ...     x=np.eye(2), edge_index=np.array([[0], [1]]), y=np.array([0, 1]), edge_weight=np.array([2.0])
    ... )
    >>> edge_table(graph).columns[0].values.tolist()
    [2.0]
    """
    return graph.edges if graph.edges is not None or graph.edge_weight is None else pairs_of(graph)


def _plan_column(
    column: EdgeColumn,
    table: EdgeTable,
    compare: bool,
    days: Mapping[str, np.ndarray],
    sizes: Mapping[str, np.ndarray],
) -> PlannedColumn:
    if column.kind == "category":
        kept = tuple(most_frequent(column.values, column.categories, MOST_CATEGORIES))
        diverse, missing = len(column.categories) > len(kept), bool((column.values == MISSING).any())
        likes = plan_likes(column, table) if compare and diverse else ()
        return PlannedColumn(column.name, "category", kept, diverse, missing, pairs=len(kept) > 2, likes=likes)
    there = ~np.isnan(column.values)
    known, ends = column.values[there], np.stack([table.source[there], table.target[there]])
    if column.kind == "text":
        return PlannedColumn(column.name, "text", column.categories, missing=known.size < column.values.size)
    missing = known.size < column.values.size
    if column.kind == "time":
        origin = float(known.min()) if known.size else 0.0
        in_days = origin >= EARLIEST_CLOCK
        parts = vary_by_day(known, ends) if in_days else ()
        timed = PlannedColumn(column.name, "time", parts, missing=missing, origin=origin, in_days=in_days)
        span = float(np.ptp(known)) if known.size else 0.0
        timed = replace(timed, dated=plan_dates(timed, table, days), span=span)
        return replace(timed, near=plan_meetings(timed, table)) if compare else timed
    negative = int((known < 0).sum())
    signed = min(negative, known.size - negative) >= max(1, FEWEST_OF_A_SIGN * known.size)
    multiples = plan_multiples(column, table, sizes)
    plain = PlannedColumn(column.name, "number", missing=missing, signed=signed, multiples=multiples)
    if not compare:
        return plain
    plain = replace(plain, categories=vary_by_amount(known, ends), pairs=come_again(known, ends))
    plain = replace(plain, signed=signed or vary_by_sign(known, ends), balanced=table.directed)
    compared, size, middle = plan_comparison(column.values, table)
    changing = plan_trend(column.values, size, table)
    return replace(plain, compared=compared, size=size, middle=middle, changing=changing)
