"""The columns of a graph in parts: those of `ColumnRecipe.apply`, without ever holding them, or the edges, at once.

Who is joined to whom is held in memory while clustering, cores and components are found. All else is made part by part:
what a node and its edges say is written to disk for every node, then what its neighbours say is read from there. Means over
the neighbours' neighbours take one pass more. A part's neighbours are read a few columns at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.data.sparse.products import small_index
from calirare.features.alone import OtherEnds, alone_columns
from calirare.features.columns import Columns
from calirare.features.edge_columns import edge_columns
from calirare.features.edges.meeting import meetings
from calirare.features.edges.usual import usual_of
from calirare.features.edges.windows import Extent, extents, moved_to
from calirare.features.propagation import Aggregate, column_blocks, relations_of, said_of
from calirare.features.recipe import ColumnRecipe, base_columns
from calirare.features.relations import Relation
from calirare.features.structure import STRUCTURE, structure_of
from calirare.scoring.live.base import some_nodes
from calirare.scoring.part_edges import PartEdges, neighbours_of

Block = tuple[list[int], list[Aggregate]]
"""Places of a few columns among those that are propagated, and what is wanted of them."""


@dataclass(frozen=True, eq=False)
class PartColumns:
    """The recipe on a graph in parts. Each pass is a method; it begins when the one before has ended for all parts.

    Args:
        recipe: Of the fit.
        parts: The graph, with the rows of its edge table.
    """

    recipe: ColumnRecipe
    parts: Partitions

    def create(self) -> None:
        """Make the files that the parts share."""
        for file in (self._usual, self._base, *self._blocks, *self._means.values()):
            file.clear()

    # The passes

    def write_structure(self, _: int = 0) -> None:
        """The structure columns of every node and the dates of all, in one process; the number of the part does not matter."""
        found = np.stack(list(structure_of(_whole(self.parts)).values()), axis=1)
        self._structure.clear()
        self._structure.write(0, found)
        self._write_everyone()

    def write_usual(self, number: int) -> None:
        """What is usual at a part's nodes, their dates and sizes, and who meets there, for the other ends of their edges."""
        here, plan = PartEdges.of(self.parts, number), self.recipe.edges
        if plan is None:
            return
        beside = self.recipe.own.beside(self.parts.features.read(here.part.start, here.part.stop)).values()
        self._write_times(number, extents(here.own_first))
        usual = usual_of(here.own_first, plan, here.part.num_nodes)
        self._usual.write(here.part.start, np.column_stack([usual, *beside]))
        met = meetings(here.own_first, plan, here.part.num_nodes, here.near.size)
        met = np.roll(met, here.own.start, axis=0)  # as `near`
        some = met.any(axis=1)
        rows = np.column_stack([here.near[some], met[some]])
        file = self._met(number, len(rows))
        file.clear()
        file.write(0, rows)
        np.save(self.parts.folder / f"met-{number:05d}.npy", np.searchsorted(rows[:, 0], self.parts.cuts))

    def write_base(self, number: int) -> None:
        """A part's own columns."""
        here = PartEdges.of(self.parts, number)
        start, stop = here.part.start, here.part.stop
        own_names, kinds = self.recipe.own.feature_names, self.parts.kinds_of(number)
        some = some_nodes(self.parts.features.read(start, stop), own_names, **kinds)
        structure, plan = self._structure.read(start, stop), self.recipe.edges
        found: list[tuple[str, np.ndarray]] = []
        if plan is not None:
            table, usual = here.own_first, np.roll(self._usual.take(here.near), -here.own.start, axis=0)
            found += edge_columns(table, moved_to(plan, self._times), stop - start).items()
            beside = {one.name: usual[:, plan.num_usual + k] for k, one in enumerate(self.recipe.own.told_beside)}
            others = OtherEnds(
                usual, beside, self._met_by(number), table.cells
            )  # which were counted when they were read
            found += alone_columns(table, plan, stop - start, others)
        place = zip(STRUCTURE, structure.T, strict=True)
        columns = base_columns(self.recipe.own, some, lambda: place, lambda: found, everyone=self._everyone)
        values = self.recipe.at_means(stop - start, self._base.width)
        self.recipe.fill(columns, values)
        self._base.write(start, values)
        for file, (at, _) in zip(self._blocks, self._jobs, strict=True):
            file.write(start, values[:, [self._first + k for k in at]])

    def write_means(self, number: int) -> None:
        """Means over the neighbours of a part, of the columns that are wanted two steps away."""
        here = PartEdges.of(self.parts, number)
        for relation in dict.fromkeys(relation for relation, _ in self._means):
            matrix = here.matrix(relation)
            for (one, k), file in self._means.items():
                if one == relation:
                    file.write(here.part.start, matrix @ self._centred(k, here.near))

    def columns(self, number: int) -> Columns:
        """All columns of a part."""
        here = PartEdges.of(self.parts, number)
        recipe, (first, count, _) = self.recipe, self.recipe.propagated
        values = recipe.at_means(here.part.num_nodes, len(recipe.names))
        values[:, :count] = self._base.read(here.part.start, here.part.stop)
        names, middle = recipe.names[first:count], recipe.means[first:count]
        for relation in self._relations:
            matrix = here.matrix(relation)
            for k, at, wanted in self._wanted(relation):
                further = self._means.get((relation, k))
                there = None if further is None else further.take(here.near)
                called = [names[one] for one in at]
                for found in said_of(matrix, self._centred(k, here.near), there, middle[at], called, wanted):
                    recipe.put(found, values)
        words = recipe.own.words_in(self.parts.features.read(here.part.start, here.part.stop))
        return recipe.columns(values, words)

    # Inside

    @property
    def _first(self) -> int:
        return self.recipe.propagated[0]

    @cached_property
    def _jobs(self) -> list[Block]:
        return list(column_blocks(self.recipe.propagated[2], list(self.recipe.aggregates)))

    @cached_property
    def _relations(self) -> list[Relation]:
        return relations_of(self.recipe.aggregates)

    def _wanted(self, relation: Relation) -> Iterator[tuple[int, list[int], list[Aggregate]]]:
        for k, (at, aggregates) in enumerate(self._jobs):
            mine = [one for one in aggregates if one.over == relation]
            if mine:
                yield k, at, mine

    def _centred(self, k: int, nodes: np.ndarray) -> np.ndarray:
        middle = self.recipe.means[[self._first + one for one in self._jobs[k][0]]]
        return self._blocks[k].take(nodes) - middle

    @property
    def _structure(self) -> RowFile:
        return RowFile(self.parts.folder / "structure", self.parts.num_nodes, len(STRUCTURE), "<f8")

    def _write_everyone(self) -> None:
        own = self.recipe.own
        cuts = self.parts.cuts if own.bursts else []
        found = [own.everyone(self.parts.features.read(*some)) for some in pairwise(cuts)]
        for k, date in enumerate(own.bursts):
            np.save(self._dates(k), np.sort(np.concatenate([one[date.name] for one in found])))

    @cached_property
    def _everyone(self) -> dict[str, np.ndarray]:
        """`OwnPlan.everyone` of all parts."""
        return {date.name: np.load(self._dates(k)) for k, date in enumerate(self.recipe.own.bursts)}

    def _dates(self, number: int) -> Path:
        return self.parts.folder / f"dates-{number:03d}.npy"

    def _write_times(self, number: int, times: dict[str, Extent]) -> None:
        (self.parts.folder / f"times-{number:05d}.json").write_text(json.dumps(times), encoding="utf-8")

    @cached_property
    def _times(self) -> dict[str, Extent]:
        """The extents of the times of all edges, as every part has written those of its own."""
        files = [self.parts.folder / f"times-{number:05d}.json" for number in range(len(self.parts))]
        found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        starts_and_ends = {name: np.array([one[name] for one in found if name in one]) for name in set().union(*found)}
        return {name: (float(both[:, 0].min()), float(both[:, 1].max())) for name, both in starts_and_ends.items()}

    def _met(self, number: int, num_rows: int) -> RowFile:
        """Nodes, ascending, and what the part's own nodes say of whom they meet."""
        assert self.recipe.edges is not None
        return RowFile(self.parts.folder / f"met-{number:05d}", num_rows, 1 + self.recipe.edges.num_met, "<f8")

    def _met_by(self, number: int) -> np.ndarray:
        """What all parts say of whom a part's nodes meet."""
        assert self.recipe.edges is not None
        start, stop = self.parts.span(number)
        found = np.zeros((stop - start, self.recipe.edges.num_met))
        for other in range(len(self.parts)):
            cuts = np.load(self.parts.folder / f"met-{other:05d}.npy")
            said = self._met(other, int(cuts[-1])).read(int(cuts[number]), int(cuts[number + 1]))
            found[said[:, 0].astype(np.int64) - start] += said[:, 1:]
        return found

    @property
    def _usual(self) -> RowFile:
        width = 0 if self.recipe.edges is None else self.recipe.edges.num_usual
        return RowFile(
            self.parts.folder / "usual", self.parts.num_nodes, width + len(self.recipe.own.told_beside), "<f8"
        )

    @property
    def _base(self) -> RowFile:
        return RowFile(self.parts.folder / "base", self.parts.num_nodes, self.recipe.propagated[1])

    @cached_property
    def _blocks(self) -> list[RowFile]:
        size = self.parts.num_nodes
        return [RowFile(self.parts.folder / f"base-{k:03d}", size, len(at)) for k, (at, _) in enumerate(self._jobs)]

    @cached_property
    def _means(self) -> dict[tuple[Relation, int], RowFile]:
        """Files of means by relation and block, where two steps are wanted."""
        size, folder = self.parts.num_nodes, self.parts.folder
        return {
            (relation, k): RowFile(folder / f"mean-{number:02d}-{k:03d}", size, len(at), "<f8")
            for number, relation in enumerate(self._relations)
            for k, at, wanted in self._wanted(relation)
            if any(one.statistic == "two steps" for one in wanted)
        }


def _whole(parts: Partitions) -> sp.csr_array:
    """The adjacency of all parts; its ones are a single number, since `structure_of` reads none of them."""
    starts = np.zeros(parts.num_nodes + 1, dtype=np.int64)
    for number in range(len(parts)):
        first, last = parts.span(number)
        starts[first + 1 : last + 1] = starts[first] + parts.ends(number)[1:]
    index = small_index(max(int(starts[-1]), parts.num_nodes))
    indices = np.empty(int(starts[-1]), dtype=index)
    for number in range(len(parts)):
        part = parts.part(number)
        indices[starts[part.start] : starts[part.stop]] = neighbours_of(part)
    ones = np.broadcast_to(np.float64(1.0), indices.shape)
    return sp.csr_array((ones, indices, starts.astype(index)), shape=(parts.num_nodes, parts.num_nodes))
