"""Plain values that users pass and that files hold, checked without loading an array library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

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


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether it is a whole number, and no truth value.

    >>> is_whole(2), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return not isinstance(value, bool) and isinstance(value, Integral)


def are_texts(values: Any) -> TypeGuard[Sequence[str]]:
    """Whether it is a list of texts.

    >>> are_texts(["a", "b"]), are_texts("ab"), are_texts([1])
    (True, False, False)
    """
    return isinstance(values, list | tuple) and all(isinstance(one, str) for one in values)


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
    if not is_whole(value) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more; got {value!r}.")
    if most is not None and value > most:
        raise InputError(f"{name} must be at most {most:,}; got {value!r}.")
    return int(value)
