"""What the neighbours' columns say: mean and spread over them, apart from the node's own.

With A the row-normalised adjacency, Ax is the mean over the neighbours, A²x the mean over the neighbours' neighbours
(the node itself is among them), and √(A(x²) − (Ax)²) the spread. One A for incoming, outgoing and all neighbours;
for each edge type too where there are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.features.columns import ColumnGroup
from calirare.features.structure import neighbours

MOST_COLUMNS = 400
"""Columns of all kinds, about; see `plan_parts`."""
MOST_TYPES_APART = 4
"""Edge types whose neighbours are looked at apart."""
RELATIONS = ("neighbours", "incoming neighbours", "outgoing neighbours")
_BLOCK = 16
Statistic = Literal["mean", "spread", "two steps"]
Whose = Literal["own", "derived"]
"""The node's attributes, or what was derived from edges and structure."""


@dataclass(frozen=True)
class Part:
    """One family of propagated columns.

    Args:
        relation: `"neighbours"`, `"incoming neighbours"` or `"outgoing neighbours"`.
        type: An edge type, or "" for all.
        statistic: What is taken over the neighbours.
        whose: Of which columns.
    """

    relation: str
    type: str
    statistic: Statistic
    whose: Whose

    def name(self, column: str) -> str:
        """
        >>> Part("incoming neighbours", "wire", "mean", "own").name("balance")
        'balance, mean over incoming neighbours (wire)'
        """
        what, where = ("mean", " two steps away") if self.statistic == "two steps" else (self.statistic, "")
        return f"{column}, {what} over {self.relation}{where}" + (f" ({self.type})" if self.type else "")


def plan_parts(groups: Sequence[ColumnGroup], directed: bool, types: Sequence[str]) -> tuple[Part, ...]:
    """The parts that keep the number of columns at `MOST_COLUMNS`, least needed dropped first.

    In this order, whole parts: spread of derived columns; two steps of derived columns; what concerns single edge
    types; spread of own; two steps of own; derived over all neighbours where incoming and outgoing are known; own
    over all neighbours likewise; derived; own. A node's own and derived columns themselves are never dropped.
    """
    sizes: dict[Whose, int] = {"own": sum(group == "own" for group in groups)}
    sizes["derived"] = len(groups) - sizes["own"]
    relations = RELATIONS if directed else RELATIONS[:1]
    few = list(types) if len(types) <= MOST_TYPES_APART else []
    parts = [
        Part(relation, type, statistic, whose)
        for type in ["", *few]
        for relation in relations
        for statistic in _STATISTICS
        for whose in _WHOSE
        if sizes[whose] and not (type and statistic != "mean")
    ]
    total = len(groups) + sum(sizes[part.whose] for part in parts)
    for part in sorted(parts, key=lambda part: _need(part, directed)):
        if total <= MOST_COLUMNS:
            break
        parts.remove(part)
        total -= sizes[part.whose]
    return tuple(parts)


_STATISTICS: tuple[Statistic, ...] = ("mean", "spread", "two steps")
_WHOSE: tuple[Whose, ...] = ("own", "derived")


def _need(part: Part, directed: bool) -> int:
    """Low: dropped first."""
    if part.type:
        return 2
    derived = part.whose == "derived"
    if part.statistic == "spread":
        return 0 if derived else 3
    if part.statistic == "two steps":
        return 1 if derived else 4
    if directed and part.relation == "neighbours":
        return 5 if derived else 6
    return 7 if derived else 8


def propagate(
    graph: RareGraph,
    values: np.ndarray,
    names: Sequence[str],
    groups: Sequence[ColumnGroup],
    middle: np.ndarray,
    parts: Sequence[Part],
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Blocks of names and `(N, b)` float32 columns, NaN where a node has no such neighbour.

    Args:
        graph: Who is joined to whom.
        values: `(N, D)` the columns that are propagated, finite.
        names: Of the columns.
        groups: Of the columns.
        middle: `(D,)` the population's means; they stand for a neighbour who has no neighbours of its own.
        parts: What is wanted.
    """
    for relation, type in dict.fromkeys((part.relation, part.type) for part in parts):
        wanted = [part for part in parts if (part.relation, part.type) == (relation, type)]
        matrix = row_normalised(relation_matrix(graph, relation, type))
        alone = np.diff(matrix.indptr) == 0
        for start in range(0, len(names), _BLOCK):
            at = np.arange(start, min(start + _BLOCK, len(names)))
            for whose in _WHOSE:
                chosen = at[[(groups[int(k)] == "own") == (whose == "own") for k in at]]
                mine = [part for part in wanted if part.whose == whose]
                if chosen.size and mine:
                    labels = [names[int(k)] for k in chosen]
                    yield from _statistics(matrix, alone, values[:, chosen], middle[chosen], labels, mine)


def _statistics(
    matrix: sp.csr_array,
    alone: np.ndarray,
    values: np.ndarray,
    middle: np.ndarray,
    names: list[str],
    parts: list[Part],
) -> Iterator[tuple[list[str], np.ndarray]]:
    centred = values - middle  # float64; squares of what is far from zero would cancel
    mean = matrix @ centred
    for part in parts:
        if part.statistic == "mean":
            result = mean + middle
        elif part.statistic == "two steps":
            result = matrix @ mean + middle
        else:
            squares = matrix @ np.square(centred)
            variance = squares - np.square(mean)
            # What is left by rounding where all neighbours are alike is no spread.
            result = np.sqrt(np.where(variance > 1e-12 * squares, variance, 0.0))
        result[alone] = np.nan
        yield [part.name(name) for name in names], result.astype(np.float32)


def relation_matrix(graph: RareGraph, relation: str, type: str = "") -> sp.csr_array:
    """Who a node's neighbours are: ones, each neighbour once, the node itself left out."""
    if relation == "neighbours" and not type:
        return neighbours(graph)
    shape = (graph.num_nodes, graph.num_nodes)
    table = graph.edges
    if table is None:
        return sp.csr_array(shape)
    kept = table.source != table.target
    if type:
        codes = [code for code, name in enumerate(table.type_names) if name == type]
        kept &= np.isin(table.type, codes) if table.type is not None else False
    source, target = table.source[kept], table.target[kept]
    ends = {
        "incoming neighbours": (target, source),
        "outgoing neighbours": (source, target),
        "neighbours": (np.concatenate([source, target]), np.concatenate([target, source])),
    }[relation]
    matrix = sp.csr_array((np.ones(ends[0].size), ends), shape=shape)
    matrix.data[:] = 1.0
    return matrix


def row_normalised(matrix: sp.csr_array) -> sp.csr_array:
    """Each row divided by its number of entries."""
    counts = np.diff(matrix.indptr)
    data = np.repeat(1.0 / np.maximum(counts, 1), counts)
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
