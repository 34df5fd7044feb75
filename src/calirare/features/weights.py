"""By which numbers of their edges neighbours count: who pays most of a sum tells more than who pays a hundredth of it.

A mean over neighbours takes all alike. Where a few edges carry nearly all of an amount, the mean by amount is another number: the
share of the incoming money that comes from abroad, beside the share of those it comes from. No label is read to choose. Let s_u be the
shares of d neighbours in the weights of a node's edges; 1 / Σ s_u² is then how many of them count [@simpson1949]. Means by a weight
are told where, of nodes with two neighbours or more,

    mean of 1 / (d Σ s_u²)  <  4/5 :

elsewhere they are nearly those of all alike. Two weights at most, the most uneven first, and none whose shares go with another's.
"""

from __future__ import annotations

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edges.telling import of_some_nodes
from calirare.features.relations import weight_names, weights_by

_EVEN = 0.8
"""From here on the weights of a node's neighbours are even."""
_ALIKE = 0.8
"""Weights whose shares are correlated by more say the same."""
_MOST = 2
_SOME_EDGES = 50_000
"""By which it is seen, about, at each end: all of some nodes."""


def plan_weights(table: EdgeTable | None) -> tuple[str, ...]:
    """Those of `weight_names` that are told, the most uneven first.

    >>> from calirare.data.edge_table import EdgeColumn
    >>> ends, values = np.array([[0, 0, 0], [1, 2, 3]]), {"amount": [900.0, 5.0, 7.0], "fee": [1.0, 9.0, 0.0], "age": [30.0, 31.0, 29.0]}
    >>> columns = [EdgeColumn(name, "number", np.array(some)) for name, some in values.items()]
    >>> plan_weights(EdgeTable(*ends, tuple(columns)))
    ('amount', 'fee')
    """
    if table is None:
        return ()
    node, pair, rows = _pairs_of_some(table)
    found = list[tuple[float, str, np.ndarray]]()
    for name in weight_names(table):
        weights = weights_by(table, name)
        if weights is not None and not np.nanmin(weights, initial=0.0) < 0:
            evenness, shares = _shares(np.bincount(pair, np.nan_to_num(weights[rows]), minlength=node.size), node)
            if evenness < _EVEN:
                found.append((evenness, name, shares))
    kept = list[tuple[str, np.ndarray]]()
    for _, name, shares in sorted(found, key=lambda one: one[:2]):
        if len(kept) < _MOST and all(np.corrcoef(shares, other)[0, 1] <= _ALIKE for _, other in kept):
            kept.append((name, shares))
    return tuple(name for name, _ in kept)


def _pairs_of_some(table: EdgeTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the node of each pair of neighbours, the pair of each edge, its row): all edges of some nodes, seen from these."""
    node, neighbour, rows = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    for here, there in ((table.source, table.target), (table.target, table.source)):
        some = np.flatnonzero(of_some_nodes(here, _SOME_EDGES) & (here != there))
        node.append(here[some])
        neighbour.append(there[some])
        rows.append(some)
    named = 1 + max(int(ends.max(initial=0)) for ends in (table.source, table.target))
    pairs, pair = np.unique(np.concatenate(node) * named + np.concatenate(neighbour), return_inverse=True)
    return np.unique(pairs // named, return_inverse=True)[1], pair, np.concatenate(rows)


def _shares(weights: np.ndarray, node: np.ndarray) -> tuple[float, np.ndarray]:
    """(how even the weights of a node's neighbours are, the share of each neighbour in its node's weights).

    >>> _shares(np.array([2.0, 2.0, 9.0, 0.0, 3.0]), np.array([0, 0, 1, 1, 2]))
    (1.0, array([0.5, 0.5, 1. , 0. , 1. ]))
    """
    total = np.bincount(node, weights)[node]
    shares = np.divide(weights, total, out=np.zeros(weights.size), where=total > 0)
    count, squares = np.bincount(node, weights > 0), np.bincount(node, np.square(shares))
    several = count > 1
    return float(np.mean(1 / (count[several] * squares[several]))) if several.any() else 1.0, shares
