"""Parts of what a number may be: whole sums, multiples of 100, sums that stay just below a limit."""

from __future__ import annotations

import numpy as np

from calirare.features.edges.telling import telling_parts

_UNITS = (1, 10, 100, 1_000, 10_000)
_EXPONENTS = range(7)
_BELOW = 0.9
"""From this share of a limit on, a number is just below it."""
_MULTIPLE, _JUST_BELOW = "a multiple of ", "just below "
NEGATIVE = "negative"
_ALL = (*(f"{_MULTIPLE}{unit:,}" for unit in _UNITS), *(f"{_JUST_BELOW}{10**k:,}" for k in _EXPONENTS))


def vary_by_amount(values: np.ndarray, ends: np.ndarray) -> tuple[str, ...]:
    """The parts of which some nodes' edges have a larger share than others', beyond chance.

    Args:
        values: `(E,)` none missing.
        ends: `(2, E)` the nodes at either end.

    >>> rng = np.random.default_rng(0)
    >>> payer, amount = np.repeat(np.arange(100), 8), rng.uniform(1, 2_000, 800).round(2)
    >>> amount[payer < 5] = 100 * rng.integers(1, 20, 40)
    >>> vary_by_amount(amount, np.stack([payer, rng.permutation(payer)]))
    ('a multiple of 10',)
    """
    return telling_parts(values, ends, _ALL, in_amounts)


def vary_by_sign(values: np.ndarray, ends: np.ndarray) -> bool:
    """Whether some nodes have more negative values than others, beyond chance."""
    return bool(telling_parts(values, ends, (NEGATIVE,), lambda some, _: some < 0))


def in_amounts(values: np.ndarray, part: str) -> np.ndarray:
    """`(E,)` bool: which numbers are in a part; none where a number is missing.

    >>> in_amounts(np.array([-300.0, 250.0, np.nan]), "a multiple of 100").tolist()
    [True, False, False]
    >>> in_amounts(np.array([9_500.0, 10_000.0, 899.0]), "just below 10,000").tolist()
    [True, False, False]
    """
    size, limit = np.abs(values), float(part.rpartition(" ")[2].replace(",", ""))
    if part.startswith(_MULTIPLE):
        times = size / limit
        return np.asarray((size >= limit) & (np.abs(times - np.round(times)) < 1e-9 * np.maximum(times, 1)))
    return np.asarray((size >= _BELOW * limit) & (size < limit))


def is_amount_part(part: str) -> bool:
    """Whether it is the name of one.

    >>> [is_amount_part(part) for part in ("a multiple of 10,000", "just below 100", "just below 7", "x")]
    [True, True, False, False]
    """
    return part in _ALL
