"""Labelled nodes with the same attributes and the other label: rows or labels that were mixed up.

Said if more than `AT_ODDS` of the labelled nodes are such, and if equal rows are no coincidence: most rows differ, and where
every column is shuffled among the labelled nodes, fewer than half as many have a twin. Of cards with a product, a limit and an
age some are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.data.tables.findings.finding import Finding

AT_ODDS = 0.01
_MOST_SHUFFLED = 64
"""Beyond this many columns, some are shuffled together, which leaves less to chance."""


def find_contradictions(graph: RareGraph) -> Iterator[Finding]:
    """The finding, where there is one."""
    known = graph.known
    if not graph.num_features or known.size < 2:
        return
    rows: Any = graph.x[known].astype(np.float64)
    weights = np.random.default_rng(0).standard_normal(rows.shape[1])
    group, size = _groups(np.asarray(rows @ weights))
    hits = np.bincount(group, weights=graph.y[known] == graph.rare_class)
    count = int(((hits > 0) & (hits < size))[group].sum())
    if size.size <= 0.9 * known.size or count <= max(AT_ODDS * known.size, 1):
        return
    if 2 * _with_twin(*_groups(_shuffled(graph, rows, weights))) >= _with_twin(group, size):
        return
    words = (
        f"{count:,} of {known.size:,} labelled nodes have a twin with the same attributes and the other label. "
        "Are labels or rows mixed up?"
    )
    yield Finding("contradiction", "", words, "warning")


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of equal rows that each is in, by a key that others share with a chance of about 2⁻⁵⁰, and their sizes."""
    _, group, size = np.unique(keys, return_inverse=True, return_counts=True)
    return group, size


def _shuffled(graph: RareGraph, rows: Any, weights: np.ndarray) -> np.ndarray:
    """Keys of rows as chance would make them: every column of the table in an order of its own."""
    column = np.arange(weights.size)  # which column a feature is of; each its own where there is no table
    for k, (_, places, gap) in enumerate(feature_places(graph.table_columns)):
        column[places] = k
        column[gap if gap is not None else places] = k
    column %= _MOST_SHUFFLED
    into = sp.csr_array((weights, (np.arange(weights.size), column)), shape=(weights.size, _MOST_SHUFFLED))
    keys = rows @ into
    keys = keys.toarray() if sp.issparse(keys) else np.asarray(keys)
    return np.asarray(np.random.default_rng(0).permuted(keys, axis=0).sum(axis=1))


def _with_twin(group: np.ndarray, size: np.ndarray) -> int:
    return int((size[group] > 1).sum())
