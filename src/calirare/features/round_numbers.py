"""How round a node's own numbers are: a stated income of 50,000 beside one of 48,317.

Told by the zeros at their end, where more numbers than one in a hundred, beyond chance, end in two or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.data.arrays import column_of
from calirare.features.edges.node_numbers import NodeNumber

ZEROS = ", zeros at its end"
_MOST_ZEROS = 6
_SINGLE = 2.0**-23
"""What is kept in single precision is right to half of this share of it."""
_SURE = 0.05
"""Share of a unit that single precision may blur for its multiples to be told."""
_UNITS = tuple(10.0**k for k in range(4, -5, -1))
_ALL_MULTIPLES = 0.99
_LONG = 1_000
"""Times its unit: so long a number has room for zeros."""
_MOSTLY = 0.5
_FEWEST_DIFFERENT = 100
"""Numbers: of a few a tree looks at each."""
_SOME_NODES = 20_000
"""Of which it is seen what tells something."""


@dataclass(frozen=True)
class RoundNumber:
    """A number whose zeros are told.

    Args:
        number: The attribute.
        unit: In which nearly all nodes' numbers are whole, a power of ten.
    """

    number: NodeNumber
    unit: float

    def zeros(self, x: Any) -> np.ndarray:
        """`(N,)` how many zeros each number ends in, counted in units; NaN where it is missing.

        >>> pay = RoundNumber(NodeNumber("pay", 0, -1, 0.0, 1.0), 1.0)
        >>> pay.zeros(np.array([[48_317.0], [50_000.0], [120.0], [0.0]])).tolist()
        [0.0, 4.0, 1.0, 0.0]
        """
        values, found = self.number.values(x), np.zeros(x.shape[0])
        for zeros in range(1, _MOST_ZEROS + 1):
            unit = self.unit * 10.0**zeros
            found[_multiples(values, unit, _blur(self.number, x)) & (np.abs(values) > unit / 2)] = zeros
        return np.where(np.isnan(values), np.nan, found)


def find_round(numbers: Iterable[NodeNumber], x: Any) -> tuple[RoundNumber, ...]:
    """Those among these numbers."""
    found, x = [], x[:: max(1, -(-x.shape[0] // _SOME_NODES))]
    for number in numbers:
        values, blur = number.values(x), _blur(number, x)
        known = ~np.isnan(values) & (values != 0)
        if np.unique(values[known]).size < _FEWEST_DIFFERENT:
            continue
        units = (unit for unit in _UNITS if _multiples(values, unit, blur)[known].mean() >= _ALL_MULTIPLES)
        told = RoundNumber(number, next(units, 0.0))
        long = known & (np.abs(values) >= _LONG * told.unit)
        count = int(long.sum()) if told.unit else 0
        if count < _MOSTLY * known.sum():
            continue
        twice = int((told.zeros(x)[long] >= 2).sum())
        if 0.01 * count + 5 * np.sqrt(0.01 * count) + 3 < twice < count:
            found.append(told)
    return tuple(found)


def round_columns(told: Sequence[RoundNumber], x: Any) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` zeros by name."""
    for one in told:
        yield one.number.name + ZEROS, one.zeros(x)


def _blur(number: NodeNumber, x: Any) -> np.ndarray:
    return _SINGLE * np.abs(column_of(x, number.at)) * number.scale


def _multiples(values: np.ndarray, unit: float, blur: np.ndarray) -> np.ndarray:
    """Which values are multiples of a unit, as far as single precision tells."""
    apart = np.abs(values - np.round(values / unit) * unit)
    return (apart <= blur + 1e-9 * unit) & (blur <= _SURE * unit)
