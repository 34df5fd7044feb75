"""Penalised logistic regression with two classes.

    min over θ, b of  Σ_i w_i [log(1 + exp z_i) - y_i z_i] + (λ/2)‖θ‖² ,   z_i = φ_iᵀθ + b

The problem is convex, so Newton's method ends at the one optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.blas import dtrsv
from scipy.special import expit

_MOST_STEPS = 100
_LEAST_CURVATURE = 1e-10
_INTERCEPT_PENALTY = 1e-9
"""Next to nothing: it keeps the system solvable where the classes are separable without columns."""
_SLOW = 0.3
"""If a step promises more than this share of the decrease of the step before, the curvature is computed again."""
_SAME = 1e-7
"""If the loss fell by less than this, the curvature counts as unchanged."""
_SINGLE = 1e-5
"""Smallest penalty for which a curvature in single precision is exact enough."""
_ROUGH = 1e-7
"""Tolerance from which every product may be in single precision."""


def losses_of(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`(n,)` log(1 + exp z) - y z, which never overflows."""
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - y * z


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """A two-class problem.

    Args:
        columns: φ, `(n, R)` float64.
        y: `(n,)` 0 or 1, float64.
        weights: w, `(n,)`, summing to one.
    """

    columns: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    @cached_property
    def _single(self) -> np.ndarray:
        return self.columns.astype(np.float32)

    def columns_in(self, kind: type[np.floating[Any]]) -> np.ndarray:
        """φ in this precision."""
        return self.columns if kind is np.float64 else self._single

    def times(self, theta: np.ndarray, kind: type[np.floating[Any]]) -> np.ndarray:
        """φθ, `(n,)` float64; the product in this precision."""
        return np.asarray(self.columns_in(kind) @ theta.astype(kind, copy=False), dtype=np.float64)

    def loss_at(self, z: np.ndarray) -> float:
        """The loss of logits `(n,)`, without the penalty."""
        return float(self.weights @ losses_of(z, self.y))

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """w p (1 - p), kept away from zero."""
        p = expit(z)
        return self.weights * np.maximum(p * (1.0 - p), _LEAST_CURVATURE)

    def gram(self, z: np.ndarray, kind: type[np.floating[Any]] = np.float64) -> np.ndarray:
        """[φ, 1]ᵀ diag(curvature) [φ, 1], `(R + 1, R + 1)`; the product in this precision."""
        scale = self.curvature(z)
        scaled = self.columns_in(kind) * np.sqrt(scale).astype(kind)[:, None]
        found = np.empty((scaled.shape[1] + 1,) * 2)
        found[:-1, :-1] = scaled.T @ scaled
        found[:-1, -1] = found[-1, :-1] = self.columns.T @ scale
        found[-1, -1] = scale.sum()
        return found


@dataclass(frozen=True, eq=False)
class Whitened:
    """Columns as they are where the curvature is the identity: H = LLᵀ and ψ = L⁻¹φ, the intercept being held.

    Args:
        penalty: λ in H.
        factor: As `factor_of` gives it.
        rows: ψ, `(n, R)`, in the precision that the penalty allows.
    """

    penalty: float
    factor: np.ndarray
    rows: np.ndarray

    @property
    def root(self) -> np.ndarray:
        """L: the intercept is the last of the factor, so that without it the others stay what they are."""
        return self.factor[:-1, :-1]


@dataclass(frozen=True, eq=False)
class Optimum:
    """θ and b, and the `gram` of a point near them, which serves as curvature for the next fit.

    Args:
        theta: θ.
        intercept: b.
        gram: See `LogisticProblem.gram`.
        gained: By how much the loss there was larger; infinite where nobody knows.
        whitened: What was made of the gram, if it was; not made again under the same penalty.
    """

    theta: np.ndarray
    intercept: float
    gram: np.ndarray
    gained: float = np.inf
    whitened: Whitened | None = None

    def factor(self, penalty: float) -> np.ndarray:
        """The factor of the gram with this penalty; the known one where it was made before."""
        known = self.whitened
        return factor_of(self.gram, penalty) if known is None or known.penalty != penalty else known.factor


def fit_logistic(
    problem: LogisticProblem,
    penalty: float,
    start: Optimum | np.ndarray | None = None,
    *,
    tolerance: float = 1e-13,
) -> Optimum:
    """The optimum; `tolerance` bounds the decrease that the last Newton step still promised.

    It starts from an optimum nearby, or by Newton's step from logits `(n,)` that other columns gave.

    The curvature is the costly part of a step, so a step uses the last one known, in single precision where the penalty
    allows, and takes it again only where that made little way, and at the end where it has changed.

    >>> problem = LogisticProblem(np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.full(3, 1 / 3))
    >>> found = fit_logistic(problem, penalty=1.0)
    >>> residual = problem.weights * (expit(problem.columns @ found.theta + found.intercept) - problem.y)
    >>> bool(abs(problem.columns.T @ residual + found.theta).max() < 1e-6 and abs(residual.sum()) < 1e-6)
    True
    """
    kind = float_for(penalty)
    if isinstance(start, np.ndarray):
        start, factor = newton_from(problem, start, penalty)
    else:
        start = start or _flat(problem, kind)
        factor = start.factor(penalty)
    rough = kind if tolerance >= _ROUGH else np.float64
    theta, intercept, gram, gained = start.theta, start.intercept, start.gram, start.gained
    z = problem.times(theta, rough) + intercept
    value, before = problem.loss_at(z) + 0.5 * penalty * theta @ theta, np.inf
    for _ in range(_MOST_STEPS):
        residual = problem.weights * (expit(z) - problem.y)
        pull = problem.columns_in(rough).T @ residual.astype(rough, copy=False)
        gradient = np.append(pull + penalty * theta, residual.sum())
        step = _solve(factor, gradient)
        decrease = float(gradient @ step)
        if decrease < tolerance:
            break
        if decrease > _SLOW * before:
            gram, gained = problem.gram(z, kind), 0.0
            factor = factor_of(gram, penalty)
            step = _solve(factor, gradient)
            decrease = float(gradient @ step)
        change = problem.times(step[:-1], rough) + step[-1]
        moved = _along(problem, penalty, theta, z, step, change, value, decrease)
        if moved is None:
            break
        size, z, now = moved
        theta, intercept = theta - size * step[:-1], intercept - size * float(step[-1])
        gained += value - now
        before, value = decrease, now
    if gained > _SAME:
        gram, gained = problem.gram(z, kind), 0.0
    return Optimum(theta, intercept, gram, gained, start.whitened if gram is start.gram else None)


def newton_from(problem: LogisticProblem, z: np.ndarray, penalty: float) -> tuple[Optimum, np.ndarray]:
    """Newton's step from logits `(n,)` that other columns gave: the optimum, were the curvature everywhere as there."""
    gram = problem.gram(z, float_for(penalty))
    factor = factor_of(gram, penalty)
    wanted = problem.curvature(z) * z - problem.weights * (expit(z) - problem.y)
    found = _solve(factor, np.append(problem.columns.T @ wanted, wanted.sum()))
    return Optimum(found[:-1], float(found[-1]), gram), factor


def _flat(problem: LogisticProblem, kind: type[np.floating[Any]]) -> Optimum:
    """What to start from where nothing is known: every label is as likely."""
    share = float(problem.weights @ problem.y)
    intercept = float(np.log(share / (1.0 - share)))
    gram = problem.gram(np.full(len(problem.y), intercept), kind)
    return Optimum(np.zeros(problem.columns.shape[1]), intercept, gram, 0.0)


def float_for(penalty: float) -> type[np.floating[Any]]:
    """The type in which products of columns are exact enough beside this penalty."""
    return np.float32 if penalty >= _SINGLE else np.float64


def factor_of(gram: np.ndarray, penalty: float) -> np.ndarray:
    """L of LLᵀ = gram and penalty, lower; what stands above its diagonal means nothing."""
    matrix = gram.copy()
    matrix.flat[: -1 : len(matrix) + 1] += penalty
    matrix[-1, -1] += _INTERCEPT_PENALTY
    return cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)[0]


def _solve(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(LLᵀ)⁻¹ of a vector; in a third of the time that `cho_solve` takes, which is made for many."""
    return dtrsv(factor, dtrsv(factor, right, lower=1), lower=1, trans=1)


def _along(
    problem: LogisticProblem,
    penalty: float,
    theta: np.ndarray,
    z: np.ndarray,
    step: np.ndarray,
    change: np.ndarray,
    value: float,
    decrease: float,
) -> tuple[float, np.ndarray, float] | None:
    """How much of the step is taken, halved until the loss falls, the logits there and the loss; None where it never does."""
    size = 1.0
    while size > 1e-6:
        there, at = z - size * change, theta - size * step[:-1]
        now = problem.loss_at(there) + 0.5 * penalty * float(at @ at)
        if now <= value - 1e-4 * size * decrease:
            return size, there, now
        size /= 2
    return None
