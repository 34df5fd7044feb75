"""Smooth calibration error: a calibration error without bins."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.fft import irfft, rfft

from calirare.metrics.inputs import check_rare_scores

_MESH = 200
_GRID = 2000
_SMALLEST_WIDTH = 0.001
_SEARCH_STEPS = 10


def smooth_ece(y: Any, scores: Any) -> float:
    """SmoothECE of P(rare), with its own choice of smoothing width.

    smECE_σ = ∫ |E[(s − y) K_σ(s, t)]| dt with a Gaussian kernel K_σ of width σ reflected at 0 and 1; the answer is
    taken at the width where σ = smECE_σ, so nothing has to be chosen. Source: key `blasiok2024`, on
    the same grid as the authors' package relplot.

    Args:
        y: `(n,)` 1 where the node is rare, else 0 (bool welcome).
        scores: `(n,)` P(rare), in [0, 1].

    >>> scores = np.full(1000, 0.3)
    >>> bool(smooth_ece(np.arange(1000) < 300, scores) < 0.002)
    True
    >>> round(smooth_ece(np.arange(1000) < 800, scores), 2)
    0.5
    """
    rare, scores = check_rare_scores(y, scores, unit_interval=True)
    error_at = _Smoother(scores, scores - rare).error_at

    def too_narrow(width: float) -> bool:
        return width < _SMALLEST_WIDTH or width < error_at(width)

    wide, narrow = 1.0, 0.0  # wide is never too narrow: no residual exceeds 1, so the error does not either
    for _ in range(_SEARCH_STEPS):
        middle = (wide + narrow) / 2
        if too_narrow(middle):
            narrow = middle
        else:
            wide = middle
    return error_at(wide)


class _Smoother:
    """Smooths residuals and counts on a grid; the grid's spectrum is kept, since most widths share one grid."""

    def __init__(self, scores: np.ndarray, residual: np.ndarray) -> None:
        self._scores = scores
        self._weights = (residual, np.ones_like(scores))
        self._spectra: dict[int, np.ndarray] = {}

    def error_at(self, width: float) -> float:
        points = max(_GRID, round(20 / width)) // 2 + 1
        if points not in self._spectra:
            mass = np.stack([_spread(self._scores, weight, points) for weight in self._weights])
            # One period of the mass mirrored at 0 and 1: circular convolution with it is reflection at both ends.
            self._spectra[points] = rfft(np.concatenate([mass, mass[:, -2:0:-1]], axis=1))
        smooth = irfft(self._spectra[points] * _kernel(width, points), n=2 * (points - 1))[:, :points]
        mesh, grid = _even(max(round(10 / width), _MESH)), _even(points)
        numerator, density = (np.interp(mesh, grid, row) for row in smooth)
        # relplot lifts the density a little; kept so that both agree to the last digits.
        return float(np.abs(numerator).sum() / np.sum(density + 1e-4))


def _spread(scores: np.ndarray, weight: np.ndarray, points: int) -> np.ndarray:
    """Put each node's weight on the two grid points around its score, in proportion to nearness."""
    position = scores * (points - 1)
    left = np.clip(position.astype(np.int64), 0, points - 2)
    share = position - left
    return np.bincount(left, (1 - share) * weight, points) + np.bincount(left + 1, share * weight, points)


@lru_cache(maxsize=64)
def _even(points: int) -> np.ndarray:
    """So many points from 0 to 1."""
    return np.linspace(0.0, 1.0, points)


@lru_cache(maxsize=64)
def _kernel(width: float, points: int) -> np.ndarray:
    """Its spectrum; the search tries the same widths in every resample of a bootstrap."""
    return np.asarray(rfft(_gaussian(width, points)))


def _gaussian(width: float, points: int) -> np.ndarray:
    """The kernel on [-1/2, 1/2], rotated so that its centre is at index 0 of one period."""
    offset = np.linspace(-0.5, 0.5, points)
    kernel = np.zeros(2 * (points - 1))
    kernel[:points] = np.exp(-(offset**2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)
    return np.roll(kernel, -(points // 2))
