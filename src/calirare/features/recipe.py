"""How the columns of a graph's nodes are made: learned once, stored with the model, repeated on new tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.alone import OtherEnds, alone_columns
from calirare.features.columns import ColumnGroup, Columns
from calirare.features.distance import attributes_and_means, distances, spreads_of
from calirare.features.edge_columns import edge_columns
from calirare.features.edges.meeting import meetings
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.planning import edge_table, plan_edges
from calirare.features.edges.shared import sharers_of
from calirare.features.edges.usual import usual_of
from calirare.features.edges.windows import extents, moved_to
from calirare.features.kept import Kept, filled
from calirare.features.own import OwnPlan, spell, unique_names
from calirare.features.propagation import (
    Aggregate,
    Propagated,
    Whose,
    most_varied,
    plan_aggregates,
    propagate,
    room_for_own,
    whose_column,
)
from calirare.features.stored import read_state
from calirare.features.structure import structure_columns
from calirare.features.weights import plan_weights

logger = logging.getLogger(__name__)
Base = tuple[str, ColumnGroup, np.ndarray]
Make = Callable[[], Iterable[tuple[str, np.ndarray]]]
"""Gives columns by name, when they are wanted."""


@dataclass(frozen=True, eq=False)
class ColumnRecipe:
    """What must be known to make the same columns again.

    Columns that do not vary, and those equal to an earlier one, are left out when the recipe is learned. A value that
    a node does not have (the mean over no edges) is the population's mean at that time; so is every value of an edge
    column that a new table lacks.

    Args:
        own: The attributes.
        edges: What is summed up from the edges; None without a table.
        names: Of the columns, in order: first the node's, then its neighbours'.
        groups: Of the columns.
        means: `(D,)` the population's mean of each column, over the nodes that have a value.
        aggregates: What is taken over the neighbours.
        spreads: `(B,)` of the columns that are not the neighbours': the unit of distances between attributes and these.

    >>> graph = RareGraph(
    ...     x=np.array([[1.0], [2.0], [6.0]]), edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, 0]),
    ...     feature_names=("balance",),
    ... )
    >>> columns = ColumnRecipe.learn(graph).apply(graph)
    >>> columns.names[:3], columns.names[-2:]
    (('balance', 'degree', 'log degree'), ('...', '...'))
    >>> columns.values[:, columns.names.index("balance, mean over neighbours")].tolist()
    [2.0, 3.5, 2.0]
    """

    own: OwnPlan
    edges: EdgePlan | None
    names: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    means: np.ndarray
    aggregates: tuple[Aggregate, ...]
    spreads: np.ndarray

    @classmethod
    def learn(cls, graph: RareGraph, seed: int = 0) -> Self:
        """From a graph, without its labels."""
        return cls.learn_and_apply(graph, seed)[0]

    @classmethod
    def learn_and_apply(cls, graph: RareGraph, seed: int = 0, apart: Collection[str] = ()) -> tuple[Self, Columns]:
        """The recipe and the graph's columns, at the price of one.

        Args:
            graph: The graph.
            seed: Of what is random.
            apart: Columns of the nodes about which neighbours are not asked.
        """
        own = OwnPlan.learn(graph, seed, apart)
        said = {"days": own.days(graph.x), "sizes": own.above_zero(graph.x), "codes": own.codes(graph.x)}
        edges = plan_edges(edge_table(graph), compare=graph.edges is not None, **said)
        own = own.with_told(*((set(), set()) if edges is None else (edges.sizes, edges.node_categories)))
        kept = Kept(graph.num_nodes)
        words = own.words_in(graph.x)
        if words is not None and own.spelled:
            kept.add_words(words, own.words)
        for name, group, column in _base_columns(graph, own, edges):
            kept.add(name, group, column)
        if not kept.names:  # nothing varies: a column is needed all the same
            kept.add("degree", "structure", np.zeros(graph.num_nodes, dtype=np.float32), whatever=True)
        first, whose = _propagated(kept.names, kept.groups, own, edges)
        directed, types = (False, ()) if edges is None else (edges.directed, edges.types)
        whose = most_varied(whose, lambda k: kept.share_apart(first + k), room_for_own(whose, directed))
        aggregates = plan_aggregates(whose, directed, types, plan_weights(graph.edges), own.basis is None)
        count = len(kept.names)
        attributes = _attributes(kept.names[first:], whose, own)
        told = {one.relation for one in aggregates if one.whose == "own" and not one.type} if attributes else ()
        values = kept.matrix(count + len(told) + sum(whose.count(aggregate.whose) for aggregate in aggregates))
        base, means = np.ascontiguousarray(values[:, first:count]), np.array(kept.means[first:])
        for found in propagate(graph, base, kept.names[first:count], whose, means, aggregates):
            kept.add_block(found, values)
        nobody, places = np.zeros(graph.num_nodes, dtype=bool), {name: k for k, name in enumerate(kept.names)}
        spreads = spreads_of(values[:, :count], [places[name] for name in attributes])
        for name, pairs in attributes_and_means(places, attributes, count):
            kept.add_block(Propagated([name], distances(values, pairs, spreads)[:, None], nobody), values)
        recipe = cls(own, edges, tuple(kept.names), tuple(kept.groups), np.array(kept.means), aggregates, spreads)
        values = values if len(kept.names) == values.shape[1] else values[:, : len(kept.names)].copy()
        return recipe, recipe.columns(values, words)

    def at(self, table: EdgeTable | None) -> Self:
        """The recipe where these are all edges: times of later tables count from their own start (see `windows`)."""
        return self if self.edges is None else replace(self, edges=moved_to(self.edges, extents(table)))

    def apply(self, graph: RareGraph, structure: Make | None = None) -> Columns:
        """The columns of every node; `structure` gives those of `structure_columns` where they are known already."""
        values = self.at_means(graph.num_nodes, len(self.names))
        self._make_base(graph, values, structure)
        first, count, whose = self.propagated
        base = np.ascontiguousarray(values[:, first:count])
        for found in propagate(graph, base, self.names[first:count], whose, self.means[first:count], self.aggregates):
            self.put(found, values)
        return self.columns(values, self.own.words_in(graph.x))

    def base(self, graph: RareGraph, structure: Make | None = None) -> np.ndarray:
        """`(N, B)` float32: the columns of every node but for its neighbours', which are made of these."""
        values = self.at_means(graph.num_nodes, self.propagated[1])
        self._make_base(graph, values, structure)
        return values

    def at_means(self, num_nodes: int, count: int) -> np.ndarray:
        """`(num_nodes, count)` float32: the first columns at their means, to be written over where more is known."""
        values = np.empty((num_nodes, count), dtype=np.float32)
        values[:] = self.means[:count]
        return values

    @cached_property
    def propagated(self) -> tuple[int, int, list[Whose | None]]:
        """The columns over which neighbours are asked: the first, the one behind the last, and what each counts as."""
        count = sum(group != "neighbours" for group in self.groups)
        first, whose = _propagated(self.names[:count], self.groups[:count], self.own, self.edges)
        over = [aggregate for aggregate in self.aggregates if aggregate.whose == "own"]
        heard = [any(one.name(name) in self.places for one in over) for name in self.names[first:count]]
        return first, count, [one if one != "own" or here else None for one, here in zip(whose, heard, strict=True)]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each column stands."""
        return {name: k for k, name in enumerate(self.names)}

    def put(self, found: Propagated, values: np.ndarray) -> None:
        """Write what the neighbours say into its columns of `values`, as many rows as there are."""
        count = self.propagated[1]
        wanted = [k for k, name in enumerate(found.names) if self.places.get(name, -1) >= count]
        places = [self.places[found.names[k]] for k in wanted]
        block = found.values[:, wanted]
        block[found.alone] = self.means[places]
        values[:, places] = block

    def fill(self, columns: Iterable[Base], values: np.ndarray) -> set[str]:
        """Write columns into their places, the means at fit where a value is missing; the names that were there."""
        count, written = self.propagated[1], set()
        for name, _, column in columns:
            at = self.places.get(name, count)
            if at < count and name not in written:
                written.add(name)
                values[:, at] = filled(column, self.means[at])
        return written

    def _make_base(self, graph: RareGraph, values: np.ndarray, structure: Make | None = None) -> None:
        self.own.check(graph)
        words = self.own.words_in(graph.x)
        if words is not None and self.own.spelled:
            spell(words, self.word_places, values)
        written = set(self.names[: self.num_spelled])
        written |= self.fill(_base_columns(graph, self.own, self.edges, structure), values)
        self._say(set(self.names[: self.propagated[1]]) - written)

    def columns(self, values: np.ndarray, words: sp.csr_array | None) -> Columns:
        """Of some nodes, once all but the distances is written into `values`; these are made of what is there."""
        first, count, whose = self.propagated
        attributes = _attributes(self.names[first:count], whose, self.own)
        for name, pairs in attributes_and_means(self.places, attributes, count):
            if self.places.get(name, -1) >= count:
                values[:, self.places[name]] = distances(values, pairs, self.spreads)
        return Columns(values, self.names, self.groups, words, self.num_spelled)

    @cached_property
    def num_spelled(self) -> int:
        """How many of the first columns are words as they are."""
        spelled = set(self.own.spelled_words)
        return sum(name in spelled for name in self.names)

    @cached_property
    def word_places(self) -> np.ndarray:
        """`(num_words,)` the columns of words as they are; -1 for those that are none."""
        places = {name: k for k, name in enumerate(self.names[: self.num_spelled])}
        return np.array([places.get(name, -1) for name in self.own.words])

    def _say(self, missing: set[str]) -> None:
        if missing:
            shown = sorted(missing)
            logger.warning(
                "%d columns cannot be made from these tables, such as %r; they are set to their means at fit.",
                len(shown), shown[0],
            )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Plain values and NumPy arrays."""
        return {
            "own": asdict(self.own),
            "edges": None if self.edges is None else asdict(self.edges),
            "names": list(self.names),
            "groups": list(self.groups),
            "means": self.means,
            "parts": [asdict(aggregate) for aggregate in self.aggregates],
            "spreads": self.spreads,
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """From what `state` gave, checked.

        Raises:
            ModelFormatError: It is not what `state` gives.
        """
        return cls(**read_state(state))


def _base_columns(
    graph: RareGraph, own: OwnPlan, edges: EdgePlan | None, structure: Make | None = None
) -> Iterator[Base]:
    """But for words, which are spelled out at once."""
    table, summed = edge_table(graph), None
    if edges is not None and table is not None:
        summed = partial(_summed, table, moved_to(edges, extents(table)), graph.num_nodes, own.beside(graph.x))
    structure = structure or (lambda: structure_columns(graph).items())
    return base_columns(own, graph, structure, summed, with_words=False)


def _summed(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, beside: dict[str, np.ndarray]
) -> Iterable[tuple[str, np.ndarray]]:
    met = meetings(table, plan, num_nodes, num_nodes)
    others = OtherEnds(usual_of(table, plan, num_nodes), beside, met, sharers_of(table, plan))
    return [*edge_columns(table, plan, num_nodes).items(), *alone_columns(table, plan, num_nodes, others)]


def base_columns(
    own: OwnPlan,
    graph: RareGraph,
    structure: Make,
    edges: Make | None = None,
    *,
    with_words: bool = True,
    everyone: Mapping[str, np.ndarray] | None = None,
) -> Iterator[Base]:
    """Everything but the neighbours' columns, each name once; a derived column gives way to an attribute's name.

    Args:
        own: What is known of the attributes.
        graph: Of which attributes and kinds are read.
        structure: Each node's place in the graph.
        edges: What its edges say; None where there is no table of them.
        with_words: Whether words that are spelled out are among them; if not, their names are taken all the same.
        everyone: `OwnPlan.everyone` of all nodes; default: these are all.
    """
    families: list[tuple[ColumnGroup, Make]] = [
        ("own", lambda: own.plain(graph, with_words=with_words)),
        ("own", lambda: own.derived(graph, everyone)),
        ("structure", structure),
        ("edges", edges or (lambda: ())),
    ]
    taken = set[str]() if with_words else set(own.spelled_words)
    for group, family in families:
        for name, column in family():
            (name,) = unique_names([name], taken)
            yield name, group, np.asarray(column, dtype=np.float32)


def _propagated(
    names: Sequence[str], groups: Sequence[ColumnGroup], own: OwnPlan, edges: EdgePlan | None
) -> tuple[int, list[Whose | None]]:
    """Where the columns that are propagated begin, and what each counts as.

    Wide attributes stay as they are, or are left out; their directions are propagated in their place.
    """
    apart = set(own.spelled_words if own.num_words or own.basis is None else own.feature_names)
    first = sum(name in apart for name in names)
    types = edges.types if edges is not None else ()
    left = own.unheard
    return first, [
        None if group == "own" and name in left else whose_column(name, group, types)
        for name, group in list(zip(names, groups, strict=True))[first:]
    ]


def _attributes(names: Sequence[str], whose: Sequence[Whose | None], own: OwnPlan) -> list[str]:
    """The attributes whose distance from the neighbours' is told. Directions of words are close to those of anybody."""
    return [] if own.num_words else [name for name, one in zip(names, whose, strict=True) if one == "own"]
