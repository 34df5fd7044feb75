"""Numbers that say when: so many seconds, or fractions of one, since 1970."""

from __future__ import annotations

import logging

import numpy as np

logger = logging.getLogger(__name__)

_FIRST, _LAST = 631_152_000, 4_102_444_800
"""1990 to 2100. The units are so far apart that a number is a moment of these days in one of them at most."""
_UNITS = {1.0: "seconds", 1e-3: "milliseconds", 1e-6: "microseconds", 1e-9: "nanoseconds"}


def unit_of_time(number: float) -> float | None:
    """The unit, in seconds, in which a number is a moment of our days; None where there is none.

    >>> [unit_of_time(number) for number in (1_767_797_415, 1_767_797_415_829, 12)]
    [1.0, 0.001, None]
    """
    return next((unit for unit in _UNITS if _FIRST < number * unit < _LAST), None)


def in_seconds(numbers: np.ndarray, unit: float, name: str) -> np.ndarray:
    """Numbers times `unit`; those that are moments of our days in another unit alone are read in that one, with a word.

    >>> in_seconds(np.array([1_767_797_415.0, 1_767_797_415_829.0, 12.0]), 1.0, "start").tolist()
    [1767797415.0, 1767797415.829, 12.0]
    """
    seconds = numbers * unit
    far = ~((_FIRST < seconds) & (seconds < _LAST))
    for other, word in _UNITS.items():
        found = far & (_FIRST < numbers * other) & (numbers * other < _LAST)
        if found.any():
            seconds[found] = numbers[found] * other
            usual = f"in {_UNITS[unit]}" if unit in _UNITS else "as at the fit"
            logger.warning(
                "column %r: %d of %d times are read in %s; the column is %s.",
                name, int(found.sum()), int((~np.isnan(numbers)).sum()), word, usual,
            )  # fmt: skip
    return seconds
