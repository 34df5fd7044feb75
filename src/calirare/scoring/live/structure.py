"""Each node's place in a graph that has grown: what changed, and for which nodes, without looking at the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from calirare.data.node_keys import places_of
from calirare.features.structure import (
    CLUSTERING,
    CORE,
    DEGREE,
    LOG_DEGREE,
    REACH,
    SIZE,
    STRUCTURE,
    closed_share,
)
from calirare.features.triangles import triangles
from calirare.scoring.live.cores import PeelingOrder
from calirare.scoring.live.links import Links, distinct, places_in


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
        # As in `component_sizes`: strong components are found without the transpose.
        return connected_components(self.adjacency, directed=True, connection="strong")[1]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Nodes of each component."""
        return np.bincount(self.component)

    @cached_property
    def reach(self) -> np.ndarray:
        """`(N,)` the neighbours' degrees added."""
        return self.adjacency @ np.diff(self.adjacency.indptr).astype(np.float64)

    def columns(self) -> Iterator[tuple[str, np.ndarray]]:
        """`structure_columns` of every node; makes all that is kept."""
        none = np.empty(0, dtype=np.int64)
        same = GrownStructure(self, none, none, self.links.size)
        for name in STRUCTURE:
            yield name, same.column(name, np.arange(self.links.size))


class GrownStructure:
    """The columns of `structure_columns` after a growth, of the nodes that are asked about.

    Args:
        before: Of the graph.
        source, target: The pairs that are joined now; those that were joined before do not count again.
        num_nodes: With the new nodes.
    """

    def __init__(self, before: Structure, source: np.ndarray, target: np.ndarray, num_nodes: int) -> None:
        self.before, self.num_nodes = before, num_nodes
        both = np.concatenate([source, target]), np.concatenate([target, source])
        self.links = before.links.grown(*both, num_nodes)

    def column(self, name: str, nodes: np.ndarray) -> np.ndarray:
        """A column of some nodes, ascending, float64."""
        make: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            DEGREE: self._degrees,
            LOG_DEGREE: lambda nodes: np.log1p(self._degrees(nodes)),
            CLUSTERING: self._clustering,
            CORE: self._cores,
            SIZE: self._component_sizes,
            REACH: self._reach,
        }
        return make[name](nodes)

    def _degrees(self, nodes: np.ndarray) -> np.ndarray:
        return self.links.degrees(nodes).astype(np.float64)

    def _cores(self, nodes: np.ndarray) -> np.ndarray:
        found = _before(self.before.order.core, nodes)
        changed, values = self._risen
        at, mine = places_in(changed, nodes)
        found[mine] = values[at]
        return found

    @cached_property
    def _risen(self) -> tuple[np.ndarray, np.ndarray]:
        return self.before.order.grown(self.links)

    def _reach(self, nodes: np.ndarray) -> np.ndarray:
        """Neighbours whose degree grew count for more, and those that were added count whole."""
        source, target = self.links.added
        grew = distinct(source[source < self.before.links.size], self.num_nodes)
        ends = self.links.ends[self.links.positions(grew)]
        more = np.repeat(self.links.more(grew)[0], self.links.lengths(grew))
        added = _summed(nodes, source, self.links.degrees(target))
        return _before(self.before.reach, nodes) + _summed(nodes, ends, more) + added

    def _clustering(self, nodes: np.ndarray) -> np.ndarray:
        if self.before.triangles is None:
            return np.full(len(nodes), np.nan)
        corners, share = self._closed
        closed = np.rint(sum(_summed(nodes, corner, share) for corner in corners))
        return closed_share(closed + _before(self.before.triangles, nodes), self.links.degrees(nodes))

    @cached_property
    def _closed(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Corners of the triangles that new pairs close. One closed by j of them is met j times and counts for 1/j each."""
        source, target = self.links.added
        once = source < target
        source, target = source[once], target[once]
        swap = self.links.degrees(source) > self.links.degrees(target)
        few, many = np.where(swap, target, source), np.where(swap, source, target)
        starts, third = self.links.rows(few)
        few_added = np.arange(len(third)) >= np.repeat(starts[:-1] + self.links.lengths(few), np.diff(starts))
        few, many = np.repeat(few, np.diff(starts)), np.repeat(many, np.diff(starts))
        keys = self.links.added[0] * self.num_nodes + self.links.added[1]
        many_added = places_of(many * np.int64(self.num_nodes) + third, keys)[1]
        closes = many_added | (self.before.links.find(many, third) >= 0)
        corners = [corner[closes] for corner in (few, many, third)]
        return corners, 1.0 / (1.0 + few_added[closes] + many_added[closes])

    def _component_sizes(self, nodes: np.ndarray) -> np.ndarray:
        """Nodes that each is connected to, itself included."""
        numbers, (places, sizes) = self._component_numbers(nodes), self._joined_components
        found = self.before.sizes[np.minimum(numbers, len(self.before.sizes) - 1)].astype(np.float64)
        at, joined = places_in(places, numbers)
        found[joined] = sizes[at]
        return found

    def _component_numbers(self, nodes: np.ndarray) -> np.ndarray:
        """The components that nodes were in, new ones each in one of its own behind the others."""
        known, count = self.before.links.size, len(self.before.sizes)
        return np.where(nodes < known, self.before.component[np.minimum(nodes, known - 1)], count + nodes - known)

    @cached_property
    def _joined_components(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the components that a new pair touches, new nodes behind them, and their sizes now."""
        known, count = self.before.links.size, len(self.before.sizes)
        numbers = self._component_numbers(self.links.added)
        alone = count + np.arange(self.num_nodes - known)
        places, ends = np.unique(np.concatenate([numbers.ravel(), alone]), return_inverse=True)
        source, target = ends[: numbers.size].reshape(2, -1)
        pairs = sp.csr_array((np.ones(len(source)), (source, target)), shape=(len(places), len(places)))
        group = connected_components(pairs, directed=False)[1] if len(places) else np.empty(0, dtype=np.int64)
        was = np.where(places < count, self.before.sizes[np.minimum(places, count - 1)], 1)
        return places, np.bincount(group, weights=was)[group] if len(places) else np.empty(0)


def _before(values: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The values of the nodes that were there, 0 for new ones."""
    return np.where(nodes < len(values), values[np.minimum(nodes, len(values) - 1)], 0.0)


def _summed(nodes: np.ndarray, whose: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sum of each node's values; nodes ascend."""
    at, mine = places_in(nodes, whose)
    return np.bincount(at, weights=values[mine], minlength=len(nodes))
