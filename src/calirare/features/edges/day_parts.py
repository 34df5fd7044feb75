"""Parts of the day and of the week: calls at night, payments at weekends."""

from __future__ import annotations

import numpy as np

DAY = 86_400.0
"""Seconds."""
_FEWEST = 0.02
"""Share of the times that a part must have, and leave to others, before it is told apart."""
_SURELY = 3.0
"""Standard deviations of chance."""
_QUARTERS = ("0 to 6 h", "6 to 12 h", "12 to 18 h", "18 to 24 h")
_WEEKEND = "weekend"
DAY_PARTS = (*_QUARTERS, _WEEKEND)


def vary_by_day(times: np.ndarray, ends: np.ndarray) -> tuple[str, ...]:
    """The parts of which some nodes' times have a larger share than others', beyond chance; hours of dates alone say nothing.

    Of a node with n times of which k lie in a part, k(k − 1)/n(n − 1) − 2pk/n + p² is its share less that of all, p, squared, but for
    chance, whose variance is 2p²(1 − p)²/n(n − 1).

    Args:
        times: `(E,)` seconds since 1970, none missing.
        ends: `(2, E)` the nodes at either end, which are looked at apart.

    >>> hour, by_day = 3600.0, np.tile([9.0, 11.0, 10.0], 8)
    >>> callers = np.repeat(np.arange(8), 3)
    >>> times = hour * np.where(callers < 3, by_day - 8, by_day)
    >>> vary_by_day(times, np.vstack([callers, callers + 8]))
    ('0 to 6 h', '6 to 12 h')
    """
    found = ((part, in_part(times, part)) for part in DAY_PARTS if times.size)
    some = ((part, there) for part, there in found if _FEWEST <= there.mean() <= 1 - _FEWEST)
    return tuple(part for part, there in some if any(_differ(there, node) for node in ends))


def _differ(there: np.ndarray, node: np.ndarray) -> bool:
    """Whether the shares of nodes differ surely."""
    count = np.bincount(node)
    several = count > 1
    k, n, p = np.bincount(node, weights=there)[several], count[several], there.mean()
    pairs = (n * (n - 1)).astype(np.float64)
    apart = k * (k - 1) / pairs - 2 * p * k / n + p * p
    return bool(apart.sum() > _SURELY * p * (1 - p) * np.sqrt((2 / pairs).sum()))


def in_part(times: np.ndarray, part: str) -> np.ndarray:
    """`(E,)` bool: which times lie in a part; none where a time is missing.

    >>> in_part(np.array([3600.0, np.nan]), "0 to 6 h").tolist()
    [True, False]
    """
    days, seconds = np.divmod(times, DAY)
    if part == _WEEKEND:
        return np.asarray((days + 3) % 7 >= 5)  # 1970 began on a Thursday
    return np.asarray(seconds // (DAY / 4) == _QUARTERS.index(part))
