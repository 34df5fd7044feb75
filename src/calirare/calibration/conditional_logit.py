"""Maximum likelihood where classes differ in their features and share their coefficients, by damped Newton steps."""

from __future__ import annotations

import numpy as np

from calirare.errors import NumericalError

_MOST_STEPS = 200
_LEAST_CURVATURE = 1e-12


def fit_conditional_logit(
    features: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    ridge: float | np.ndarray,
    drawn_to: np.ndarray | None = None,
    bounded: int = 0,
) -> np.ndarray:
    """argmin_θ of -Σ_i w_i t_i · log softmax(φ_i θ) + Σ_p (ridge_p/2)(θ_p - m_p)², the first so many θ_p not below zero.

    Args:
        features: φ, `(n, C, parameters)`.
        target: t, `(n, C)`, rows summing to one.
        weights: `(n,)`, summing to one.
        ridge: Small and positive, so that the minimum exists and is unique; one for all or `(parameters,)`.
        drawn_to: m `(parameters,)`, none of those that are bounded below zero; None: zeros.
        bounded: How many parameters, the first, are not below zero.
    """
    flat = features.reshape(features.shape[0] * features.shape[1], features.shape[2])
    wanted = weights[:, None] * target
    middle = np.zeros(flat.shape[1]) if drawn_to is None else drawn_to

    def judge(theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and the probabilities."""
        missed, p = _surprise((flat @ theta).reshape(target.shape))
        apart = theta - middle
        return float((wanted * missed).sum() + 0.5 * (ridge * apart) @ apart), p

    theta = middle.copy()
    value, p = judge(theta)
    for _ in range(_MOST_STEPS):
        weighted = weights[:, None] * p
        gradient = (weighted - wanted).reshape(-1) @ flat + ridge * (theta - middle)
        mean = np.einsum("nc,ncp->np", p, features)
        hessian = (flat.T * weighted.reshape(-1)) @ flat - (weights[:, None] * mean).T @ mean
        hessian.flat[:: len(hessian) + 1] += ridge + _LEAST_CURVATURE
        step = _step(hessian, gradient, theta[:bounded])
        decrease = float(gradient @ step)
        if decrease < 1e-14:
            return theta
        size = 1.0
        while (found := judge(theta - size * step))[0] > value - 0.25 * size * decrease:
            size /= 2
            if size < 1e-10:
                return theta
        theta = theta - size * step
        value, p = found
    if not np.isfinite(theta).all():
        raise NumericalError("the calibration map did not converge; the logits may be constant.")
    return theta


def _surprise(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(-log p, p) of logits, which are written over. Plain NumPy: SciPy's softmax costs more than the sums at these sizes."""
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    total = p.sum(axis=1, keepdims=True)
    missed = np.log(total) - logits
    p /= total
    return missed, p


def _step(hessian: np.ndarray, gradient: np.ndarray, most: np.ndarray) -> np.ndarray:
    """argmin_s of sᵀHs/2 - gᵀs, the first s not above `most`: which of them stop there is found one after the other."""
    held = np.zeros(len(gradient), dtype=bool)
    for _ in range(4 * len(most) + 1):
        free, step = ~held, np.zeros(len(gradient))
        step[held] = most[held[: len(most)]]
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], (gradient - hessian @ step)[free])
        beyond = free[: len(most)] & (step[: len(most)] > most)
        if beyond.any():
            held[: len(most)] |= beyond
            continue
        left = np.where(held, hessian @ step - gradient, -1.0)  # above zero: it would rather not go as far
        if left.max(initial=-1.0) <= 0:
            break
        held[np.argmax(left)] = False
    step[: len(most)] = np.minimum(step[: len(most)], most)
    return step
