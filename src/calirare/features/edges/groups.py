"""Edges sorted once by the node at one end, and what each node's edges add up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.sparse.products import small_index

LARGEST_EDGE_VALUE = 1e150
"""Values of edges are cut here, so that sums of squares over any table stay finite."""


class EdgeGroups:
    """The edges of each node at one end, in one order.

    Args:
        ends: `(E,)` the node that each edge counts for; nobody where that is N or more.
        num_nodes: N.

    >>> groups = EdgeGroups(np.array([2, 0, 2]), 3)
    >>> groups.order.tolist(), groups.counts.tolist()
    ([1, 0, 2], [1, 0, 2])
    >>> groups.reduce(np.add, np.array([5.0, 1.0, 2.0])[groups.order]).tolist()
    [1.0, 0.0, 7.0]
    """

    def __init__(self, ends: np.ndarray, num_nodes: int) -> None:
        index = small_index(max(ends.size, num_nodes))
        positions = np.flatnonzero(ends < num_nodes).astype(index)
        # Row by row into CSR is a counting sort, linear in the edges; the column is the edge's own position.
        places, ones = (ends[positions].astype(index), positions), np.ones(positions.size, dtype=np.int8)
        rows = sp.coo_array((ones, places), shape=(num_nodes, ends.size)).tocsr()
        self._take(rows.indices, np.diff(rows.indptr).astype(np.int64))

    def _take(self, order: np.ndarray, counts: np.ndarray) -> None:
        self.order, self.counts = order, counts
        self.filled = np.flatnonzero(counts)
        self._starts = (np.cumsum(counts) - counts)[self.filled]

    def among(self, chosen: np.ndarray) -> EdgeGroups:
        """The groups of some edges; `chosen` is a mask in the table's order."""
        return self if chosen.all() else self.at(chosen[self.order])

    def at(self, chosen: np.ndarray) -> EdgeGroups:
        """The groups of some edges; `chosen` is a mask sorted as `order`."""
        part = object.__new__(EdgeGroups)
        part._take(self.order[chosen], self.reduce(np.add, chosen.astype(np.int64)).astype(np.int64))
        return part

    def reduce(self, operation: np.ufunc, values: np.ndarray, empty: float = 0.0) -> np.ndarray:
        """`(N,)` float64 of `values` (sorted as `order`) by node, `empty` where a node has no edge."""
        result = np.full(self.counts.size, empty)
        if self.filled.size:
            result[self.filled] = operation.reduceat(values, self._starts)
        return result

    @property
    def nodes(self) -> np.ndarray:
        """The node of each edge, sorted as `order`."""
        return self.spread_out(np.arange(self.counts.size))

    def spread_out(self, per_node: np.ndarray) -> np.ndarray:
        """The value of each edge's node, sorted as `order`."""
        return np.repeat(per_node, self.counts)


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, sum, sum of squared deviations, least and greatest of each node's values, `(N,)` each."""

    count: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    least: np.ndarray
    greatest: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, groups: EdgeGroups) -> Moments:
        """Of the values of edges, NaN where missing."""
        return cls.of_sorted(values[groups.order], groups)

    @classmethod
    def of_sorted(cls, values: np.ndarray, groups: EdgeGroups) -> Moments:
        """The same, the values sorted as `groups.order`."""
        mine, groups = _known(values, groups)
        total = groups.reduce(np.add, mine)
        mean = total / np.maximum(groups.counts, 1)
        deviations = mine - groups.spread_out(mean)
        np.square(deviations, out=deviations)
        return cls(
            groups.counts,
            total,
            groups.reduce(np.add, deviations),
            groups.reduce(np.minimum, mine, np.inf),
            groups.reduce(np.maximum, mine, -np.inf),
        )

    def joined(self, other: Moments) -> Moments:
        """Of both sets of edges together; squared deviations by Chan's formula, which does not cancel."""
        count = self.count + other.count
        with np.errstate(over="ignore"):
            apart = self.mean - other.mean
            between = np.square(apart) * (self.count * (other.count / np.maximum(count, 1)))
        between[(self.count == 0) | (other.count == 0)] = 0.0
        return Moments(
            count,
            self.total + other.total,
            self.squares + other.squares + between,
            np.minimum(self.least, other.least),
            np.maximum(self.greatest, other.greatest),
        )

    @property
    def mean(self) -> np.ndarray:
        """NaN where there is no value."""
        return _where(self.count > 0, lambda: self.total / self.count)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation, exactly 0 where all values are equal; NaN where there is none."""
        spread = _where(self.count > 0, lambda: np.sqrt(self.squares / self.count))
        spread[self.least == self.greatest] = 0.0
        return spread

    @property
    def relative_spread(self) -> np.ndarray:
        """The spread in sizes of the mean; NaN where that is 0."""
        mean = np.abs(self.mean)
        return _where(mean > 0, lambda: self.spread / mean)

    @property
    def span(self) -> np.ndarray:
        return _where(self.count > 0, lambda: self.greatest - self.least)

    @property
    def gap(self) -> np.ndarray:
        """Mean distance between neighbouring values; NaN with fewer than two."""
        return _where(self.count > 1, lambda: (self.greatest - self.least) / (self.count - 1))


def means_of(values: np.ndarray, groups: EdgeGroups) -> np.ndarray:
    """`(N,)` the `mean` of `Moments` where nothing else is asked of them.

    >>> means_of(np.array([5.0, 1.0, np.nan]), EdgeGroups(np.array([2, 2, 0]), 3)).tolist()
    [nan, nan, 3.0]
    """
    mine, groups = _known(values[groups.order], groups)
    return _where(groups.counts > 0, lambda: groups.reduce(np.add, mine) / groups.counts)


def _known(values: np.ndarray, groups: EdgeGroups) -> tuple[np.ndarray, EdgeGroups]:
    """Values sorted as `groups.order` without those that are missing, cut, and the groups of their edges."""
    known = ~np.isnan(values)
    if not known.all():
        values, groups = values[known], groups.at(known)
    return np.clip(values, -LARGEST_EDGE_VALUE, LARGEST_EDGE_VALUE), groups


class Clock:
    """The latest edges of each node at one end; found once for all columns that have no gaps.

    Args:
        times: `(E,)` when each edge was, NaN where unknown.
        groups: The edges of each node.
    """

    def __init__(self, times: np.ndarray, groups: EdgeGroups) -> None:
        self._times, self._groups = times, groups
        self._of_all = self._latest(np.isnan(times))

    def latest(self, missing: np.ndarray) -> tuple[np.ndarray, EdgeGroups]:
        """The latest time of each node, -inf where there is none, and its edges at that time; but for some edges."""
        return self._latest(missing | np.isnan(self._times)) if missing.any() else self._of_all

    def _latest(self, missing: np.ndarray) -> tuple[np.ndarray, EdgeGroups]:
        groups = self._groups.among(~missing)
        when = self._times[groups.order]
        time = groups.reduce(np.maximum, when, -np.inf)
        return time, groups.at(when == groups.spread_out(time))


@dataclass(frozen=True, eq=False)
class Latest:
    """The value at each node's latest time; the mean of several at the same time, so that order does not matter."""

    time: np.ndarray
    total: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, clock: Clock) -> Latest:
        time, last = clock.latest(np.isnan(values))
        mine = np.clip(values[last.order], -LARGEST_EDGE_VALUE, LARGEST_EDGE_VALUE)
        return cls(time, last.reduce(np.add, mine), last.counts)

    def joined(self, other: Latest) -> Latest:
        """Of both sets of edges together."""
        ours, theirs = self.time >= other.time, other.time >= self.time
        return Latest(
            np.maximum(self.time, other.time),
            self.total * ours + other.total * theirs,
            self.count * ours + other.count * theirs,
        )

    @property
    def mean(self) -> np.ndarray:
        return _where(self.count > 0, lambda: self.total / self.count)


def _where(holds: np.ndarray, values: Callable[[], Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(holds, values(), np.nan)
