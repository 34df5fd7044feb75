"""Which of many categories a node's edges lean to, in a few directions: of two hundred codes of merchants, those that go together.

The frequent categories have shares of their own; of the many others each is too rare for one. With k_c of a node's n edges in category c, of which p_c is
the share among all edges, the nodes differ by z_c = (k_c − n p_c) / √(n p_c), which chance makes all alike. The directions v in
which they differ most are the leading eigenvectors of Σ z zᵀ, that is of correspondence analysis. A node is told
Σ_c z_c v_c / √n, which is, but for a constant, the mean over its edges of v_c / √p_c: no label is read, and nothing needs other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.edges.directions import Direction, at_ends, directions_of, ends_of_edges
from calirare.features.edges.groups import EdgeGroups, means_of
from calirare.features.edges.plan import EdgePlan, Leaning
from calirare.features.edges.telling import of_some_nodes

LIKE = " like "
_MOST = 4
"""Directions of one column."""
_FEWEST_EDGES = 20
"""Of a category."""
_MOST_CATEGORIES = 500
"""The most frequent are looked at."""
_FEWEST_NODES = 50
_SOME_EDGES = 1_000_000
"""By which directions are learned, about: all of some nodes."""
_NAMED_BY = 3


def plan_likes(column: EdgeColumn, table: EdgeTable) -> tuple[Leaning, ...]:
    """The directions in which nodes differ by more than chance alone would make the most different one, in each direction of edges."""
    return tuple(one for which in directions_of(table.directed) for one in _leanings(column, table, which))


def _leanings(column: EdgeColumn, table: EdgeTable, which: Direction) -> Iterator[Leaning]:
    own, _ = ends_of_edges(table, which)
    codes = at_ends(column.values, own)
    some = (codes >= 0) & of_some_nodes(own, _SOME_EDGES)
    own, codes = own[some], codes[some]
    count = np.bincount(codes, minlength=len(column.categories))
    kept = np.argsort(-count, kind="stable")[:_MOST_CATEGORIES]
    kept = np.sort(kept[count[kept] >= _FEWEST_EDGES])
    nodes, row = np.unique(own, return_inverse=True)
    if nodes.size < _FEWEST_NODES or kept.size < 2:
        return
    root = np.sqrt(count[kept] / own.size)
    all_counts = sp.csr_array((np.ones(own.size), (row, codes)), shape=(nodes.size, len(column.categories)))
    scaled = sp.csr_array(all_counts[:, kept] / np.sqrt(np.bincount(row))[:, None]) / root
    products = (scaled.T @ scaled).toarray() - own.size * np.outer(root, root)
    size, direction = np.linalg.eigh(products)
    by_chance = (np.sqrt(nodes.size) + np.sqrt(kept.size)) ** 2
    for k in np.argsort(-size)[:_MOST]:
        if size[k] > by_chance:
            heaviest = int(np.abs(direction[:, k]).argmax())
            turned = direction[:, k] * np.sign(direction[heaviest, k])
            told = turned / root
            names = [column.categories[code] for code in kept.tolist()]
            most = ", ".join(names[at] for at in np.argsort(-turned, kind="stable")[:_NAMED_BY])
            weights = tuple(zip(names, (told - turned @ root).round(9).tolist(), strict=True))
            yield Leaning(most, which, weights)


def like_columns(table: EdgeTable, plan: EdgePlan, num_nodes: int) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` columns by name, NaN where a node has no edge whose category is known to the fit; nodes from N on are not told of."""
    there = {column.name: column for column in table.columns if column.kind == "category"}
    told = [(one.name, leaning) for one in plan.columns if one.name in there for leaning in one.likes]
    groups = {which: EdgeGroups(ends_of_edges(table, which)[0], num_nodes) for which in {one.which for _, one in told}}
    for name, one in told:
        weights = there[name].by_category(dict(one.weights), np.nan, np.nan)
        values = at_ends(weights, ends_of_edges(table, one.which)[0])
        yield f"{name}{LIKE}{one.name}, mean of {one.which}", means_of(values, groups[one.which])
