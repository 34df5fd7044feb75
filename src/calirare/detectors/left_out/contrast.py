"""Scores of K one-against-rest models as logits of C classes, and the rare class against all others."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, logsumexp


def class_targets(y: np.ndarray, num_classes: int) -> np.ndarray:
    """`(K, n)` 0 or 1: the second class of two, or each class against the rest.

    >>> class_targets(np.array([0, 1]), 2).tolist(), class_targets(np.array([0, 2]), 3).tolist()
    ([[0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    classes = [1] if num_classes == 2 else range(num_classes)
    return np.stack([(y == k).astype(np.float64) for k in classes])


def as_logits(scores: np.ndarray) -> np.ndarray:
    """`(…, C)` logits of `(…, K)` scores; of two classes each has half of the one score.

    >>> as_logits(np.array([[3.0]])).tolist(), as_logits(np.array([[1.0, 2.0, 3.0]])).tolist()
    ([[-1.5, 1.5]], [[1.0, 2.0, 3.0]])
    """
    return np.concatenate([-scores / 2, scores / 2], axis=-1) if scores.shape[-1] == 1 else scores


def against_others(logits: np.ndarray, c: int) -> np.ndarray:
    """`(…)` log P(c) - log P(not c) of `(…, C)` logits.

    >>> round(float(against_others(np.log([0.2, 0.3, 0.5]), 2)), 6)
    0.0
    """
    return np.asarray(logits[..., c] - logsumexp(np.delete(logits, c, axis=-1), axis=-1))


def rare_against_rest(scores: np.ndarray, rare_class: int) -> tuple[np.ndarray, float]:
    """a `(K,)` and b for which log P(rare) - log P(not rare) = aᵀ scores + b, for one node's `(K,)` scores.

    log Σ_k exp z_k = Σ_k q_k z_k - Σ_k q_k log q_k with q the softmax over the other classes: the contrast is to the
    others in the mixture that they have at this node.

    >>> rare_against_rest(np.array([3.0]), 0)
    (array([-1.]), 0.0)
    """
    if len(scores) == 1:
        return np.array([1.0 if rare_class == 1 else -1.0]), 0.0
    others = np.delete(np.arange(len(scores)), rare_class)
    log_share = log_softmax(scores[others])
    turn = np.zeros(len(scores))
    turn[rare_class], turn[others] = 1.0, -np.exp(log_share)
    return turn, float(np.exp(log_share) @ log_share)
