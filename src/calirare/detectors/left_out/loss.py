"""How likely left-out logits make the labels, once they are scaled and shifted as a calibrator will do."""

from __future__ import annotations

import numpy as np

from calirare.detectors.left_out.contrast import against_others
from calirare.detectors.logistic.optimum import losses_of
from calirare.detectors.logistic.platt import slope_and_shift, soft_targets

_MAP_PENALTY = 1e-6, 1e-9
"""Penalties on slope and shift: next to nothing."""
_NEXT_TO_FLAT = 1e-3
CLEARLY = 2.0
"""By how many nats, over all labels, a left-out loss must be smaller to be better by more than chance."""


def left_out_losses(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """`(n,)` negative log-likelihoods of the labels under logits that were scaled, never turned over, and shifted."""
    n, scale = len(target), float(logits.std()) or 1.0
    centred = (logits - logits.mean()) / scale
    slope, shift, _ = slope_and_shift(centred, target, np.full(n, 1.0 / n), _MAP_PENALTY, tolerance=1e-10)
    if slope <= 0:
        share = float(target.mean())
        slope, shift = 0.0, float(np.log(share / (1 - share)))
    z = slope * centred + shift
    return losses_of(z, target)


def left_out_loss(logits: np.ndarray, target: np.ndarray) -> float:
    """The mean of `left_out_losses`."""
    return float(left_out_losses(logits, target).mean())


def on_scale_of(known: np.ndarray, new: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """(a, b): the Platt map that is right for the `known` left-out logits is right for a · new + b as well.

    Where the known ones tell nothing, (1, 0): nothing will come of either. a is never zero: new ones that tell nothing keep
    their order, since evidence that is wrong half of the time must stay so.

    >>> y, z = np.array([0.0, 1.0, 0.0, 1.0]), np.array([-1.0, 0.5, 0.2, 1.5])
    >>> a, b = on_scale_of(2 * z + 1, z, y)
    >>> round(a, 4), round(b, 4)
    (2.0, 1.0)
    """
    soft = soft_targets(target.astype(np.int64), np.ones(len(target)), 2)[:, 1]
    (slope, level), (own_slope, own_level) = _soft_map(known, soft), _soft_map(new, soft)
    if slope <= 0:
        return 1.0, 0.0
    ratio = max(own_slope / slope, _NEXT_TO_FLAT)
    return ratio, float(known.mean()) + (own_level - level) / slope - ratio * float(new.mean())


def _soft_map(logits: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """The slope of the Platt map to soft targets, and its value at the mean of the logits."""
    n, scale = len(target), float(logits.std()) or 1.0
    centred = (logits - logits.mean()) / scale
    slope, level, _ = slope_and_shift(centred, target, np.full(n, 1.0 / n), _MAP_PENALTY)
    return slope / scale, level


def losses_by_class(logits: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`left_out_losses` of each class against the others, added up, of `(n, C)` logits; of two classes, those of the second."""
    total = np.zeros(len(y))
    for c in np.unique(y)[1 if logits.shape[1] == 2 else 0 :]:
        total += left_out_losses(against_others(logits, c), (y == c).astype(np.float64))
    return total


def loss_by_class(logits: np.ndarray, y: np.ndarray) -> float:
    """The mean of `losses_by_class`."""
    return float(losses_by_class(logits, y).mean())
