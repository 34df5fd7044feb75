"""What a member of a stack is taken to say where it is not heard: what the other members let one expect.

Some have nothing to say of some nodes. And a network weighs a node's own attributes against its neighbours'. Where there are none,
its own count for many times what they did at the nodes that it learned from, and few or no labels show what then comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import nnls

from calirare.detectors.base import LabelledNodes, State
from calirare.detectors.left_out.loss import loss_by_class
from calirare.detectors.stored import need, numbers

_BEYOND_DOUBT = 5.0
"""In nats, odds of 150 to 1. A network that is heard where it did not learn costs more than one that is silent where it knows,
and a handful of labels can speak for it by luck."""


@dataclass(frozen=True, eq=False)
class Silence:
    """Logits of K members, from those that they give: z ↦ Mz + s wherever one of them is not heard.

    A network that is not heard is so at nodes without edges, another member where it has nothing to say. Who is always heard has
    its row of the identity and no shift; the others have no say in anybody's row.

    Args:
        mixture: M `(K, K)`.
        shift: s `(K, C)`.
        nothing: `(K, C)` the logits of a member that has nothing to say; NaN for those that always speak.
    """

    mixture: np.ndarray
    shift: np.ndarray
    nothing: np.ndarray

    @classmethod
    def learn(
        cls, left_out: np.ndarray, labels: LabelledNodes, alone: np.ndarray, networks: np.ndarray, nothing: np.ndarray
    ) -> Self:
        """Networks are silent, unless left-out labels are likelier beyond doubt with what they say of nodes without edges.

        What to expect of a member is the regression of its left-out logits on those of the members that are always heard,
        where it is heard itself. Networks are heard where most labels have no edges, for then it is such nodes that they
        learned from, and where nobody else is.

        Args:
            left_out: `(n, K, C)` left-out logits.
            labels: The labels.
            alone: `(n,)` whether a labelled node has no edges.
            networks: `(K,)` which members are networks.
            nothing: `(K, C)` the logits of a member that has nothing to say; NaN for those that always speak.
        """
        n, size, num_classes = left_out.shape
        found = cls(np.eye(size), np.zeros((size, num_classes)), nothing)
        quiet = ~np.isnan(nothing[:, 0])
        if (networks | quiet).all() or 2 * alone.sum() > n:
            networks = np.zeros(size, dtype=bool)
        always = ~(networks | quiet)
        for k in np.flatnonzero(quiet).tolist() if always.any() else ():
            found.mixture[k], found.shift[k] = _expected(
                left_out[(left_out[:, k] != nothing[k]).any(axis=1)], k, always
            )
        for k in np.flatnonzero(networks).tolist():
            found.mixture[k], found.shift[k] = _expected(left_out[~alone], k, always)
            if alone.any():
                gain = loss_by_class(found(left_out, alone)[:, k], labels.y) - loss_by_class(left_out[:, k], labels.y)
                if n * gain > _BEYOND_DOUBT:
                    found.mixture[k], found.shift[k] = np.eye(size)[k], 0.0
        return found

    @property
    def silent(self) -> np.ndarray:
        """`(K,)` who is not heard somewhere."""
        return np.diag(self.mixture) == 0

    def unheard(self, logits: np.ndarray, alone: np.ndarray) -> np.ndarray:
        """`(N, …, K)` bool: who is not heard of logits `(N, …, K, C)`, at nodes that are `(N,)` without edges or not."""
        alone = alone.reshape(-1, *(1,) * (logits.ndim - 2))
        says_nothing = (logits == self.nothing).all(axis=-1)
        return self.silent & np.where(np.isnan(self.nothing[:, 0]), alone, says_nothing)

    def __call__(self, logits: np.ndarray, alone: np.ndarray) -> np.ndarray:
        """`(N, …, K, C)`: the same logits, with those of members that are not heard replaced."""
        if not self.silent.any():
            return logits
        unheard = self.unheard(logits, alone)
        if not unheard.any():
            return logits
        changed = logits.copy()
        for j in np.flatnonzero(self.silent).tolist():
            here, heard = unheard[..., j], np.flatnonzero(self.mixture[j]).tolist()
            changed[..., j, :][here] = sum(self.mixture[j, k] * logits[..., k, :][here] for k in heard) + self.shift[j]
        return changed

    def weights(self, weights: np.ndarray, unheard: np.ndarray) -> np.ndarray:
        """`(n, K)`: how far each member is heard at some nodes, of weights `(K,)` for where all are."""
        return weights * ~unheard + (weights * unheard) @ self.mixture

    def state(self) -> State:
        return {"mixture": self.mixture, "shift": self.shift}

    @classmethod
    def restore(cls, state: State, nothing: np.ndarray) -> Self:
        size, num_classes = nothing.shape
        mixture, shift = (numbers(state, name, 2, size=size) for name in ("mixture", "shift"))
        need((mixture.shape[1], shift.shape[1]) == (size, num_classes), "what silent members are taken to say")
        return cls(mixture, shift, nothing)


def _expected(left_out: np.ndarray, k: int, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes `(K,)`, none below zero, and shift `(C,)` that give member k's logits from the others' by least squares."""
    centred = left_out - left_out.mean(axis=2, keepdims=True)
    middle = centred.mean(axis=0)
    columns = (centred - middle)[:, others].transpose(0, 2, 1).reshape(-1, int(others.sum()))
    slopes = np.zeros(len(others))
    slopes[others] = nnls(columns, (centred - middle)[:, k].ravel())[0]
    return slopes, middle[k] - slopes @ middle
