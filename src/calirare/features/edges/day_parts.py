"""Parts of the day and of the week: calls at night, payments at weekends, logins on Mondays."""

from __future__ import annotations

import numpy as np

from calirare.features.edges.telling import telling_parts

DAY = 86_400.0
"""Seconds."""
_HOUR = 3_600.0
_WEEKEND = "weekend"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WINDOWS = {f"{start} to {end if end <= 24 else end - 24} h": (start, end - start)
            for hours in (6, 3) for start in range(24) for end in (start + hours,)}  # fmt: skip
"""(first hour, hours) by name; some go past midnight."""
DAY_PARTS = (*_WINDOWS, *_WEEKDAYS, _WEEKEND)


def vary_by_day(times: np.ndarray, ends: np.ndarray) -> tuple[str, ...]:
    """The parts of which some nodes' times have a larger share than others', beyond chance; hours of dates alone say nothing.

    Args:
        times: `(E,)` seconds since 1970, none missing.
        ends: `(2, E)` the nodes at either end, which are looked at apart.

    >>> hour, by_day = 3600.0, np.tile([9.0, 11.0, 10.0], 8)
    >>> callers = np.repeat(np.arange(8), 3)
    >>> times = hour * np.where(callers < 3, by_day - 8, by_day)
    >>> vary_by_day(times, np.vstack([callers, callers + 8]))
    ('0 to 6 h',)
    """
    return telling_parts(times, ends, DAY_PARTS, in_part)


def weekday_of(days: np.ndarray) -> np.ndarray:
    """From Monday, 0, to Sunday, 6, of whole days since 1970.

    >>> weekday_of(np.array([0, 4])).tolist()
    [3, 0]
    """
    return np.asarray((days + 3) % 7)


def in_part(times: np.ndarray, part: str) -> np.ndarray:
    """`(E,)` bool: which times lie in a part; none where a time is missing.

    >>> in_part(np.array([3600.0, np.nan]), "22 to 4 h").tolist(), in_part(np.array([0.0, 86_400.0]), "Friday").tolist()
    ([True, False], [False, True])
    """
    days, seconds = np.divmod(times, DAY)
    weekday = weekday_of(days)
    if part == _WEEKEND:
        return np.asarray(weekday >= 5)
    if part in _WEEKDAYS:
        return np.asarray(weekday == _WEEKDAYS.index(part))
    start, hours = _WINDOWS[part]
    return np.asarray((seconds // _HOUR - start) % 24 < hours)
