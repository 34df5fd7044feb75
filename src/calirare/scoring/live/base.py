"""A node's own columns in a graph that has grown: attributes, structure, what its edges say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import UNKNOWN
from calirare.data.cell_users import CellUsers, others_than_own, uses
from calirare.data.edge_table import EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.node_keys import keys_of_ids, node_keys
from calirare.data.sparse.products import small_index
from calirare.detectors.base import Sender
from calirare.features.alone import OtherEnds, alone_columns
from calirare.features.edge_columns import edge_columns
from calirare.features.edges.directions import directions_of
from calirare.features.edges.meeting import meetings, with_times_alone
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.usual import usual_of
from calirare.features.ends import over_root
from calirare.features.propagation import relations_of
from calirare.features.recipe import ColumnRecipe, base_columns
from calirare.features.relations import Relation, relation_edges, relation_matrix
from calirare.features.structure import STRUCTURE, neighbours
from calirare.scoring.live.links import Links, distinct, own_first, places_in
from calirare.scoring.live.structure import GrownStructure, Structure
from calirare.scoring.live.update import Update


class Standing:
    """What is kept of a graph so that columns of new and changed nodes can be made from their surroundings.

    Args:
        graph: The graph.
        recipe: Of its columns; None where no detector reads columns.
        structure: Of the graph, where it is made already.
        base: `(N, B)` the columns that `recipe.base` gives, where they are made already.
        keys: `(N,)` of the nodes, where they are made already.
        over: To which neighbours labels spread.
    """

    def __init__(
        self,
        graph: RareGraph,
        recipe: ColumnRecipe | None,
        structure: Structure | None = None,
        base: np.ndarray | None = None,
        keys: np.ndarray | None = None,
        over: Iterable[Relation] = (),
    ) -> None:
        self.graph, self.keys = graph, node_keys(graph) if keys is None else keys
        self.structure = structure or Structure(neighbours(graph))
        self._rows: tuple[Links, Links] | None = None
        self.relations: dict[Relation, Links] = {relation: self._links(relation) for relation in over}
        if recipe is None:
            return
        self.recipe = recipe.at(graph.edges)
        self.base = recipe.base(graph, self.structure.columns) if base is None else base
        for relation in relations_of(recipe.aggregates):
            if relation not in self.relations:
                self.relations[relation] = self._links(relation)
        self.everyone = self.recipe.own.everyone(graph.x)
        """The dates of all nodes to which those of one are compared."""
        self.own_sums = self._own_sums()
        """Sums of own columns, less the population's means, over the neighbours, where two steps are wanted."""
        if graph.edges is not None:
            plan = recipe.edges or EdgePlan(directed=False)
            self.usual = usual_of(graph.edges, plan, graph.num_nodes)
            """What is usual at every node as the other end of edges; see `usual_of`."""
            self.times, self._rank = _by_time(graph.edges, next((one.name for one in plan.columns if one.near), None))
            self.users = {
                name: CellUsers.of(*uses(cells, graph.edges.source, graph.edges.target, directed=plan.directed))
                for name, cells in graph.edges.cells.items()
                if name in plan.of_cells
            }
            """Of the values of columns of which it is told whether others have the same."""
            size = graph.num_nodes
            self._rows = Links.of_edges(graph.edges.source, size), Links.of_edges(graph.edges.target, size)

    def _links(self, relation: Relation) -> Links:
        if relation == Relation():
            return self.structure.links
        return Links.of(relation_matrix(self.graph, relation), weighted=bool(relation.weight))

    @cached_property
    def own_columns(self) -> np.ndarray:
        """Places of the attributes that neighbours are asked for, ascending."""
        first, _, whose = self.recipe.propagated
        return np.array([first + k for k, one in enumerate(whose) if one == "own"], dtype=np.int64)

    def _own_sums(self) -> dict[Relation, np.ndarray]:
        asked = [one for one in self.recipe.aggregates if one.statistic == "two steps" and one.whose == "own"]
        columns = self.own_columns
        centred, sums = self.base[:, columns] - self.recipe.means[columns], {}
        for over in relations_of(asked if columns.size else ()):
            links = self.relations[over]
            each = np.broadcast_to(1.0, links.ends.shape) if links.weights is None else links.weights
            sums[over] = sp.csr_array((each, links.ends, links.starts), shape=(links.size, links.size)) @ centred
            if over.turned not in self.relations:
                self.relations[over.turned] = self._links(over.turned)
        return sums

    def edge_rows(self, nodes: np.ndarray, *sides: int) -> np.ndarray:
        """Rows of the edge table that touch the nodes, ascending; as sources (0) or targets (1) alone where a side is given."""
        if self._rows is None:
            return np.empty(0, dtype=np.int64)
        known = nodes[nodes < self.graph.num_nodes]
        touched = [self._rows[side] for side in sides or (0, 1)]
        rows = np.concatenate([side.ends[side.positions(known)] for side in touched])
        return distinct(rows, len(self._rows[0].ends))

    def times_of(self, rows: np.ndarray) -> EdgeTable:
        """Some edges, with what `meetings` reads of them alone, in the order in which it sorts them first: found sorted."""
        return self.times.take(np.sort(self._rank[rows]))

    @cached_property
    def weight_sums(self) -> np.ndarray | None:
        """`(N,)` of each node's edges, where these have weights; made once, for it takes all edges."""
        graph = self.graph
        if graph.edge_weight is None:
            return None
        return np.bincount(graph.edge_index[0], weights=graph.edge_weight, minlength=graph.num_nodes)

    @cached_property
    def structure_places(self) -> dict[str, int]:
        """Where the structure columns stand among the others, under the names that they got."""
        one = some_nodes(self.graph.x[:1], self.graph.feature_names, **_kinds(self.graph, slice(1)))
        columns = base_columns(self.recipe.own, one, lambda: _no_structure(1))
        called = [name for name, group, _ in columns if group == "structure"]
        places, count = self.recipe.places, self.recipe.propagated[1]
        return {
            name: places[mine]
            for name, mine in zip(STRUCTURE, called, strict=True)
            if places.get(mine, count) < count and self.recipe.groups[places[mine]] == "structure"
        }


@dataclass(frozen=True, eq=False)
class GrownBase:
    """`Standing` after an update.

    Args:
        standing: Before it.
        update: What came.
    """

    standing: Standing
    update: Update

    @cached_property
    def structure(self) -> GrownStructure:
        source, target = self.update.pairs
        once = source < target
        return GrownStructure(self.standing.structure, source[once], target[once], self.update.num_nodes)

    def links(self, relation: Relation) -> Links:
        """The neighbours of that kind."""
        if relation == Relation():
            return self.structure.links
        before, table = self.standing.relations[relation], self.update.edges
        if table is None or not len(table):
            return replace(before, num_nodes=self.update.num_nodes)
        node, neighbour, weights = relation_edges(table, relation)
        return before.grown(node, neighbour, self.update.num_nodes, weights)

    def keys(self, nodes: np.ndarray) -> np.ndarray:
        """The keys of some nodes, which ascend."""
        return np.asarray(overlaid(self.standing.keys, self.update.nodes, keys_of_ids(self.update.ids), nodes))

    def from_neighbours(self, sender: Sender, nodes: np.ndarray) -> np.ndarray:
        """`DetectorInputs.from_neighbours` for some nodes of the network of the fit."""
        links = self.links(sender.over)
        starts, ends, weights = links.weighed(nodes)
        near = distinct(ends, self.update.num_nodes)
        shape = (len(nodes), len(near))
        adjacency = sp.csr_array((weights, places_in(near, ends)[0], starts), shape=shape)
        return over_root(adjacency, sender.passes_on(self.keys(near), links.sums(near)))

    def attributes(self, nodes: np.ndarray) -> Any:
        """Rows of the attributes as they are now; nodes ascend."""
        return overlaid(self.standing.graph.x, self.update.nodes, self.update.x, nodes)

    def take(self, nodes: np.ndarray, start: int, stop: int) -> np.ndarray:
        """`(n, stop - start)` float32: some neighbouring columns of some nodes, ascending."""
        base, columns = self.standing.base, slice(start, stop)
        values = base[np.minimum(nodes, len(base) - 1), columns]
        touched, rows = self._touched  # new nodes are among them
        at, mine = places_in(touched, nodes)
        values[mine] = rows[at, columns]
        for name, place in self.standing.structure_places.items():
            if start <= place < stop:
                column, mean = self.structure.column(name, nodes), self.standing.recipe.means[place]
                values[:, place - start] = np.where(np.isnan(column), mean, column)
        return values

    @cached_property
    def _touched(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes whose attributes or edges changed, ascending, and their columns without structure, which changes further away."""
        table, recipe, graph = self.update.edges, self.standing.recipe, self.standing.graph
        ends = [] if table is None else [table.source, table.target]
        nodes = distinct(np.concatenate([self.update.nodes, *ends]), self.update.num_nodes)
        values = recipe.at_means(len(nodes), self.standing.base.shape[1])
        if not nodes.size:
            return nodes, values
        some = some_nodes(self.attributes(nodes), graph.feature_names, **self._kinds(nodes))
        said = {} if recipe.edges is None or table is None else self._edge_columns(nodes, table)
        columns = base_columns(recipe.own, some, lambda: _no_structure(len(nodes)), said.items, everyone=self.everyone)
        recipe.fill(columns, values)
        return nodes, values

    @cached_property
    def everyone(self) -> dict[str, np.ndarray]:
        """`OwnPlan.everyone` of all nodes as they are now."""
        own, graph, found = self.standing.recipe.own, self.standing.graph, dict[str, np.ndarray]()
        if not own.bursts or not self.update.nodes.size:
            return self.standing.everyone
        before = own.everyone(graph.x[self.update.nodes[self.update.nodes < graph.num_nodes]])
        for name, came in own.everyone(self.update.x).items():
            known, gone = self.standing.everyone[name], before[name]
            at = np.searchsorted(known, gone)
            at += np.arange(gone.size) - np.searchsorted(gone, gone)  # of equal dates, the next
            known = np.delete(known, at)
            found[name] = np.insert(known, np.searchsorted(known, came), came)
        return found

    def beside_everyone(self, nodes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Own columns of some nodes, ascending, that others change too."""
        own = self.standing.recipe.own
        if own.bursts:
            yield from own.beside_everyone(self.attributes(nodes), self.everyone)

    def _kinds(self, nodes: np.ndarray) -> dict[str, Any]:
        graph, update = self.standing.graph, self.update
        if graph.node_type is None or update.node_type is None:
            return _kinds(graph, np.minimum(nodes, graph.num_nodes - 1)) if update.node_type is None else {}
        names = tuple(dict.fromkeys([*graph.node_type_names, *update.node_type_names]))
        place = np.array([names.index(name) for name in update.node_type_names], dtype=np.int64)
        codes = overlaid(graph.node_type, update.nodes, place[update.node_type], nodes)
        return {"node_type": codes, "node_type_names": names}

    def _edge_columns(self, nodes: np.ndarray, table: EdgeTable) -> dict[str, np.ndarray]:
        """What all edges of these nodes say, without comparisons with others, which change further away."""
        plan = self.standing.recipe.edges
        assert plan is not None
        return edge_columns(self._edges_of(nodes, table)[0], plan, len(nodes))

    def _edges_of(self, nodes: np.ndarray, table: EdgeTable) -> tuple[EdgeTable, np.ndarray]:
        """All edges of these nodes, those that came and those that were there, the nodes numbered first; the other nodes."""
        graph = self.standing.graph
        assert graph.edges is not None
        both = graph.edges.take(self.standing.edge_rows(nodes)).joined(table)
        return self._numbered(nodes, both)

    def _numbered(self, nodes: np.ndarray, table: EdgeTable) -> tuple[EdgeTable, np.ndarray]:
        """The edges with the nodes numbered first, and the other nodes."""
        places, others = own_first(nodes, np.concatenate([table.source, table.target]), self.update.num_nodes)
        source, target = places.reshape(2, -1)
        return replace(table, source=source, target=target), others

    def alone(self, nodes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """`alone_columns` of some nodes, ascending; what is at their other ends may have changed alone."""
        plan, came = self.standing.recipe.edges, self.update.edges
        if plan is None or came is None:
            return
        table, others = self._edges_of(nodes, came)
        named = np.concatenate([nodes, others])
        usual = usual_of(table.take(slice(len(table) - len(came), None)), plan, len(named))
        known = named < len(self.standing.usual)
        usual[known] += self.standing.usual[named[known]]
        beside, own = dict[str, np.ndarray](), self.standing.recipe.own
        if own.told_beside:
            mine, theirs = (own.beside(self.attributes(some)) for some in (nodes, others))
            beside = {name: np.concatenate([mine[name], theirs[name]]) for name in mine}
        met = np.zeros((len(nodes), plan.num_met))
        for which in directions_of(plan.directed) if plan.num_met else ():
            around, beyond = self._edges_around(nodes, came, which)
            met += meetings(around, plan, len(nodes) + len(beyond), len(nodes), which)
        yield from alone_columns(table, plan, len(nodes), OtherEnds(usual, beside, met, self._sharers(table, came)))

    def _sharers(self, table: EdgeTable, came: EdgeTable) -> dict[str, np.ndarray]:
        """`sharers_of` some edges: those who used their values before, and who uses them now for the first time."""
        graph, directed, found = self.standing.graph, came.directed, dict[str, np.ndarray]()
        assert graph.edges is not None
        for name, users in self.standing.users.items():
            values, nodes = uses(came.cells[name], came.source, came.target, directed=directed)
            before = graph.edges.take(self.standing.edge_rows(np.unique(nodes)))
            known = uses(before.cells[name], before.source, before.target, directed=directed)
            both = tuple(np.concatenate(pair) for pair in zip(known, (values, nodes), strict=True))
            cells = table.cells[name]
            number = users.number(cells) + CellUsers.of(*both).number(cells) - CellUsers.of(*known).number(cells)
            found[name] = others_than_own(number, cells, table.source, table.target, directed=directed)
        return found

    def _edges_around(self, nodes: np.ndarray, came: EdgeTable, which: str) -> tuple[EdgeTable, np.ndarray]:
        """All edges at the other ends of the nodes' edges in a direction, in the same, the nodes numbered first."""
        standing, others, table = self.standing, [], self.standing.graph.edges
        assert table is not None
        sides = {"outgoing": (0,), "incoming": (1,)}.get(which, (0, 1))
        for side in sides:
            there, new = ((table.target, came.target), (table.source, came.source))[side]
            fresh = new[np.isin((came.source, came.target)[side], nodes)]
            others += [there[standing.edge_rows(nodes, side)], fresh]
        ends = distinct(np.concatenate(others), self.update.num_nodes)
        rows = standing.edge_rows(ends, *(1 - side for side in sides))
        return self._numbered(nodes, standing.times_of(rows).joined(with_times_alone(came)))


def _by_time(table: EdgeTable, name: str | None) -> tuple[EdgeTable, np.ndarray]:
    """(the edges with their times alone, in the order of one of them, unknown ones last; where each row stands in it)."""
    bare = with_times_alone(table)
    column, order = None if name is None else table.column(name, "time"), np.arange(len(table))
    if column is not None:
        order = np.concatenate([table.in_order_of(column.name), np.flatnonzero(np.isnan(column.values))])
    rank = np.empty(len(order), dtype=small_index(len(order)))
    rank[order] = np.arange(len(order))
    return bare.take(order), rank


def overlaid(before: Any, changed: np.ndarray, values: Any, nodes: np.ndarray) -> Any:
    """Rows of some nodes, ascending: the new values where there are any."""
    order = np.argsort(changed, kind="stable")
    at, mine = places_in(changed[order], nodes)
    if not sp.issparse(before):
        old = before[np.minimum(nodes, len(before) - 1)]
        old[mine] = values[order[at]]
        return old
    stacked = sp.vstack([before[nodes[~mine]], values[order[at]]], format="csr")
    return sp.csr_array(stacked[np.argsort(np.argsort(mine, kind="stable"))])


def _no_structure(num_nodes: int) -> list[tuple[str, np.ndarray]]:
    """Zeros in place of the structure columns, so that the other columns get the names they have beside them."""
    return [(name, np.zeros(num_nodes)) for name in STRUCTURE]


def _kinds(graph: RareGraph, nodes: Any) -> dict[str, Any]:
    if graph.node_type is None:
        return {}
    return {"node_type": graph.node_type[nodes], "node_type_names": graph.node_type_names}


def some_nodes(x: Any, names: tuple[str, ...] | None, **more: Any) -> RareGraph:
    """Nodes without edges, for what is said of each alone; `more` arguments of `RareGraph`."""
    none = np.empty((2, 0), dtype=np.int64)
    return RareGraph(x=x, edge_index=none, y=np.full(x.shape[0], UNKNOWN), feature_names=names, **more)
