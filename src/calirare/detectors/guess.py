"""What the neighbours of a node without edges would be like: guessed from the node's own columns.

Where there are no neighbours, the columns that speak of them hold the population's means. A model that leans on neighbours
would then say of every such node what it says of the average one, although its own columns tell something: who pays at night
usually pays people who do. So the scores of these columns are what a ridge regression on the own ones expects, learned from
nodes with edges, without labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calirare.detectors.base import State
from calirare.detectors.squash import Squash
from calirare.detectors.stored import need, numbers, whole
from calirare.features.columns import Columns
from calirare.features.structure import DEGREE

_MOST_SEEN = 1_024
_RIDGE = 1.0


@dataclass(frozen=True, eq=False)
class NeighboursGuess:
    """Of the columns that a design reads: which are guessed, and how.

    Args:
        degree: The place of the degree among all columns.
        own: Places of the node's own columns among those read.
        told: Places of the columns that speak of neighbours.
        middle: `(D,)` mean scores of nodes with edges.
        turn: `(own, told)` by how much a score moves with an own one.
    """

    degree: int
    own: np.ndarray
    told: np.ndarray
    middle: np.ndarray
    turn: np.ndarray

    @classmethod
    def learn(cls, columns: Columns, squash: Squash, seed: int) -> Self | None:
        """From nodes drawn at random; None where there is nothing to guess, or nothing to guess from."""
        groups = np.asarray(columns.groups)
        own, told = np.flatnonzero(groups == "own"), np.flatnonzero(groups == "neighbours")
        if DEGREE not in columns.names or not (own.size and told.size):
            return None
        degree = columns.names.index(DEGREE)
        rows = np.random.default_rng(seed).permutation(len(columns.values))[:_MOST_SEEN]
        rows = np.sort(rows[columns.values[rows, degree] > 0])
        if not rows.size:
            return None
        scores = squash(columns.values[rows])
        middle = scores.mean(axis=0)
        x, y = scores[:, own] - middle[own], scores[:, told] - middle[told]
        turn = np.linalg.solve(x.T @ x + _RIDGE * np.eye(own.size), x.T @ y)
        return cls(degree, own, told, middle, turn)

    def take(self, dense: np.ndarray) -> NeighboursGuess:
        """For a design that reads some of the columns, the own ones among them."""
        kept = np.isin(self.told, dense)
        own, told = np.searchsorted(dense, self.own), np.searchsorted(dense, self.told[kept])
        return replace(self, own=own, told=told, middle=self.middle[dense], turn=self.turn[:, kept])

    def alone(self, values: np.ndarray) -> np.ndarray:
        """Which rows of all columns `(n, …)` are of nodes without edges."""
        return np.flatnonzero(values[:, self.degree] == 0)

    def __call__(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Scores `(n, D)` of rows `values` of all columns, those of nodes without edges guessed; changed in place."""
        rows = self.alone(values)
        if rows.size and self.told.size:
            away = scores[np.ix_(rows, self.own)] - self.middle[self.own]
            scores[np.ix_(rows, self.told)] = self.middle[self.told] + away @ self.turn
        return scores

    def to_own(self, scores: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What was guessed of neighbours' columns, as said by the own columns of a node without edges and by themselves.

        Args:
            scores: `(D,)` of the node.
            theta: `(D, K)` what a score counts.

        Returns:
            `(own, K)` to be added to the own columns, and `(told, K)` to be taken off the neighbours'.
        """
        away, told = (scores - self.middle)[self.own], theta[self.told]
        return away[:, None] * (self.turn @ told), (away @ self.turn)[:, None] * told

    def state(self) -> State:
        return {"degree": self.degree, "own": self.own, "told": self.told, "middle": self.middle, "turn": self.turn}

    @classmethod
    def restore(cls, state: State, num_columns: int, size: int) -> Self:
        """Of a design that reads `size` of `num_columns` columns."""
        degree, own, told = whole(state, "degree"), *(numbers(state, name, 1, kind="i") for name in ("own", "told"))
        need(degree < num_columns, "the place of the degree")
        for places in (own, told):
            need(not places.size or bool(0 <= places.min() and places.max() < size), "which columns are guessed")
        turn = numbers(state, "turn", 2)
        need(turn.shape == (own.size, told.size), "how columns are guessed")
        return cls(degree, own, told, numbers(state, "middle", 1, size=size), turn)
