"""What 0.11 took the neighbours of a node without edges to be like, so that its models say what they said.

The scores of columns that speak of neighbours are what a ridge regression on the node's own ones expects. Since then such
nodes have a regression of their own (`Linear.own_`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from calirare.data.arrays import all_below
from calirare.detectors.base import State
from calirare.detectors.stored import need, numbers, whole


@dataclass(frozen=True, eq=False)
class NeighboursGuess:
    """Which of the columns that a design reads are guessed, and how.

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

    def __call__(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Scores `(n, D)` of rows `values` of all columns, those of nodes without edges guessed; changed in place."""
        rows = np.flatnonzero(values[:, self.degree] == 0)
        if rows.size and self.told.size:
            away = scores[np.ix_(rows, self.own)] - self.middle[self.own]
            scores[np.ix_(rows, self.told)] = self.middle[self.told] + away @ self.turn
        return scores

    def state(self) -> State:
        return {"degree": self.degree, "own": self.own, "told": self.told, "middle": self.middle, "turn": self.turn}

    @classmethod
    def restore(cls, state: State, num_columns: int, size: int) -> Self:
        """For a design that reads `size` of `num_columns` columns."""
        degree, own, told = whole(state, "degree"), *(numbers(state, name, 1, kind="i") for name in ("own", "told"))
        need(degree < num_columns, "the place of the degree")
        for places in (own, told):
            need(all_below(places, size), "which columns are guessed")
        turn = numbers(state, "turn", 2)
        need(turn.shape == (own.size, told.size), "how columns are guessed")
        return cls(degree, own, told, numbers(state, "middle", 1, size=size), turn)
