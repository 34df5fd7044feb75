"""The regression of nodes without edges, on what is left of the columns of a linear model where edges say nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.detectors.left_out.loss import CLEARLY, left_out_loss, on_scale_of
from calirare.detectors.regression.design import Design
from calirare.detectors.regression.fitted import Regression
from calirare.detectors.threads import blas_for


@dataclass(frozen=True, eq=False)
class OwnRegression:
    """What it is fitted to, and its fit.

    Args:
        design: What is left of the columns, made at once: what makes it holds the columns of the whole graph.
        penalty: λ.
        said: Of each target `(n,)` what the first regression says; None where no label has the class.
        targets: `(K, n)`.
        groups: `(n,)` labels that are left out together.
        alone: `(n,)` labels of nodes without edges.
        left_out: `(n, K)` left-out scores of the first regression.
        seed: Of which left-out models are kept.
    """

    design: Design
    penalty: float
    said: list[np.ndarray | None]
    targets: np.ndarray
    groups: np.ndarray
    alone: np.ndarray
    left_out: np.ndarray
    seed: int

    def fit(self) -> tuple[Regression | None, np.ndarray]:
        """The regression on the scale of the first, None where labels speak against it; and left-out scores of both."""
        targets, n = self.targets, len(self.alone)
        with blas_for(n):
            own, scores = Regression.fit(
                self.design, self.penalty, self.said, targets, self.groups, self.alone, self.seed
            )
        slope, shift = _scales(self.left_out, scores, targets)
        mixed = np.where(self.alone[:, None], slope * scores + shift, self.left_out)
        if n * (_loss(mixed, targets) - _loss(self.left_out, targets)) > CLEARLY:
            return None, self.left_out
        return own.rescaled(slope, shift), mixed


def _scales(known: np.ndarray, new: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and shift `(K,)` that put left-out scores `(n, K)` on the scale of known ones."""
    found = [on_scale_of(old, own, target) for old, own, target in zip(known.T, new.T, targets, strict=True)]
    return np.array([a for a, _ in found]), np.array([b for _, b in found])


def _loss(scores: np.ndarray, targets: np.ndarray) -> float:
    """Left-out loss of `(n, K)` scores, added up over the targets that occur."""
    return sum(left_out_loss(z, y) for z, y in zip(scores.T, targets, strict=True) if 0 < y.sum() < len(y))
