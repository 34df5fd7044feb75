"""How usual a node's edges are for its own kind: a doctor's drugs beside those of others of the same specialty.

The edge says a drug, the node a specialty, and no tree compares the two; shares of single drugs are too many and each too
rare. Of a category a of the nodes and b of the edges, or of the other ends, it is learned once how usual b is for a,

    log (P(b | a) / P(b)),    P(b | a) = (Σ s_b − max s_b + c P(b)) / (N_a − 1 + c),

where s_b is the share of b among the edges of one of the N_a nodes of category a, those whose category is told of; the sum is over
these nodes, and P(b) is the mean of s_b over all nodes. Nodes count alike, however many edges they have, and the node with the
largest share is left out, so that nothing is usual because one node does it often. A node is told the mean over its edges, and
the least.

It is told where the two depend on each other: where their mutual information is surely larger than with the categories of nodes dealt
to nodes at random, and by enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeColumn, EdgeTable, most_frequent
from calirare.features.edges.directions import Direction, at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, Moments
from calirare.features.edges.plan import Custom, EdgePlan
from calirare.features.edges.telling import of_some_nodes

CUSTOM = " as usual for own "
OF_END = "the other end's "
"""Begins the name of what is not the edge's."""
_MOST = 4
"""Customs of a table, those that tell the most."""
_MOST_CATEGORIES = 200
"""Of the edges; the most frequent are told of."""
_FEWEST_NODES = 10
"""Of a category, own or not, by which it is seen whether the two depend on each other."""
_FEWEST_IN_ALL = 50
_SOME_EDGES = 1_000_000
"""By which it is learned, about: all of some nodes."""
_FEW_EDGES = 100_000
"""By which it is seen whether something is usual, about."""
_ADDED = 5.0
"""Nodes like all others that are added to each category."""
_DEALS = 20
"""Times that categories are dealt to nodes."""
_SURELY = 5.0
"""Standard deviations of chance; many pairs of categories are looked at."""
_TELLS = 0.03
"""Mutual information beyond chance, in nats."""


def plan_customs(table: EdgeTable, codes: Mapping[str, np.ndarray]) -> tuple[Custom, ...]:
    """What is told of how usual edges are for their nodes, what tells the most first.

    Args:
        table: The edges as they came.
        codes: Categories of all nodes by name, as `OwnPlan.codes` gives them.
    """
    found = [one for which in directions_of(table.directed) if codes for one in _customs(table, codes, which)]
    return tuple(custom for _, custom in sorted(found, key=lambda one: -one[0])[:_MOST])


def _customs(table: EdgeTable, codes: Mapping[str, np.ndarray], which: Direction) -> Iterator[tuple[float, Custom]]:
    """With how much it tells."""
    own, other = ends_of_edges(table, which)
    few, some = of_some_nodes(own, _FEW_EDGES), of_some_nodes(own, _SOME_EDGES)
    for of, names, code, size in _others(table, codes, other):
        nodes, shares = _shares(own[few], code[few], size)
        told = {name: _depend(mine[nodes], shares) for name, mine in codes.items()}
        told = {name: how for name, how in told.items() if how > _TELLS}
        if told:
            nodes, shares = _shares(own[some], code[some], size)
        for name, how in told.items():
            mine = codes[name][nodes]
            known = ~np.isnan(mine)
            usual = how_usual(mine[known].astype(np.int64), shares[known], int(np.nanmax(codes[name])) + 1)
            rows = tuple(map(tuple, usual.round(6).tolist()))
            yield how, Custom(name, of, names is None, which, names or (), rows)


def _others(
    table: EdgeTable, codes: Mapping[str, np.ndarray], other: np.ndarray
) -> Iterator[tuple[str, tuple[str, ...] | None, np.ndarray, int]]:
    """(name, categories of the edges or None, `(E,)` codes or -1, how many) of what may be usual for a node."""
    for column in table.columns:
        if column.kind == "category" and len(column.categories) > 1:
            names = tuple(most_frequent(column.values, column.categories, _MOST_CATEGORIES))
            yield column.name, names, at_ends(_places(column, names), other), len(names)
    for name, code in codes.items():
        yield name, None, np.nan_to_num(code[other], nan=-1.0).astype(np.int64), int(np.nanmax(code, initial=0)) + 1


def _places(column: EdgeColumn, names: Sequence[str]) -> np.ndarray:
    """`(E,)` the place of each category among these, -1 of all others."""
    return column.by_category({name: k for k, name in enumerate(names)}, -1, -1)


def _shares(own: np.ndarray, code: np.ndarray, size: int) -> tuple[np.ndarray, sp.csr_array]:
    """The nodes with an edge whose category is known, and `(n, size)` the share of each category among these edges."""
    known = code >= 0
    nodes, row = np.unique(own[known], return_inverse=True)
    weight = 1.0 / np.bincount(row, minlength=nodes.size)
    return nodes, sp.csr_array((weight[row], (row, code[known])), shape=(nodes.size, size))


def _depend(own: np.ndarray, shares: sp.csr_array) -> float:
    """Mutual information of own categories `(n,)` and others, beyond what chance makes of it; 0 where it is not sure and enough.

    Args:
        own: `(n,)` of each node, NaN where it has none.
        shares: `(n, B)` of the others among its edges.
    """
    known = np.flatnonzero(~np.isnan(own))
    code = own[known].astype(np.int64)
    frequent = np.bincount(code, minlength=1)[code] >= _FEWEST_NODES
    _, code = np.unique(code[frequent], return_inverse=True)
    shares = shares[known[frequent]]
    shares = shares[:, np.bincount(shares.indices, minlength=shares.shape[1]) >= _FEWEST_NODES]
    if code.size < _FEWEST_IN_ALL or code.max() < 1 or shares.shape[1] < 2:
        return 0.0
    rng, size = np.random.default_rng(0), int(code.max()) + 1
    found, by_chance = _information(_added_up(code, shares, size)), list[float]()
    for _ in range(_DEALS):
        by_chance.append(_information(_added_up(rng.permutation(code), shares, size)))
        if found - by_chance[-1] <= _TELLS:  # most are independent, and need no second look
            return 0.0
    beyond = found - float(np.mean(by_chance))
    return beyond if beyond > _SURELY * float(np.std(by_chance)) else 0.0


def _added_up(code: np.ndarray, shares: sp.csr_array, size: int) -> np.ndarray:
    """`(size, B)` the sum of the shares over the nodes of each category."""
    chosen = sp.csr_array((np.ones(code.size), (code, np.arange(code.size))), shape=(size, code.size))
    return np.asarray((chosen @ shares).toarray())


def _information(together: np.ndarray) -> float:
    """Mutual information in nats of rows and columns.

    >>> round(_information(np.eye(2)), 3), abs(round(_information(np.ones((2, 3))), 3))
    (0.693, 0.0)
    """
    p = together / together.sum()
    apart = np.outer(p.sum(axis=1), p.sum(axis=0))
    return float((p[p > 0] * np.log(p[p > 0] / apart[p > 0])).sum())


def how_usual(code: np.ndarray, shares: sp.csr_array, size: int) -> np.ndarray:
    """`(size, B)` of each own category how usual each of B others is, 0 where it is as usual as for all.

    Args:
        code: `(n,)` own category of each node.
        shares: `(n, B)` of the others among its edges.
        size: How many own categories there are.

    >>> shares = sp.csr_array([[1.0, 0.0]] * 6 + [[0.0, 1.0]] * 6)
    >>> how_usual(np.repeat([0, 1], 6), shares, 3).round(2).tolist()
    [[0.41, -0.69], [-0.69, 0.41], [0.0, 0.0]]
    """
    total = _added_up(code, shares, size)
    entries, most = sp.coo_array(shares), np.zeros_like(total)
    np.maximum.at(most, (code[entries.row], entries.col), entries.data)
    among_all = total.sum(axis=0) / max(1, code.size)
    number = np.maximum(np.bincount(code, minlength=size) - 1, 0)[:, None]
    usual = (total - most + _ADDED * among_all) / (number + _ADDED)
    with np.errstate(all="ignore"):
        return np.where(among_all > 0, np.log(usual / among_all), 0.0)


def custom_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, beside: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where nothing is known of a node's edges; nodes from N on are not told of.

    Args:
        table: All edges of N nodes.
        plan: What is told.
        num_nodes: N.
        beside: Of all nodes that the table names: their categories, as `node_categories` gives them.
    """
    for one in plan.customs:
        column = None if one.at_end else table.column(one.of, "category")
        if column is None and not one.at_end:
            continue
        own, other = ends_of_edges(table, one.which)
        usual = np.pad(np.array(one.usual), ((0, 1), (0, 1)), constant_values=np.nan)
        if column is None:
            told = _among(beside[one.of][other], usual.shape[1])
        else:
            told = at_ends(_places(column, one.categories), own)
        values = usual[_among(beside[one.own][own], usual.shape[0]), told]
        found = Moments.of(values, EdgeGroups(own, num_nodes))
        name = f"{OF_END if one.at_end else ''}{one.of}{CUSTOM}{one.own}"
        yield f"{name}, mean of {one.which}", found.mean
        yield f"{name}, least of {one.which}", np.where(found.count > 0, found.least, np.nan)


def _among(code: np.ndarray, size: int) -> np.ndarray:
    """Codes that are places below the last, which is that of all others."""
    return np.where(code < size - 1, code, size - 1).astype(np.int64)
