"""Core numbers after edges were added, from the nodes around them alone.

Peeling a graph gives an order of its nodes in which each has at most as many later neighbours as its core number says.
An edge adds one later neighbour to one of its ends; while that is no more than the core number, nothing changes. Where
it is more, it may rise, and so may later nodes of its level that this gives too many neighbours; of all these, those
stay that have too few neighbours above the level or among the others, and no other node is looked at. The order is that
of key `zhang2017`; here a step takes all its nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from calirare.features.structure import peel
from calirare.scoring.live.links import Links, distinct


@dataclass(frozen=True, eq=False)
class PeelingOrder:
    """How a graph was peeled.

    Args:
        core: `(N,)` core numbers.
        rank: `(N,)` place in the order; core numbers ascend along it.
        later: `(N,)` how many neighbours come later.
    """

    core: np.ndarray
    rank: np.ndarray
    later: np.ndarray

    @classmethod
    def of(cls, adjacency: sp.csr_array) -> PeelingOrder:
        core, waves = peel(adjacency)
        rank = np.empty(core.size, dtype=np.int64)
        rank[np.argsort(waves, kind="stable")] = np.arange(core.size)
        own = np.repeat(rank, np.diff(adjacency.indptr))
        later = np.add.reduceat(np.append(rank[adjacency.indices] > own, False), adjacency.indptr[:-1], dtype=np.int64)
        later[np.diff(adjacency.indptr) == 0] = 0
        return cls(core, rank, later)

    def grown(self, links: Links) -> tuple[np.ndarray, np.ndarray]:
        """(nodes whose core number differs, and new ones, ascending; core numbers) after `links` have grown."""
        return _Growth(self, links).run()


class _Growth:
    """One pass over the levels, upwards: which nodes of a level rise into the next.

    In a level, those that rose into it come first, then new nodes, then the others by rank. What is kept for every node
    is zero at first, and memory for zeros is not touched before they change.
    """

    def __init__(self, order: PeelingOrder, links: Links) -> None:
        self.order, self.links = order, links
        self.known, self.size = len(order.core), links.num_nodes
        self.fresh = self._at_least()
        self.risen = np.zeros(self.size, dtype=np.int64)
        """Levels of the nodes that rose so far."""
        self.more = np.zeros(self.size, dtype=np.int64)
        """Later neighbours beside those that the order knows."""
        nodes, ends = links.added
        np.add.at(self.more, nodes, self._comes_later(ends, nodes))

    def _at_least(self) -> np.ndarray:
        """Cores that the new nodes are in: with k neighbours in the k-core of the graph before, a node joins that."""
        nodes, ends = self.links.added[:, (self.links.added[0] >= self.known) & (self.links.added[1] < self.known)]
        order = np.lexsort((-self.order.core[ends], nodes))
        nodes, cores = nodes[order], self.order.core[ends[order]]
        so_many = np.arange(1, len(nodes) + 1) - np.searchsorted(nodes, nodes)
        return np.bincount(nodes[cores >= so_many] - self.known, minlength=self.size - self.known)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        nodes = distinct(self.links.added[0], self.size)
        level = self._level(nodes)
        over = self._later(nodes) > level
        waiting = {k: nodes[over & (level == k)] for k in distinct(level[over], self.size).tolist()}
        changed = [np.arange(self.known, self.size)]
        while waiting:
            k = min(waiting)
            risen = self._rise(k, waiting.pop(k))
            if risen.size:
                self.risen[risen], self.more[risen] = k + 1, 0
                nodes, ends = self._pairs(risen)
                np.add.at(self.more, nodes, self._comes_later(ends, nodes))
                over = risen[self._later(risen) > k + 1]
                waiting[k + 1] = np.concatenate([over, waiting.get(k + 1, over[:0])])
                changed.append(risen)
        nodes = distinct(np.concatenate(changed), self.size)
        return nodes, self._level(nodes)

    def _rise(self, level: int, nodes: np.ndarray) -> np.ndarray:
        """The nodes of a level that rise, from those with too many later neighbours: who they reach, then who holds."""
        inside, earlier = np.zeros(self.size, dtype=bool), np.zeros(self.size, dtype=np.int64)
        found = [nodes[:0]]
        while nodes.size:
            found.append(nodes)
            inside[nodes] = True
            whose, ends = self._pairs(nodes)
            ends = ends[(self._level(ends) == level) & (self._place(ends) > self._place(whose))]
            np.add.at(earlier, ends, 1)
            nodes = distinct(ends[~inside[ends]], self.size)
            nodes = nodes[self._later(nodes) + earlier[nodes] > level]
        return self._held(level, np.concatenate(found), inside)

    def _held(self, level: int, nodes: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """The largest set of these nodes in which each has more than `level` neighbours above or inside it; `inside` marks them."""
        whose, ends = self._pairs(nodes)
        support = np.zeros(self.size, dtype=np.int64)
        np.add.at(support, whose, (inside[ends] | (self._level(ends) > level)).astype(np.int64))
        gone = nodes[support[nodes] <= level]
        while gone.size:
            inside[gone] = False
            _, ends = self._pairs(gone)
            ends = ends[inside[ends]]
            np.subtract.at(support, ends, 1)
            gone = distinct(ends, self.size)
            gone = gone[support[gone] <= level]
        return nodes[inside[nodes]]

    def _pairs(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(node, neighbour), of these nodes now."""
        starts, ends = self.links.rows(nodes)
        return np.repeat(nodes, np.diff(starts)), ends

    def _level(self, nodes: np.ndarray) -> np.ndarray:
        return np.where(self.risen[nodes] > 0, self.risen[nodes], self._known(self.order.core, self.fresh, nodes))

    def _place(self, nodes: np.ndarray) -> np.ndarray:
        """The place of each node in the order of its level."""
        new = np.arange(self.known - self.size, 0)
        return np.where(self.risen[nodes] > 0, nodes - 2 * self.size, self._known(self.order.rank, new, nodes))

    def _later(self, nodes: np.ndarray) -> np.ndarray:
        """How many neighbours come after each node in the order as it is now."""
        before = self._known(self.order.later, np.zeros_like(self.fresh), nodes)
        return self.more[nodes] + np.where(self.risen[nodes] > 0, 0, before)

    def _comes_later(self, ends: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        there, here = self._level(ends), self._level(nodes)
        return ((there > here) | (there == here) & (self._place(ends) > self._place(nodes))).astype(np.int64)

    def _known(self, before: np.ndarray, fresh: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Values of known nodes, and of new ones behind them."""
        found: np.ndarray = before[np.minimum(nodes, self.known - 1)]
        new = nodes >= self.known
        found[new] = fresh[nodes[new] - self.known]
        return found
