"""Core numbers after edges were added, from the nodes around them alone.

Peeling a graph takes its nodes away in waves; each has in its wave at most as many neighbours left as its core number
says. An edge leaves one more to the end that goes first, or to both. While that is no more than the core number, nothing
changes. Where it is more, the node stays, and its later neighbours have one more left in their waves; it goes after all
once it has too few left. Whoever stays until the level's last wave rises, and no other node is looked at. The idea is that
of key `zhang2017`; here a step takes a whole wave at once.
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
        when: `(N,)` when each node was taken away: `core * span`, two, and its wave.
        left: `(N,)` how many neighbours it had then, those of the same wave included.
        span: Of a level in `when`.
    """

    core: np.ndarray
    when: np.ndarray
    left: np.ndarray
    span: int

    @classmethod
    def of(cls, adjacency: sp.csr_array) -> PeelingOrder:
        core, wave = peel(adjacency)
        own = np.repeat(wave, np.diff(adjacency.indptr))
        left = np.add.reduceat(np.append(wave[adjacency.indices] >= own, False), adjacency.indptr[:-1], dtype=np.int64)
        left[np.diff(adjacency.indptr) == 0] = 0
        span = 3 + int(wave.max(initial=0))
        return cls(core, core * span + 2 + wave, left, span)

    def grown(self, links: Links) -> tuple[np.ndarray, np.ndarray]:
        """(nodes whose core number differs, and new ones, ascending; core numbers) after `links` have grown."""
        return _Growth(self, links).run()


class _Growth:
    """One pass over the levels, upwards: which nodes of a level rise into the next.

    In a level, those that rose into it are the first wave, new nodes the second. What is kept for every node is zero at
    first, and memory for zeros is not touched before they change.
    """

    def __init__(self, order: PeelingOrder, links: Links) -> None:
        self.order, self.links = order, links
        self.known, self.size = len(order.core), links.num_nodes
        self.moved = np.zeros(self.size, dtype=np.int64)
        """When new nodes, and those that rose so far, are taken away."""
        self.moved[self.known :] = self._at_least() * order.span + 1
        self.more = np.zeros(self.size, dtype=np.int64)
        """Neighbours left to each node then, beside those that the order knows."""
        self._count_left(*links.added)

    def _count_left(self, nodes: np.ndarray, ends: np.ndarray) -> None:
        """Pairs of a node and a neighbour that is not taken away before it."""
        # Of an int64 array and a plain 1 NumPy adds in a loop of its own; with other types it takes far longer.
        np.add.at(self.more, nodes[self._when(ends) >= self._when(nodes)], 1)

    def _at_least(self) -> np.ndarray:
        """Cores that the new nodes are in: with k neighbours in the k-core of the graph before, a node joins that."""
        nodes, ends = self.links.added[:, (self.links.added[0] >= self.known) & (self.links.added[1] < self.known)]
        order = np.lexsort((-self.order.core[ends], nodes))
        nodes, cores = nodes[order], self.order.core[ends[order]]
        so_many = np.arange(1, len(nodes) + 1) - np.searchsorted(nodes, nodes)
        return np.bincount(nodes[cores >= so_many] - self.known, minlength=self.size - self.known)

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        nodes = distinct(self.links.added[0], self.size)
        level = self._when(nodes) // self.order.span
        over = self._left(nodes) > level
        waiting = {k: nodes[over & (level == k)] for k in distinct(level[over], self.size).tolist()}
        changed = [np.arange(self.known, self.size)]
        while waiting:
            k = min(waiting)
            risen = self._rise(k, waiting.pop(k))
            if risen.size:
                self.moved[risen], self.more[risen] = (k + 1) * self.order.span, 0
                self._count_left(*self._pairs(risen))
                over = risen[self._left(risen) > k + 1]
                waiting[k + 1] = np.concatenate([over, waiting.get(k + 1, over[:0])])
                changed.append(risen)
        nodes = distinct(np.concatenate(changed), self.size)
        return nodes, self.moved[nodes] // self.order.span

    def _rise(self, level: int, nodes: np.ndarray) -> np.ndarray:
        """The nodes of a level that rise, from those that have too many neighbours left."""
        stays, left = np.zeros(self.size, dtype=bool), np.zeros(self.size, dtype=np.int64)
        found, stop = [nodes[:0]], (level + 1) * self.order.span
        waiting = _Waiting()
        waiting.add(nodes, nodes, self._when(nodes))
        while waiting:
            now = min(waiting)
            nodes = distinct(np.concatenate([ends for _, ends in waiting[now]]), self.size)
            many = self._left(nodes) + left[nodes]
            nodes, many = nodes[many > level], many[many > level]
            stays[nodes], left[nodes] = True, many
            found.append(nodes)
            whose, ends = self._pairs(nodes)
            when = self._when(ends)
            np.add.at(left, ends[(when > now) & (when < stop)], 1)
            after = (when >= now) & (when < stop)
            waiting.add(whose[after], ends[after], when[after])
            whose, ends = (np.concatenate(part) for part in zip(*waiting.pop(now), strict=True))
            lose = whose[stays[whose] & ~stays[ends]]
            while lose.size:
                np.subtract.at(left, lose, 1)
                gone = distinct(lose[stays[lose]], self.size)
                gone = gone[left[gone] <= level]
                stays[gone] = False
                _, ends = self._pairs(gone)
                when = self._when(ends)
                lose = ends[stays[ends] | (when > now) & (when < stop)]
        nodes = np.concatenate(found)
        return nodes[stays[nodes]]

    def _pairs(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(node, neighbour), of these nodes now."""
        starts, ends = self.links.rows(nodes)
        return np.repeat(nodes, np.diff(starts)), ends

    def _when(self, nodes: np.ndarray) -> np.ndarray:
        moved = self.moved[nodes]
        return np.where(moved > 0, moved, self.order.when[np.minimum(nodes, self.known - 1)])

    def _left(self, nodes: np.ndarray) -> np.ndarray:
        """How many neighbours each node has when it is taken away."""
        return self.more[nodes] + np.where(self.moved[nodes] > 0, 0, self.order.left[np.minimum(nodes, self.known - 1)])


class _Waiting(dict[int, list[tuple[np.ndarray, np.ndarray]]]):
    """Pairs of a node that stays and a neighbour, by when the neighbour is taken away."""

    def add(self, whose: np.ndarray, ends: np.ndarray, when: np.ndarray) -> None:
        order = np.argsort(when, kind="stable")
        cuts = np.flatnonzero(np.diff(when[order])) + 1
        for mine in np.split(order, cuts) if order.size else ():
            self.setdefault(int(when[mine[0]]), []).append((whose[mine], ends[mine]))
