"""What other nodes have in a column, and where a value lies among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calirare.decisions.numbers import is_code, say_share

_ALIKE = 0.1
"""Share of nodes with the same value from which that is worth telling."""


@dataclass(frozen=True, eq=False)
class Others:
    """The values of other nodes, ascending, and whether the column only says yes or no."""

    values: np.ndarray
    is_mark: bool

    @cached_property
    def median(self) -> float:
        return float(np.median(self.values))

    @cached_property
    def noise(self) -> float:
        """By how much equal values may differ: standardising and back, and a mean of equal ones, cost a few bits."""
        return 1e-6 * float(max(abs(self.values.mean()), abs(self.median)))

    @cached_property
    def are_codes(self) -> bool:
        """Years, or codes."""
        return is_code(self.values)

    @property
    def vary(self) -> bool:
        return bool(self.values.size) and bool(self.values[-1] - self.values[0] > self.noise)

    def snap(self, value: float) -> float:
        """The value, or zero where it differs from it by what standardising and back leaves."""
        return value if abs(value) > 1e-6 * max(abs(self.values[0]), abs(self.values[-1])) else 0.0

    def below(self, value: float) -> float:
        """Share of the others with a smaller value, counting half of the equal ones."""
        return sum(self._ranks(value)) / 2 / max(self.values.size, 1)

    def rank(self, value: float) -> str:
        """`above 98% of nodes`, or `as at 40% of nodes` for the median where so many have it."""
        low, high = self._ranks(value)
        alike = (high - low) / max(self.values.size, 1)
        if alike >= _ALIKE and self.is_median(value):
            return "as at all nodes" if alike == 1 else f"as at {say_share(alike)} of nodes"
        below = self.below(value)
        return f"above {say_share(below)} of nodes" if below >= 0.5 else f"below {say_share(1 - below)} of nodes"

    def is_median(self, value: float) -> bool:
        """Whether a value is the median, up to rounding."""
        return bool(self.values.size) and abs(value - self.median) <= self.noise

    def _ranks(self, value: float) -> tuple[int, int]:
        """How many have a smaller value, and how many no larger one."""
        low = np.searchsorted(self.values, value - self.noise, "left")
        return int(low), int(np.searchsorted(self.values, value + self.noise, "right"))
