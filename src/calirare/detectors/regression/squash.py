"""Columns with heavy tails on a common scale: each value's place among those seen, as a normal score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from calirare.detectors.stored import need, numbers

_KNOTS = 64
_MOST_SEEN = 4_096
_SAME = 1e-6
"""Values that differ by less, relative to their size or the median, are equal: means summed in another order differ so."""
_FEW = 4
"""Up to this many rows are looked up one by one, all columns at once."""


@dataclass(frozen=True, eq=False)
class Squash:
    """Monotone, piecewise linear, flat beyond what was seen: an outlier counts as the largest value known.

    A value that many share has the middle of their ranks, so that a column of zeros and ones stays one.

    Args:
        knots: `(D, K)` values, ascending.
        scores: `(D, K)` their normal scores.

    >>> squash = Squash.learn(np.array([[0.0], [0.0], [1.0], [100.0]]), seed=0)
    >>> squash(np.array([[0.0], [1.0], [100.0], [1e9]])).round(2).ravel().tolist()
    [-0.67, 0.32, 1.15, 1.15]
    """

    knots: np.ndarray
    scores: np.ndarray

    @classmethod
    def learn(cls, values: np.ndarray, seed: int) -> Self:
        """From rows drawn at random, without labels."""
        seen = values
        if len(values) > _MOST_SEEN:
            seen = values[np.sort(np.random.default_rng(seed).permutation(len(values))[:_MOST_SEEN])]
        places = np.unique(np.linspace(0, len(seen) - 1, _KNOTS).round().astype(np.int64))
        columns = seen.T.copy()  # before it is sorted: so that takes a third of the time
        columns.sort(axis=1)
        knots = columns[:, places]
        size = np.abs(knots, dtype=np.float64)
        near = (_SAME * np.maximum(size, np.median(size, axis=1, keepdims=True))).astype(knots.dtype)
        from_below = [column.searchsorted(least) for column, least in zip(columns, knots - near, strict=True)]
        to_above = [column.searchsorted(most, "right") for column, most in zip(columns, knots + near, strict=True)]
        ranks = np.reshape(from_below, knots.shape) + np.reshape(to_above, knots.shape)
        scores = ndtri(ranks / (2 * len(seen)))
        return cls(knots.astype(np.float64), scores)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Normal scores, float64."""
        if len(values) <= _FEW:
            return np.array([self._of_one(row) for row in values]).reshape(values.shape)
        columns = np.ascontiguousarray(values.T)
        found = np.empty(columns.shape)
        for k, column in enumerate(columns):
            found[k] = np.interp(column, self.knots[k], self.scores[k])
        return found.T

    def _of_one(self, row: np.ndarray) -> np.ndarray:
        """All columns of one row at once; what `np.interp` says of each."""
        columns, last = np.arange(len(row)), self.knots.shape[1] - 1
        at = np.minimum((self.knots <= row[:, None]).sum(axis=1) - 1, last - 1)
        inside = (at >= 0) & (row < self.knots[:, -1])
        at, to = np.maximum(at, 0), np.minimum(np.maximum(at, 0) + 1, last)
        run, rise = (
            self.knots[columns, to] - self.knots[columns, at],
            self.scores[columns, to] - self.scores[columns, at],
        )
        slope = np.divide(rise, run, out=np.zeros(len(row)), where=inside)
        between = slope * (row - self.knots[columns, at]) + self.scores[columns, at]
        beyond = np.where(row < self.knots[:, 0], self.scores[:, 0], self.scores[:, -1])
        return np.where(inside, between, beyond)

    def take(self, columns: np.ndarray) -> Squash:
        """Some of the columns."""
        return Squash(self.knots[columns], self.scores[columns])

    def state(self) -> dict[str, Any]:
        return {"knots": self.knots, "scores": self.scores}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Squash:
        knots = numbers(state, "knots", 2)
        scores = numbers(state, "scores", 2, size=len(knots))
        need(knots.shape == scores.shape and knots.shape[1] > 0, "knots and scores must match")
        need(bool((np.diff(knots) >= 0).all() and (np.diff(scores) >= 0).all()), "knots must ascend")
        return cls(knots, scores)
