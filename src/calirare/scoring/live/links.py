"""Who a node's neighbours are, in a graph and with edges that came since."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from calirare.data.node_keys import each_once, places_of
from calirare.data.sparse.products import small_index
from calirare.features.edges.groups import EdgeGroups
from calirare.features.ends import row_sums, starts_of
from calirare.features.relations import row_shares


@dataclass(frozen=True, eq=False)
class Links:
    """Lists of neighbours, each in ascending order, and those that were added.

    Args:
        starts: `(N + 1,)` where each node's list begins.
        ends: The neighbours, one list after the other.
        num_nodes: With those that were added.
        added: `(2, E)` further pairs, from node to neighbour, sorted; without weights none of them is in the lists.
        weights: What each of the neighbours counts; None: all alike.
        more_weights: `(E,)` what each of the added pairs counts beside that.

    >>> links = Links.of(sp.csr_array(np.array([[0, 1], [1, 0]]))).grown(np.array([0, 1, 2]), np.array([1, 2, 1]), 3)
    >>> links.added.tolist(), [part.tolist() for part in links.rows(np.array([1, 2]))]
    ([[1, 2], [2, 1]], [[0, 2, 3], [0, 2, 1]])
    """

    starts: np.ndarray
    ends: np.ndarray
    num_nodes: int
    added: np.ndarray = field(default_factory=lambda: np.empty((2, 0), dtype=np.int64))
    weights: np.ndarray | None = None
    more_weights: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, matrix: sp.csr_array, *, weighted: bool = False) -> Links:
        """The places of a matrix's entries, and these."""
        matrix.sort_indices()
        return cls(matrix.indptr, matrix.indices, matrix.shape[0], weights=matrix.data if weighted else None)

    @classmethod
    def of_edges(cls, ends: np.ndarray, num_nodes: int) -> Links:
        """The edges of each node at one end."""
        groups = EdgeGroups(ends, num_nodes)
        return cls(starts_of(groups.counts), groups.order, num_nodes)

    @property
    def size(self) -> int:
        """Nodes that the lists were made of."""
        return len(self.starts) - 1

    def grown(
        self, nodes: np.ndarray, neighbours: np.ndarray, num_nodes: int, weights: np.ndarray | None = None
    ) -> Links:
        """With further pairs; pairs of a node with itself are left out, and without weights repeats and those that are there already."""
        if self.weights is not None and weights is not None:
            order = np.lexsort((neighbours, nodes))
            added = np.stack([nodes[order], neighbours[order]]).astype(np.int64)
            return replace(self, num_nodes=num_nodes, added=added, more_weights=weights[order])
        keep = (nodes != neighbours) & (self.find(nodes, neighbours) < 0)
        keys = each_once(nodes[keep].astype(np.int64) * num_nodes + neighbours[keep])
        return replace(self, num_nodes=num_nodes, added=np.vstack([keys // num_nodes, keys % num_nodes]))

    def lengths(self, nodes: np.ndarray) -> np.ndarray:
        """How many neighbours each node had before the growth; 0 for new nodes."""
        known = np.minimum(nodes, self.size - 1)
        return np.where(nodes < self.size, self.starts[known + 1] - self.starts[known], 0).astype(np.int64)

    def find(self, nodes: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """Where in the lists each pair stands, -1 where it does not."""
        lists = distinct(nodes[nodes < self.size], self.size)
        places, size = self.positions(lists), np.int64(self.size)
        keys = np.repeat(lists * size, self.lengths(lists)) + self.ends[places]
        at, there = places_of(nodes * size + neighbours, keys)
        there &= neighbours < self.size
        found = np.full(len(nodes), -1, dtype=np.int64)
        found[there] = places[at[there]]
        return found

    def positions(self, nodes: np.ndarray) -> np.ndarray:
        """Places in `ends` of the nodes' lists, one after the other."""
        lengths = self.lengths(nodes)
        first = self.starts[np.minimum(nodes, self.size - 1)].astype(np.int64)
        before = np.cumsum(lengths) - lengths
        return np.arange(int(lengths.sum())) + np.repeat(first - before, lengths)

    def more(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(how many neighbours were added to each node, places of these in `added`)."""
        (grew, added), (counts, low) = self._grew, np.zeros((2, len(nodes)), dtype=np.int64)
        at, mine = places_in(grew, nodes)
        counts[mine], low[mine] = added[at], (np.cumsum(added) - added)[at]
        before = np.cumsum(counts) - counts
        return counts, np.arange(int(counts.sum())) + np.repeat(low - before, counts)

    @cached_property
    def _grew(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes with added neighbours, ascending, and how many."""
        return np.unique(self.added[0], return_counts=True)

    def rows(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(where each node's list begins and the last one ends, the neighbours), added ones last."""
        counts, places = self.more(nodes)
        if not places.size:
            lengths = self.lengths(nodes)
            return starts_of(lengths), self.ends[self.positions(nodes)].astype(np.int64)
        order = self.merged_order(nodes, counts)
        found = np.concatenate([self.ends[self.positions(nodes)], self.added[1, places]])[order].astype(np.int64)
        return starts_of(self.lengths(nodes) + counts), found

    def shares(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`rows` of the nodes, and the share of each neighbour in what they count together."""
        starts, ends, weights = self.weighed(nodes)
        return starts, ends, row_shares(starts, weights)

    def weighed(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`rows` of the nodes, and what each neighbour counts."""
        starts, ends = self.rows(nodes)
        if self.weights is None:
            return starts, ends, np.ones(len(ends))
        counts, places = self.more(nodes)
        weights = np.concatenate([self.weights[self.positions(nodes)], self.more_weights[places]])
        return starts, ends, weights[self.merged_order(nodes, counts)]

    def merged_order(self, nodes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The order that brings each node's added entries behind its earlier ones."""
        lengths = self.lengths(nodes)
        old, new = int(lengths.sum()), int(counts.sum())
        order = np.empty(old + new, dtype=np.int64)
        order[np.arange(old) + np.repeat(np.cumsum(counts) - counts, lengths)] = np.arange(old)
        order[np.arange(new) + np.repeat(np.cumsum(lengths), counts)] = np.arange(old, old + new)
        return order

    def sums(self, nodes: np.ndarray) -> np.ndarray:
        """What the neighbours of each node, ascending, count together now; 0 where there are none."""
        if self.weights is None:
            return self.degrees(nodes)
        sums = row_sums(starts_of(self.lengths(nodes)), self.weights[self.positions(nodes)])
        at, mine = places_in(nodes, self.added[0])
        return sums + np.bincount(at, self.more_weights[mine], minlength=len(nodes))

    def degrees(self, nodes: np.ndarray) -> np.ndarray:
        """How many neighbours each node has now."""
        grew, counts = self._grew
        degrees, (at, mine) = self.lengths(nodes), places_in(grew, nodes)
        degrees[mine] += counts[at]
        return degrees


def distinct(values: np.ndarray, size: int) -> np.ndarray:
    """The values, each once, ascending; all below `size`. Many are marked in an array, few are sorted.

    >>> distinct(np.array([3, 1, 3]), 5).tolist()
    [1, 3]
    """
    if len(values) * 4 > size:
        seen = np.zeros(size, dtype=bool)
        seen[values] = True
        return np.flatnonzero(seen)
    return each_once(values).astype(np.int64)


def places_in(ascending: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(places of the nodes that are there, mask of these among the nodes).

    >>> [part.tolist() for part in places_in(np.array([2, 5]), np.array([1, 5]))]
    [[1], [False, True]]
    """
    beyond = int(ascending[-1]) + 1 if len(ascending) else 0
    if len(nodes) * 32 > beyond > 0:  # looked up in an array: many are halved their way for too long
        place = np.full(beyond + 1, -1, dtype=small_index(beyond))
        place[ascending] = np.arange(len(ascending))
        at = place[np.minimum(nodes, beyond)]
        mine = at >= 0
    else:
        at, mine = places_of(nodes, ascending)
    return at[mine], mine


def own_first(own: np.ndarray, ends: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(the ends as places among some nodes, then the others; these others). Both ascend; all are below `size`.

    >>> [part.tolist() for part in own_first(np.array([2, 5]), np.array([5, 1, 2, 9]), 10)]
    [[1, 2, 0, 3], [1, 9]]
    """
    others = distinct(ends, size)
    others = others[~places_in(own, others)[1]]
    number = np.empty(size, dtype=small_index(size))  # memory that is not written to costs nothing
    number[own], number[others] = np.arange(len(own)), len(own) + np.arange(len(others))
    return number[ends], others
