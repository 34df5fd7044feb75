"""Calibration maps, drawn from those that the labels leave open, and what they say of a score together.

`calirare.uncertainty.intervals` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from calirare.data.checks import check_coverage
from calirare.uncertainty.by_degree import degree_group
from calirare.uncertainty.jackknife import Intervals
from calirare.uncertainty.posterior import bent_line, finite_logit

_GRID = 513
"""Points from the smallest probability to the largest; between them the quantiles move less than by the draw."""


@dataclass(frozen=True)
class Drawn:
    """What was done to a calibrated P(rare) before it was said: said odds = odds · (base + keep · (P − base)).

    Args:
        base: The base rate that it was drawn to.
        keep: How much of it was kept; see `calirare.uncertainty.skill`.
        odds: By how much its odds were multiplied for another share of rare nodes.

    >>> Drawn(base=0.1, keep=0.5).scores([0.3]).round(6) == finite_logit([0.5]).round(6)
    array([ True])
    """

    base: float = 0.0
    keep: float = 1.0
    odds: float = 1.0

    def scores(self, probability: Any) -> np.ndarray:
        """`(n,)`: logits of P(rare) as it was before."""
        p = np.asarray(probability, dtype=np.float64)
        if self.odds != 1.0:
            p = p / (p + self.odds * (1 - p))
        return finite_logit(self.base + (p - self.base) / self.keep)


@dataclass(frozen=True, eq=False)
class CalibrationDraws:
    """Calibration maps that the labels leave open, from logit P to logit of the share of rare nodes.

    Args:
        parameters: `(draws, 2 + knots)`: shift, slope and the bends.
        knots: Where the map may bend, in logits.
        undo: What was done to P(rare) after the calibration, and is undone before a map is asked.
        effects: `(draws, groups)` what is added for nodes of each group of degrees; None where no degrees were known.

    >>> certain = CalibrationDraws(np.array([[0.0, 1.0]]))
    >>> certain.probabilities(np.array([0.0, 2.0])).round(3)
    array([[0.5  , 0.881]])
    """

    parameters: np.ndarray
    knots: tuple[float, ...] = ()
    undo: Drawn = Drawn()
    effects: np.ndarray | None = None

    def scores(self, probability: Any) -> np.ndarray:
        """`(n,)`: the logits that the maps are asked at, of P(rare) as it is said."""
        return self.undo.scores(probability)

    def __len__(self) -> int:
        return len(self.parameters)

    def probabilities(self, z: np.ndarray, degree: Any = None) -> np.ndarray:
        """`(draws, n)`: what each draw makes of logits `(n,)`, of nodes with so many neighbours where that is known."""
        line = self.parameters @ bent_line(z, self.knots).T
        if degree is not None and self.effects is not None:
            line += self.effects[:, degree_group(degree)]
        return np.asarray(expit(line))

    def mean(self, probability: Any) -> np.ndarray:
        """`(n,)`: the share of rare nodes at each P, averaged over the draws; nearer to the base rate where labels are few.

        >>> draws = CalibrationDraws(np.array([[-1.0, 1.0], [1.0, 1.0]]))
        >>> draws.mean([0.5, 0.9]).round(3)
        array([0.5  , 0.864])
        """
        points = self._grid
        means = finite_logit(self.probabilities(points).mean(axis=0, keepdims=True))
        return np.asarray(_between(self.scores(probability), points, means)[0])

    def interval(self, probability: Any, coverage: float = 0.9, *, degree: Any = None) -> Intervals:
        """The middle of the draws at each P(rare), `(n,)` each, widened where needed so that it holds P itself.

        With `degree`, the number of neighbours of each node: among nodes that score alike and are as well connected.

        >>> draws = CalibrationDraws(np.column_stack([np.linspace(-1, 1, 101), np.ones(101)]))
        >>> found = draws.interval([0.5], coverage=0.5)
        >>> bool(abs(found.lower[0] - expit(-0.5)) < 1e-3), bool(abs(found.upper[0] - expit(0.5)) < 1e-3)
        (True, True)
        """
        return self.bounds(coverage).of(probability, degree)

    def bounds(self, coverage: float = 0.9) -> Bounds:
        """The same, made ready once for many questions.

        >>> draws = CalibrationDraws(np.column_stack([np.linspace(-1, 1, 101), np.ones(101)]))
        >>> bool((draws.bounds(0.5).of([0.2]).upper == draws.interval([0.2], 0.5).upper).all())
        True
        """
        check_coverage(coverage)
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        points = self._grid
        lines = bent_line(points, self.knots) @ self.parameters.T
        apart = [np.zeros(len(self)), *(() if self.effects is None else self.effects.T)]
        # Quantiles of the logits: a draw that is above another stays above it as a probability.
        ends = np.array([_quantiles(lines + effect, levels) for effect in apart])
        return Bounds(points, ends.clip(points[0], points[-1]), self.undo)

    @property
    def _grid(self) -> np.ndarray:
        """The same whatever nodes are asked about, so that a node is told the same in any company, be they millions.

        Between its points logits are straight lines, as the maps are.
        """
        end = float(finite_logit(1.0))
        return np.unique(np.concatenate([np.linspace(-end, end, _GRID), np.asarray(self.knots).clip(-end, end)]))


@dataclass(frozen=True, eq=False)
class Bounds:
    """The middle of the draws on a grid of scores.

    Args:
        points: Scores, as logits.
        ends: `(1 + groups, 2, points)` logits of the lower and the upper end: of the maps, then of each group of degrees.
        undo: As in `CalibrationDraws`.
    """

    points: np.ndarray
    ends: np.ndarray
    undo: Drawn = Drawn()

    def of(self, probability: Any, degree: Any = None) -> Intervals:
        """The interval at each P(rare), of nodes with so many neighbours, widened where needed so that it holds P itself."""
        p = np.asarray(probability, dtype=np.float64)
        scores, ends = self.undo.scores(p), np.empty((2, *p.shape))
        known = degree is not None and len(self.ends) > 1
        row = 1 + degree_group(degree) if known else np.zeros(p.shape, dtype=np.int64)
        for k in np.unique(row).tolist():
            ends[:, row == k] = _between(scores[row == k], self.points, self.ends[k])
        return Intervals(np.minimum(ends[0], p), np.maximum(ends[1], p))


def _quantiles(rows: np.ndarray, levels: list[float]) -> np.ndarray:
    """`np.quantile` along each row, which it sorts in place: NumPy sorts in less than half the time in which it selects.

    >>> _quantiles(np.array([[3.0, 1.0, 2.0]]), [0.0, 0.75]).tolist()
    [[1.0], [2.5]]
    """
    rows.sort(axis=1)
    at = np.asarray(levels) * (rows.shape[1] - 1)
    below = at.astype(np.int64)
    lower, upper = rows[:, below].T, rows[:, np.minimum(below + 1, rows.shape[1] - 1)].T
    return np.asarray(lower + (at - below)[:, None] * (upper - lower))


def _between(z: np.ndarray, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.array([expit(np.interp(z, points, row)) for row in rows])
