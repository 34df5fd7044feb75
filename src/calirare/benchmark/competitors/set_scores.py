"""Sets from held-out labels: nonconformity of a GCN, smoothed in one way or another, with a threshold for each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.benchmark.competitors.calibrators import held_out_gcn
from calirare.uncertainty.conformal import class_thresholds

COVERAGE = 0.9
Smooth = Callable[[Problem, np.ndarray], np.ndarray]
"""From nonconformities `(N, 2)` to nonconformities `(N, 2)`, without labels."""


def held_out_scores(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """`(N, 2)` nonconformities 1 - p of the GCN that did not train on the held-out nodes, and those nodes."""
    trained, split = held_out_gcn(problem)
    return 1.0 - softmax(trained.detector.logits(trained.inputs), axis=1), split.val


def neighbour_mean(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Mean over the neighbours; a node without any keeps its own."""
    adjacency = (problem.graph.adjacency() != 0).astype(np.float64)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    summed = sp.csr_array(adjacency) @ values
    return np.where(degree[:, None] > 0, summed / np.maximum(degree, 1)[:, None], values)


def sets_competitor(name: str, smooth: Smooth, source: str) -> Competitor:
    """Class-conditional split conformal sets from smoothed scores."""

    def answer(problem: Problem) -> Answer:
        scores, calibration = held_out_scores(problem)
        scores = smooth(problem, scores)
        limits = class_thresholds(scores[calibration], problem.graph.y[calibration], COVERAGE)
        return Answer(None, np.asarray(scores <= limits))

    return Competitor(
        name, "sets", answer, group="gcn calibrators", source=source,
        reads="three quarters train, a quarter sets the thresholds",
    )  # fmt: skip
