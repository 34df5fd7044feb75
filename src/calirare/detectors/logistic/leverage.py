"""Left-out logits of a logistic regression by leverages alone, for choosing among many fits.

With H = Φᵀ diag(s) Φ + λI = LLᵀ and ψ_i = L⁻¹φ_i, the curvature is the identity, and a label's own logit moves by
a_i ρ_i / (1 - s_i a_i) when it is left out, where a_i = ‖ψ_i‖² and ρ_i is its part of the gradient: one triangular solve
for all labels. Of a group that is left out together, a_i is the table of ψ_i · ψ_j.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy.special import expit

from calirare.detectors.logistic.optimum import LogisticProblem, Optimum, Whitened, float_for

LEAST_LEFT_OVER = 1e-6
"""Least 1 - leverage: a label that holds up a direction alone leaves nothing to say about it."""


def whitened(root: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """`(m, R)`, a row each: L⁻¹c of vectors `(R, m)`, in the precision of these; by torch, in a third of SciPy's time."""
    lower = torch.from_numpy(root.astype(vectors.dtype, copy=False))
    return np.asarray(torch.linalg.solve_triangular(lower, torch.from_numpy(vectors), upper=False).T)


def whitened_by(problem: LogisticProblem, optimum: Optimum, penalty: float) -> Whitened:
    """From the optimum's `gram`; as made before, where it was."""
    if optimum.whitened is not None and optimum.whitened.penalty == penalty:
        return optimum.whitened
    factor = optimum.factor(penalty)
    return Whitened(penalty, factor, whitened(factor[:-1, :-1], problem.columns_in(float_for(penalty)).T))


def with_whitened(problem: LogisticProblem, optimum: Optimum, penalty: float) -> Optimum:
    """The optimum, for several questions."""
    return replace(optimum, whitened=whitened_by(problem, optimum, penalty))


def own_left_out(
    problem: LogisticProblem,
    optimum: Optimum,
    penalty: float,
    groups: np.ndarray,
    ties: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """`(n,)` left-out logits at a common level, by one Newton step.

    Columns must be centred over the labels: their sum without a group is then minus that of the group, and the level
    moves by -1/(n - m) of what the own logits of its m labels do together.

    Args:
        problem: What was fitted.
        optimum: θ and b; its `gram` is that of this very point.
        penalty: λ.
        groups: `(n,)` as for `WithoutGroups`.
        ties: As for `WithoutGroups`.
    """
    z = problem.columns @ optimum.theta + optimum.intercept
    residual, scale = problem.weights * (expit(z) - problem.y), problem.curvature(z)
    white = whitened_by(problem, optimum, penalty)
    root, rows = white.root, white.rows
    own = np.einsum("nr,nr->n", rows, rows).astype(np.float64)
    ratio = scale / np.maximum(1.0 - scale * own, LEAST_LEFT_OVER)
    grown = residual * (1.0 + ratio * own)
    change, counts = own * grown, np.bincount(groups)
    bent = _Bent(root, ties, optimum.theta, rows, groups)
    at, across, length, reach = bent.alone(counts)
    along = length + ratio[at] * across**2
    change[at] -= across * (1.0 + own[at] * ratio[at]) * (across * grown[at] + reach) / np.maximum(along, 1e-300)
    for group in np.flatnonzero(counts > 1).tolist():
        some = np.flatnonzero(groups == group)
        change[some] = _together(rows[some].astype(np.float64), residual[some], scale[some], bent.of(group))
    others = np.maximum(len(z) - counts, 1)
    return z + change + (np.bincount(groups, change) / others)[groups]


class _Bent:
    """Ties where the curvature is the identity: c as L⁻¹c, and cᵀθ."""

    def __init__(
        self,
        root: np.ndarray,
        ties: tuple[np.ndarray, np.ndarray] | None,
        theta: np.ndarray,
        rows: np.ndarray,
        groups: np.ndarray,
    ) -> None:
        vectors: np.ndarray = np.empty((len(root), 0)) if ties is None else ties[0]
        self.tied: np.ndarray = np.empty(0, dtype=np.int64) if ties is None else ties[1]
        self.rows, self.groups, self.reach = rows, groups, theta @ vectors
        self.vectors = whitened(root, vectors.astype(rows.dtype))

    def alone(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Labels without a group that something ties: their rows, ψ · c, c · c and cᵀθ."""
        which = np.flatnonzero(counts[self.tied] == 1)
        place = np.empty(len(counts), dtype=np.int64)
        place[self.groups] = np.arange(len(self.groups))
        at, vectors = place[self.tied[which]], self.vectors[which]
        across, length = (np.einsum("tr,tr->t", one, vectors).astype(np.float64) for one in (self.rows[at], vectors))
        return at, across, length, self.reach[which]

    def of(self, group: int) -> tuple[np.ndarray, float] | None:
        """c and cᵀθ of this group; None where nothing ties it."""
        which = np.flatnonzero(self.tied == group)
        return (self.vectors[which[0]].astype(np.float64), float(self.reach[which[0]])) if which.size else None


def _together(
    rows: np.ndarray, residual: np.ndarray, scale: np.ndarray, tie: tuple[np.ndarray, float] | None
) -> np.ndarray:
    """How the logits of some labels move when these are left out together."""
    table = rows @ rows.T
    left = np.eye(len(rows)) * (1.0 + LEAST_LEFT_OVER) - scale[:, None] * table
    pull = np.linalg.solve(left, residual)
    change = table @ pull
    if tie is not None:
        vector, reach = tie
        across = rows @ vector
        bend = np.linalg.solve(left, scale * across)
        along = max(float(vector @ vector + across @ bend), 1e-300)
        change -= (across + table @ bend) * float(reach + across @ pull) / along
    return np.asarray(change)
