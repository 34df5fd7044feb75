"""DAPS: nonconformities diffused over the neighbours."""

from __future__ import annotations

import numpy as np

from calirare.benchmark.competitors.base import Problem
from calirare.benchmark.competitors.set_scores import neighbour_mean, sets_competitor

DIFFUSION = 0.5


def diffuse(problem: Problem, scores: np.ndarray) -> np.ndarray:
    """(1 - λ) s + λ mean over the neighbours of s, λ = ½. Source: key `zargarbashi2023`."""
    return (1 - DIFFUSION) * scores + DIFFUSION * neighbour_mean(problem, scores)


COMPETITORS = (sets_competitor("gcn + daps", diffuse, "zargarbashi2023"),)
