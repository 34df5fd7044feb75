"""Draws from the posterior of a bent line in logits: what `calirare.uncertainty.intervals` is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

_SMALLEST_PROBABILITY = 1e-9
_SHIFT_WIDTH, _SLOPE_MEAN, _SLOPE_WIDTH, _BEND_WIDTH = 5.0, 1.5, 2.0, 2.0
"""Of the priors, on standardised scores."""
_DEGREES = 6
"""Of freedom of the t that proposes: tails heavier than the posterior's."""
_PROPOSALS = 3
"""How many are proposed for each that is kept."""
_NEWTON_STEPS = 100
_FLATTEST, _LONGEST_STEP = 0.05, 2.0
"""Of the steps that bring a map to a share."""


def bent_line(z: Any, knots: Any) -> np.ndarray:
    """`(n, 2 + knots)`: one, z, and what z is above each knot.

    >>> bent_line(np.array([0.0, 3.0]), (1.0,))
    array([[1., 0., 0.],
           [1., 3., 2.]])
    """
    z = np.asarray(z, dtype=np.float64)
    return np.column_stack([np.ones_like(z), z, *(np.maximum(z - knot, 0.0) for knot in knots)])


def finite_logit(probability: Any) -> np.ndarray:
    """logit P, with P kept a hair away from 0 and 1."""
    p = np.asarray(probability, dtype=np.float64)
    return np.asarray(logit(np.clip(p, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)))


def equal_runs(ascending: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """(mean, size) of at most so many runs of ascending values, as many in each.

    >>> [part.tolist() for part in equal_runs(np.array([1.0, 2.0, 6.0]), 2)]
    [[1.5, 6.0], [2, 1]]
    """
    parts = np.array_split(ascending, min(ascending.size, most))
    return np.array([part.mean() for part in parts]), np.array([part.size for part in parts])


def draw_posterior(
    features: np.ndarray, target: np.ndarray, count: np.ndarray, num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """`(draws, parameters)` of the logistic regression: proposals from a t around the peak, resampled by their weight."""
    size = features.shape[1]
    rate = (count @ target + 0.5) / (count.sum() + 1)
    mean = np.array([logit(rate), _SLOPE_MEAN, *[0.0] * (size - 2)])
    precision = np.array([_SHIFT_WIDTH, _SLOPE_WIDTH, *[_BEND_WIDTH] * (size - 2)]) ** -2.0
    peak, curvature = _posterior_peak(features, target, count, mean, precision)
    spread = np.linalg.cholesky(1.2 * np.linalg.inv(curvature))
    normal = rng.standard_normal((_PROPOSALS * num_draws, size))
    stretch = rng.chisquare(_DEGREES, len(normal)) / _DEGREES
    proposed = peak + (normal / np.sqrt(stretch)[:, None]) @ spread.T
    log_proposal = -(_DEGREES + size) / 2 * np.log1p((normal**2).sum(axis=1) / stretch / _DEGREES)
    line = proposed @ features.T
    log_posterior = (line * target - np.logaddexp(0.0, line)) @ count - 0.5 * (proposed - mean) ** 2 @ precision
    weight = np.exp(log_posterior - log_proposal - (log_posterior - log_proposal).max())
    return proposed[draw_by_weight(weight, num_draws, rng)]


def draw_by_weight(weight: np.ndarray, num_draws: int, rng: np.random.Generator) -> np.ndarray:
    """`(draws,)` places, each as often as it weighs: from one random start in equal steps, with less noise than independent draws."""
    ticks = (np.arange(num_draws) + rng.random()) / num_draws
    return rng.permutation(np.searchsorted(np.cumsum(weight) / weight.sum(), ticks).clip(0, len(weight) - 1))


def _posterior_peak(
    features: np.ndarray, target: np.ndarray, count: np.ndarray, mean: np.ndarray, precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the posterior is highest, and minus its second derivative there, by Newton's method."""
    theta = mean.copy()
    for _ in range(_NEWTON_STEPS):
        p = expit(features @ theta)
        gradient = features.T @ (count * (p - target)) + precision * (theta - mean)
        curvature = (features.T * (count * p * (1 - p))) @ features + np.diag(precision)
        step = np.linalg.solve(curvature, gradient)
        # Far from the peak a whole Newton step may overshoot.
        theta = theta - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return theta, curvature


def draw_shares(rare_share: float, num_labels: float | None, num_draws: int, rng: np.random.Generator) -> np.ndarray:
    """`(draws,)`: what the population's share of rare nodes may be, as so many random labels leave it open."""
    if num_labels is None:
        return np.full(num_draws, rare_share)
    # Half a label to each side, as in Jeffreys' prior: a handful of rare labels says little about the upper end.
    return rng.beta(rare_share * num_labels + 0.5, (1 - rare_share) * num_labels + 0.5, num_draws)


def at_share(drawn: np.ndarray, z: np.ndarray, knots: Any, weight: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The draws with their shifts set so that the mean over the population, weighted scores, is each draw's share.

    Args:
        drawn: `(draws, 2 + knots)` parameters.
        z: `(n,)` the population's scores, or `(draws, n)` where each draw sees them elsewhere.
        knots: Where the maps may bend.
        weight: `(n,)` of the scores, of sum one.
        share: `(draws,)` what the mean shall be.
    """
    drawn, wanted = drawn.copy(), finite_logit(share)
    rise = drawn[:, 1:2] * z
    for bend, knot in zip(drawn.T[2:], knots, strict=True):
        rise += bend[:, None] * np.maximum(z - knot, 0.0)
    for _ in range(_NEWTON_STEPS):
        p = expit(drawn[:, :1] + rise)
        mean = np.clip(p @ weight, _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)
        missing = wanted - finite_logit(mean)
        # Newton's step for logit(mean), shortened where the maps are so steep that it would go too far.
        slope = (p * (1 - p)) @ weight / (mean * (1 - mean))
        drawn[:, 0] += np.clip(missing / np.maximum(slope, _FLATTEST), -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(missing).max() < 1e-6:
            break
    return drawn
