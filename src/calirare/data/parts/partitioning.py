"""Cut the graph of two Parquet tables into parts on disk, batch by batch.

What stays in memory is what grows with the nodes alone: the ids, and a few numbers per node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeColumn
from calirare.data.parts.edge_records import EdgeRecords, append_by_owner, deal_rows, owners
from calirare.data.parts.node_places import NodePlaces
from calirare.data.parts.partitions import Partitions, rows_file
from calirare.data.parts.row_files import RowFile, SparseRowFile
from calirare.data.parts.shards import Shards, open_shards
from calirare.data.tables.edge_columns import apply_edge_columns
from calirare.data.tables.edges import edge_weights
from calirare.data.tables.ids import plain_ids
from calirare.data.tables.naming import find_columns, names_of
from calirare.data.tables.polars_library import import_polars
from calirare.data.tables.preprocess import apply_columns, warn_of_unseen
from calirare.data.tables.profile import TablesTally
from calirare.data.tables.schema import check_schema, feature_names
from calirare.errors import InputError

Run = Callable[[Callable[[int], Any], Sequence[int]], Iterator[Any]]
"""A `map` over parts, in any order: `calirare.scoring.backends.mapping` gives one."""
Step = Callable[[float], None]
"""Called with the share that is done."""

NODE_ROWS = 1 << 18
EDGE_ROWS = 1 << 22
NODE_COST = 8
"""What a node takes in a part, in edges."""
MOST_PARTS = 20_000


@dataclass(frozen=True)
class _Pairs:
    """Edges on the way from the table to their parts: places of both ends, and the weight."""

    path: Path
    weighted: bool
    num_nodes: int

    @property
    def dtype(self) -> np.dtype:
        index = "<u4" if self.num_nodes < 2**32 else "<u8"
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


def partition_tables(
    nodes: Any,
    edges: Any,
    schema: Mapping[str, Any],
    folder: str | Path,
    *,
    partitions: int | None = None,
    edges_per_part: int = 1 << 22,
    names: Mapping[str, str | None] | None = None,
    rows: bool = False,
    run: Run = map,
    progress: Step | None = None,
) -> Partitions:
    """Cut the graph of two Parquet tables into parts on disk.

    Args:
        nodes: A Parquet file, a folder of them, or a pattern such as `nodes-*.parquet`.
        edges: The same for the edges.
        schema: Of the graph that the model was fitted on, applied unchanged as in `read_tables`.
        folder: For the files; every process that uses the parts must see it.
        partitions: Number of parts; default: as many as keep each near `edges_per_part`.
        edges_per_part: Both directions of an edge counted; the largest part can exceed it by its last node's.
        names: Columns `id`, `source`, `target`, `weight` where they are named otherwise than at fit.
        rows: Whether each part also keeps the rows of the edge table, with their columns.
        run: Where parts are sorted: a `map` over processes or machines.
        progress: Called as reading goes on.

    Raises:
        DataError, ColumnError, InputError: As in `read_tables`; messages give the rows of the batch they speak of.
    """
    check_schema(schema)
    step = progress or (lambda share: None)
    work = Path(folder)
    tables = open_shards(nodes, "nodes"), open_shards(edges, "edges")
    given = {"id": None, "source": None, "target": None, "weight": None, **(names or {}), "label": None}
    columns = find_columns(tables[0].empty, tables[1].empty, names_of(schema, given), optional_label=True)
    if not tables[0].num_rows:
        raise InputError("nodes must have at least one row; the table has none.")
    tally = TablesTally(schema, schema["seen"], *(table.num_rows for table in tables)) if schema.get("seen") else None
    reader = _Reader(schema, work, tally)
    features, places, read = reader.nodes(tables[0], columns["id"], lambda share: step(0.3 * share))
    pairs = _Pairs(work / "pairs", columns["weight"] is not None, tables[0].num_rows)
    records = EdgeRecords.of(schema["edges"], tables[0].num_rows) if rows else None
    counts, merged = reader.edges(
        tables[1], columns, places, pairs, records, read, lambda share: step(0.3 + 0.4 * share)
    )
    warn_of_unseen(read)
    cuts = _cut(counts, partitions, edges_per_part)
    del places, counts
    _deal(pairs, records, cuts, work)
    degree = RowFile.create(work / "degree", cuts[-1], 1, "<f8")
    profile = None if tally is None else tally.profile()
    read = {**read, "edges": merged}
    made = Partitions(work, tuple(cuts.tolist()), features, degree, pairs.weighted, read, profile, records)
    for done, found in enumerate(run(partial(_sort_part, made), range(len(made))), start=1):
        merged["edges"] += found
        step(0.8 + 0.2 * done / len(made))
    merged["edges"] //= 2
    merged["duplicates"] -= merged["edges"]
    return made


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads both tables, batch by batch, and tells the tally what they look like."""

    schema: Mapping[str, Any]
    folder: Path
    tally: TablesTally | None

    def nodes(
        self, table: Shards, id_column: str, step: Step
    ) -> tuple[RowFile | SparseRowFile, NodePlaces, dict[str, Any]]:
        """Features on disk, ids on disk and in memory."""
        pl = import_polars()
        wanted = [column["name"] for column in self.schema["columns"] if column["type"] != "ignore"]
        present = [name for name in wanted if name in table.empty.columns]
        kind = SparseRowFile if self.schema["sparse"] else RowFile
        features = kind.create(self.folder / "features", table.num_rows, len(feature_names(self.schema)))
        read: dict[str, dict[str, int]] = {"imputed": {}, "unseen": {}, "rare": {}, "unreadable": {}}
        ids = []
        for first, frame in table.batches(list(dict.fromkeys([id_column, *present])), NODE_ROWS):
            with _rows_named(table, first, frame.height):
                x, counts = apply_columns(frame, self.schema)
            features.write(first, x)
            if self.tally is not None:
                self.tally.add_nodes(first, x)
            ids.append(frame[id_column])
            _add_counts(read, counts)
            step((first + frame.height) / table.num_rows)
        places = NodePlaces(pl.concat(ids))
        named = plain_ids(places.ids).alias("id").to_frame()
        named.write_ipc(self.folder / "ids.arrow", compat_level=pl.CompatLevel.oldest())
        return features, places, read

    def edges(
        self,
        table: Shards,
        columns: Mapping[str, Any],
        places: NodePlaces,
        pairs: _Pairs,
        records: EdgeRecords | None,
        read: dict[str, dict[str, int]],
        step: Step,
    ) -> tuple[np.ndarray, dict[str, int]]:
        """Pairs of places on disk; edges of each node, repeats included; what was left out."""
        counts, degree = np.zeros((2, places.ids.len()), dtype=np.int64)
        merged = {"rows": table.num_rows, "edges": 0, "duplicates": 0, "self_loops": 0, "zero_weights": 0}
        plan = [column for column in self.schema["edges"].get("columns", ()) if column["kind"] != "ignore"]
        plan = plan if records is not None or self.tally is not None else []
        kind = self.schema["edges"].get("type") if records is not None and records.types else None
        ends = [columns[key] for key in ("source", "target", "weight") if columns[key] is not None]
        present = [column["name"] for column in plan if column["name"] in table.empty.columns]
        names = dict.fromkeys([*ends, *present, *([] if kind is None else [kind])])
        pairs.path.write_bytes(b"")
        for first, frame in table.batches(list(names), EDGE_ROWS):
            with _rows_named(table, first, frame.height):
                start, end = places.of(frame[columns["source"]], frame[columns["target"]])
                weight = edge_weights(frame[columns["weight"]]) if pairs.weighted else None
                said, strange = apply_edge_columns(frame, plan)
            _add_counts(read, strange)
            keep = _joins(start, end, weight, merged)
            pairs.append(pairs.records(start[keep], end[keep], None if weight is None else weight[keep]))
            if records is not None:
                types = None if kind is None else records.codes(frame[kind])
                with pairs.path.with_name("rows").open("ab") as stream:
                    stream.write(records.pack(start, end, said, types).tobytes())
            for some in (start, end):
                counts += np.bincount(some[keep], minlength=len(counts))
                degree += np.bincount(some, minlength=len(counts))
            self._tell(first, said)
            step((first + frame.height) / table.num_rows)
        if self.tally is not None:
            self.tally.add_degrees(degree)
        return counts, merged

    def _tell(self, first: int, said: Sequence[EdgeColumn]) -> None:
        if self.tally is not None:
            self.tally.add_edges(first, said)


def _add_counts(read: dict[str, dict[str, int]], counts: Mapping[str, Mapping[str, int]]) -> None:
    for what, found in counts.items():
        for name, number in found.items():
            read[what][name] = read[what].get(name, 0) + number


def _joins(start: np.ndarray, end: np.ndarray, weight: np.ndarray | None, merged: dict[str, int]) -> np.ndarray:
    """Rows that join two nodes; the others are counted."""
    loops = start == end
    empty = np.zeros_like(loops) if weight is None else weight == 0
    keep: np.ndarray = ~loops & ~empty
    merged["self_loops"] += int(loops.sum())
    merged["zero_weights"] += int((empty & ~loops).sum())
    merged["duplicates"] += int(keep.sum())  # less the edges, once those are known
    return keep


def _cut(counts: np.ndarray, partitions: int | None, edges_per_part: int) -> np.ndarray:
    """First nodes of parts that cost about the same, and the number of nodes."""
    cost = np.cumsum(counts + NODE_COST)
    if partitions is None:
        partitions = -(-int(cost[-1]) // edges_per_part)
    parts = min(partitions, len(counts), MOST_PARTS)
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, parts) / parts)
    return np.unique(np.concatenate([[0], inner, [len(counts)]]))


def _deal(pairs: _Pairs, records: EdgeRecords | None, cuts: np.ndarray, folder: Path) -> None:
    """Write every pair, and every row where rows are kept, into the files of both ends' parts."""
    files = [_dealt(folder, number) for number in range(len(cuts) - 1)]
    for file in files:
        file.write_bytes(b"")
    for batch in pairs.batches(EDGE_ROWS):
        turned = batch.copy()
        turned["own"], turned["other"] = batch["other"], batch["own"]
        for some in (batch, turned):
            append_by_owner(some, np.arange(len(some)), owners(cuts, some["own"]), files)
    pairs.path.unlink()
    if records is None:
        return
    rows = folder / "rows"
    files = [rows_file(folder, number) for number in range(len(cuts) - 1)]
    for file in files:
        file.write_bytes(b"")
    if rows.exists():
        with rows.open("rb") as stream:
            while len(found := np.fromfile(stream, records.dtype, EDGE_ROWS)):
                deal_rows(found, cuts, files)
        rows.unlink()


def _dealt(folder: Path, number: int) -> Path:
    return folder / f"pairs-{number:05d}"


def _sort_part(made: Partitions, number: int) -> int:
    """Merge a part's edges, write its file and its nodes' degrees; the number of its edges."""
    pairs = _Pairs(_dealt(made.folder, number), made.weighted, made.num_nodes)
    records = np.fromfile(pairs.path, pairs.dtype)
    start, stop = made.cuts[number], made.cuts[number + 1]
    own, other = records["own"].astype(np.int64) - start, records["other"].astype(np.int64)
    outside = (other < start) | (other >= stop)
    halo = np.unique(other[outside])
    column = np.where(outside, stop - start + np.searchsorted(halo, other), other - start)
    values = records["weight"] if made.weighted else np.ones(len(records), dtype=np.float32)
    matrix = sp.csr_array((values, (own, column)), shape=(stop - start, stop - start + len(halo)))
    matrix.sum_duplicates()
    weights = matrix.data.astype(np.float32) if made.weighted else np.ones(matrix.nnz, dtype=np.float32)
    arrays: dict[str, Any] = {"halo": halo, "ends": matrix.indptr.astype(np.int64)}
    arrays["columns"] = matrix.indices.astype(np.int32)
    if made.weighted:
        arrays["weights"] = weights
    np.savez(made.file(number), **arrays)
    merged = sp.csr_array((weights.astype(np.float64), matrix.indices, matrix.indptr), shape=matrix.shape)
    made.degree.write(start, np.asarray(merged.sum(axis=1)))
    pairs.path.unlink()
    return int(matrix.nnz)


@contextmanager
def _rows_named(table: Shards, first: int, height: int) -> Iterator[None]:
    """Errors inside name the rows of the batch, as row numbers in them count from its first."""
    try:
        yield
    except InputError as error:
        if height == table.num_rows:
            raise
        raise type(error)(f"rows {first + 1:,} to {first + height:,} of the {table.what}: {error}") from error
