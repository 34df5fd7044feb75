"""Columns by rank, as normal scores: a threshold drawn at random between two values then does not depend on their tails."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calirare.detectors.trees.arrays import LEAF


class NormalScores:
    """Each value's place among those of its column, as a normal score; and thresholds between scores as values again.

    Of amounts, where one is a thousand times the usual, a threshold drawn between the least and the greatest leaves nearly all
    on one side. Equal values share the middle of their ranks. `Squash` scores any node by a few knots; here every value of the
    labelled nodes counts, and thresholds go back to values with the same rows on either side.

    Args:
        rows: `(n, D)` float32, finite.

    >>> table = NormalScores(np.array([[0.0], [1.0], [1.0], [1e6]], dtype=np.float32))
    >>> table.scores.round(2).ravel().tolist()
    [-1.149999976158142, 0.0, 0.0, 1.149999976158142]
    >>> table.values_at(np.array([0]), np.array([-0.575])).round(2).tolist()
    [0.5]
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.scores = np.empty(rows.shape, dtype=np.float32)
        self._steps: list[tuple[np.ndarray, np.ndarray]] = []
        for k, column in enumerate(rows.T):
            values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
            scores = ndtri((np.cumsum(counts) - counts / 2) / len(rows)).astype(np.float32)
            self.scores[:, k] = scores[place]
            self._steps.append((values.astype(np.float64), scores.astype(np.float64)))

    def values_at(self, columns: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Thresholds between scores of these columns as thresholds between values: the same rows lie on either side.

        What belongs to `LEAF`, no column, stays as it is.
        """
        found, order = np.array(thresholds, dtype=np.float64), np.argsort(columns, kind="stable")
        starts = np.flatnonzero(np.diff(columns[order], prepend=LEAF - 1))
        for some in np.split(order, starts[1:]) if order.size else []:
            column = int(columns[some[0]])
            if column != LEAF:
                found[some] = self._between(*self._steps[column], found[some])
        return found

    @staticmethod
    def _between(values: np.ndarray, scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        below = np.clip(np.searchsorted(scores, thresholds, side="right") - 1, 0, len(values) - 2)
        share = (thresholds - scores[below]) / (scores[below + 1] - scores[below])
        drawn = values[below] + share * (values[below + 1] - values[below])
        return np.minimum(drawn, np.nextafter(values[below + 1], -np.inf))  # rounding must not reach the next value
