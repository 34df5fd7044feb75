"""Numbers and moments as a person would write them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np


def say_number(x: float) -> str:
    """A number as a person would write it.

    >>> say_number(1234567.0), say_number(0.12345), say_number(3.0), say_number(1e-7), say_number(1234.5)
    ('1,234,567', '0.123', '3', '1e-07', '1,234.5')
    >>> say_number(1e15), say_number(999999999999999.0), say_number(float("-inf"))
    ('1e+15', '999,999,999,999,999', '-inf')
    """
    if x == 0 or (1 <= abs(x) < 1e15 and abs(x - round(x)) < 1e-6 * abs(x)):
        return f"{round(x):,}"
    if abs(x) >= 1e15 or abs(x) < 1e-3:
        return f"{x:.3g}"
    return f"{x:,.2f}".rstrip("0").rstrip(".") if abs(x) >= 100 else f"{x:.3g}"


def say_probability(p: float) -> str:
    """Three decimals; four where three would say nothing, for at high prices small probabilities decide.

    >>> say_probability(0.25), say_probability(0.00034), say_probability(0.9996), say_probability(2e-7)
    ('0.250', '0.0003', '0.9996', '<0.0001')
    """
    if p < 1e-4 or p > 1 - 1e-4:
        return "<0.0001" if p < 0.5 else ">0.9999"
    return f"{p:.3f}" if 1e-3 <= p <= 1 - 1e-3 else f"{p:.4f}"


def say_interval(lower: float, upper: float) -> str:
    """With as many digits as probabilities.

    >>> say_interval(0.0204, 0.0911)
    '0.020 to 0.091'
    """
    return f"{lower:.3f} to {upper:.3f}"


def is_money(values: np.ndarray) -> bool:
    """Whether numbers look like amounts: some have two decimals, none has more.

    >>> is_money(np.array([12.5, 3, 1234.99, np.nan])), is_money(np.array([1.0, 2.5])), is_money(np.array([0.125, 2.25]))
    (True, False, False)
    """
    known = values[np.isfinite(values)]
    cents = np.round(known, 2)
    is_exact = np.abs(known - cents) <= 1e-9 * np.maximum(np.abs(known), 1)
    return bool(is_exact.all() and (cents != np.round(known, 1)).any())


def say_money(x: float) -> str:
    """An amount, so that one stands under another.

    >>> say_money(142081.5), say_money(-3.0)
    ('142,081.50', '-3.00')
    """
    return f"{x:,.2f}"


def is_code(values: np.ndarray) -> bool:
    """Whether numbers look like years or codes: whole, and all of the same number of digits, four or more.

    >>> is_code(np.array([1994.0, 2026, np.nan])), is_code(np.array([10115.0, 80331])), is_code(np.array([950.0, 1200]))
    (True, True, False)
    """
    known = values[np.isfinite(values)]
    if not known.size or known.min() < 999.5 or known.max() >= 1e15:
        return False
    whole = np.round(known)
    # Standardising and back costs a few bits of float32.
    is_whole = np.abs(known - whole) <= 1e-6 * whole
    return bool(is_whole.all() and len(f"{whole.min():.0f}") == len(f"{whole.max():.0f}"))


def say_code(x: float) -> str:
    """A year or a code, without a separator.

    >>> say_code(1994.0), say_code(1994.5)
    ('1994', '1994.5')
    """
    return say_number(x).replace(",", "")


def teller_of(values: np.ndarray) -> Callable[[float], str]:
    """What says the numbers of a column: amounts, years and codes, or others.

    >>> teller_of(np.array([1.25, 3]))(3), teller_of(np.array([1994.0, 2026]))(2026), teller_of(np.array([1, 2026]))(2026)
    ('3.00', '2026', '2,026')
    """
    return say_money if is_money(values) else say_code if is_code(values) else say_number


def say_time(seconds: float) -> str:
    """A moment in UTC, without a time of day that says nothing; small numbers are steps, not seconds since 1970.

    >>> say_time(1_700_000_000.0), say_time(1_699_920_000.0), say_time(12.0)
    ('2023-11-14 22:13:20', '2023-11-14', '12')
    """
    if abs(seconds) < 1e6:
        return say_number(seconds)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return say_number(seconds)
    return f"{moment:%Y-%m-%d}" if not seconds % 86_400 else f"{moment:%Y-%m-%d %H:%M:%S}"


_MIDNIGHT = 2 / 1440


def say_day(days: float) -> str:
    """A moment in days since 1970, to the minute, and a day without one where it is two minutes from midnight at most.

    Standardising and back costs seconds, and a minute where dates lie decades apart.

    >>> say_day(19_127.00003), say_day(19_127.5), say_day(-5_885.0006)
    ('2022-05-15', '2022-05-15 12:00', '1953-11-21')
    """
    if abs(days - round(days)) <= _MIDNIGHT:
        days = round(days)
    said = say_time(60.0 * round(1440 * days))
    return said.removesuffix(":00") if " " in said else said


_UNITS = (("days", 1.0), ("hours", 24.0), ("minutes", 1_440.0), ("seconds", 86_400.0))


def say_duration(days: float, digits: int = 3) -> str:
    """In the largest unit of which there are two, or in seconds.

    >>> say_duration(41.0), say_duration(0.0017), say_duration(-1.5), say_duration(0.0), say_duration(1.51, digits=4)
    ('41 days', '2.45 minutes', '-36 hours', '0 days', '36.24 hours')
    """
    unit, count = next((one for one in _UNITS if abs(days) * one[1] >= 2), _UNITS[-1 if days else 0])
    number = days * count
    return f"{number:,.0f} {unit}" if abs(number) >= 10**digits else f"{number:.{digits}g} {unit}"


def say_share(share: float) -> str:
    """A share in percent, never rounded to all or none.

    >>> say_share(0.9999), say_share(0.0001), say_share(0.5)
    ('99.9%', '0.1%', '50%')
    """
    if 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{min(max(100 * share, 0.1), 99.9):.1f}%"
