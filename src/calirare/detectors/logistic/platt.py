"""One slope and one shift by maximum likelihood: Platt's map, for two classes."""

from __future__ import annotations

import numpy as np

_MOST_STEPS = 200
_LEAST_CURVATURE = 1e-12
"""Keeps a step finite where every probability is 0 or 1."""


def slope_and_shift(
    scores: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    penalty: tuple[float, float],
    tolerance: float = 1e-14,
) -> tuple[float, float, float]:
    """(a, b, loss): argmin of Σ_i w_i [log(1 + exp z_i) - t_i z_i] + (λ_a a² + λ_b b²)/2 with z_i = a s_i + b.

    By Newton's steps, halved until the loss falls. The loss is that of the labels, without the penalty.

    Args:
        scores: s `(n,)`, centred and of spread one or so.
        target: t `(n,)` in [0, 1].
        weights: w `(n,)`, summing to one.
        penalty: λ_a and λ_b, small and positive.
        tolerance: Bound of the decrease that the last step still promised.

    >>> a, b, loss = slope_and_shift(np.array([-1.0, 1.0]), np.array([0.25, 0.75]), np.full(2, 0.5), (1e-9, 1e-9))
    >>> bool(abs(a - np.log(3)) < 1e-6), bool(abs(b) < 1e-6), round(loss, 4)
    (True, True, 0.5623)
    """
    share = min(max(float(weights @ target), 1e-12), 1.0 - 1e-12)
    a, b = 0.0, float(np.log(share / (1.0 - share)))
    value, loss, p = _judge(a, b, scores, target, weights, penalty)
    for _ in range(_MOST_STEPS):
        residual, curvature = weights * (p - target), weights * p * (1.0 - p)
        turned = curvature * scores
        slope = float(residual @ scores) + penalty[0] * a, float(residual.sum()) + penalty[1] * b
        aa = float(turned @ scores) + penalty[0] + _LEAST_CURVATURE
        ab, bb = float(turned.sum()), float(curvature.sum()) + penalty[1] + _LEAST_CURVATURE
        volume = aa * bb - ab * ab
        step = (bb * slope[0] - ab * slope[1]) / volume, (aa * slope[1] - ab * slope[0]) / volume
        decrease = slope[0] * step[0] + slope[1] * step[1]
        if decrease < tolerance:
            break
        size = 1.0
        while True:
            now = _judge(a - size * step[0], b - size * step[1], scores, target, weights, penalty)
            if now[0] <= value - 0.25 * size * decrease:
                break
            size /= 2
            if size < 1e-10:
                return a, b, loss
        a, b, (value, loss, p) = a - size * step[0], b - size * step[1], now
    return a, b, loss


def soft_targets(y: np.ndarray, weights: np.ndarray, num_classes: int) -> np.ndarray:
    """What a map is to say of each label, `(n, C)`: nearly, not quite, its class.

    A map that was shown r labels of the rarest class has not seen what the next one looks like. Platt therefore has it say
    less than 1 of each of them; with half a label to each side, as in Jeffreys' prior, that is (r + 1/2)/(r + 1). What is
    taken from a label goes to the class shares π of the weights, which so stay what they are, whatever shares the labels
    themselves have:

        t_i = (1 - ε) · (one at y_i) + ε π ,      ε = 1/(2 r + 2) .

    Args:
        y: `(n,)` classes.
        weights: `(n,)` weights of the labels.
        num_classes: C.

    >>> y, weights = np.array([1, 0, 0, 0]), np.full(4, 1 / 4)
    >>> soft_targets(y, weights, 2)[:2]
    array([[0.1875, 0.8125],
           [0.9375, 0.0625]])
    >>> weights @ soft_targets(y, weights, 2)
    array([0.75, 0.25])
    """
    shares = np.bincount(y, weights=weights, minlength=num_classes) / weights.sum()
    labels = np.bincount(y, minlength=num_classes)
    taken = 1 / (2 * labels[labels > 0].min() + 2)
    return (1 - taken) * np.eye(num_classes)[y] + taken * shares


def _judge(
    a: float, b: float, scores: np.ndarray, target: np.ndarray, weights: np.ndarray, penalty: tuple[float, float]
) -> tuple[float, float, np.ndarray]:
    """The loss with and without the penalty, and the probabilities, by one exponential and one logarithm each."""
    z = a * scores + b
    small = np.exp(-np.abs(z))
    larger = 1.0 / (1.0 + small)
    loss = float(weights @ (np.maximum(z, 0.0) - target * z - np.log(larger)))
    p = larger * np.where(z >= 0.0, 1.0, small)
    return loss + 0.5 * (penalty[0] * a * a + penalty[1] * b * b), loss, p
