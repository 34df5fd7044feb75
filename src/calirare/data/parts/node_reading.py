"""The nodes of tables in batches: features, kinds and ids on disk, ids and labels in memory while edges are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.parts.node_places import NodePlaces
from calirare.data.parts.row_files import RowFile, SparseRowFile
from calirare.data.parts.shards import Shards
from calirare.data.parts.table_stream import TableStream
from calirare.data.scored import scored_nodes
from calirare.data.tables.gathering.ids import plain_ids
from calirare.data.tables.gathering.rows import NO_NODES, NodeRows
from calirare.data.tables.gathering.tables import codes_as_at_fit
from calirare.data.tables.libraries import pl
from calirare.data.tables.schema.labels import apply_labels
from calirare.data.tables.schema.node_columns import feature_names
from calirare.data.tables.schema.preprocess import EmptyCells, apply_columns
from calirare.data.tables.schema.profile import TablesTally
from calirare.errors import InputError

Counts = dict[str, dict[str, int]]
Step = Callable[[float], None]
"""Called with the share that is done."""
WANTED, UNLABELLED = 1, 2
"""Bits of a node: its score is written; its label is not known."""


@dataclass(frozen=True, eq=False)
class ReadNodes:
    """Every node.

    Args:
        features: On disk.
        places: From ids to places.
        kinds: `(N, 1)` codes of their kinds on disk; None where all are of one.
        kind_names: Of the codes.
        marks: `(N, 1)` on disk, see `WANTED` and `UNLABELLED`.
        read: What was imputed and counted, as in `graph.schema["read"]`.
    """

    features: RowFile | SparseRowFile
    places: NodePlaces
    kinds: RowFile | None
    kind_names: tuple[str, ...]
    marks: RowFile
    read: dict[str, Any]


@dataclass(eq=False)
class NodeReader:
    """Reads all tables of nodes, and those whom only the edges or the labels name.

    Args:
        stream: The tables.
        folder: For the files.
        tally: Told what the columns look like; None where nobody asks.
    """

    stream: TableStream
    folder: Path
    tally: TablesTally | None
    ids: list[pl.Series] = field(default_factory=list)
    labels: list[pl.Series] = field(default_factory=list)
    codes: list[np.ndarray] = field(default_factory=list)
    names: tuple[str, ...] = ()
    read: Counts = field(default_factory=lambda: {"unseen": {}, "rare": {}, "unreadable": {}, "infinite": {}})
    empty: EmptyCells = field(default_factory=EmptyCells)
    count: int = 0
    described: int | None = None

    def all(self, node_rows: int, edge_rows: int, step: Step) -> ReadNodes:
        """Read every node, at most so many rows of each table at a time."""
        schema, rows = self.stream.schema, self.stream.num_rows[0]
        self.names = tuple(schema.get("nodes", {}).get("types", ()))
        kind = SparseRowFile if schema["sparse"] else RowFile
        features: Any = kind.create(self.folder / "features", rows, len(feature_names(schema)))
        for table, first, found in self.stream.node_batches(node_rows):
            with rows_named(table, first, found.frame.height):
                self._take(found, features)
            step(self.count / rows)
        behind = self.stream.named_by_edges(edge_rows)
        if behind is not None:
            self.described = self.count if self.stream.nodes else None
            self._take_behind(behind, features, node_rows)
        outside = self.stream.outside(pl.concat(self.ids), edge_rows) if self.ids else None
        if outside is not None:
            self.described = self.count if self.described is None else self.described
            self._take_behind(outside, features, node_rows)
        known, counts = self._known(features, node_rows)
        if not self.count:
            raise InputError(NO_NODES)
        places = NodePlaces(pl.concat(self.ids))
        named = plain_ids(places.ids).alias("id").to_frame()
        named.write_ipc(self.folder / "ids.arrow", compat_level=pl.CompatLevel.oldest())
        features = replace(features, num_rows=self.count)
        described = self.count if self.described is None else self.described
        nodes = {"described": described, "named_alone": self.count - described}
        read = {"nodes": nodes, **self.empty.counts(), **self.read, **counts}
        return ReadNodes(features, places, *self._kinds(), self._marks(known), read)

    def _take(self, found: NodeRows, features: Any) -> None:
        """Some more nodes, behind those that are there."""
        x, counts, empty = apply_columns(
            found if self.described is None else replace(found, described=0), self.stream.schema
        )
        features.write(self.count, x)
        if self.tally is not None and self.described is None:
            self.tally.add_nodes(self.count, x)
        add_counts(self.read, counts)
        self.empty.add(empty)
        self.ids.append(found.frame[found.id])
        if self.stream.label is not None and self.stream.label in found.frame.columns:
            self.labels.append(found.frame[self.stream.label])
        if found.type is not None:
            codes, self.names = codes_as_at_fit(found.type, found.type_names, self.names)
            self.codes.append(np.asarray(codes))
        self.count += found.frame.height

    def _take_behind(self, found: NodeRows, features: Any, at_once: int) -> None:
        """Nodes that are known by their ids alone, behind those that are there."""
        empty = self.stream.no_nodes
        for start in range(0, found.frame.height, at_once):
            some = found.frame[start : start + at_once].select(found.id)
            if empty is not None:
                some = pl.concat([empty.frame, some.rename({found.id: empty.id})], how="diagonal")
            codes = None if found.type is None else found.type[start : start + at_once]
            self._take(NodeRows(some, found.id if empty is None else empty.id, codes, found.type_names), features)

    def _known(self, features: Any, at_once: int) -> tuple[np.ndarray, dict[str, Any]]:
        """Whose label is known, and how many are; nodes that only the table of labels names are added."""
        stream, label = self.stream, self.stream.schema["label"]
        if stream.labels is not None:
            names = self.names if self.codes else ()
            codes = np.concatenate(self.codes) if self.codes else None
            ids = pl.concat(self.ids).alias("id")
            before, (found, column) = self.count, stream.with_labels(NodeRows(ids.to_frame(), "id", codes, names))
            more = None if found.type is None else found.type[before:]
            self._take_behind(NodeRows(found.frame[before:], "id", more, found.type_names), features, at_once)
            self.labels = [found.frame[column]]
        if not self.labels or label is None:
            return np.zeros(self.count, dtype=bool), {}
        read = apply_labels(pl.concat(self.labels), label)
        return read.y != UNKNOWN, read.counts

    def _kinds(self) -> tuple[RowFile | None, tuple[str, ...]]:
        if not self.codes:
            return None, ()
        file = RowFile.create(self.folder / "kinds", self.count, 1, "<i4")
        file.write(0, np.concatenate(self.codes)[:, None])
        return file, self.names

    def _marks(self, known: np.ndarray) -> RowFile:
        wanted = np.ones(self.count, dtype=bool)
        if self.codes:
            wanted = scored_nodes(np.concatenate(self.codes), self.names, known, self.stream.schema)
        file = RowFile.create(self.folder / "marks", self.count, 1, "u1")
        file.write(0, (WANTED * wanted + UNLABELLED * ~known).astype(np.uint8)[:, None])
        return file


def add_counts(read: Counts, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Add what was counted in some rows."""
    for what, found in counts.items():
        for name, number in found.items():
            read[what][name] = read[what].get(name, 0) + number


@contextmanager
def rows_named(table: Shards, first: int, height: int) -> Iterator[None]:
    """Errors inside name the rows of the batch, as row numbers in them count from its first."""
    try:
        yield
    except InputError as error:
        if height == table.num_rows:
            raise
        raise type(error)(f"rows {first + 1:,} to {first + height:,} of the {table.what}: {error}") from error
