"""Single numbers that users pass, checked without loading an array library."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from calirare.errors import InputError


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no truth value.

    >>> is_number(0.5), is_number(float("inf")), is_number(True), is_number("1")
    (True, False, False, False)
    """
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def check_share(share: Any, name: str) -> float:
    """`share` as a number between 0 and 1."""
    if not is_number(share) or not 0 < share < 1:
        raise InputError(f"{name} must lie between 0 and 1; got {share!r}.")
    return float(share)


def check_coverage(coverage: Any) -> float:
    """`coverage` as a number between 0 and 1."""
    return check_share(coverage, "coverage")


def check_count(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """`value` as an int of at least `least`, and of at most `most` where memory depends on it."""
    whole = not isinstance(value, bool) and isinstance(value, Integral)
    if not whole or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more; got {value!r}.")
    if most is not None and value > most:
        raise InputError(f"{name} must be at most {most:,}; got {value!r}.")
    return int(value)
