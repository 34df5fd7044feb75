"""The edges of tables in batches: pairs of places on disk, and whole rows where columns are made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calirare.data.cell_users import CellUsers
from calirare.data.edge_table import EdgeTable
from calirare.data.parts.cell_tally import CellTally
from calirare.data.parts.edge_records import EdgeRecords, place_type
from calirare.data.parts.node_places import NodePlaces
from calirare.data.parts.node_reading import Counts, Step, add_counts, rows_named
from calirare.data.parts.table_stream import TableStream
from calirare.data.tables.gathering.rows import EdgeRows
from calirare.data.tables.gathering.same import count_same
from calirare.data.tables.gathering.tables import codes_as_at_fit
from calirare.data.tables.schema.edge_cells import read_edge_cells, warn_of_lacking
from calirare.data.tables.schema.edge_columns import apply_edge_columns
from calirare.data.tables.schema.edges import edge_weights
from calirare.data.tables.schema.profile import TablesTally


@dataclass(frozen=True)
class Pairs:
    """Edges on the way from the table to their parts: places of both ends, and the weight."""

    path: Path
    weighted: bool
    num_nodes: int

    @property
    def dtype(self) -> np.dtype:
        index = place_type(self.num_nodes)
        fields = [("own", index), ("other", index)]
        return np.dtype(fields + [("weight", "<f8")] if self.weighted else fields)

    def records(self, own: np.ndarray, other: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        result = np.empty(len(own), dtype=self.dtype)
        result["own"], result["other"] = own, other
        if weight is not None:
            result["weight"] = weight
        return result

    def append(self, records: np.ndarray) -> None:
        with self.path.open("ab") as stream:
            stream.write(records.tobytes())

    def batches(self, size: int) -> Iterator[np.ndarray]:
        with self.path.open("rb") as stream:
            while len(found := np.fromfile(stream, self.dtype, size)):
                yield found


@dataclass(frozen=True, eq=False)
class ReadEdges:
    """Every edge, on disk.

    Args:
        pairs: Those that join two nodes.
        records: How whole rows are written; None where they are not kept.
        counts: `(N,)` pairs of each node, repeats included.
        merged: What was left out, as in `graph.schema["read"]["edges"]`; `edges` and `duplicates` not told apart yet.
        values: What was counted in columns, as in `graph.schema["read"]["edge_values"]`.
        users: By column, of the values that several nodes use.
    """

    pairs: Pairs
    records: EdgeRecords | None
    counts: np.ndarray
    merged: dict[str, int]
    values: Counts
    users: dict[str, CellUsers]


class EdgeReader:
    """Reads all tables of edges.

    Args:
        stream: The tables.
        folder: For the files.
        tally: Told what the columns look like; None where nobody asks.
        places: Of the nodes.
        keep: Whether whole rows are kept.
    """

    def __init__(
        self, stream: TableStream, folder: Path, tally: TablesTally | None, places: NodePlaces, keep: bool
    ) -> None:
        self.stream, self.folder, self.tally, self.places = stream, folder, tally, places
        self.weight, size = stream.asked.names["weight"], places.ids.len()
        self.pairs = Pairs(folder / "pairs", self.weight is not None, size)
        said = stream.schema["edges"]
        self.plan = [column for column in said.get("columns", ()) if column["kind"] != "ignore"]
        if not keep and tally is None:
            self.plan = []
        typed = bool(said.get("types")) and (len(stream.edges) > 1 or stream.asked.edge_type is not None)
        directed = stream.asked.directed is not False
        self.records = EdgeRecords.of(said, size, directed=directed, typed=typed) if keep else None
        self.cells = () if self.records is None else self.records.cells
        self.tallies = [
            CellTally(name, folder / f"cells-{k}", stream.num_rows[1], directed=directed)
            for k, name in enumerate(self.cells)
        ]
        self.counts, self.degree = np.zeros((2, size), dtype=np.int64)
        self.merged = {"rows": 0, "edges": 0, "duplicates": 0, "self_loops": 0, "zero_weights": 0}
        if stream.asked.drop_unknown:
            self.merged["unknown_ends"] = 0
        self.values: Counts = {"rare": {}, "unseen": {}, "infinite": {}}

    def all(self, size: int, step: Step) -> ReadEdges:
        """Read every edge, at most `size` rows at a time."""
        self.pairs.path.write_bytes(b"")
        names = [column["name"] for column in self.plan] + ([] if self.weight is None else [self.weight])
        warn_of_lacking(self.cells, {name for _, table in self.stream.edges for name in table.empty.columns})
        names += self.cells
        total = self.stream.num_rows[1]
        for table, first, rows in self.stream.edge_batches(names, size):
            with rows_named(table, first, rows.frame.height):
                found, weight = self._read(rows)
            self._write(found, weight)
            if self.tally is not None:
                self.tally.add_edges(self.merged["rows"], found)
            self.merged["rows"] += rows.source.len()
            if joined := count_same(rows, self.stream.asked.same or ()):
                self.merged["same"] = self.merged.get("same", 0) + joined
            step(self.merged["rows"] / total)
        if self.tally is not None:
            self.tally.add_degrees(self.degree)
        users = {tally.name: tally.users() for tally in self.tallies}
        return ReadEdges(self.pairs, self.records, self.counts, self.merged, self.values, users)

    def _read(self, rows: EdgeRows) -> tuple[EdgeTable, np.ndarray | None]:
        """Some rows, those left out whose ends are no nodes, and their weights."""
        start, end = self.places.of(rows.source, rows.target, drop_unknown=self.stream.asked.drop_unknown)
        weight = None if self.weight is None else edge_weights(rows.frame[self.weight])
        columns, counts = apply_edge_columns(rows.frame, self.plan)
        add_counts(self.values, counts)
        codes, names = codes_as_at_fit(rows.type, rows.type_names, self.stream.schema["edges"].get("types", ()))
        cells = read_edge_cells(rows.frame, self.cells)
        table = EdgeTable(np.maximum(start, 0), np.maximum(end, 0), columns, True, codes, names, cells)
        known = (start >= 0) & (end >= 0)
        if not known.all():
            self.merged["unknown_ends"] += int((~known).sum())
            table, weight = table.take(known), None if weight is None else weight[known]
        return table, weight

    def _write(self, table: EdgeTable, weight: np.ndarray | None) -> None:
        keep = self._joins(table, weight)
        pairs = self.pairs.records(table.source[keep], table.target[keep], None if weight is None else weight[keep])
        self.pairs.append(pairs)
        for tally in self.tallies:
            tally.add(table)
        if self.records is not None:
            with (self.folder / "rows").open("ab") as stream:
                stream.write(self.records.pack(table).tobytes())
        for some in (table.source, table.target):
            self.counts += np.bincount(some[keep], minlength=len(self.counts))
            self.degree += np.bincount(some, minlength=len(self.counts))

    def _joins(self, table: EdgeTable, weight: np.ndarray | None) -> np.ndarray:
        """Rows that join two nodes; the others are counted."""
        loops, merged = table.source == table.target, self.merged
        empty = np.zeros_like(loops) if weight is None else weight == 0
        keep = ~loops & ~empty
        merged["self_loops"] += int(loops.sum())
        merged["zero_weights"] += int((empty & ~loops).sum())
        merged["duplicates"] += int(keep.sum())  # less the edges, once those are known
        return keep
