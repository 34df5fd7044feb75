"""Core numbers after edges were added, from the nodes around them alone.

Peeling a graph gives an order of its nodes in which each has at most as many later neighbours as its core number says.
An edge adds one later neighbour to one of its ends; while that is no more than the core number, nothing changes. Where
it is more, the nodes of that level are looked at in their order, those that may rise and those that hold them back, and
no others. Source: key `zhang2017`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from calirare.features.structure import peel
from calirare.scoring.live.links import Links

Place = tuple[int, int]
"""In the order of a level: those that rose into it first, then new nodes, then by rank."""


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

    def grown(self, links: Links) -> dict[int, int]:
        """The core numbers that differ, and those of new nodes, after `links` have grown."""
        return _Growth(self, links).run()


class _Growth:
    """One pass over the levels, upwards: which nodes of a level rise into the next."""

    def __init__(self, order: PeelingOrder, links: Links) -> None:
        self.order, self.links = order, links
        self.known = len(order.core)
        self.first = np.flatnonzero(np.diff(links.added[0], prepend=-1))
        """Where among the added pairs those of each node begin."""
        self.fresh = self._at_least()
        self.levels: dict[int, int] = {}
        """Of the nodes that rose so far."""

    def _at_least(self) -> np.ndarray:
        """Cores that the new nodes are in: with k neighbours in the k-core of the graph before, a node joins that."""
        nodes, ends = self.links.added[:, (self.links.added[0] >= self.known) & (self.links.added[1] < self.known)]
        order = np.lexsort((-self.order.core[ends], nodes))
        nodes, cores = nodes[order], self.order.core[ends[order]]
        so_many = np.arange(1, len(nodes) + 1) - np.searchsorted(nodes, nodes)
        return np.bincount(nodes[cores >= so_many] - self.known, minlength=self.links.num_nodes - self.known)

    def run(self) -> dict[int, int]:
        waiting: dict[int, set[int]] = {}
        for node in self._overfull():
            waiting.setdefault(self.level(node), set()).add(node)
        while waiting:
            level = min(waiting)
            risen = _Level(self, level, waiting.pop(level)).run()
            for node in risen:
                self.levels[node] = level + 1
            if risen:
                waiting.setdefault(level + 1, set()).update(risen)
        return dict(enumerate(self.fresh.tolist(), self.known)) | self.levels

    def _overfull(self) -> list[int]:
        """Nodes that have more later neighbours now than their level allows."""
        if not self.first.size:
            return []
        (level, place), (there, other) = (self._stand(nodes) for nodes in self.links.added)
        later = np.add.reduceat((there > level) | (there == level) & (other > place), self.first, dtype=np.int64)
        nodes, level = self.links.added[0, self.first], level[self.first]
        was = np.where(nodes < self.known, self.order.later[np.minimum(nodes, self.known - 1)], 0)
        found: list[int] = nodes[was + later > level].tolist()
        return found

    def _stand(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Levels and ranks before any node rises; new nodes come first in their level."""
        known, old = nodes < self.known, np.minimum(nodes, self.known - 1)
        fresh = np.append(self.fresh, 0)[np.maximum(nodes - self.known, -1)]
        ranks = np.where(known, self.order.rank[old], nodes - self.links.num_nodes)
        return np.where(known, self.order.core[old], fresh), ranks

    def level(self, node: int) -> int:
        if node in self.levels:
            return self.levels[node]
        return int(self.order.core[node] if node < self.known else self.fresh[node - self.known])

    def place(self, node: int) -> Place:
        if node in self.levels:
            return 0, node
        return 1, int(self.order.rank[node]) if node < self.known else node - self.links.num_nodes

    def neighbours(self, node: int) -> list[int]:
        found: list[int] = []
        if node < self.known:
            found = self.links.ends[self.links.starts[node] : self.links.starts[node + 1]].tolist()
        return found + self.added(node)

    def added(self, node: int) -> list[int]:
        """The neighbours that were added; looked up, for only few nodes are looked at."""
        start, stop = np.searchsorted(self.links.added[0], [node, node + 1])
        ends: list[int] = self.links.added[1, start:stop].tolist()
        return ends

    def later(self, node: int) -> int:
        """How many neighbours come after the node in the order as it is now."""
        mine, moved = (self.level(node), self.place(node)), node in self.levels or node >= self.known
        ends = self.neighbours(node) if moved else self.added(node)
        count = sum((self.level(end), self.place(end)) > mine for end in ends)
        return count if moved else count + int(self.order.later[node])


class _Level:
    """Which nodes of level k have k + 1 neighbours above it or among themselves."""

    def __init__(self, growth: _Growth, level: int, nodes: set[int]) -> None:
        self.growth, self.level = growth, level
        self.heap: list[tuple[Place, int]] = [(growth.place(node), node) for node in nodes]
        heapq.heapify(self.heap)
        self.done: set[int] = set()
        self.later: dict[int, int] = {}
        self.earlier: dict[int, int] = {}
        """How many earlier neighbours may rise."""
        self.risers: dict[int, Place] = {}

    def run(self) -> list[int]:
        while self.heap:
            place, node = heapq.heappop(self.heap)
            if node in self.done:
                continue
            self.done.add(node)
            self.later[node] = self.growth.later(node)
            if self._support(node) > self.level:
                self._may_rise(node, place)
            elif self.earlier.get(node):
                self._stays(node, place)
        return list(self.risers)

    def _support(self, node: int) -> int:
        return self.later[node] + self.earlier.get(node, 0)

    def _of_level(self, node: int) -> list[int]:
        return [end for end in self.growth.neighbours(node) if self.growth.level(end) == self.level]

    def _may_rise(self, node: int, place: Place) -> None:
        self.risers[node] = place
        for end in self._of_level(node):
            there = self.growth.place(end)
            if there > place:
                self.earlier[end] = self.earlier.get(end, 0) + 1
                heapq.heappush(self.heap, (there, end))

    def _stays(self, node: int, place: Place) -> None:
        """Whoever counted on this node loses one; who then has too few stays as well."""
        queue = [(node, place)]
        while queue:
            node, place = queue.pop()
            for end in self._of_level(node):
                there = self.growth.place(end)
                if there > place:
                    if node in self.risers and self.earlier.get(end):
                        self.earlier[end] -= 1
                        if end in self.risers and self._support(end) == self.level:
                            queue.append((end, there))
                elif end in self.risers:
                    self.later[end] -= 1
                    if self._support(end) == self.level:
                        queue.append((end, there))
            self.risers.pop(node, None)
