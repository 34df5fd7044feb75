"""Sets of classes that hold the true one as often as promised, for each class on its own.

Class-conditional (Mondrian) conformal prediction: a class belongs to a node's set unless the node looks stranger, as a
member of that class, than nearly all labelled members. "Looks" means by models that never saw the label: the scores
of the labelled nodes are the left-out ones, so no labels are set aside.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from calirare.data.checks import check_coverage
from calirare.errors import InputError
from calirare.metrics.inputs import check_probabilities

logger = logging.getLogger(__name__)
_ROUNDING = 1e-9
"""(n + 1)·coverage that is a whole number but for rounding counts as that number."""


def conformal_rank(num_labels: int, coverage: float) -> int:
    """k = ⌈(n + 1)·coverage⌉: the k-th smallest of n nonconformities bounds a class's sets.

    >>> conformal_rank(85, 0.9), conformal_rank(8, 0.9)
    (78, 9)
    """
    return math.ceil((num_labels + 1) * coverage - _ROUNDING)


def conformal_thresholds(
    left_out_probabilities: Any, y: Any, coverage: float = 0.9, *, names: Sequence[str] | None = None
) -> np.ndarray:
    """Largest nonconformity `(C,)` with which a node still belongs to each class.

    With nonconformity s_i = 1 - p_i[y_i] of the n_c labelled nodes of class c, the threshold is their k-th smallest,
    k = `conformal_rank`. Where k > n_c the labels are too few to promise that coverage: the threshold is
    infinite, the class is in every set, and a log line says so. A 90% set needs 9 labels of a class.

    Args:
        left_out_probabilities: `(n, C)`: the labelled nodes by the models that never saw their labels.
        y: `(n,)` their classes.
        coverage: Share of a class's nodes whose set must hold it.
        names: What the classes are called in the log line; default: "class 0", …

    >>> p = np.array([0.9, 0.8, 0.7, 0.6, 0.1, 0.2])
    >>> conformal_thresholds(np.column_stack([p, 1 - p]), [0, 0, 0, 0, 1, 1], coverage=0.6).round(2)
    array([0.3, 0.2])
    """
    classes, probabilities = check_probabilities(y, left_out_probabilities)
    check_coverage(coverage)
    thresholds = class_thresholds(1.0 - probabilities, classes, coverage)
    for c in np.flatnonzero(np.isinf(thresholds)).tolist():
        logger.warning(
            "%s has %d labels, too few for sets of coverage %g (needs %d); it is put into every set.",
            f"class {c}" if names is None else names[c], (classes == c).sum(), coverage, math.ceil(coverage / (1 - coverage) - _ROUNDING),
        )  # fmt: skip
    return thresholds


def class_thresholds(scores: np.ndarray, y: np.ndarray, coverage: float) -> np.ndarray:
    """`(C,)`: the conformal quantile of each class's own nonconformities `(n, C)`; infinite where its labels are too few.

    >>> class_thresholds(np.column_stack([np.arange(10.0), np.zeros(10)]), np.zeros(10, dtype=int), 0.9).tolist()
    [9.0, inf]
    """
    limits = np.full(scores.shape[1], np.inf)
    for c in range(len(limits)):
        own = np.sort(scores[y == c, c])
        rank = conformal_rank(len(own), coverage)
        if rank <= len(own):
            limits[c] = own[rank - 1]
    return limits


def conformal_sets(probabilities: Any, thresholds: Any) -> np.ndarray:
    """`(N, C)` bool: the classes whose nonconformity 1 - p is within the threshold, and the likeliest class in any case.

    Class-conditional sets alone may hold the rare class and nothing else at P(rare) = 0.08: that is usual for a rare node
    and unusual for another. True as a statement on each class, read by everyone as "this is a rare one". So a set never
    leaves out the class that the probability calls the likeliest. That only adds to sets: the promised coverage stays.

    Args:
        probabilities: `(N, C)`.
        thresholds: `(C,)`, or `(N, C)` where each node has those of its group.

    >>> conformal_sets([[0.9, 0.1], [0.75, 0.25], [0.55, 0.45]], [0.3, 0.8])
    array([[ True, False],
           [ True,  True],
           [ True,  True]])
    """
    table = _check_table(probabilities)
    limits = np.asarray(thresholds, dtype=np.float64)
    if limits.shape not in ((table.shape[1],), table.shape):
        raise InputError(
            f"thresholds must hold one number per class, {table.shape[1]} in all; got shape {limits.shape}."
        )
    likeliest = table >= table.max(axis=1, keepdims=True, initial=0.0)
    return (1.0 - table <= limits) | likeliest


def _check_table(probabilities: Any) -> np.ndarray:
    rows = np.asarray(probabilities)
    return check_probabilities(np.zeros(rows.shape[:1], dtype=np.int64), rows)[1]


def name_sets(member: np.ndarray, names: np.ndarray) -> np.ndarray:
    """The classes of each row in words.

    >>> name_sets(np.array([[True, False], [True, True], [False, False]]), np.array(["normal", "fraud"])).tolist()
    ['normal', 'normal or fraud', 'none']
    """
    kinds, row = np.unique(member, axis=0, return_inverse=True)
    words = np.array([" or ".join(names[kind]) or "none" for kind in kinds], dtype=object)
    return words[row.ravel()]
