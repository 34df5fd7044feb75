"""Edges as they were at a moment: only those before it."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.errors import InputError, nearest

Moment = float | str | date | np.datetime64
"""Seconds since 1970, a number in the table's own steps, or a date; times without a zone are in UTC."""
_NO_TIME = float(np.iinfo(np.int64).min) / 1e6
"""NumPy's NaT as seconds."""


def moment(when: Moment) -> float:
    """A moment as edge columns keep it: seconds since 1970 in UTC, or a number in the table's own steps.

    >>> moment("2024-01-01"), moment(200), moment(date(2024, 1, 1))
    (1704067200.0, 200.0, 1704067200.0)
    """
    if isinstance(when, datetime) and when.tzinfo is not None:
        return when.timestamp()
    if isinstance(when, str | date | np.datetime64):
        try:
            seconds = float(np.datetime64(str(when), "us").astype(np.int64)) / 1e6
        except ValueError:
            seconds = _NO_TIME
        found = np.nan if seconds == _NO_TIME else seconds
    else:
        found = float(when) if isinstance(when, float | int | np.number) and not isinstance(when, bool) else np.nan
    if np.isnan(found):
        raise InputError(f"a moment must be a number or a date such as 2024-01-31T18:05; got {when!r}.")
    return found


def time_column(edges: EdgeTable | None, name: str | None) -> np.ndarray:
    """The times of the edges: the column of this name, else the first that is a time."""
    columns = {column.name: column for column in (edges.columns if edges is not None else ())}
    times = [column.name for column in columns.values() if column.kind == "time"]
    if name is None:
        if not times:
            raise InputError("the edges must have a column of times; this graph's have none. Name it with time=….")
        name = times[0]
    if name not in columns or columns[name].kind in ("category", "text"):
        raise InputError(f"time must name a column of times of the edges; got {name!r}: {nearest(name, times)}")
    return columns[name].values


def edges_before(edges: EdgeTable | None, when: Moment, time: str | None = None) -> EdgeTable:
    """The edges before a moment; those without a time stay out.

    Args:
        edges: With a column of times.
        when: Seconds since 1970, a number in the table's own steps, or a date.
        time: Which column; default: the first that is a time.
    """
    times = time_column(edges, time)
    assert edges is not None  # time_column has looked
    return edges.take(np.nan_to_num(times, nan=np.inf) < moment(when))


def first_seen(edges: EdgeTable | None, num_nodes: int, time: str | None = None) -> np.ndarray:
    """`(N,)` the time of each node's first edge; NaN where it has none."""
    times = time_column(edges, time)
    assert edges is not None  # time_column has looked
    first = np.full(num_nodes, np.inf)
    known = ~np.isnan(times)
    for ends in (edges.source, edges.target):
        np.minimum.at(first, ends[known], times[known])
    return np.where(np.isinf(first), np.nan, first)


def weights_of(edges: EdgeTable, name: str | None) -> np.ndarray:
    """The column of weights among those of the edges."""
    found = None if name is None else edges.column(name, "number")
    if found is None:
        raise InputError(
            "this graph has edge weights that are no column of its edges; they cannot be taken as of a moment."
        )
    return found.values
