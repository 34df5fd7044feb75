"""The columns that models of tables read: attributes alone, those of the neighbours beside them, or our recipe's."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from calirare.benchmark.competitors.base import Problem

WIDE = 1_000
"""More words than this are first reduced to `DIRECTIONS`, by truncated SVD over all nodes."""
DIRECTIONS = 128


def attributes(problem: Problem) -> np.ndarray:
    """`(N, F)`: the node's own; a constant where there are none."""
    return problem.once("attributes", lambda: _attributes(problem))


def propagated(problem: Problem) -> np.ndarray:
    """`(N, 3F)`: [x, Ax, A²x] with A the mean over the neighbours: what ten lines of scikit-learn would do."""
    return problem.once("propagated", lambda: _propagated(problem))


def recipe(problem: Problem) -> np.ndarray:
    """`(N, D)`: the columns that our own detectors read (`calirare.features`)."""
    return problem.inputs_with_columns.columns.values


COLUMNS = {"attributes": attributes, "propagated": propagated, "recipe": recipe}


def _attributes(problem: Problem) -> np.ndarray:
    x = problem.graph.x
    if x.shape[1] == 0:
        return np.ones((x.shape[0], 1), dtype=np.float32)
    if sp.issparse(x) and x.shape[1] > WIDE:
        return np.asarray(TruncatedSVD(DIRECTIONS, random_state=0).fit_transform(x), dtype=np.float32)
    dense: np.ndarray = x.toarray() if sp.issparse(x) else x  # type: ignore[union-attr]
    return dense.astype(np.float32)


def _propagated(problem: Problem) -> np.ndarray:
    x, adjacency = attributes(problem), problem.graph.adjacency().astype(np.float32)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    mean = sp.diags_array(np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)) @ adjacency
    once = mean @ x
    return np.hstack([x, once, mean @ once]).astype(np.float32)
