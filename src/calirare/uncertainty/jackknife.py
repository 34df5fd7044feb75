"""Jackknife intervals for every node of a graph, in bounded memory.

What is kept of the leave-one-out engine is small and plain: how far each left-out label moves the parameters, and the
left-out logits. With them intervals can be had on any graph the model can score, also after a model was saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.errors import NumericalError
from calirare.influence.jacobian import contrast_basis, make_jacobian
from calirare.influence.leave_one_out import LeaveOneOut
from calirare.influence.model import predict_logits
from calirare.metrics.individual import jackknife_bounds

_MOST_LEFT_OUT = 1_024
_LARGEST_DIRECTIONS = 32_000_000
_LARGEST_TABLE = 2**26
_FEWEST_LEFT_OUT = 128
"""On graphs where (nodes × left-out models) would pass `_LARGEST_TABLE`, fewer models are asked, but never fewer."""
_PUSH_BYTES = 128 * 2**20

ToProbabilities = Callable[[np.ndarray], np.ndarray]
"""Calibrated probabilities `(N, C)` of logits `(N, C)`."""
ToProbability = Callable[[Tensor], Tensor]
"""The calibrated probability `(N, m)` of one class, of m models' logits `(N, m, C)`."""


@dataclass(frozen=True)
class Intervals:
    """Lower and upper bound of P(rare) for each node, `(N,)` each."""

    lower: np.ndarray
    upper: np.ndarray

    @property
    def width(self) -> np.ndarray:
        return np.asarray(self.upper - self.lower)


@dataclass(frozen=True)
class LeftOut:
    """The left-out models, as shifts of the trained parameters.

    Args:
        nodes: `(n,)` the labelled nodes.
        y: `(n,)` their classes.
        logits: `(n, C)` left-out logits of all of them.
        probabilities: `(n, C)` the same, calibrated.
        rows: `(m,)` the rows of `nodes` whose shifts are kept, in random order; all of them unless memory forbids.
        directions: `(m, P)` float32: θ₋ᵢ - θ.
    """

    nodes: np.ndarray
    y: np.ndarray
    logits: np.ndarray
    probabilities: np.ndarray
    rows: np.ndarray
    directions: np.ndarray

    @classmethod
    def from_engine(cls, engine: LeaveOneOut, logits: np.ndarray, probabilities: np.ndarray, seed: int) -> LeftOut:
        """Keep what intervals need; `logits` are the engine's left-out logits as evidence."""
        n, size = len(engine.nodes), engine.jacobian.num_parameters
        kept = min(n, _MOST_LEFT_OUT, max(_FEWEST_LEFT_OUT, _LARGEST_DIRECTIONS // size))
        rows = np.random.default_rng(seed).permutation(n)[:kept]
        directions = np.empty((kept, size), dtype=np.float32)
        block = max(1, _PUSH_BYTES // (16 * size))
        for start in range(0, kept, block):
            found = engine.curvature.directions(rows[start : start + block], engine.step)
            directions[start : start + block] = found.float().cpu().numpy()
        return cls(engine.nodes, engine.y, logits, probabilities, rows, directions)

    def shifted_logits(self, model: nn.Module, inputs: GraphInputs) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Blocks `(rows, (N, b, C))`: every node's logits by some of the left-out models."""
        jacobian = make_jacobian(model, inputs)
        logits = predict_logits(model, inputs)
        num_nodes, num_classes = logits.shape
        basis = contrast_basis(num_classes).to(logits)
        kept = self.num_asked(num_nodes)
        block = max(1, min(kept, _PUSH_BYTES // (4 * num_nodes * jacobian.push_width)))
        for start in range(0, kept, block):
            stop = min(start + block, kept)
            directions = torch.from_numpy(self.directions[start:stop]).to(logits)
            changes = torch.einsum("vpi,cp->vic", jacobian.push(directions), basis)
            shifted = logits[:, None] + changes
            if not bool(shifted.isfinite().all()):
                raise NumericalError(
                    "the left-out models give NaN or infinite logits; raise weight_decay, or scale the features and the edge weights."
                )
            yield self.rows[start:stop], shifted

    def table(
        self, model: nn.Module, inputs: GraphInputs, to_probability: ToProbability
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rows used, `(N, m)` float32: the calibrated probability of a class by each left-out model)."""
        kept = self.num_asked(inputs.num_nodes)
        table, start = np.empty((inputs.num_nodes, kept), dtype=np.float32), 0
        for rows, shifted in self.shifted_logits(model, inputs):
            table[:, start : start + len(rows)] = to_probability(shifted).cpu().numpy()
            start += len(rows)
        return self.rows[:kept], table

    def num_asked(self, num_nodes: int) -> int:
        """How many left-out models answer for a graph of so many nodes."""
        return min(len(self.rows), max(_FEWEST_LEFT_OUT, _LARGEST_TABLE // max(num_nodes, 1)))

    def residuals(self, rows: np.ndarray, of_class: int) -> np.ndarray:
        """r_i = |1[y_i = c] - p_i(θ₋ᵢ)| of these rows, from the calibrated left-out probabilities."""
        target = (self.y[rows] == of_class).astype(np.float64)
        return np.asarray(np.abs(target - self.probabilities[rows, of_class]))


def bounds_of_class(
    table: np.ndarray, residuals: np.ndarray, *, coverage: float, clip: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The jackknife bounds of `calirare.metrics.individual` for arrays."""
    left_out = torch.from_numpy(np.ascontiguousarray(table))
    lower, upper = jackknife_bounds(left_out, torch.from_numpy(residuals).to(left_out), coverage=coverage, clip=clip)
    return lower.double().numpy(), upper.double().numpy()


def jackknife_deviation(table: np.ndarray, centre: np.ndarray, num_labels: int) -> np.ndarray:
    """Jackknife standard error of each node's probability, `(N,)`.

        sd(v)² = (n - 1)/n · Σ_i (f(v; θ₋ᵢ) - f(v; θ))²

    Where only m of the n left-out models are kept, the sum is scaled by n/m. Unlike ICE it does not vanish by
    cancellation: it is how much the answer for this node hangs on single labels.
    """
    squares = np.square(table - centre[:, None], dtype=np.float64).sum(axis=1)
    return np.asarray(np.sqrt(squares * (num_labels - 1) / table.shape[1]))
