"""Who a node's neighbours are: all, incoming or outgoing, over all edges or one kind of them; and what each counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.sparse.products import small_index
from calirare.features.ends import row_sums
from calirare.features.structure import neighbours

RELATIONS = ("neighbours", "incoming neighbours", "outgoing neighbours")
NUMBER_OF_EDGES = "number of edges"
"""The weight of what is joined by many edges."""


@dataclass(frozen=True)
class Relation:
    """Over which neighbours.

    Args:
        way: One of `RELATIONS`.
        type: By which of `EdgeTable.kinds`; "" for all.
        weight: By which number of the edges each counts, added up over the edges that lead to it, or `NUMBER_OF_EDGES`; who has none
            above 0 does not count. "": all count alike.
    """

    way: str = RELATIONS[0]
    type: str = ""
    weight: str = ""

    @property
    def turned(self) -> Relation:
        """Seen from the other end: who has a node as neighbour."""
        ways = dict(zip(RELATIONS, (RELATIONS[0], RELATIONS[2], RELATIONS[1]), strict=True))
        return Relation(ways[self.way], self.type, self.weight)


def relation_matrix(graph: RareGraph, relation: Relation) -> sp.csr_array:
    """Who a node's neighbours are, each once, the node itself left out: ones, or what they count."""
    if relation == Relation():
        return neighbours(graph)
    shape = (graph.num_nodes, graph.num_nodes)
    table = graph.edges
    if table is None:
        return sp.csr_array(shape)
    index = small_index(max(2 * len(table), graph.num_nodes))
    node, neighbour, weights = relation_edges(table, relation)
    return joined_to(node.astype(index), neighbour.astype(index), weights, shape)


def joined_to(
    node: np.ndarray, neighbour: np.ndarray, weights: np.ndarray | None, shape: tuple[int, int]
) -> sp.csr_array:
    """Each pair once: ones, or the sum of its weights.

    >>> ends = np.array([0, 0, 1]), np.array([1, 1, 0])
    >>> joined_to(*ends, None, (2, 2)).toarray().tolist(), joined_to(*ends, np.array([2.0, 3.0, 4.0]), (2, 2)).toarray().tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 5.0], [4.0, 0.0]])
    """
    matrix = sp.csr_array((np.ones(node.size) if weights is None else weights, (node, neighbour)), shape=shape)
    if weights is None:
        matrix.data[:] = 1.0
    return matrix


def relation_edges(table: EdgeTable, relation: Relation) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(node, neighbour, weights or None) of every row that joins two nodes in that way; one pair may stand several times."""
    kept, weights = table.source != table.target, weights_by(table, relation.weight)
    if relation.type:
        kept &= table.of_kind(relation.type)
    if weights is not None:
        kept &= weights > 0
        weights = weights[kept]
    source, target = table.source[kept], table.target[kept]
    if relation.way != RELATIONS[0]:
        return (*((source, target) if relation.way == RELATIONS[2] else (target, source)), weights)
    both = np.concatenate([source, target]), np.concatenate([target, source])
    return (*both, None if weights is None else np.concatenate([weights, weights]))


def weight_names(table: EdgeTable | None) -> tuple[str, ...]:
    """By what neighbours may count."""
    numbers = () if table is None else (one.name for one in table.columns if one.kind == "number")
    return () if table is None else (NUMBER_OF_EDGES, *(name for name in numbers if name != NUMBER_OF_EDGES))


def weights_by(table: EdgeTable, weight: str) -> np.ndarray | None:
    """`(E,)` by what the edges count, NaN where that is missing; None where all count alike."""
    if not weight:
        return None
    if weight == NUMBER_OF_EDGES:
        return np.ones(len(table))
    column = table.column(weight, "number")
    return np.zeros(len(table)) if column is None else column.values


def row_normalised(matrix: sp.csr_array) -> sp.csr_array:
    """Each row divided by its sum; entries are above 0."""
    shares = row_shares(matrix.indptr, matrix.data)
    return sp.csr_array((shares, matrix.indices, matrix.indptr), shape=matrix.shape)


def row_shares(starts: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """For each entry of a row its share in the row's sum, by where the rows start; without weights one over their number.

    >>> row_shares(np.array([0, 2, 2, 3])).tolist(), row_shares(np.array([0, 2, 2, 3]), np.array([1.0, 3.0, 7.0])).tolist()
    ([0.5, 0.5, 1.0], [0.25, 0.75, 1.0])
    """
    counts = np.diff(starts)
    if weights is None:
        return np.repeat(1.0 / np.maximum(counts, 1), counts)
    return weights / np.repeat(row_sums(starts, weights), counts)
