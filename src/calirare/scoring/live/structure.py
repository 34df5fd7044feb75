"""Each node's place in a graph that has grown: what changed, and for which nodes, without looking at the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from calirare.features.structure import CLUSTERING, CORE, DEGREE, LOG_DEGREE, REACH, closed_share, triangles
from calirare.scoring.live.cores import PeelingOrder
from calirare.scoring.live.links import Links, numbered

Changed = tuple[np.ndarray, np.ndarray]
"""Nodes, ascending, and their new values."""


@dataclass(frozen=True, eq=False)
class Structure:
    """What must be kept of a graph so that its structure columns can follow; each part is made at first use.

    Args:
        adjacency: Symmetric, of ones.
    """

    adjacency: sp.csr_array

    @cached_property
    def links(self) -> Links:
        """Who is joined to whom."""
        return Links.of(self.adjacency)

    @cached_property
    def order(self) -> PeelingOrder:
        """How the graph was peeled."""
        return PeelingOrder.of(self.adjacency)

    @cached_property
    def triangles(self) -> np.ndarray | None:
        """`(N,)` in how many each node stands; None where the graph has too many paths to count."""
        return triangles(self.adjacency)

    @cached_property
    def component(self) -> np.ndarray:
        """`(N,)` numbers of the components."""
        found: np.ndarray = connected_components(self.adjacency, directed=False)[1]
        return found

    @cached_property
    def sizes(self) -> np.ndarray:
        """Nodes of each component."""
        return np.bincount(self.component)

    @cached_property
    def reach(self) -> np.ndarray:
        """`(N,)` the neighbours' degrees added."""
        found: np.ndarray = self.adjacency @ np.diff(self.adjacency.indptr).astype(np.float64)
        return found

    def prepare(self) -> None:
        """Make all of it now."""
        _ = self.links, self.order, self.triangles, self.sizes, self.reach


class GrownStructure:
    """The columns of `structure_columns` after a growth, for the nodes where they changed.

    Args:
        before: Of the graph.
        source, target: The pairs that are joined now; those that were joined before do not count again.
        num_nodes: With the new nodes.
    """

    def __init__(self, before: Structure, source: np.ndarray, target: np.ndarray, num_nodes: int) -> None:
        self.before, self.num_nodes = before, num_nodes
        both = np.concatenate([source, target]), np.concatenate([target, source])
        self.links = before.links.grown(*both, num_nodes)
        new_nodes = np.arange(before.links.size, num_nodes)
        self.joined = np.union1d(self.links.added[0], new_nodes)
        """Nodes with more neighbours than before, and new ones."""
        self.degree = self.links.degrees(self.joined)

    def columns(self) -> dict[str, Changed]:
        """By name: the nodes whose value changed. Sizes of components change for many, see `component_sizes`."""
        degree = self.degree.astype(np.float64)
        return {
            DEGREE: (self.joined, degree),
            LOG_DEGREE: (self.joined, np.log1p(degree)),
            CLUSTERING: self._clustering(),
            CORE: self._cores(),
            REACH: self._reach(),
        }

    def _cores(self) -> Changed:
        found = self.before.order.grown(self.links)
        nodes = np.array(sorted(found), dtype=np.int64)
        return nodes, np.array([found[node] for node in nodes.tolist()], dtype=np.float64)

    def _reach(self) -> Changed:
        """Neighbours whose degree grew count for more, and those that were added count whole."""
        known = self.joined[self.joined < self.before.links.size]
        grew = self.links.more(known)[0]
        touched = self.before.links.ends[self.links.positions(known)]
        source, target = self.links.added
        whole = self.degree[np.searchsorted(self.joined, target)]
        nodes, place = numbered(np.concatenate([touched, source, self.joined]), self.num_nodes)
        counts = np.concatenate([np.repeat(grew, self.links.lengths(known)), whole, np.zeros(len(self.joined))])
        more = np.bincount(place, weights=counts, minlength=len(nodes))
        return nodes, more + _before(self.before.reach, nodes)

    def _clustering(self) -> Changed:
        """A triangle closed by j of the new pairs is met j times, once at each, and counts for 1/j each time."""
        if self.before.triangles is None:
            return self.joined, np.full(len(self.joined), np.nan)
        source, target = self.links.added
        once = source < target
        source, target = source[once], target[once]
        swap = self.links.degrees(source) > self.links.degrees(target)
        few, many = np.where(swap, target, source), np.where(swap, source, target)
        starts, third = self.links.rows(few)
        few, many = np.repeat(few, np.diff(starts)), np.repeat(many, np.diff(starts))
        added = self._is_added(third, many)
        closes = added | (self.before.links.find(third, many) >= 0) & (third < self.before.links.size)
        few, many, third, added = few[closes], many[closes], third[closes], added[closes]
        share = 1.0 / (1.0 + added + self._is_added(few, third))
        nodes, place = numbered(np.concatenate([few, many, third, self.joined]), self.num_nodes)
        counts = np.concatenate([share, share, share, np.zeros(len(self.joined))])
        more = np.bincount(place, weights=counts, minlength=len(nodes))
        closed = np.rint(more) + _before(self.before.triangles, nodes)
        return nodes, closed_share(closed, self.links.degrees(nodes))

    def _is_added(self, nodes: np.ndarray, ends: np.ndarray) -> np.ndarray:
        keys = self.links.added[0] * self.num_nodes + self.links.added[1]
        return np.isin(nodes * np.int64(self.num_nodes) + ends, keys)

    def component_sizes(self, nodes: np.ndarray) -> np.ndarray:
        """Nodes that each is connected to, itself included."""
        known, count = self.before.links.size, len(self.before.sizes)
        old = self.before.component[np.minimum(nodes, known - 1)]
        numbers = np.where(nodes < known, old, count + nodes - known)
        places, sizes = self._joined_components
        found = self.before.sizes[np.minimum(numbers, count - 1)].astype(np.float64)
        if len(places):
            at = np.minimum(np.searchsorted(places, numbers), len(places) - 1)
            found = np.where(places[at] == numbers, sizes[at], found)
        return found

    @cached_property
    def _joined_components(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the components that a new pair touches, new nodes behind them, and their sizes now."""
        known, count = self.before.links.size, len(self.before.sizes)
        numbers = np.where(
            self.links.added < known,
            self.before.component[np.minimum(self.links.added, known - 1)],
            count + self.links.added - known,
        )
        alone = count + np.arange(self.num_nodes - known)
        places, ends = np.unique(np.concatenate([numbers.ravel(), alone]), return_inverse=True)
        source, target = ends[: numbers.size].reshape(2, -1)
        pairs = sp.csr_array((np.ones(len(source)), (source, target)), shape=(len(places), len(places)))
        group = connected_components(pairs, directed=False)[1] if len(places) else np.empty(0, dtype=np.int64)
        was = np.where(places < count, self.before.sizes[np.minimum(places, count - 1)], 1)
        return places, np.bincount(group, weights=was)[group] if len(places) else np.empty(0)


def _before(values: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The values of the nodes that were there, 0 for new ones."""
    found: np.ndarray = np.where(nodes < len(values), values[np.minimum(nodes, len(values) - 1)], 0.0)
    return found
