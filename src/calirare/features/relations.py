"""Who a node's neighbours are: all, incoming or outgoing, over all edges or one kind of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.sparse.products import small_index
from calirare.features.structure import neighbours

RELATIONS = ("neighbours", "incoming neighbours", "outgoing neighbours")
Relation = tuple[str, str]
"""Over which neighbours: which way, and by which of `EdgeTable.kinds` ("" for all)."""


def relation_matrix(graph: RareGraph, relation: str, type: str = "") -> sp.csr_array:
    """Who a node's neighbours are: ones, each neighbour once, the node itself left out."""
    if relation == "neighbours" and not type:
        return neighbours(graph)
    shape = (graph.num_nodes, graph.num_nodes)
    table = graph.edges
    if table is None:
        return sp.csr_array(shape)
    index = small_index(max(2 * len(table), graph.num_nodes))
    node, neighbour = (ends.astype(index) for ends in relation_ends(table, relation, type))
    matrix = sp.csr_array((np.ones(node.size), (node, neighbour)), shape=shape)
    matrix.data[:] = 1.0
    return matrix


def relation_ends(table: EdgeTable, relation: str, type: str = "") -> tuple[np.ndarray, np.ndarray]:
    """(node, neighbour) of every row that joins two nodes in that way; one pair may stand several times."""
    kept = table.source != table.target
    if type:
        kept &= table.of_kind(type)
    source, target = table.source[kept], table.target[kept]
    return {
        "incoming neighbours": (target, source),
        "outgoing neighbours": (source, target),
        "neighbours": (np.concatenate([source, target]), np.concatenate([target, source])),
    }[relation]


def row_normalised(matrix: sp.csr_array) -> sp.csr_array:
    """Each row divided by its number of entries."""
    return sp.csr_array((row_shares(matrix.indptr), matrix.indices, matrix.indptr), shape=matrix.shape)


def row_shares(starts: np.ndarray) -> np.ndarray:
    """For each entry of a row one over their number, by where the rows start.

    >>> row_shares(np.array([0, 2, 2, 3])).tolist()
    [0.5, 0.5, 1.0]
    """
    counts = np.diff(starts)
    return np.repeat(1.0 / np.maximum(counts, 1), counts)
