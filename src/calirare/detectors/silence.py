"""What a network is taken to say of nodes without edges: what the other members of its stack let one expect.

A network weighs a node's own attributes against its neighbours'. Where there are none, its own count for many times what
they did at the nodes that it learned from, and few or no labels show what then comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import nnls

from calirare.detectors.base import LabelledNodes, State
from calirare.detectors.logistic import loss_by_class
from calirare.detectors.stored import need, numbers

_BEYOND_DOUBT = 5.0
"""In nats, odds of 150 to 1: a network that is heard where it did not learn costs more than one that is silent where it knows,
and a handful of labels can speak for it by luck."""


@dataclass(frozen=True, eq=False)
class Silence:
    """Logits of K members at a node without edges, from those that they give: z ↦ Mz + s.

    A member that is heard has its row of the identity and no shift; one that is silent has no say in anybody's row.

    Args:
        mixture: M `(K, K)`.
        shift: s `(K, C)`.
    """

    mixture: np.ndarray
    shift: np.ndarray

    @classmethod
    def learn(cls, left_out: np.ndarray, labels: LabelledNodes, alone: np.ndarray, networks: np.ndarray) -> Self:
        """Networks are silent, unless left-out labels are likelier beyond doubt with what they say of nodes without edges.

        What to expect of a network is the regression of its left-out logits on those of the other members, where there
        are edges. Networks are heard where most labels have none, for then it is such nodes that they learned from.

        Args:
            left_out: `(n, K, C)` left-out logits.
            labels: The labels.
            alone: `(n,)` whether a labelled node has no edges.
            networks: `(K,)` which members are networks.
        """
        n, size, num_classes = left_out.shape
        found = cls(np.eye(size), np.zeros((size, num_classes)))
        if networks.all() or 2 * alone.sum() > n:
            return found
        for k in np.flatnonzero(networks).tolist():
            found.mixture[k], found.shift[k] = _expected(left_out[~alone], k, ~networks)
            if alone.any():
                gain = loss_by_class(found(left_out, alone)[:, k], labels.y) - loss_by_class(left_out[:, k], labels.y)
                if n * gain > _BEYOND_DOUBT:
                    found.mixture[k], found.shift[k] = np.eye(size)[k], 0.0
        return found

    @property
    def silent(self) -> np.ndarray:
        """`(K,)` who is not heard."""
        return np.asarray(np.diag(self.mixture) == 0)

    def __call__(self, logits: np.ndarray, alone: np.ndarray) -> np.ndarray:
        """`(N, …, K, C)`: the same logits, but for those of silent members at nodes `(N,)` without edges."""
        if not (self.silent.any() and alone.any()):
            return logits
        changed = logits.copy()
        changed[alone] = np.einsum("jk,...kc->...jc", self.mixture, logits[alone]) + self.shift
        return changed

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """`(K,)`: how far each member is heard at a node without edges, of weights for all others."""
        return np.asarray(weights @ self.mixture)

    def state(self) -> State:
        return {"mixture": self.mixture, "shift": self.shift}

    @classmethod
    def restore(cls, state: State, size: int, num_classes: int) -> Self:
        mixture, shift = (numbers(state, name, 2, size=size) for name in ("mixture", "shift"))
        need((mixture.shape[1], shift.shape[1]) == (size, num_classes), "what silent members are taken to say")
        return cls(mixture, shift)


def _expected(left_out: np.ndarray, k: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes `(K,)`, none below zero, and shift `(C,)` that give member k's logits from the others' by least squares."""
    centred = left_out - left_out.mean(axis=2, keepdims=True)
    middle = centred.mean(axis=0)
    columns = (centred - middle)[:, others].transpose(0, 2, 1).reshape(-1, int(others.sum()))
    slopes = np.zeros(len(others))
    slopes[others] = nnls(columns, (centred - middle)[:, k].ravel())[0]
    return slopes, middle[k] - slopes @ middle
