"""Numbers and moments at every border where the way of writing them changes."""

from __future__ import annotations

import pytest

from calirare.decisions.numbers import say_day, say_number, say_share, say_time


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (0.0, "0"), (1.0, "1"), (-3.0, "-3"), (1e9, "1,000,000,000"), (1e15, "1e+15"), (9e14, "900,000,000,000,000"),
        (0.5, "0.5"), (1.5, "1.5"), (99.456, "99.5"), (12.3456, "12.3"), (100.456, "100.46"), (100.5, "100.5"), (-250.25, "-250.25"),
        (1e9 + 0.5, "1,000,000,000"), (2e9 + 5e3 + 0.4, "2,000,005,000"), (1e6 + 0.5, "1,000,000"),
        (999_999.5, "1,000,000"), (100_000.5, "100,000.5"), (1e-3, "0.001"), (0.00099, "0.00099"), (-2e-5, "-2e-05"), (0.12345, "0.123"),
        (2.0000001, "2"), (1.0001, "1"), (1.001, "1"), (1.01, "1.01"),
    ],
)  # fmt: skip
def test_numbers(x, said):
    assert say_number(x) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (999_999.0, "999,999"), (1e6, "1970-01-12 13:46:40"), (-1e6, "1969-12-20 10:13:20"),
        (1_699_920_000.0, "2023-11-14"), (1_699_920_001.0, "2023-11-14 00:00:01"), (1e20, "1e+20"), (-12.0, "-12"),
    ],
)  # fmt: skip
def test_moments(seconds, said):
    assert say_time(seconds) == said


@pytest.mark.parametrize(
    ("days", "said"),
    [(19_127.0, "2022-05-15"), (19_127.5, "2022-05-15 12:00"), (19_127 + 3 / 1440, "2022-05-15 00:03"), (19_127 - 1 / 1440, "2022-05-15"), (0.25, "21,600")],
)  # fmt: skip
def test_days(days, said):
    assert say_day(days) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0.1%"), (0.0005, "0.1%"), (0.004, "0.4%"), (0.0099, "1.0%"), (0.01, "1%"), (0.5, "50%"), (0.99, "99%"),
        (0.9901, "99.0%"), (0.996, "99.6%"), (1.0, "99.9%"),
    ],
)  # fmt: skip
def test_shares(share, said):
    assert say_share(share) == said
