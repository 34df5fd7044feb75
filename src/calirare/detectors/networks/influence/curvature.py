"""Three ways to solve with the Gauss-Newton matrix H = Σ_i J_iᵀ Λ_i J_i + λ I of the training loss.

All three answer the same questions: how far each label's removal moves its own node's contrasts (`own_change`), which
way it moves the parameters (`directions`), and what it does to the other labelled nodes (`changes_among_labelled`).
They differ in what they factorise:

* `DualCurvature`: Q⁻¹ = Sᵀ K S + λ I over the labelled nodes, with Λ_i = S_i S_iᵀ and K = J Jᵀ;
* `PrimalCurvature`: H itself, over the parameters;
* `IterativeCurvature` (`calirare.detectors.networks.influence.iterative`): nothing; conjugate gradients on the dual system, where neither would fit.

In the code d is the number of contrasts of a node, one less than there are classes.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from calirare.detectors.networks.influence.dual_inverse import DualInverse
from calirare.detectors.networks.influence.factors import factorised, with_itself
from calirare.detectors.networks.influence.jacobian import Jacobian
from calirare.detectors.networks.influence.label_terms import LabelTerms

Step = Literal["newton", "influence"]
Later = Callable[[slice], Tensor]
"""Gives the `directions` of some of the requested rows."""
_SMALL_LEVERAGE = 1e-4
_LARGEST_HELD = 2_896
"""Side of the largest matrix that is held because it may be asked for: 64 MB."""
LEAST_LEFT_OVER = 1e-10
"""Least 1 - leverage that Newton's step divides by. Below it the difference is rounding error, of any sign."""


class Curvature(Protocol):
    """The solved training problem, ready to leave labels out. `step` chooses Newton or the paper's plain influence."""

    leverage: Tensor

    def own_change(self, step: Step) -> Tensor:
        """`(n, contrasts)`: z̃_i(θ₋ᵢ) - z̃_i(θ) of each labelled node."""

    def directions(self, rows: np.ndarray, step: Step) -> Tensor:
        """`(len(rows), P)`: θ₋ᵢ - θ for these labelled nodes."""

    def later(self, rows: np.ndarray, step: Step) -> Later | None:
        """`directions` of these rows when they are asked for, little being held until then; None: not without much."""

    def changes_among_labelled(self, step: Step) -> Tensor:
        """`(n, contrasts, n)`: the change at each labelled node by the removal of each label."""

    def mean_change(self, step: Step) -> Tensor:
        """`(n, contrasts)`: the mean of that over the labelled nodes, at the price of one solve."""


def newton_or_plain(left_over: Tensor, whitened: Tensor, step: Step) -> Tensor:
    """(I - SᵀMS)⁻¹ S⁻¹ρ for Newton, S⁻¹ρ for plain influence; `left_over` is I - SᵀMS."""
    if step == "influence":
        return whitened
    return torch.linalg.solve(_bounded(left_over), whitened[..., None])[..., 0]


def _bounded(left_over: Tensor) -> Tensor:
    """`left_over` with its eigenvalues raised to `LEAST_LEFT_OVER` where they are below."""
    if left_over.shape[1] == 1:
        return left_over.clamp(min=LEAST_LEFT_OVER)
    symmetric = (left_over + left_over.mT) / 2
    floor = LEAST_LEFT_OVER * torch.eye(left_over.shape[1]).to(left_over)
    low = torch.linalg.cholesky_ex(symmetric - floor).info != 0
    if not bool(low.any()):
        return left_over
    values, vectors = torch.linalg.eigh(symmetric[low])
    raised = vectors @ torch.diag_embed(values.clamp(min=LEAST_LEFT_OVER)) @ vectors.mT
    return left_over.index_put((low.nonzero()[:, 0],), raised)


def _by_block(blocks: Tensor, columns: Tensor) -> Tensor:
    """`blocks` `(n, contrasts, contrasts)` times `columns` `(n, contrasts, k)`, node by node."""
    return blocks * columns if blocks.shape[1] == 1 else blocks @ columns


def _whitened(kernel: Tensor, factor: Tensor) -> Tensor:
    """Sᵀ K S, `factor` being the blocks of S."""
    n, d, _ = factor.shape
    if d == 1:
        scale = factor[:, 0, 0]
        return (kernel * scale).mul_(scale[:, None])
    half = (factor.mT @ kernel.reshape(n, d, -1)).reshape(n * d, -1)
    return (factor.mT @ half.T.reshape(n, d, -1)).reshape(n * d, -1)


class OverLabels(ABC):
    """What the two solvers over the labels share: θ₋ᵢ - θ = Jᵀ a_i, with a_i made of label i's columns of Q.

    The leverage is SᵀMS = I - λ Q_ii. Where it is small that difference loses digits, and what the removal does to the
    label's own node is taken from a_i instead.
    """

    jacobian: Jacobian
    nodes: np.ndarray
    terms: LabelTerms
    left_over: Tensor
    leverage: Tensor

    @abstractmethod
    def _columns(self, rows: np.ndarray) -> Tensor:
        """Columns of Q for these labelled nodes: `(n, contrasts, len(rows), contrasts)`."""

    @abstractmethod
    def _own_changes(self, rows: np.ndarray, step: Step) -> Tensor:
        """`(len(rows), contrasts)`: what the removal of each label does to its own node, from a_i."""

    def _take(self, left_over: Tensor) -> None:
        self.left_over = left_over
        self.leverage = torch.eye(left_over.shape[1]).to(left_over) - left_over

    def _coefficients(self, rows: np.ndarray, step: Step) -> Tensor:
        """a_i: `(n, contrasts, len(rows))`."""
        index = torch.from_numpy(rows).to(self.left_over.device)
        steps = newton_or_plain(self.left_over[index], self.terms.whitened[index], step)
        return _by_block(self.terms.factor, torch.einsum("nqip,ip->nqi", self._columns(rows), steps))

    def own_change(self, step: Step) -> Tensor:
        steps = newton_or_plain(self.left_over, self.terms.whitened, step)
        scaled = self.leverage @ steps[..., None]
        by_leverage: Tensor = torch.linalg.solve_triangular(self.terms.factor.mT, scaled, upper=True)[..., 0]
        small = (self.leverage.diagonal(dim1=1, dim2=2).amin(dim=1) < _SMALL_LEVERAGE).nonzero()[:, 0]
        if len(small):
            by_leverage[small] = self._own_changes(small.cpu().numpy(), step)
        return by_leverage


class DualCurvature(OverLabels):
    """Everything in the n·contrasts × n·contrasts dual; the choice when labels are fewer than parameters.

    Attributes:
        kernel: K.
        inverse: λQ.
    """

    def __init__(self, jacobian: Jacobian, nodes: np.ndarray, terms: LabelTerms, damping: float) -> None:
        self.jacobian, self.nodes, self.terms = jacobian, nodes, terms
        self.kernel, self.damping = jacobian.gram(nodes), damping
        whitened = _whitened(self.kernel, terms.factor / damping**0.5)
        self.inverse = DualInverse(whitened, damping, jacobian.float_type == np.float32)
        self._take(self.inverse.blocks(terms.residual.shape[1]))

    def _columns(self, rows: np.ndarray) -> Tensor:
        n, d = self.terms.residual.shape
        places = torch.from_numpy(rows[:, None] * d + np.arange(d)).reshape(-1)
        return self.inverse.columns(places.to(self.left_over.device)).reshape(n, d, len(rows), d) / self.damping

    def _own_changes(self, rows: np.ndarray, step: Step) -> Tensor:
        n, d = self.terms.residual.shape
        own = self.kernel.reshape(n, d, -1)[torch.from_numpy(rows).to(self.kernel.device)]
        return torch.einsum("ipm,mi->ip", own, self._coefficients(rows, step).reshape(n * d, -1))

    def directions(self, rows: np.ndarray, step: Step) -> Tensor:
        return self.jacobian.pull(self.nodes, self._coefficients(rows, step))

    def later(self, rows: np.ndarray, step: Step) -> Later:
        if len(self.inverse) <= _LARGEST_HELD:
            held = copy.copy(self)
            del held.kernel
            return lambda some: held.directions(rows[some], step)
        coefficients, pull, nodes = self._coefficients(rows, step), self.jacobian.pull, self.nodes
        return lambda some: pull(nodes, coefficients[:, :, some])

    def changes_among_labelled(self, step: Step) -> Tensor:
        n, d = self.terms.residual.shape
        return (self.kernel @ self._coefficients(np.arange(n), step).reshape(n * d, n)).reshape(n, d, n)

    def mean_change(self, step: Step) -> Tensor:
        n, d = self.terms.residual.shape
        mean = self.kernel.reshape(n, d, n * d).mean(dim=0)
        right = _by_block(self.terms.factor.mT, mean.T.reshape(n, d, d)).reshape(n * d, d)
        solved = self.inverse.times(right)
        for _ in range(self.inverse.single):  # what single precision left
            again = _by_block(self.terms.factor, solved.reshape(n, d, d)).reshape(n * d, d)
            again = _by_block(self.terms.factor.mT, (self.kernel @ again).reshape(n, d, d))
            solved += self.inverse.times(right - solved - again.reshape(n * d, d) / self.damping)
        solved /= self.damping
        steps = newton_or_plain(self.left_over, self.terms.whitened, step)
        return torch.einsum("iqp,iq->ip", solved.reshape(n, d, d), steps)


class PrimalCurvature:
    """H = LLᵀ over the parameters; the choice when they are fewer than the labels. J passes by in blocks.

    All is said of the labels' halves ψ_i = L⁻¹ J_iᵀ, held where they are few: M_i = ψ_iᵀ ψ_i, and only directions of the
    parameters take the other half of a solve.
    """

    def __init__(self, jacobian: Jacobian, nodes: np.ndarray, terms: LabelTerms, damping: float) -> None:
        self.jacobian, self.nodes, self.terms = jacobian, nodes, terms
        size, start = jacobian.num_parameters, 0
        few = terms.residual.numel() * size <= _LARGEST_HELD**2
        blocks = [torch.cat(list(jacobian.rows(nodes)))] if few else jacobian.rows(nodes)
        matrix = damping * torch.eye(size, dtype=torch.float64, device=terms.residual.device)
        for block in blocks:
            scaled = terms.factor[start : start + len(block)].mT @ block.double()
            matrix += with_itself(scaled.reshape(-1, size))
            start += len(block)
        self.factor = factorised(matrix, damping)
        self._held = self._half(block) if few else None
        self.inverse_blocks = torch.cat([torch.einsum("sip,siq->ipq", half, half) for _, half in self._halves()])
        self.leverage = terms.factor.mT @ self.inverse_blocks @ terms.factor

    def _half(self, block: Tensor) -> Tensor:
        """ψ_i of a block of rows: `(P, b, contrasts)`."""
        b, d, size = block.shape
        columns = block.double().reshape(-1, size).T
        return torch.linalg.solve_triangular(self.factor, columns, upper=False).reshape(size, b, d)

    def _halves(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, Tensor]]:
        """Blocks of the ψ_i of these labels, or of all."""
        if self._held is not None:
            held = self._held if rows is None else self._held[:, torch.from_numpy(rows).to(self._held.device)]
            yield slice(None), held
            return
        start = 0
        for block in self.jacobian.rows(self.nodes if rows is None else self.nodes[rows]):
            yield slice(start, start + len(block)), self._half(block)
            start += len(block)

    def _steps(self, step: Step) -> Tensor:
        """(I - Λ_i M_i)⁻¹ ρ_i, or ρ_i: `(n, contrasts)`."""
        identity = torch.eye(self.leverage.shape[1]).to(self.leverage)
        whitened = newton_or_plain(identity - self.leverage, self.terms.whitened, step)
        return (self.terms.factor @ whitened[..., None])[..., 0]

    def own_change(self, step: Step) -> Tensor:
        return (self.inverse_blocks @ self._steps(step)[..., None])[..., 0]

    def _half_directions(self, rows: np.ndarray, step: Step) -> Tensor:
        """`(P, len(rows))`: Lᵀ(θ₋ᵢ - θ)."""
        steps = self._steps(step)[torch.from_numpy(rows).to(self.leverage.device)]
        found = [torch.einsum("sip,ip->si", half, steps[where]) for where, half in self._halves(rows)]
        return torch.cat(found, dim=1)

    def directions(self, rows: np.ndarray, step: Step) -> Tensor:
        return torch.linalg.solve_triangular(self.factor.mT, self._half_directions(rows, step), upper=True).T

    def later(self, rows: np.ndarray, step: Step) -> Later | None:
        if len(self.factor) > _LARGEST_HELD:
            return None
        held = copy.copy(self)
        held._held = None
        return lambda some: held.directions(rows[some], step)

    def changes_among_labelled(self, step: Step) -> Tensor:
        moves = self._half_directions(np.arange(len(self.nodes)), step)
        return torch.cat([torch.einsum("svp,si->vpi", half, moves) for _, half in self._halves()])

    def mean_change(self, step: Step) -> Tensor:
        n, d = self.terms.residual.shape
        mean = self.jacobian.pull(self.nodes, torch.eye(d).to(self.terms.residual).expand(n, d, d) / n)
        solved = torch.cholesky_solve(mean.double().T, self.factor).T
        moved = self.jacobian.push(solved)[torch.from_numpy(self.nodes).to(solved.device)].double()
        return torch.einsum("iqp,iq->ip", moved, self._steps(step))
