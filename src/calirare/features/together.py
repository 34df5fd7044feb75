"""Labelled nodes that must be left out together: copies, and those of one patient where patients were labelled as a whole.

Where a new patient never has labelled rows, what was said of a row beside the others of its patient is no evidence.
"""

from __future__ import annotations

import logging

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from calirare.data.graph import RareGraph
from calirare.data.tables.gathering.same import shared_values
from calirare.features.copies import find_copies

logger = logging.getLogger(__name__)
_FEWEST = 10
"""Nodes with and without a label that must share a value with others before they tell how labels were chosen."""
_RARER = 0.5
"""Nodes without a label are this much rarer beside a labelled one, at least, where labels come value by value."""


def find_groups(graph: RareGraph, nodes: np.ndarray) -> np.ndarray:
    """`(n,)` group numbers of labelled nodes, 0, 1, … : those of one group are left out together.

    Args:
        graph: The graph.
        nodes: The labelled nodes that are read.
    """
    groups = find_copies(graph, nodes)
    for column, value_of in shared_values(graph):
        if _come_together(value_of, nodes):
            logger.warning(
                "labels come %s by %s: nodes with the same one are labelled together, and others have none of theirs labelled. "
                "So they are left out together too.",
                column,
                column,
            )
            groups = _joined(groups, value_of[nodes])
    return groups


def _come_together(value_of: np.ndarray, nodes: np.ndarray) -> bool:
    """Whether labelled nodes have others with the same value that are labelled, and other nodes hardly do.

    >>> value_of = np.repeat(np.arange(100), 3)
    >>> _come_together(value_of, np.arange(90)), _come_together(value_of, np.arange(0, 300, 4))
    (True, False)
    """
    has = value_of >= 0
    if not has.any():
        return False
    labelled = np.zeros(len(value_of), dtype=bool)
    labelled[nodes] = True
    size = np.bincount(value_of[has])
    known = np.bincount(value_of[has & labelled], minlength=len(size))
    shared = has & (size[value_of] > 1)
    of_labelled, of_others = shared & labelled, shared & ~labelled
    if min(of_labelled.sum(), of_others.sum()) < _FEWEST:
        return False
    beside = (known[value_of[of_labelled]] > 1).mean(), (known[value_of[of_others]] > 0).mean()
    return bool(beside[1] < _RARER * beside[0])


def _joined(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Groups that have a value in common are one.

    >>> _joined(np.array([0, 1, 2, 3]), np.array([7, -1, 7, 8])).tolist()
    [0, 1, 0, 2]
    """
    count, has = len(groups), values >= 0
    names = np.concatenate([groups, count + np.unique(values[has], return_inverse=True)[1]])
    rows = np.concatenate([np.arange(count), np.flatnonzero(has)])
    joins = sp.csr_array((np.ones(len(rows)), (rows, count + names)), shape=(3 * count, 3 * count))
    part = connected_components(joins, directed=False)[1][:count]
    return np.asarray(np.unique(part, return_inverse=True)[1], dtype=np.int64)
