"""Calibration and the choice among detectors at once: equation (3) of the design.

Left-out logits of K detectors, each first put on a common scale by its own Platt map, z_k. On those rows alone,

    P(c | v) = softmax_c( a_c + Σ_k w_k z_kc(v) ),   w_k ≥ 0,   penalty τ K Σ_k (w_k - u_k)²,   τ = 1

is fitted by maximum likelihood, which is convex, to the targets of `soft_targets`, as the maps are. The weights are drawn to
u_k, which add up to one and are the smaller the worse a member does by its own map:

    u_k ∝ ℓ_k^(-γ) ,   ℓ_k = its loss on the same rows,   γ = 4 r/(r + 10)

with r the labels of the rarest class: a few labels say little of who is better, and all are then drawn to nearly 1/K. With one detector
the weight is that of the Platt map and this is Platt's calibration. The sum is additive, so the reasons of the members add up to the
reason of the whole.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from scipy.special import log_softmax, softmax
from torch import Tensor

from calirare.calibration.base import Calibrator, share_weights
from calirare.calibration.conditional_logit import fit_conditional_logit
from calirare.calibration.scaling import SoftPlattScaling
from calirare.data.inputs import GraphInputs
from calirare.detectors.logistic.platt import soft_targets
from calirare.errors import InputError

_SHRINKAGE = 1.0
_STEEPEST, _HALF_AS_STEEP = 4.0, 10
"""γ where labels of every class are many, and with how many of the rarest it is half of that."""
_RIDGE = 1e-6
"""On the shifts, which are only determined up to a constant."""


class StackScaling(Calibrator):
    """Maps the logits `(N, K, C)` of K detectors to probabilities `(N, C)`.

    Args:
        shrinkage: τ; how strongly the weights are drawn to u.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400); signal = np.where(y == 1, 1.0, -1.0) + rng.normal(size=400)
    >>> noise = rng.normal(size=400)
    >>> logits = np.stack([np.stack([-z, z], axis=1) for z in (signal, noise)], axis=1)
    >>> stack = StackScaling().fit(logits, y)
    >>> bool(stack.weights_[0] > 0.9), bool(stack.weights_[1] < 0.6)
    (True, True)
    """

    def __init__(self, shrinkage: float = _SHRINKAGE) -> None:
        self.shrinkage = shrinkage

    def fit(
        self,
        logits: np.ndarray,
        y: np.ndarray,
        *,
        weights: np.ndarray | None = None,
        nodes: np.ndarray | None = None,
        graph: GraphInputs | None = None,
    ) -> Self:
        table = _check(logits)
        y = np.asarray(y)
        if weights is None:
            weights = np.full(len(y), 1 / len(y))
        self.num_classes_ = int(table.shape[2])
        maps = [SoftPlattScaling().fit(table[:, k], y, weights=weights)._affine() for k in range(table.shape[1])]
        self.scales_ = np.stack([matrix for matrix, _ in maps])
        self.offsets_ = np.stack([shift for _, shift in maps])
        self.weights_, self.shift_ = self._solve(self._common(table), y, weights)
        return self

    def _common(self, logits: np.ndarray) -> np.ndarray:
        """Every member on the common scale, `(N, K, C)`, each row summing to zero."""
        mapped = (
            np.matmul(logits.swapaxes(0, 1), self.scales_).swapaxes(0, 1) + self.offsets_
        )  # einsum takes far longer
        return mapped - mapped.mean(axis=2, keepdims=True)

    def _solve(self, z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, k, c = z.shape
        if k == 1:
            return np.ones(1), np.zeros(c)
        target = soft_targets(y, weights, c)
        middle = _by_loss(z, target, y, weights)
        features = np.concatenate([z.swapaxes(1, 2), np.broadcast_to(np.eye(c), (n, c, c))], axis=2)
        ridge = np.repeat([2 * self.shrinkage * k / n, 2 * _RIDGE / n], [k, c])
        start = np.concatenate([middle, np.zeros(c)])
        found = fit_conditional_logit(features, target, weights / weights.sum(), ridge, start, bounded=k)
        return found[:k], found[k:] - found[k:].mean()

    def scores(self, logits: np.ndarray) -> np.ndarray:
        """`(N, C)`: what softmax is taken of."""
        z = self._common(self._table(logits))
        return np.einsum("k,nkc->nc", self.weights_, z) + self.shift_

    def alone(self, logits: np.ndarray) -> np.ndarray:
        """`(N, K, C)`: the probabilities of each member alone, by its own Platt map."""
        found = softmax(self._common(self._table(logits)), axis=2)
        return self.drawn(found.reshape(-1, self.num_classes_)).reshape(found.shape)

    def _table(self, logits: np.ndarray) -> np.ndarray:
        self._check_fitted()
        table = _check(logits)
        if table.shape[1:] != (len(self.weights_), self.num_classes_):
            raise InputError(
                f"logits must be of {len(self.weights_)} detectors and {self.num_classes_} classes; got {table.shape[1:]}."
            )
        return table

    def predict_proba(self, logits: np.ndarray, *, graph: GraphInputs | None = None) -> np.ndarray:
        return self.drawn(np.asarray(softmax(self.scores(logits), axis=1)))

    def predict_class(self, logits: Tensor, of_class: int, *, graph: GraphInputs | None = None) -> Tensor:
        """P(class) `(N, m)` for each of m left-out models' logits `(N, m, K, C)`."""
        scales, offsets, shift = (
            torch.from_numpy(array).to(logits) for array in (self.scales_, self.offsets_, self.shift_)
        )
        weights = torch.from_numpy(self.weights_).to(logits)
        mapped = torch.einsum("nmkc,kcd->nmkd", logits, scales) + offsets
        centred = mapped - mapped.mean(dim=3, keepdim=True)
        return self._drawn_class((torch.einsum("k,nmkc->nmc", weights, centred) + shift).softmax(dim=2), of_class)

    def restore(self, state: dict[str, Any]) -> Self:
        super().restore(state)
        k, c = len(self.weights_), self.num_classes_
        shapes = [np.shape(value) for value in (self.scales_, self.offsets_, self.shift_)]
        if shapes != [(k, c, c), (k, c), (c,)]:
            raise InputError(f"the maps must be of {k} detectors and {c} classes; got {shapes}.")
        return self

    def slopes(self, rare_class: int) -> np.ndarray:
        """`(K,)`: how far the calibrated margin moves per unit of each member's own margin."""
        own = (
            self.scales_[:, rare_class, rare_class] - self.scales_[:, rare_class, (rare_class + 1) % self.num_classes_]
        )
        return self.weights_ * own


def _by_loss(z: np.ndarray, target: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """u `(K,)`: the weights that members are drawn to."""
    loss = -np.einsum("nkc,nc,n->k", log_softmax(z, axis=2), target, weights)
    rarest = np.bincount(y)[np.unique(y)].min()
    u = (loss / loss.min()) ** (-_STEEPEST * rarest / (rarest + _HALF_AS_STEEP))
    return np.asarray(u / u.sum())


def members_apart(calibrator: Calibrator | None, logits: np.ndarray, of_class: int) -> np.ndarray:
    """How far the members of a stack lie apart about each node, `(N,)`; 0 where there is a single detector.

        √( Σ_k ω_k (p_k − p̄)² ) ,   p̄ = Σ_k ω_k p_k

    with p_k the probability of the class by member k alone, and ω_k its weight in the stack as a share of all.

    Args:
        calibrator: Fitted, or None.
        logits: `(N, K, C)` of the members of a stack; `(N, C)` of a single detector.
        of_class: The class.
    """
    if not isinstance(calibrator, StackScaling) or len(calibrator.weights_) < 2:
        return np.zeros(len(logits))
    alone, weights = calibrator.alone(logits)[:, :, of_class], calibrator.weights_
    share = weights / weights.sum() if weights.any() else np.full(len(weights), 1 / len(weights))
    apart = alone - (alone @ share)[:, None]
    return np.sqrt(np.square(apart) @ share)


def left_out_probabilities(
    make: Any, logits: np.ndarray, y: np.ndarray, shares: np.ndarray, fold: np.ndarray | None
) -> np.ndarray:
    """Calibrated probabilities `(n, C)` of the labelled nodes, each by a map that did not see its label either.

    Args:
        make: Makes the calibrator.
        logits: Left-out logits of the labelled nodes.
        y: `(n,)` their classes.
        shares: Class shares that the calibration weights give.
        fold: `(n,)` which labels are kept from the map together; None: too few labels, the map sees them all.
    """
    if fold is None:
        return np.asarray(make().fit(logits, y, weights=share_weights(y, shares)).predict_proba(logits))
    result = np.empty((len(y), len(shares)))
    for number in range(int(fold.max()) + 1):
        kept, left = fold != number, fold == number
        calibrator = make().fit(logits[kept], y[kept], weights=share_weights(y[kept], shares))
        result[left] = calibrator.predict_proba(logits[left])
    return result


def _check(logits: np.ndarray) -> np.ndarray:
    table = np.asarray(logits, dtype=np.float64)
    if table.ndim != 3 or table.shape[2] < 2 or not table.shape[1]:
        raise InputError(f"logits must have shape (nodes, detectors, classes); got {table.shape}.")
    if not np.isfinite(table).all():
        raise InputError("logits must be finite.")
    return table
