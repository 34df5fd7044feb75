"""The columns that models of tables read: attributes alone, those of the neighbours beside them, or our recipe's."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from calirare.benchmark.competitors.base import Problem
from calirare.data.arrays import as_dense

WIDE = 1_000
"""More words than this are reduced to `DIRECTIONS` by truncated SVD over all nodes, unless the model wants them as they are."""
DIRECTIONS = 128
_MOST_NUMBERS = 2**29


def attributes(problem: Problem, spelled: bool = False) -> np.ndarray:
    """`(N, F)`: the node's own; a constant where there are none.

    Args:
        problem: The problem.
        spelled: Words as they are, however many. Forests find a single word that tells more than all directions: on Cora
            average precision 77 against 65. Boosting and logistic regression lose nothing by directions, but hours by words.
    """
    return problem.once(("attributes", spelled), lambda: _attributes(problem, spelled))


def propagated(problem: Problem, spelled: bool = False) -> np.ndarray:
    """`(N, 3F)`: [x, Ax, A²x] with A the mean over the neighbours: what ten lines of scikit-learn would do."""
    return problem.once(("propagated", spelled), lambda: _propagated(problem, spelled))


def recipe(problem: Problem, spelled: bool = False) -> np.ndarray:
    """`(N, D)`: the columns that our own detectors read (`calirare.features`)."""
    return problem.inputs_with_columns.columns.values


COLUMNS = {"attributes": attributes, "propagated": propagated, "recipe": recipe}


def _attributes(problem: Problem, spelled: bool) -> np.ndarray:
    x = problem.graph.x
    if x.shape[1] == 0:
        return np.ones((x.shape[0], 1), dtype=np.float32)
    too_many = 3 * x.shape[0] * x.shape[1] > _MOST_NUMBERS
    if sp.issparse(x) and x.shape[1] > WIDE and (too_many or not spelled):
        return np.asarray(TruncatedSVD(DIRECTIONS, random_state=0).fit_transform(x), dtype=np.float32)
    return as_dense(x).astype(np.float32)


def _propagated(problem: Problem, spelled: bool) -> np.ndarray:
    x, adjacency = attributes(problem, spelled), problem.graph.adjacency().astype(np.float32)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    mean = sp.csr_array(sp.diags_array(np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)) @ adjacency)
    once = mean @ x
    return np.hstack([x, once, mean @ once]).astype(np.float32, copy=False)
