"""Parts of the day and of the week: calls at night, payments at weekends."""

from __future__ import annotations

import numpy as np

_DAY = 86_400
_FEWEST = 0.02
"""Share of the times that a part must have, and leave to others, before it is told apart."""
_QUARTERS = ("0 to 6 h", "6 to 12 h", "12 to 18 h", "18 to 24 h")
_WEEKEND = "weekend"
DAY_PARTS = (*_QUARTERS, _WEEKEND)


def vary_by_day(times: np.ndarray) -> tuple[str, ...]:
    """The parts that some of these times lie in and others do not; none of the day where all are dates.

    Args:
        times: `(E,)` seconds since 1970, none missing.

    >>> hour, day = 3600.0, 86_400.0
    >>> vary_by_day(np.array([1 * hour, 13 * hour, 14 * hour])), vary_by_day(np.array([0 * day, 2 * day]))
    (('0 to 6 h', '12 to 18 h'), ('weekend',))
    """
    shares = ((part, in_part(times, part).mean()) for part in DAY_PARTS if times.size)
    return tuple(part for part, share in shares if _FEWEST <= share <= 1 - _FEWEST)


def in_part(times: np.ndarray, part: str) -> np.ndarray:
    """`(E,)` bool: which times lie in a part; none where a time is missing.

    >>> in_part(np.array([3600.0, np.nan]), "0 to 6 h").tolist()
    [True, False]
    """
    days, seconds = np.divmod(times, _DAY)
    if part == _WEEKEND:
        return np.asarray((days + 3) % 7 >= 5)  # 1970 began on a Thursday
    return np.asarray(seconds // (_DAY / 4) == _QUARTERS.index(part))
