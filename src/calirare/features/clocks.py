"""When in the day and in the week a node's own dates lie: accounts opened at night, claims made on Mondays.

Told where the hours, or the weekdays, of all nodes are not spread evenly: those of birthdays say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from calirare.features.edges.day_parts import weekday_of
from calirare.features.edges.node_numbers import NodeNumber

HOUR, WEEKDAY = ", hour of the day", ", day of the week"
_MINUTE = 1 / 1440
_HAVE_HOURS = 0.1
"""Share of the dates that must not be at midnight for hours to be known."""
_UNEVEN = 4.0
"""Standard deviations of chi-squared by which the counts of hours or weekdays must be uneven."""


def find_clocks(dates: Sequence[NodeNumber], x: Any) -> tuple[tuple[NodeNumber, ...], tuple[NodeNumber, ...]]:
    """Those of the dates whose hours, and those whose weekdays, are told."""
    hours = tuple(date for date in dates if has_hours(days := date.values(x)) and _uneven(_hour(days), 24))
    return hours, tuple(date for date in dates if _uneven(_weekday(date.values(x)), 7))


def clock_columns(
    hours: Sequence[NodeNumber], weekdays: Sequence[NodeNumber], x: Any
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` hours from 0 to 24 and weekdays, Monday 1 to Sunday 7; NaN where the date is missing.

    >>> opened = NodeNumber("opened", 0, -1, 0.0, 1.0)
    >>> dict(clock_columns((opened,), (opened,), np.array([[0.25], [4.0]])))
    {'opened, hour of the day': array([6., 0.]), 'opened, day of the week': array([4., 1.])}
    """
    for date in hours:
        yield date.name + HOUR, _hour(date.values(x))
    for date in weekdays:
        yield date.name + WEEKDAY, _weekday(date.values(x)) + 1


def has_hours(days: np.ndarray) -> bool:
    """Whether dates say the time of day."""
    known = days[~np.isnan(days)]
    return known.size > 0 and bool(np.mean(np.abs(known - np.round(known)) > _MINUTE) >= _HAVE_HOURS)


def _hour(days: np.ndarray) -> np.ndarray:
    return np.asarray(np.round(days % 1 * 1440) % 1440 / 60)  # in single precision a date is right to the minute


def _weekday(days: np.ndarray) -> np.ndarray:
    return weekday_of(np.floor(days + _MINUTE))


def _uneven(values: np.ndarray, size: int) -> bool:
    """Whether numbers from 0 to `size` are spread less evenly than chance would spread them.

    >>> _uneven(np.arange(700) % 7, 7), _uneven(np.repeat(np.arange(7), [160, 90, 90, 90, 90, 90, 90]), 7)
    (False, True)
    """
    known = values[~np.isnan(values)].astype(np.int64)
    if known.size < 10 * size:
        return False
    expected = known.size / size
    chi2 = float(((np.bincount(known, minlength=size) - expected) ** 2).sum() / expected)
    return bool(chi2 > size - 1 + _UNEVEN * np.sqrt(2 * (size - 1)))
