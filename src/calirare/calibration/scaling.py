"""Maps that scale and shift logits: temperature, Platt, vector, matrix.

All four are one model, z'_c = Σ_p θ_p φ_cp(z), linear in its parameters, so that the likelihood is convex. They differ
in their features φ alone.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import expit, softmax
from torch import Tensor

from calirare.calibration.base import Calibrator
from calirare.calibration.conditional_logit import fit_conditional_logit
from calirare.data.inputs import GraphInputs
from calirare.detectors.logistic.platt import slope_and_shift, soft_targets

_RIDGE = 1e-6
"""Keeps the answer finite where the labels are separable; on standardised logits it moves nothing else."""
_ROUNDING = 1e-12
"""Spread of logits, relative to their size, below which it is rounding."""
_NOTHING = 1e-12
"""Spread of logits that says nothing whatever their size; scaled up, the map would not survive being stored."""


class ScalingCalibrator(Calibrator):
    """Maximum likelihood for θ on centred, standardised logits, by Newton's method with a line search."""

    ridge = _RIDGE
    single_scale = False
    """Whether parameter 0 scales all logits. It is never negative: logits that rank the labels the wrong way round say
    nothing that can be trusted, and the map then ignores them instead of turning them over."""
    has_shift = True
    """Whether a shift is fitted too. Logits are then centred over the calibration rows first, because a small spread far
    from zero (a detector that says nearly the same of every node) leaves scale and shift to rounding."""
    centre_: np.ndarray | float = 0.0

    def _features(self, logits: np.ndarray) -> np.ndarray:
        """φ, `(n, C, parameters)`."""
        raise NotImplementedError

    def _standardise(self, logits: np.ndarray) -> np.ndarray:
        return (logits - logits.mean(axis=1, keepdims=True) - self.centre_) / self.scale_

    def _fit(self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        centred = logits - logits.mean(axis=1, keepdims=True)
        self.centre_ = weights @ centred if self.has_shift else np.zeros(logits.shape[1])
        spread = float(np.sqrt(weights @ ((centred - self.centre_) ** 2).mean(axis=1)))
        self.scale_ = spread if spread > max(_NOTHING, _ROUNDING * float(np.abs(centred).max())) else 1.0
        standard, target = self._standardise(logits), self._targets(y, weights)
        self.parameters_ = self._solve(standard, target, weights)
        if self.single_scale and self.parameters_[0] < 0:
            shifts_only = fit_conditional_logit(self._features(standard)[:, :, 1:], target, weights, self.ridge)
            self.parameters_ = np.concatenate([[0.0], shifts_only])

    def _solve(self, logits: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """θ of standardised logits."""
        return fit_conditional_logit(self._features(logits), target, weights, self.ridge)

    def _targets(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """`(n, C)`: what the map is to say of each label."""
        return np.eye(self.num_classes_)[y]

    def _affine(self) -> tuple[np.ndarray, np.ndarray]:
        """A and b of z' = z A + b, centring included: one small product instead of φ for every node."""
        classes = np.eye(self.num_classes_)
        shift = (self._features(self._standardise(np.zeros((1, len(classes))))) @ self.parameters_)[0]
        return self._features(self._standardise(classes)) @ self.parameters_ - shift, shift

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        matrix, shift = self._affine()
        if len(shift) > 2:
            return softmax(logits @ matrix + shift, axis=1)
        difference = logits @ (matrix[:, 1] - matrix[:, 0]) + (shift[1] - shift[0])
        return np.column_stack([expit(-difference), expit(difference)])

    def predict_class(self, logits: Tensor, of_class: int, *, graph: GraphInputs | None = None) -> Tensor:
        matrix, shift = (torch.from_numpy(array).to(logits) for array in self._affine())
        if len(shift) > 2:
            return self._drawn_class((logits @ matrix + shift).softmax(dim=-1), of_class)
        other = 1 - of_class
        difference = logits @ (matrix[:, of_class] - matrix[:, other])
        found = difference.add_(shift[of_class] - shift[other]).sigmoid_()
        if self.keep_ == 1.0 and self.ratio_ is None:
            return found
        both = (found, 1 - found) if of_class == 0 else (1 - found, found)
        return self._drawn_class(torch.stack(both, dim=-1), of_class)


class TemperatureScaling(ScalingCalibrator):
    """z' = z / T. Source: key `guo2017`."""

    single_scale = True
    has_shift = False

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return logits[:, :, None]

    @property
    def temperature_(self) -> float:
        """T; infinite where the logits say nothing about the labels."""
        sharpness = float(self.parameters_[0]) / self.scale_
        return float("inf") if sharpness == 0 else 1.0 / sharpness


class PlattScaling(ScalingCalibrator):
    """z' = a z + b with one scale and a shift per class; for two classes this is Platt's. Source: key `platt1999`."""

    single_scale = True

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return np.concatenate([logits[:, :, None], _shifts(logits)], axis=2)

    def _solve(self, logits: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if logits.shape[1] > 2:
            return super()._solve(logits, target, weights)
        # Of two classes the shifts are b/2 and -b/2, and cost half of what b alone would.
        penalty = self.ridge, self.ridge / 2
        slope, shift, _ = slope_and_shift(logits[:, 1] - logits[:, 0], target[:, 1], weights, penalty)
        return np.array([slope, -shift / 2, shift / 2])


class SoftPlattScaling(PlattScaling):
    """Platt's map, fitted to `soft_targets`: where rare labels are few, they say nothing for sure."""

    def _targets(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return soft_targets(y, weights, self.num_classes_)


class VectorScaling(ScalingCalibrator):
    """z'_c = a_c z_c + b_c. Source: key `guo2017`."""

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return np.concatenate([logits[:, :, None] * np.eye(logits.shape[1]), _shifts(logits)], axis=2)


class MatrixScaling(ScalingCalibrator):
    """z' = W z + b. Source: key `guo2017`."""

    def _features(self, logits: np.ndarray) -> np.ndarray:
        n, num_classes = logits.shape
        scales = np.einsum("nj,ck->nckj", logits, np.eye(num_classes)).reshape(n, num_classes, -1)
        return np.concatenate([scales, _shifts(logits)], axis=2)


def _shifts(logits: np.ndarray) -> np.ndarray:
    n, num_classes = logits.shape
    return np.broadcast_to(np.eye(num_classes), (n, num_classes, num_classes))
