"""The node's own attributes as columns: as they are, or in a few directions where they are words or too many."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import by_column
from calirare.data.feature_places import HAS, feature_places
from calirare.data.graph import RareGraph
from calirare.errors import InputError
from calirare.features.bursts import NEAREST, burst_columns, find_bursts, sorted_dates
from calirare.features.clocks import clock_columns, find_clocks
from calirare.features.edges.dates import days_between, find_dates
from calirare.features.edges.multiples import above_zero, find_sizes
from calirare.features.edges.node_categories import NodeCategory, find_categories
from calirare.features.edges.node_numbers import NodeNumber, find_quantities
from calirare.features.peers import Peers, find_peers
from calirare.features.round_numbers import RoundNumber, find_round, round_columns
from calirare.features.structure import neighbours
from calirare.features.words import directions, learn_directions, words_of

WIDE = 128
"""More attributes than this are propagated by their leading directions; if sparse they are words.

Where the graph says which attributes are words, this counts those alone; fewer are attributes like others."""
MOST_SPELLED = 1_000
"""Up to so many words are columns too: to trees a single word can say more than all directions."""
_MOST_NUMBERS = 2**26
_AT_ONCE = 64
_NAMED_BY = 3
LIKE = "words like "
"""Begins the name of a direction of the words of texts."""
_ROWS_AT_ONCE = 1_024
"""So few that what is written stays in the cache."""


@dataclass(frozen=True, eq=False)
class OwnPlan:
    """What is known of the attributes.

    Args:
        feature_names: One name per attribute.
        num_words: How many of the last attributes are words, many and mostly 0.
        spelled: Whether words are columns as they are; False where they are too many to be dense.
        basis: Leading directions, `(num_words, k)` of words, else `(F, k)` of wide attributes; None where there are neither.
        kinds: Names of the kinds of node, one indicator each.
        dates: The attributes that are dates.
        sizes: Those that numbers of edges are divided by.
        categories: Columns of which it is told whether both ends of edges have the same.
        hours: The dates of which the hour is told.
        weekdays: The dates of which the day of the week is told.
        round: The numbers of which it is told how round they are.
        peers: Numbers beside what is usual with the same category.
        apart: Those of the attributes that are read of the node itself alone, never of its neighbours.
        bursts: The dates of which it is told how near those of others are.
    """

    feature_names: tuple[str, ...]
    num_words: int
    spelled: bool
    basis: np.ndarray | None
    kinds: tuple[str, ...]
    dates: tuple[NodeNumber, ...] = ()
    sizes: tuple[NodeNumber, ...] = ()
    categories: tuple[NodeCategory, ...] = ()
    hours: tuple[NodeNumber, ...] = ()
    weekdays: tuple[NodeNumber, ...] = ()
    round: tuple[RoundNumber, ...] = ()
    peers: tuple[Peers, ...] = ()
    apart: tuple[str, ...] = ()
    bursts: tuple[NodeNumber, ...] = ()

    @classmethod
    def learn(cls, graph: RareGraph, seed: int, apart: Collection[str] = ()) -> OwnPlan:
        """From the attributes; those that come of the columns `apart` of the table are kept from the neighbours."""
        names = tuple(unique_names(graph.attribute_names))
        said, width = graph.num_words, graph.num_features
        wide = (said or width) > WIDE
        num_words = (said or width) if wide and (said or sp.issparse(graph.x)) else 0
        wide_part = words_of(graph.x, num_words or width)
        basis = learn_directions(wide_part, neighbours(graph), seed) if wide and graph.num_nodes > 1 else None
        kinds = () if graph.node_type is None else graph.node_type_names
        few = num_words <= MOST_SPELLED and num_words * graph.num_nodes <= _MOST_NUMBERS
        dates, sizes, numbers = (
            tuple(one for one in found if one.name not in apart)
            for found in (find_dates(graph), find_sizes(graph), find_quantities(graph))
        )
        categories = tuple(one for one in find_categories(graph) if one.name not in apart)
        hours, weekdays = find_clocks(dates, graph.x)
        rounded, peers = find_round(numbers, graph.x), find_peers(numbers, categories, graph.x)
        alone = attributes_of(graph, apart)
        if basis is not None and not num_words:
            basis[alone] = 0.0
        return cls(
            names, num_words, few, basis, kinds, dates, sizes, categories, hours, weekdays, rounded, peers,
            tuple(names[k] for k in alone), find_bursts(dates, graph.x),
        )  # fmt: skip

    def check(self, graph: RareGraph) -> None:
        if graph.num_features != len(self.feature_names):
            raise InputError(
                f"the graph must have the {len(self.feature_names)} attributes that the columns were learned from; "
                f"it has {graph.num_features}."
            )

    def plain(self, graph: RareGraph, *, with_words: bool) -> Iterator[tuple[str, np.ndarray]]:
        """The attributes themselves, `(N,)` each; words only if `with_words` and they are not too many."""
        count = len(self.feature_names) - (0 if with_words and self.spelled else self.num_words)
        x: Any = by_column(graph.x) if count else graph.x
        for start in range(0, count, _AT_ONCE):
            some = slice(start, min(start + _AT_ONCE, count))
            block = x[:, some].toarray(order="F") if sp.issparse(x) else x[:, some]
            yield from zip(self.feature_names[some], block.T, strict=True)

    @property
    def words(self) -> tuple[str, ...]:
        """Names of the words."""
        return self.feature_names[len(self.feature_names) - self.num_words :]

    @property
    def spelled_words(self) -> tuple[str, ...]:
        """Names of the words that are columns as they are."""
        return self.words if self.spelled else ()

    def words_in(self, x: np.ndarray | sp.csr_array) -> sp.csr_array | None:
        """`(N, num_words)` the words among attributes; None where there are none."""
        return sp.csr_array(words_of(x, self.num_words)) if self.num_words else None

    @cached_property
    def _directions(self) -> list[str]:
        """A name for each direction: by its heaviest words where these are of texts, else by number.

        >>> OwnPlan(("note has refund", "note has card"), 2, True, np.array([[0.4], [0.9]]), ())._directions
        ['words like card, refund']
        """
        if self.basis is None:
            return []
        texts = self.num_words > 0 and all(HAS in name for name in self.words)
        if not texts:
            return [
                f"{'words' if self.num_words else 'attributes'}, direction {k + 1}" for k in range(self.basis.shape[1])
            ]
        words = [name.rpartition(HAS)[2] for name in self.words]
        heaviest = np.argsort(-self.basis, axis=0, kind="stable")[:_NAMED_BY].T
        return [f"{LIKE}{', '.join(words[k] for k in some)}" for some in heaviest]

    def days(self, x: Any) -> dict[str, np.ndarray]:
        """`(N,)` days since 1970 of each date among attributes."""
        return {date.name: date.values(x) for date in self.dates}

    def above_zero(self, x: Any) -> dict[str, np.ndarray]:
        """`(N,)` of each size among attributes, NaN where it is missing or not above 0."""
        return {size.name: above_zero(size, x) for size in self.sizes}

    def codes(self, x: Any) -> dict[str, np.ndarray]:
        """`(N,)` the category of each such column, NaN where a node has none."""
        return {category.name: category.values(x) for category in self.categories}

    def with_told(self, sizes: set[str], categories: set[str]) -> OwnPlan:
        """With these sizes and categories alone."""
        kept = tuple(one for one in self.sizes if one.name in sizes)
        return replace(self, sizes=kept, categories=tuple(one for one in self.categories if one.name in categories))

    @property
    def told_beside(self) -> tuple[NodeNumber | NodeCategory, ...]:
        """What edges are told beside, in the order of `beside`."""
        return self.dates + self.sizes + self.categories

    def beside(self, x: Any) -> dict[str, np.ndarray]:
        """`(N,)` dates, sizes and categories among attributes, which edges are told beside."""
        return self.days(x) | self.above_zero(x) | self.codes(x)

    @property
    def unheard(self) -> set[str]:
        """Names of own columns about which neighbours are not asked; a new node may change those of others."""
        return {*self.apart, *(date.name + NEAREST for date in self.bursts)}

    def everyone(self, x: Any) -> dict[str, np.ndarray]:
        """The dates of all nodes to which those of one are compared, ascending."""
        return sorted_dates(self.bursts, x)

    def beside_everyone(self, x: Any, everyone: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
        """Columns that others change too: how near their dates are."""
        return burst_columns(self.bursts, x, everyone)

    def derived(
        self, graph: RareGraph, everyone: Mapping[str, np.ndarray] | None = None
    ) -> Iterator[tuple[str, np.ndarray]]:
        """Leading directions, what dates and numbers tell beside their size, and the kind of node.

        Args:
            graph: Of which attributes and kinds are read.
            everyone: What `everyone` gives of all nodes; default: these are all.
        """
        if self.basis is not None:
            found = directions(words_of(graph.x, len(self.basis)), self.basis)
            yield from zip(self._directions, found.T, strict=True)
        yield from days_between(self.days(graph.x))
        yield from clock_columns(self.hours, self.weekdays, graph.x)
        yield from self.beside_everyone(graph.x, self.everyone(graph.x) if everyone is None else everyone)
        yield from round_columns(self.round, graph.x)
        yield from ((one.name, one.values(graph.x)) for one in self.peers)
        for kind in self.kinds:
            codes = [code for code, name in enumerate(graph.node_type_names) if name == kind]
            is_kind = np.zeros(graph.num_nodes) if graph.node_type is None else np.isin(graph.node_type, codes)
            yield f"kind = {kind}", is_kind.astype(np.float32)


def attributes_of(graph: RareGraph, columns: Collection[str]) -> list[int]:
    """Where the attributes of these columns stand, with those that say where a value is missing."""
    if not graph.table_columns:
        return [k for k, name in enumerate(graph.attribute_names) if name in columns]
    found = []
    for column, places, gap in feature_places(graph.table_columns):
        if column["name"] in columns:
            found += [*range(places.start, places.stop), *([] if gap is None else [gap])]
    return found


def unique_names(names: Iterable[str], taken: set[str] | None = None) -> Iterator[str]:
    """The names, marked where one was given before.

    >>> list(unique_names(["age", "age", "sex"]))
    ['age', 'age (again)', 'sex']
    """
    taken = set() if taken is None else taken
    for name in names:
        while name in taken:
            name += " (again)"
        taken.add(name)
        yield name


def spell(words: sp.csr_array, places: np.ndarray, values: np.ndarray) -> None:
    """Write words into the first columns of `values` at their `(F,)` places, -1 being none; straight from what is stored."""
    width, all_kept = places.max(initial=-1) + 1, bool((places >= 0).all())
    for start in range(0, words.shape[0], _ROWS_AT_ONCE):
        block, ends = values[start : start + _ROWS_AT_ONCE], words.indptr[start : start + _ROWS_AT_ONCE + 1]
        block[:, :width] = 0.0
        row, at = np.repeat(np.arange(len(block)), np.diff(ends)), places[words.indices[ends[0] : ends[-1]]]
        kept = slice(None) if all_kept else at >= 0
        block[row[kept], at[kept]] = words.data[ends[0] : ends[-1]][kept]
