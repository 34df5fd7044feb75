"""Leave-one-out where neither the labels nor the parameters give a matrix that fits: conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from joblib import Parallel, delayed, effective_n_jobs
from torch import Tensor

from calirare.detectors.networks.influence.curvature import OverLabels, Step, newton_or_plain
from calirare.detectors.networks.influence.jacobian import Jacobian
from calirare.detectors.networks.influence.label_terms import LabelTerms
from calirare.errors import NumericalError

_TOLERANCE, _MOST_STEPS = 1e-10, 1_000


class IterativeCurvature(OverLabels):
    """Conjugate gradients on (SᵀKS + λI) q = e, several columns at a time; memory for a few vectors only.

    The choice when both labels and parameters are many. It costs a push and a pull through the model per iteration
    and block of labels, so leaving *all* labels out takes long; leaving out a chosen few does not. Blocks run one after
    the other, or wherever `joblib.parallel_config` sends them: processes, or a Ray cluster. The numbers are the same.
    """

    def __init__(
        self, jacobian: Jacobian, nodes: np.ndarray, terms: LabelTerms, damping: float, *, block: int = 16
    ) -> None:
        self.jacobian, self.nodes, self.terms, self.damping, self.block = jacobian, nodes, terms, damping, block
        self.index = torch.from_numpy(nodes).to(terms.residual.device)
        self._take(self._over_blocks(self._left_over, np.arange(len(nodes))))

    def _over_blocks(self, solve: Callable[[np.ndarray], Tensor], rows: np.ndarray) -> Tensor:
        """`solve` of blocks of these rows, joined; each worker of joblib is sent the model once, with its share."""
        blocks = [rows[start : start + self.block] for start in range(0, len(rows), self.block)]
        workers = min(effective_n_jobs(None), len(blocks))
        if workers < 2:
            return _joined(solve, blocks)
        shares = [blocks[len(blocks) * k // workers : len(blocks) * (k + 1) // workers] for k in range(workers)]
        return torch.cat(Parallel()(delayed(_joined)(solve, share) for share in shares))

    def _left_over(self, rows: np.ndarray) -> Tensor:
        """I - SᵀMS of these labels, `(len(rows), contrasts, contrasts)`."""
        columns = self._columns(rows)
        picks = torch.arange(len(rows), device=columns.device)
        return self.damping * columns[torch.from_numpy(rows).to(picks), :, picks]

    def _multiply(self, vectors: Tensor) -> Tensor:
        """(SᵀKS + λI) times `(n, contrasts, columns)`."""
        directions = self.jacobian.pull(self.nodes, self.terms.factor @ vectors)
        pushed = self.jacobian.push(directions)[self.index].double()
        return self.terms.factor.mT @ pushed + self.damping * vectors

    def _columns(self, rows: np.ndarray) -> Tensor:
        n, d = self.terms.residual.shape
        right = torch.zeros(n, d, len(rows), d, dtype=torch.float64, device=self.index.device)
        for position, row in enumerate(rows):
            right[int(row), :, position] = torch.eye(d).to(right)
        return self._solve(right.reshape(n, d, -1)).reshape(right.shape)

    def _solve(self, residual: Tensor) -> Tensor:
        """Q times `(n, contrasts, columns)`."""
        solution, search = torch.zeros_like(residual), residual.clone()
        squared = residual.square().sum(dim=(0, 1))
        for _ in range(_MOST_STEPS):
            if float(squared.max().sqrt()) < _TOLERANCE:
                return solution
            product = self._multiply(search)
            stride = squared / (search * product).sum(dim=(0, 1)).clamp(min=1e-300)
            solution = solution + stride * search
            residual = residual - stride * product
            updated = residual.square().sum(dim=(0, 1))
            search = residual + updated / squared.clamp(min=1e-300) * search
            squared = updated
        raise NumericalError(
            f"conjugate gradients did not reach {_TOLERANCE:g} in {_MOST_STEPS} steps; "
            "train with a larger weight_decay or choose solver='dual'."
        )

    def _own_changes(self, rows: np.ndarray, step: Step) -> Tensor:
        found = []
        for some in np.split(rows, range(self.block, len(rows), self.block)):
            pushed = self.jacobian.push(self.directions(some, step))[self.index[torch.from_numpy(some).to(self.index)]]
            found.append(pushed.diagonal(dim1=0, dim2=2).T.double())
        return torch.cat(found)

    def directions(self, rows: np.ndarray, step: Step) -> Tensor:
        return self._over_blocks(partial(self._directions, step=step), rows)

    def later(self, rows: np.ndarray, step: Step) -> None:
        """Never: there are more labels than numbers of a direction to hold."""

    def _directions(self, rows: np.ndarray, step: Step) -> Tensor:
        return self.jacobian.pull(self.nodes, self._coefficients(rows, step))

    def changes_among_labelled(self, step: Step) -> Tensor:
        return self._over_blocks(partial(self._changes, step=step), np.arange(len(self.nodes))).permute(1, 2, 0)

    def mean_change(self, step: Step) -> Tensor:
        n, d = self.terms.residual.shape
        mean = self.jacobian.pull(self.nodes, torch.eye(d).to(self.terms.residual).expand(n, d, d) / n)
        right = self.terms.factor.mT @ self.jacobian.push(mean)[self.index].double()
        steps = newton_or_plain(self.left_over, self.terms.whitened, step)
        return torch.einsum("iqp,iq->ip", self._solve(right), steps)

    def _changes(self, rows: np.ndarray, step: Step) -> Tensor:
        """What leaving out these labels does to all: `(len(rows), n, contrasts)`."""
        return self.jacobian.push(self._directions(rows, step))[self.index].double().permute(2, 0, 1)


def _joined(solve: Callable[[np.ndarray], Tensor], blocks: list[np.ndarray]) -> Tensor:
    return torch.cat([solve(block) for block in blocks])
