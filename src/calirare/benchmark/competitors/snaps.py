"""SNAPS: nonconformities averaged with those of the neighbours and of nodes with similar attributes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from calirare.benchmark.competitors.base import Problem
from calirare.benchmark.competitors.columns import attributes
from calirare.benchmark.competitors.set_scores import neighbour_mean, sets_competitor

SIMILAR = 20


def average(problem: Problem, scores: np.ndarray) -> np.ndarray:
    """⅓ s + ⅓ mean over the 20 most similar nodes (cosine) + ⅓ mean over the neighbours. Source: key `song2024`."""
    similar = problem.once("similar nodes", lambda: similar_nodes(attributes(problem)))
    return (scores + similar @ scores + neighbour_mean(problem, scores)) / 3


def similar_nodes(x: np.ndarray) -> sp.csr_array:
    """`(N, N)`: each row the mean over the most similar other nodes."""
    rows = normalize(x - x.mean(axis=0))
    count = min(SIMILAR, len(x) - 1)
    found = NearestNeighbors(n_neighbors=count + 1, algorithm="brute").fit(rows).kneighbors_graph(rows)
    found = sp.csr_array(found)
    found.setdiag(0)
    found.eliminate_zeros()
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(np.diff(found.indptr), 1)) @ found)


COMPETITORS = (sets_competitor("gcn + snaps", average, "song2024"),)
