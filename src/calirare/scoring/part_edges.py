"""The edges of a part, among the nodes that they touch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.parts.partitions import Part, Partitions
from calirare.features.relations import Relation, joined_to, relation_edges, row_normalised


@dataclass(frozen=True, eq=False)
class PartEdges:
    """A part's edges among the nodes that they touch.

    Args:
        part: The part.
        near: Its nodes and all at the other ends of their edges, ascending.
        own: Where its own nodes stand among these.
        table: Its rows of the edge table, ends as places in `near`.
    """

    part: Part
    near: np.ndarray
    own: slice
    table: EdgeTable

    @classmethod
    def of(cls, parts: Partitions, number: int) -> PartEdges:
        part, table = parts.part(number), parts.rows(number)
        near = np.unique(np.concatenate([np.arange(part.start, part.stop), table.source, table.target]))
        first = int(np.searchsorted(near, part.start))
        local = replace(table, source=np.searchsorted(near, table.source), target=np.searchsorted(near, table.target))
        return cls(part, near, slice(first, first + part.num_nodes), local)

    @property
    def own_first(self) -> EdgeTable:
        """The rows with the part's own nodes numbered before the others."""
        source, target = ((ends - self.own.start) % self.near.size for ends in (self.table.source, self.table.target))
        return replace(self.table, source=source, target=target)

    def matrix(self, relation: Relation) -> sp.csr_array:
        """`(own, near)`: neighbours in that way, rows that sum to one."""
        return row_normalised(self.joined(relation))

    def joined(self, relation: Relation) -> sp.csr_array:
        """`(own, near)`: neighbours in that way: ones, or what they count."""
        shape = (self.part.num_nodes, self.near.size)
        if relation == Relation():
            named = np.searchsorted(self.near, neighbours_of(self.part))
            matrix = sp.csr_array((np.ones(named.size), named, self.part.adjacency.indptr), shape=shape)
            matrix.sort_indices()
            return matrix
        node, other, weights = relation_edges(self.table, relation)
        mine = (node >= self.own.start) & (node < self.own.stop)
        weights = None if weights is None else weights[mine]
        return joined_to(node[mine] - self.own.start, other[mine], weights, shape)


def neighbours_of(part: Part) -> np.ndarray:
    """The neighbours of a part's nodes, one list after the other, as places in the whole graph."""
    return part.places[part.adjacency.indices]
