"""What one network says, in the words of another: every node keeps its rank.

Networks that were trained on other labels may speak in other units, far larger ones at times where they add up their
neighbours, and no two of their curves bend alike. One map for all of them would count that as error, and it is the network of
all labels that the map is for. So what a network says is read by its rank among nodes that neither was trained on. Unit and
level are no evidence (`calirare.detectors.left_out.level`); the rank is.
"""

from __future__ import annotations

import numpy as np

_STEPS = 100
_LOUDEST = 3.0
"""A network that hardly tells nodes apart has collapsed, and is not made louder than this where there are no ranks."""


def curve(logits: np.ndarray) -> np.ndarray:
    """`(K, C)`: where the logits `(N, C)` of each class lie against the mean of all classes, from the least to the largest.

    >>> curve(np.array([[1.0, 3.0], [2.0, 2.0], [5.0, 5.0]]))[[0, 50, 100]].tolist()
    [[-1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    return np.asarray(np.quantile(_centred(logits), np.linspace(0, 1, _STEPS + 1), axis=0))


def same_rank(logits: np.ndarray, own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Logits `(…, C)` of a network with the curve `own`, moved to where those of the same rank lie on the curve `other`.

    Beyond the ends, where there are no ranks, in the unit of the other: as far as its curve rises over the middle four fifths.
    Nodes that one network cannot tell apart get the middle of those that the other does.

    >>> one, other = np.array([[-1.0, -2.0], [0.0, 0.0], [2.0, 1.0]]), np.array([[-2.0, -4.0], [0.0, 0.0], [4.0, 2.0]])
    >>> same_rank(np.array([[-0.5, 0.5], [-2.5, 2.5]]), one, other).tolist()
    [[-1.0, 1.0], [-5.0, 5.0]]
    """
    moved = _centred(logits)
    for c, (from_, to) in enumerate(zip(own.T, other.T, strict=True)):
        knots, place = np.unique(from_, return_inverse=True)
        inside = np.clip(moved[..., c], knots[0], knots[-1])
        there = np.interp(inside, knots, np.bincount(place, to) / np.bincount(place))
        louder = min(_unit(to) / (_unit(from_) or np.inf), _LOUDEST)
        moved[..., c] = there + louder * (moved[..., c] - inside)
    return moved


def _unit(rises: np.ndarray) -> float:
    return float(np.subtract(*np.quantile(rises, [0.9, 0.1])))


def _centred(logits: np.ndarray) -> np.ndarray:
    return np.asarray(logits - logits.mean(axis=-1, keepdims=True))
