"""The paper's jackknife: every node's probability by the detectors that missed each label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from calirare.detectors.base import Detector, DetectorInputs
from calirare.metrics.individual import jackknife_bounds

_LARGEST_TABLE = 2**26
_FEWEST_LEFT_OUT = 128
"""On graphs where (nodes × left-out models) would pass `_LARGEST_TABLE`, fewer models are asked, but never fewer."""

ToProbability = Callable[[Tensor], Tensor]
"""The calibrated probability `(N, m)` of one class, of m models' logits `(N, m, …, C)`."""


@dataclass(frozen=True)
class Intervals:
    """Lower and upper bound of P(rare) for each node, `(N,)` each."""

    lower: np.ndarray
    upper: np.ndarray

    def __repr__(self) -> str:
        first = ", ".join(f"{low:.3f} to {high:.3f}" for low, high in zip(self.lower[:3], self.upper[:3], strict=True))
        if len(self.lower) > 3:
            first += f", …, median width {np.median(self.width):.3f}"
        return f"Intervals({len(self.lower):,} nodes{first and ': '}{first})"

    @property
    def width(self) -> np.ndarray:
        return self.upper - self.lower


def rows_asked(detector: Detector, num_nodes: int) -> np.ndarray:
    """The labels whose left-out models answer for a graph of so many nodes."""
    rows = detector.left_out_rows
    return rows[: max(_FEWEST_LEFT_OUT, _LARGEST_TABLE // max(num_nodes, 1))]


def left_out_table(
    detector: Detector, inputs: DetectorInputs, to_probability: ToProbability
) -> tuple[np.ndarray, np.ndarray]:
    """(rows of the labels, `(N, m)` float32: the calibrated probability of a class without each of these labels)."""
    asked = rows_asked(detector, inputs.num_nodes)
    table, rows, start = np.empty((inputs.num_nodes, len(asked)), dtype=np.float32), np.empty_like(asked), 0
    for some, logits in detector.logits_without(inputs, asked):
        stop = start + len(some)
        table[:, start:stop] = to_probability(torch.from_numpy(np.ascontiguousarray(logits))).cpu().numpy()
        rows[start:stop] = some
        start = stop
    return rows, table


def residuals_of(left_out: np.ndarray, y: np.ndarray, rows: np.ndarray, of_class: int) -> np.ndarray:
    """r_i = |1[y_i = c] - p_i(θ₋ᵢ)| of these rows, from the calibrated left-out probabilities `(n, C)`."""
    return np.abs((y[rows] == of_class).astype(np.float64) - left_out[rows, of_class])


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
    return np.sqrt(squares * (num_labels - 1) / table.shape[1])
