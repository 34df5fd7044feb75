"""How near in time a node's own date is to those of others: accounts that were opened within minutes of many.

Told where more dates than chance allows are close together: beside the density of dates around them, and beside the rhythm of the
hours of the week that all nodes share. One or two dates may be close by chance; the third nearest seldom is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import bdtr

from calirare.features.clocks import has_hours
from calirare.features.edges.node_numbers import NodeNumber

NEAREST = ", log days to the third nearest of other nodes"
_OTHERS = 3
_FEWEST = 100
_AROUND = 30
"""Dates on each side that tell how many there are around one."""
_RARE = (1e-2, 1e-3, 1e-4)
"""Chances of being as close: more dates must be rarer than one of these than there would be."""
_BEYOND, _BESIDES = 5.0, 8
"""Standard deviations, and dates besides, by which these must be more; dates that are close to each other count together."""
_MINUTE = 1 / 1440
_UNITS = (1.0, 1 / 24, 1 / 96, 1 / 288, _MINUTE)
"""Days, hours, quarters of an hour: to which dates may be rounded."""
_HOURS = 7 * 24
_PRIOR = 20.0


def find_bursts(dates: Sequence[NodeNumber], x: Any) -> tuple[NodeNumber, ...]:
    """Those of the dates that say the time of day and come in bursts."""
    return tuple(date for date in dates if has_hours(days := date.values(x)) and in_bursts(days))


def sorted_dates(dates: Sequence[NodeNumber], x: Any) -> dict[str, np.ndarray]:
    """Of each date the days of all nodes that have it, ascending."""
    return {date.name: in_order(date.values(x)) for date in dates}


def in_order(days: np.ndarray) -> np.ndarray:
    return np.sort(days[~np.isnan(days)])


def burst_columns(
    dates: Sequence[NodeNumber], x: Any, everyone: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` log days, of at least a minute; NaN where the date is missing or fewer than three others have one.

    Args:
        dates: What is told.
        x: Attributes of some nodes.
        everyone: `sorted_dates` of all nodes, these among them.
    """
    for date in dates:
        gaps = third_nearest(date.values(x), everyone[date.name])
        yield date.name + NEAREST, np.log(np.maximum(gaps, _MINUTE))


def third_nearest(days: np.ndarray, everyone: np.ndarray) -> np.ndarray:
    """`(n,)` the time to the third nearest of all others; NaN without.

    >>> third_nearest(np.array([2.0, 9.0, np.nan]), np.array([1.0, 2.0, 2.5, 4.0, 9.0])).tolist()
    [2.0, 7.0, nan]
    """
    ends = np.full(_OTHERS, np.inf)
    padded, at = np.concatenate([-ends, everyone, ends]), np.searchsorted(everyone, days)
    found = np.full(days.shape, np.inf)
    for before in range(_OTHERS + 1):  # so many of the three are earlier
        first = at + _OTHERS - before
        known = np.minimum(first + _OTHERS, padded.size - 1)  # of a missing date it is behind the last
        found = np.fmin(found, np.fmax(days - padded[first], padded[known] - days))
    return np.where(np.isfinite(found) & ~np.isnan(days), found, np.nan)


def in_bursts(days: np.ndarray) -> bool:
    """Whether more dates than chance allows are close to three others.

    In a time in which the hours of the week are as long as they are busy, the dates around one, in a window, are taken to be spread
    evenly: the chance that three of n lie as close as the third nearest does is binomial.
    """
    days = in_order(days)
    if days.size < _FEWEST:
        return False
    times = np.sort(_in_busy_time(_spread_within_units(days)))
    low, high = np.quantile(times, [0.05, 0.95])
    around = _AROUND * (high - low) / (0.9 * times.size)
    if around <= 0:
        return False
    number = np.searchsorted(times, times + around, "right") - np.searchsorted(times, times - around) - 1
    near = np.minimum(third_nearest(times, times) / around, 1.0)
    some = number >= _OTHERS
    chance = 1.0 - bdtr(_OTHERS - 1, number[some], near[some])
    for rare in _RARE:
        expected = rare * times.size
        least = max(2 * expected, expected + _BEYOND * np.sqrt((_OTHERS + 1) * expected)) + _BESIDES
        if np.count_nonzero(chance < rare) > least:
            return True
    return False


def _spread_within_units(days: np.ndarray) -> np.ndarray:
    """Each date anywhere within the largest unit to which it is rounded: whole hours are not at the same time."""
    unit = np.full(days.shape, _MINUTE)
    for one in _UNITS[::-1]:
        unit[np.abs(days / one - np.round(days / one)) * one < _MINUTE / 2] = one
    return days + unit * np.random.default_rng(0).random(days.size)


def _in_busy_time(days: np.ndarray) -> np.ndarray:
    """In weeks whose hours are as long as they are busy, in all weeks together; of few dates, as hours and weekdays are."""
    week, within = np.divmod(days + 3, 7)  # 1970 began on a Thursday
    busy = np.bincount(np.minimum((within * 24).astype(np.int64), _HOURS - 1), minlength=_HOURS).reshape(7, 24)
    product = np.outer(busy.sum(axis=1) + 1.0, busy.sum(axis=0) + 1.0)
    busy = busy + _PRIOR * product * _HOURS / product.sum()
    past = np.concatenate([[0.0], np.cumsum(busy.ravel() / busy.sum())])
    return np.asarray(week + np.interp(within * 24, np.arange(_HOURS + 1), past))
