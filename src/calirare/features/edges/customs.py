"""How usual a node's edges are for its own kind: a doctor's drugs beside those of others of the same specialty.

The edge says a drug, the node a specialty, and no tree compares the two; shares of single drugs are too many and each too
rare. Of a category a of the nodes and b of the edges, or of the other ends, it is learned once how usual b is for a,

    log (P(b | a) / P(b)),    P(b | a) = (Σ s_b − max s_b + c P(b)) / (N_a − 1 + c),

where s_b is the share of b among the edges of one of the N_a nodes of category a, the sum is over these nodes, and P(b) is the mean of s_b
over all nodes. Nodes count alike, however many edges they have, and the node with the largest share is left out, so that nothing
is usual because one node does it often. A node is told the mean over its edges, and the least.

It is told where the two depend on each other: where their mutual information is surely larger than with the categories of nodes dealt
to nodes at random, and by enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
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
_SOME_NODES = 20_000
"""By which it is seen whether something is usual."""
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
    own, other = ends_of_edges(table, which)
    some = of_some_nodes(own, _SOME_EDGES)
    own, other = own[some], other[some]
    for column in table.columns:
        if column.kind == "category" and len(column.categories) > 1:
            code = at_ends(column.values, some)[some]
            often = np.bincount(code[code >= 0], minlength=len(column.categories))
            kept = np.sort(np.argsort(-often, kind="stable")[:_MOST_CATEGORIES])
            kept = kept[often[kept] > 0]
            nodes, shares = _shares(own, code, len(column.categories))
            names = tuple(column.categories[k] for k in kept)
            for name, told, usual in _usual_for(codes, nodes, sp.csr_array(shares[:, kept])):
                yield told, Custom(name, column.name, False, which, names, usual)
    for of, at in codes.items():
        code = np.nan_to_num(at[other], nan=-1.0).astype(np.int64)
        nodes, shares = _shares(own, code, int(np.nanmax(at, initial=0)) + 1)
        for name, told, usual in _usual_for(codes, nodes, shares):
            yield told, Custom(name, of, True, which, (), usual)


def _shares(own: np.ndarray, code: np.ndarray, size: int) -> tuple[np.ndarray, sp.csr_array]:
    """The nodes with an edge whose category is known, and `(n, size)` the share of each category among these edges."""
    known = code >= 0
    nodes, row = np.unique(own[known], return_inverse=True)
    weight = 1.0 / np.bincount(row, minlength=nodes.size)
    return nodes, sp.csr_array((weight[row], (row, code[known])), shape=(nodes.size, size))


def _usual_for(
    codes: Mapping[str, np.ndarray], nodes: np.ndarray, shares: sp.csr_array
) -> Iterator[tuple[str, float, tuple[tuple[float, ...], ...]]]:
    """(own categories, how much they tell of the shares, how usual each is for each) of those that tell something."""
    for name, codes_of in codes.items():
        code = codes_of[nodes]
        known = ~np.isnan(code)
        mine, here = code[known].astype(np.int64), shares[known]
        some = slice(None, None, 1 + mine.size // _SOME_NODES)
        told = _depend(mine[some], here[some])
        if told > _TELLS:
            usual = how_usual(mine, here, int(np.nanmax(codes_of)) + 1)
            yield name, told, tuple(map(tuple, usual.round(6).tolist()))


def _depend(code: np.ndarray, shares: sp.csr_array) -> float:
    """Mutual information of own categories `(n,)` and those of the edges, beyond what chance makes of it; 0 where that is not sure."""
    frequent = np.bincount(code) >= _FEWEST_NODES if code.size else np.zeros(1, dtype=bool)
    some = frequent[code]
    shares = shares[some][:, np.asarray((shares[some] > 0).sum(axis=0)).ravel() >= _FEWEST_NODES]
    _, code = np.unique(code[some], return_inverse=True)
    if code.size < _FEWEST_IN_ALL or code.max() < 1 or shares.shape[1] < 2:
        return 0.0
    rng, size = np.random.default_rng(0), int(code.max()) + 1
    found = _information(_added_up(code, shares, size))
    by_chance = np.array([_information(_added_up(rng.permutation(code), shares, size)) for _ in range(_DEALS)])
    beyond = found - float(by_chance.mean())
    return beyond if found > by_chance.max() and beyond > _SURELY * by_chance.std() else 0.0


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
            place = {name: k for k, name in enumerate(one.categories)}
            place_of = np.array([*(place.get(name, -1) for name in column.categories), -1])
            told = at_ends(place_of[column.values], own)
        values = usual[_among(beside[one.own][own], usual.shape[0]), told]
        found = Moments.of(values, EdgeGroups(own, num_nodes))
        name = f"{OF_END if one.at_end else ''}{one.of}{CUSTOM}{one.own}"
        yield f"{name}, mean of {one.which}", found.mean
        yield f"{name}, least of {one.which}", np.where(found.count > 0, found.least, np.nan)


def _among(code: np.ndarray, size: int) -> np.ndarray:
    """Codes that are places below the last, which is that of all others."""
    return np.where(code < size - 1, code, size - 1).astype(np.int64)
