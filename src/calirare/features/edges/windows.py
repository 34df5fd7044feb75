"""Tables of a later time: next month's payments are counted from their own start.

Mean, first and last of a time count from the earliest edge at fit. In tables that all come later, each would lie beyond
everything that the detectors have seen, and say that the calendar has moved on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.plan import EdgePlan, PlannedColumn

AS_LONG = 0.1
"""A window is as long as that of the fit where it is longer or shorter by at most this share of it."""

Extent = tuple[float, float]
"""The earliest and the latest time."""


def extents(table: EdgeTable | None) -> dict[str, Extent]:
    """The earliest and the latest of each time of the edges, where any is known."""
    times = [column for column in table.columns if column.kind == "time"] if table is not None else []
    return {
        column.name: (float(np.nanmin(column.values)), float(np.nanmax(column.values)))
        for column in times
        if not np.isnan(column.values).all()
    }


def moved_to(plan: EdgePlan, times: Mapping[str, Extent]) -> EdgePlan:
    """The plan for tables of these times: where they are a later window, a time counts from their own earliest.

    A later window starts after all that the fit has seen, or later than the fit and is as long. Tables that have grown start
    where those of the fit did, and stay as they are.

    >>> plan = EdgePlan(True, (PlannedColumn("day", "time", origin=100.0, span=30.0),))
    >>> [moved_to(plan, {"day": (start, end)}).columns[0].origin for start, end in ((140, 145), (110, 141), (100, 160), (120, 128))]
    [140, 110, 100.0, 100.0]
    """
    columns = (
        replace(one, origin=times[one.name][0]) if one.name in times and _is_later(one, *times[one.name]) else one
        for one in plan.columns
    )
    return replace(plan, columns=tuple(columns))


def _is_later(planned: PlannedColumn, start: float, end: float) -> bool:
    if not planned.span or start <= planned.origin:
        return False
    return start > planned.origin + planned.span or abs(end - start - planned.span) <= AS_LONG * planned.span
