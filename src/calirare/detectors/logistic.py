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

from calirare.detectors.platt import slope_and_shift, soft_targets

_LEAST_CURVATURE = 1e-10
_INTERCEPT_PENALTY = 1e-9
"""Next to nothing: it keeps the system solvable where the classes are separable without columns."""
_SLOW = 0.3
"""Of the decrease that the step before promised: beyond it the curvature is taken again."""
_SAME = 1e-7
"""Decrease of the loss within which the curvature is taken as the same."""
_SINGLE = 1e-5
"""Least penalty beside which a curvature in single precision is exact enough."""
_ROUGH = 1e-7
"""Tolerance from which every product may be in that precision."""


@dataclass(frozen=True, eq=False)
class Problem:
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
        """Of logits `(n,)`, without the penalty."""
        return float(self.weights @ (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - self.y * z))

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
        gram: See `Problem.gram`.
        gained: By how much the loss there was larger; infinite where nobody knows.
        whitened: What was made of the gram, if it was; not made again under the same penalty.
    """

    theta: np.ndarray
    intercept: float
    gram: np.ndarray
    gained: float = np.inf
    whitened: Whitened | None = None

    def factor(self, penalty: float) -> np.ndarray:
        """Of the gram with this penalty; as made before, where it was."""
        known = self.whitened
        return factor_of(self.gram, penalty) if known is None or known.penalty != penalty else known.factor


def fit_logistic(
    problem: Problem,
    penalty: float,
    start: Optimum | np.ndarray | None = None,
    *,
    tolerance: float = 1e-13,
    max_steps: int = 100,
) -> Optimum:
    """The optimum; `tolerance` bounds the decrease that the last Newton step still promised.

    It starts from an optimum nearby, or by Newton's step from logits `(n,)` that other columns gave.

    The curvature is the costly part of a step, so a step uses the last one known, in single precision where the penalty
    allows, and takes it again only where that made little way, and at the end where it has changed.

    >>> problem = Problem(np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.full(3, 1 / 3))
    >>> found = fit_logistic(problem, penalty=1.0)
    >>> residual = problem.weights * (expit(problem.columns @ found.theta + found.intercept) - problem.y)
    >>> bool(abs(problem.columns.T @ residual + found.theta).max() < 1e-6 and abs(residual.sum()) < 1e-6)
    True
    """
    kind = precision(penalty)
    if isinstance(start, np.ndarray):
        start, factor = newton_from(problem, start, penalty)
    else:
        start = start or _flat(problem, kind)
        factor = start.factor(penalty)
    rough = kind if tolerance >= _ROUGH else np.float64
    theta, intercept, gram, gained = start.theta, start.intercept, start.gram, start.gained
    z = problem.times(theta, rough) + intercept
    value, before = problem.loss_at(z) + 0.5 * penalty * theta @ theta, np.inf
    for _ in range(max_steps):
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


def newton_from(problem: Problem, z: np.ndarray, penalty: float) -> tuple[Optimum, np.ndarray]:
    """Newton's step from logits `(n,)` that other columns gave: the optimum, were the curvature everywhere as there."""
    gram = problem.gram(z, precision(penalty))
    factor = factor_of(gram, penalty)
    wanted = problem.curvature(z) * z - problem.weights * (expit(z) - problem.y)
    found = _solve(factor, np.append(problem.columns.T @ wanted, wanted.sum()))
    return Optimum(found[:-1], float(found[-1]), gram), factor


def _flat(problem: Problem, kind: type[np.floating[Any]]) -> Optimum:
    """What to start from where nothing is known: every label is as likely."""
    share = float(problem.weights @ problem.y)
    intercept = float(np.log(share / (1.0 - share)))
    gram = problem.gram(np.full(len(problem.y), intercept), kind)
    return Optimum(np.zeros(problem.columns.shape[1]), intercept, gram, 0.0)


def precision(penalty: float) -> type[np.floating[Any]]:
    """In which products of columns are exact enough beside this penalty."""
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
    problem: Problem,
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


_MAP_PENALTY = 1e-6, 1e-9
"""Of slope and shift: next to nothing."""
_NEXT_TO_FLAT = 1e-3
CLEARLY = 2.0
"""In nats over all labels: by how much a left-out loss must be smaller to be better by more than chance."""


def left_out_losses(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """`(n,)` negative log-likelihoods of the labels under logits that were scaled, never turned over, and shifted."""
    n, scale = len(target), float(logits.std()) or 1.0
    centred = (logits - logits.mean()) / scale
    slope, shift, _ = slope_and_shift(centred, target, np.full(n, 1.0 / n), _MAP_PENALTY, tolerance=1e-10)
    if slope <= 0:
        share = float(target.mean())
        slope, shift = 0.0, float(np.log(share / (1 - share)))
    z = slope * centred + shift
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - target * z


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
    """Of the Platt map to soft targets: its slope, and what it gives at the mean of the logits."""
    n, scale = len(target), float(logits.std()) or 1.0
    centred = (logits - logits.mean()) / scale
    slope, level, _ = slope_and_shift(centred, target, np.full(n, 1.0 / n), _MAP_PENALTY)
    return slope / scale, level


def losses_by_class(logits: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`left_out_losses` of each class against the others, added up, of `(n, C)` logits; of two classes, those of the second."""
    total = np.zeros(len(y))
    for c in np.unique(y)[1 if logits.shape[1] == 2 else 0 :]:
        others = np.logaddexp.reduce(np.delete(logits, c, axis=1), axis=1)
        total += left_out_losses(logits[:, c] - others, (y == c).astype(np.float64))
    return total


def loss_by_class(logits: np.ndarray, y: np.ndarray) -> float:
    """The mean of `losses_by_class`."""
    return float(losses_by_class(logits, y).mean())
