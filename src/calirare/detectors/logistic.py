"""Penalised logistic regression, and what it would say without some of its labels: one Newton step, then one more.

    min over θ, b of  Σ_i w_i [log(1 + exp z_i) - y_i z_i] + (λ/2)‖θ‖² ,   z_i = φ_iᵀθ + b

The problem is convex, so Newton's method ends at the one optimum, and the step from there is nearly exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from calirare.detectors.platt import slope_and_shift

_LEAST_CURVATURE = 1e-10
LEAST_LEFT_OVER = 1e-6
"""Of 1 - leverage: a label that holds up a direction alone leaves nothing to say about it."""
_INTERCEPT_PENALTY = 1e-9
"""Next to nothing: it keeps the system solvable where the classes are separable without columns."""
_MOST_REFINED = 256
_REFINEMENTS = 2
_SLOW = 0.3
"""Of the decrease that the step before promised: beyond it the curvature is taken again."""
_SAME = 1e-4
"""Decrease of the loss within which the curvature is taken as the same."""
_SINGLE = 1e-5
"""Least penalty beside which a curvature in single precision is exact enough."""
_FAR = 0.02
"""A change of a logit beyond which one step is not enough."""


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
    def single(self) -> np.ndarray:
        """φ in single precision."""
        return self.columns.astype(np.float32)

    def loss_at(self, z: np.ndarray) -> float:
        """Of logits `(n,)`, without the penalty."""
        return float(self.weights @ (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))) - self.y * z))

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """w p (1 - p), kept away from zero."""
        p = expit(z)
        return np.asarray(self.weights * np.maximum(p * (1.0 - p), _LEAST_CURVATURE))

    def gram(self, z: np.ndarray, kind: type[np.floating[Any]] = np.float64) -> np.ndarray:
        """[φ, 1]ᵀ diag(curvature) [φ, 1], `(R + 1, R + 1)`; the product in this precision."""
        scale = self.curvature(z)
        columns = self.columns if kind is np.float64 else self.single
        scaled = columns * np.sqrt(scale).astype(kind)[:, None]
        found = np.empty((scaled.shape[1] + 1,) * 2)
        found[:-1, :-1] = scaled.T @ scaled
        found[:-1, -1] = found[-1, :-1] = self.columns.T @ scale
        found[-1, -1] = scale.sum()
        return found


@dataclass(frozen=True, eq=False)
class Optimum:
    """θ and b, and the `gram` of a point near them, which serves as curvature for the next fit."""

    theta: np.ndarray
    intercept: float
    gram: np.ndarray


def fit_logistic(
    problem: Problem,
    penalty: float,
    start: Optimum | None = None,
    *,
    tolerance: float = 1e-13,
    max_steps: int = 100,
    fresh: bool = False,
) -> Optimum:
    """The optimum; `tolerance` bounds the decrease that the last Newton step still promised.

    The curvature is the costly part of a step, so a step uses the last one known, in single precision where the penalty
    allows, and takes it again only where that made little way; with `fresh` also at the end, where it has changed.

    >>> problem = Problem(np.array([[-1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.full(3, 1 / 3))
    >>> found = fit_logistic(problem, penalty=1.0)
    >>> residual = problem.weights * (expit(problem.columns @ found.theta + found.intercept) - problem.y)
    >>> bool(abs(problem.columns.T @ residual + found.theta).max() < 1e-6 and abs(residual.sum()) < 1e-6)
    True
    """
    kind = _precision(penalty)
    if start is None:
        share = float(problem.weights @ problem.y)
        intercept = float(np.log(share / (1.0 - share)))
        z = np.full(len(problem.y), intercept)
        start = Optimum(np.zeros(problem.columns.shape[1]), intercept, problem.gram(z, kind))
    theta, intercept, gram, gained = start.theta, start.intercept, start.gram, np.inf
    z = problem.columns @ theta + intercept
    value, before, factor = problem.loss_at(z) + 0.5 * penalty * theta @ theta, np.inf, _factor(gram, penalty)
    for _ in range(max_steps):
        residual = problem.weights * (expit(z) - problem.y)
        gradient = np.append(problem.columns.T @ residual + penalty * theta, residual.sum())
        step = cho_solve(factor, gradient, check_finite=False)
        decrease = float(gradient @ step)
        if decrease < tolerance:
            break
        if decrease > _SLOW * before:
            gram, gained = problem.gram(z, kind), 0.0
            factor = _factor(gram, penalty)
            step = cho_solve(factor, gradient, check_finite=False)
            decrease = float(gradient @ step)
        moved = _along(problem, penalty, theta, z, step, value, decrease)
        if moved is None:
            break
        size, z, now = moved
        theta, intercept = theta - size * step[:-1], intercept - size * float(step[-1])
        gained += value - now
        before, value = decrease, now
    if fresh and gained > _SAME:
        gram = problem.gram(z, kind)
    return Optimum(theta, intercept, gram)


def newton_from(problem: Problem, z: np.ndarray, penalty: float) -> Optimum:
    """Newton's step from logits `(n,)` that other columns gave: the optimum, were the curvature everywhere as there."""
    gram = problem.gram(z, _precision(penalty))
    wanted = problem.curvature(z) * z - problem.weights * (expit(z) - problem.y)
    sums = np.append(problem.columns.T @ wanted, wanted.sum())
    found = cho_solve(_factor(gram, penalty), sums, check_finite=False)
    return Optimum(found[:-1], float(found[-1]), gram)


def _precision(penalty: float) -> type[np.floating[Any]]:
    return np.float32 if penalty >= _SINGLE else np.float64


def _factor(gram: np.ndarray, penalty: float) -> tuple[np.ndarray, bool]:
    matrix = gram.copy()
    matrix.flat[: -1 : len(matrix) + 1] += penalty
    matrix[-1, -1] += _INTERCEPT_PENALTY
    return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]


def _along(
    problem: Problem,
    penalty: float,
    theta: np.ndarray,
    z: np.ndarray,
    step: np.ndarray,
    value: float,
    decrease: float,
) -> tuple[float, np.ndarray, float] | None:
    """How much of the step is taken, halved until the loss falls, the logits there and the loss; None where it never does."""
    change, size = problem.columns @ step[:-1] + step[-1], 1.0
    while size > 1e-6:
        there, at = z - size * change, theta - size * step[:-1]
        now = problem.loss_at(there) + 0.5 * penalty * float(at @ at)
        if now <= value - 1e-4 * size * decrease:
            return size, there, now
        size /= 2
    return None


_MAP_PENALTY = 1e-6, 1e-9
"""Of slope and shift: next to nothing."""
CLEARLY = 2.0
"""In nats over all labels: by how much a left-out loss must be smaller to be better by more than chance."""


def left_out_loss(logits: np.ndarray, target: np.ndarray) -> float:
    """Mean negative log-likelihood of the labels under logits that were scaled, never turned over, and shifted."""
    n, scale = len(target), float(logits.std()) or 1.0
    centred = (logits - logits.mean()) / scale
    slope, _, loss = slope_and_shift(centred, target, np.full(n, 1.0 / n), _MAP_PENALTY, tolerance=1e-10)
    if slope > 0:
        return loss
    share = float(target.mean())
    return -share * float(np.log(share)) - (1 - share) * float(np.log(1 - share))


def loss_by_class(logits: np.ndarray, y: np.ndarray) -> float:
    """`left_out_loss` of each class against the others, added up, of `(n, C)` logits; of two classes, that of the second."""
    total = 0.0
    for c in np.unique(y)[1 if logits.shape[1] == 2 else 0 :]:
        others = np.logaddexp.reduce(np.delete(logits, c, axis=1), axis=1)
        total += left_out_loss(logits[:, c] - others, (y == c).astype(np.float64))
    return total


class WithoutGroups:
    """θ₋g for every group g of labels that are left out together; the intercept is held.

    The intercept says how many labels are rare, and whatever calibrates the logits sets it again. Were it refitted
    without a label, it would shift that label's own logit towards the other class, by 1/3 with three rare labels, and
    a detector that found nothing would look as if it found the opposite.

    A column may exist only because of one label (a *landmark*); without the label it must go: `ties` gives for the
    group of such a label the vector c for which cᵀθ₋g = 0.

    Args:
        problem: What was fitted.
        optimum: θ and b.
        penalty: λ.
        groups: `(n,)` numbers 0…G-1, each of them used.
        ties: `(R, T)` and `(T,)`: vectors c and their groups; or None.
    """

    def __init__(
        self,
        problem: Problem,
        optimum: Optimum,
        penalty: float,
        groups: np.ndarray,
        ties: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.problem, self.penalty = problem, penalty
        self.theta, self.intercept = optimum.theta, optimum.intercept
        self.groups, self.num_groups = groups, int(groups.max()) + 1
        z = problem.columns @ self.theta + self.intercept
        self._residual, self._scale = problem.weights * (expit(z) - problem.y), problem.curvature(z)
        hessian = problem.gram(z, _precision(penalty))[:-1, :-1].copy()
        hessian.flat[:: len(hessian) + 1] += penalty
        self._factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
        self._pulls = cho_solve(self._factor, problem.columns.T, check_finite=False)
        counts = np.bincount(groups, minlength=self.num_groups)
        self._order, self._starts = np.argsort(groups, kind="stable"), np.cumsum(counts) - counts
        self._counts = counts
        self._sums = problem.columns[self._order].T
        if self.num_groups < len(groups):
            self._sums = np.add.reduceat(self._sums, self._starts, axis=1)
        leverage = self._scale * np.einsum("nr,nr->n", problem.columns, self._pulls.T)
        self._ratio = self._scale / np.maximum(1.0 - leverage, LEAST_LEFT_OVER)
        self._tie_of = np.full(self.num_groups, -1)
        if ties is not None:
            vectors, tied = ties
            self._tie_of[tied] = np.arange(len(tied))
            self._ties = vectors
            self._tied = self._without(cho_solve(self._factor, vectors, check_finite=False), tied)
            self._along = np.maximum(np.einsum("rt,rt->t", vectors, self._tied), 1e-300)

    def _members(self, group: int) -> np.ndarray:
        return self._order[self._starts[group] : self._starts[group] + self._counts[group]]

    def _without(self, found: np.ndarray, which: np.ndarray) -> np.ndarray:
        """H₋g⁻¹ r_g from H⁻¹ r_g for the groups `which`, a column each, by Woodbury."""
        alone: Any = np.flatnonzero(self._counts[which] == 1)
        rows = self._order[self._starts[which[alone]]]
        alone = slice(None) if len(alone) == len(which) else alone
        steps = found.T  # by row: one label's numbers stand together
        along = np.einsum("nr,nr->n", self.problem.columns[rows], steps[alone])
        steps[alone] += self._pulls.T[rows] * (self._ratio[rows] * along)[:, None]
        for place in np.flatnonzero(self._counts[which] > 1):
            rows = self._members(int(which[place]))
            columns, pulls = self.problem.columns[rows], self._pulls[:, rows]
            left = np.eye(len(rows)) * (1.0 + LEAST_LEFT_OVER) - self._scale[rows, None] * (columns @ pulls)
            found[:, place] += pulls @ np.linalg.solve(left, self._scale[rows] * (columns @ found[:, place]))
        return found

    def _tie(self, step: np.ndarray, which: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """The step bent so that it ends where cᵀθ = 0, coming from `start`, or from where that holds."""
        places = np.flatnonzero(self._tie_of[which] >= 0)
        if places.size:
            tie = self._tie_of[which[places]]
            ends = step[:, places] if start is None else step[:, places] + start[:, None]
            step[:, places] -= self._tied[:, tie] * (np.einsum("rt,rt->t", self._ties[:, tie], ends) / self._along[tie])
        return step

    def directions(self, refine: bool = True) -> np.ndarray:
        """`(R, G)`: θ₋g - θ.

        The first step is Newton's. Where it moves a logit of its own labels far, the gradient is taken again at its
        end and another step follows with the same curvature; so it goes on where that one moves a logit far, too.
        """
        every = np.arange(self.num_groups)
        pulls = (self._pulls.T[self._order] * self._residual[self._order, None]).T
        if len(pulls.T) > self.num_groups:
            pulls = np.add.reduceat(pulls, self._starts, axis=1)
        found = self._tie(self._without(pulls, every), every, self.theta)
        step, which = found, every
        for _ in range(_REFINEMENTS if refine else 0):
            moves = self._own_moves(step, which)
            far = np.flatnonzero(moves > _FAR)
            which = which[far[np.argsort(-moves[far], kind="stable")[:_MOST_REFINED]]]
            if not which.size:
                break
            step = self._again(found[:, which], which)
            found[:, which] += step
        return found

    def _own_moves(self, steps: np.ndarray, which: np.ndarray) -> np.ndarray:
        """How far steps `(R, g)` of the groups `which` move a logit of their own labels at most."""
        place = np.full(self.num_groups, -1)
        place[which] = np.arange(len(which))
        rows = np.flatnonzero(place[self.groups] >= 0)
        at, moves = place[self.groups[rows]], np.zeros(len(which))
        np.maximum.at(moves, at, np.abs(np.einsum("nr,nr->n", self.problem.columns[rows], steps.T[at])))
        return moves

    def _again(self, found: np.ndarray, which: np.ndarray) -> np.ndarray:
        theta, columns = self.theta[:, None] + found, self.problem.single
        z = columns @ theta.astype(np.float32) + np.float32(self.intercept)
        residual = expit(z) - self.problem.y[:, None].astype(np.float32)
        residual *= self.problem.weights[:, None].astype(np.float32)
        residual[self.groups[:, None] == which] = 0.0
        gradient = columns.T @ residual + self.penalty * theta
        step = self._tie(self._without(-cho_solve(self._factor, gradient, check_finite=False), which), which)
        # A step that would leave far more than it came is not trusted: the curvature there is another.
        size = np.linalg.norm(step, axis=0) / np.maximum(np.linalg.norm(found, axis=0), 1e-300)
        return np.asarray(step * np.minimum(1.0, 1.0 / np.maximum(size, 1e-300)))

    def own_changes(self, directions: np.ndarray) -> np.ndarray:
        """`(n,)`: how each label's own logit moves when its group is left out."""
        return np.asarray(np.einsum("nr,nr->n", self.problem.columns, directions.T[self.groups]))

    def level_changes(self, directions: np.ndarray) -> np.ndarray:
        """`(G,)`: the mean over all other labels of how their logits move when a group is left out."""
        others = self.problem.columns.sum(axis=0)[:, None] - self._sums
        return np.asarray(np.einsum("rg,rg->g", others, directions) / np.maximum(len(self.groups) - self._counts, 1))

    def left_out(self, directions: np.ndarray) -> np.ndarray:
        """`(n,)` left-out logits."""
        z = self.problem.columns @ self.theta + self.intercept
        return np.asarray(z + self.own_changes(directions))
