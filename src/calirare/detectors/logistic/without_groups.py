"""What a penalised logistic regression would say without some of its labels: one Newton step, then one or two more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.special import expit

from calirare.detectors.logistic.leverage import LEAST_LEFT_OVER, whitened, whitened_by
from calirare.detectors.logistic.optimum import LogisticProblem, Optimum

_MOST_REFINED = 256
_REFINEMENTS = 2
_FAR = 0.02
"""Change of a logit beyond which one step is not enough."""
_FLAT = 1e-3
"""Labels with a smaller p(1 - p) are so sure that their curvature, next to nothing, is left as it is."""


class WithoutGroups:
    """θ₋g for every group g of labels that are left out together; the intercept is held.

    The intercept says how many labels are rare, and whatever calibrates the logits sets it again. Were it refitted
    without a label, it would shift that label's own logit towards the other class, by 1/3 with three rare labels, and
    a detector that found nothing would look as if it found the opposite.

    A column may exist only because of one label (a *landmark*); without the label it must go: `ties` gives for the
    group of such a label the vector c for which cᵀθ₋g = 0.

    With H = LLᵀ the curvature at the optimum, all is said of ψ = L⁻¹φ and of *steps* Lᵀ(θ₋g - θ), in which it is the
    identity; a step is turned back into a direction only where that is asked for.

    Args:
        problem: What was fitted.
        optimum: θ and b, and the curvature there.
        penalty: λ.
        groups: `(n,)` numbers 0…G-1, each of them used.
        ties: `(R, T)` and `(T,)`: vectors c and their groups; or None.
    """

    def __init__(
        self,
        problem: LogisticProblem,
        optimum: Optimum,
        penalty: float,
        groups: np.ndarray,
        ties: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.weights, self.groups, self.num_groups = problem.weights, groups, int(groups.max()) + 1
        self.z = problem.columns @ optimum.theta + optimum.intercept
        self._residual, self._scale = problem.weights * (expit(self.z) - problem.y), problem.curvature(self.z)
        white = whitened_by(problem, optimum, penalty)
        self.root, self._rows = white.root, white.rows
        self._counts = np.bincount(groups, minlength=self.num_groups)
        self._order, self._starts = np.argsort(groups, kind="stable"), np.cumsum(self._counts) - self._counts
        leverage = self._scale * np.einsum("nr,nr->n", self._rows, self._rows)
        self._ratio = self._scale / np.maximum(1.0 - leverage, LEAST_LEFT_OVER)
        self._tie_of = np.full(self.num_groups, -1)
        if ties is not None:
            vectors, tied = ties
            self._tie_of[tied] = np.arange(len(tied))
            self._ties = whitened(self.root, vectors)
            self._reach = optimum.theta @ vectors
            self._tied = self._without(self._ties.copy(), tied)
            self._along = np.maximum(np.einsum("tr,tr->t", self._ties, self._tied), 1e-300)

    def _without(self, found: np.ndarray, which: np.ndarray) -> np.ndarray:
        """H₋g⁻¹ r_g from r_g for the groups `which`, a row each, by Woodbury."""
        alone: Any = np.flatnonzero(self._counts[which] == 1)
        rows = self._order[self._starts[which[alone]]]
        alone = slice(None) if len(alone) == len(which) else alone
        mine = self._rows[rows]
        along = self._ratio[rows] * np.einsum("nr,nr->n", mine, found[alone])
        mine *= along.astype(mine.dtype)[:, None]
        found[alone] += mine
        for place in np.flatnonzero(self._counts[which] > 1):
            start = self._starts[which[place]]
            rows = self._order[start : start + self._counts[which[place]]]
            mine = self._rows[rows].astype(np.float64)
            left = np.eye(len(rows)) * (1.0 + LEAST_LEFT_OVER) - self._scale[rows, None] * (mine @ mine.T)
            found[place] += mine.T @ np.linalg.solve(left, self._scale[rows] * (mine @ found[place]))
        return found

    def _tie(self, step: np.ndarray, which: np.ndarray, from_optimum: bool = False) -> np.ndarray:
        """The steps bent so that they end where cᵀθ = 0, coming from the optimum, or from where that holds."""
        places = np.flatnonzero(self._tie_of[which] >= 0)
        if places.size:
            tie = self._tie_of[which[places]]
            ends = np.einsum("tr,tr->t", self._ties[tie], step[places]) + (self._reach[tie] if from_optimum else 0.0)
            step[places] -= self._tied[tie] * (ends / self._along[tie])[:, None]
        return step

    def steps(self, asked: np.ndarray | None = None) -> np.ndarray:
        """`(G, R)`: Lᵀ(θ₋g - θ).

        The first step is Newton's. Where it moves a logit of its own labels far, the gradient is taken again at its
        end and another step follows with the same curvature; so it goes on where that one moves a logit far, too.

        Args:
            asked: `(n,)` labels for which that is done; None: all.
        """
        which = np.arange(self.num_groups)
        pulls = self._rows[self._order]
        pulls *= self._residual[self._order, None].astype(pulls.dtype)
        if len(pulls) > self.num_groups:
            pulls = np.add.reduceat(pulls, self._starts, axis=0)
        found = self._tie(self._without(pulls, which), which, from_optimum=True)
        first = there = step = found
        asked = np.ones(len(self.groups), dtype=bool) if asked is None else asked
        for _ in range(_REFINEMENTS):
            moves = self._own_moves(step, which, asked)
            far = np.flatnonzero(moves > _FAR)
            far = far[np.argsort(-moves[far], kind="stable")[:_MOST_REFINED]]
            if not far.size:
                break
            which, first, there = which[far], first[far], there[far]
            step = _no_longer(first + self._again(there, which) - there, there)
            there = there + step
            found[which] = there
        return found

    def _own_moves(self, steps: np.ndarray, which: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """How far steps `(g, R)` of the groups `which` move a logit of those of their own labels that are asked for."""
        place = np.full(self.num_groups, -1)
        place[which] = np.arange(len(which))
        rows = np.flatnonzero((place[self.groups] >= 0) & asked)
        at, moves = place[self.groups[rows]], np.zeros(len(which))
        np.maximum.at(moves, at, np.abs(np.einsum("nr,nr->n", self._rows[rows], steps[at])))
        return moves

    def _again(self, there: np.ndarray, which: np.ndarray) -> np.ndarray:
        """What to add to Newton's steps, now that they ended `there`.

        A Newton step leaves of the gradient what the curvature did not tell: the sum over the other labels of
        w_i [p(z_i + δ_i) - p(z_i) - p'(z_i) δ_i] ψ_i.
        """
        p = expit(self.z)
        curved = np.flatnonzero(p * (1.0 - p) > _FLAT)
        rows, p = self._rows[curved], p[curved, None].astype(self._rows.dtype)
        change = rows @ there.T.astype(rows.dtype)
        left = torch.from_numpy(self.z[curved, None].astype(rows.dtype) + change).sigmoid_().numpy()
        left -= p
        change *= p * (1.0 - p)
        left -= change
        left *= self.weights[curved, None].astype(rows.dtype)
        left[self.groups[curved][:, None] == which] = 0.0
        return self._tie(self._without(-(left.T @ rows), which), which)

    def own_changes(self, steps: np.ndarray) -> np.ndarray:
        """`(n,)`: how each label's own logit moves when its group is left out."""
        return np.asarray(np.einsum("nr,nr->n", self._rows, steps[self.groups]), dtype=np.float64)

    def level_changes(self, steps: np.ndarray) -> np.ndarray:
        """`(G,)`: the mean over all other labels of how their logits move when a group is left out."""
        own = np.bincount(self.groups, self.own_changes(steps))
        total = self._rows.sum(axis=0, dtype=np.float64).astype(steps.dtype)
        return (steps @ total - own) / np.maximum(len(self.groups) - self._counts, 1)

    def left_out(self, steps: np.ndarray) -> np.ndarray:
        """`(n,)` left-out logits."""
        return self.z + self.own_changes(steps)


def _no_longer(step: np.ndarray, than: np.ndarray) -> np.ndarray:
    """Steps cut to the length of those before: one that would leave further is not trusted, the curvature there is another."""
    size = np.linalg.norm(step, axis=1) / np.maximum(np.linalg.norm(than, axis=1), 1e-30)
    return step / np.maximum(size, 1.0).astype(step.dtype)[:, None]


def turned_back(root: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """`(R, g)` directions of steps `(g, R)`, with H = LLᵀ and L the root."""
    return solve_triangular(root, steps.T.astype(np.float64), trans="T", lower=True, check_finite=False)


@dataclass(frozen=True, eq=False)
class LeftOutModels:
    """θ₋g - θ of some labels, kept as steps and turned back when asked for: most are never asked for.

    Args:
        steps: `(m, R)` float32.
        root: L; None: steps are directions.
        basis: `(columns, R)` of what was fitted; None: the columns themselves.
    """

    steps: np.ndarray
    root: np.ndarray | None = None
    basis: np.ndarray | None = None

    @cached_property
    def directions(self) -> np.ndarray:
        """`(columns, m)` float32."""
        if self.root is None:
            return self.steps.T
        found = turned_back(self.root, self.steps)
        return (found if self.basis is None else self.basis @ found).astype(np.float32)
