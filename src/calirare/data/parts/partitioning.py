"""Cut the graph of tables into parts on disk, batch by batch.

What stays in memory is what grows with the nodes alone: the ids, and a few numbers per node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.parts.cell_tally import others_in_records
from calirare.data.parts.edge_reading import EdgeReader, Pairs, ReadEdges
from calirare.data.parts.edge_records import append_by_owner, deal_rows, owners
from calirare.data.parts.node_reading import NodeReader, Step
from calirare.data.parts.partitions import Partitions, rows_file
from calirare.data.parts.row_files import RowFile
from calirare.data.parts.table_stream import TableStream
from calirare.data.tables.schema.preprocess import warn_of_values
from calirare.data.tables.schema.profile import TablesTally

Run = Callable[[Callable[[int], Any], Sequence[int]], Iterator[Any]]
"""A `map` over parts, in any order: `calirare.scoring.backends.mapping` gives one."""

NODE_ROWS = 1 << 18
EDGE_ROWS = 1 << 22
NODE_COST = 8
"""What a node takes in a part, in edges."""
MOST_PARTS = 20_000


def partition_tables(
    nodes: Any,
    edges: Any,
    schema: Mapping[str, Any],
    folder: str | Path,
    *,
    partitions: int | None = None,
    edges_per_part: int = 1 << 22,
    options: Mapping[str, Any] | None = None,
    rows: bool = False,
    run: Run = map,
    progress: Step | None = None,
) -> Partitions:
    """Cut the graph of tables into parts on disk.

    Args:
        nodes: As in `read_tables`, or patterns such as `nodes-*.parquet`; what is not Parquet is held while it is read.
        edges: The same for the edges.
        schema: Of the graph that the model was fitted on, applied unchanged as in `read_tables`.
        folder: For the files; every process that uses the parts must see it.
        partitions: Number of parts; default: as many as keep each near `edges_per_part`.
        edges_per_part: Both directions of an edge counted; the largest part can exceed it by its last node's.
        options: Further arguments of `read_tables`.
        rows: Whether each part also keeps the rows of the edge table, with their columns.
        run: Where parts are sorted: a `map` over processes or machines.
        progress: Called as reading goes on.

    Raises:
        DataError, ColumnError, InputError: As in `read_tables`; messages give the rows of the batch they speak of.
    """
    step = progress or (lambda share: None)
    work = Path(folder)
    stream = TableStream.open(nodes, edges, schema, options or {})
    tally = TablesTally(schema, schema["seen"], *stream.num_rows) if schema.get("seen") else None
    read = NodeReader(stream, work, tally).all(NODE_ROWS, EDGE_ROWS, lambda share: step(0.3 * share))
    found = EdgeReader(stream, work, tally, read.places, rows).all(EDGE_ROWS, lambda share: step(0.3 + 0.4 * share))
    warn_of_values(read.read, found.values)
    cuts = _cut(found.counts, partitions, edges_per_part)
    made = Partitions(
        folder=work,
        cuts=tuple(cuts.tolist()),
        features=read.features,
        degree=RowFile.create(work / "degree", int(cuts[-1]), 1, "<f8"),
        weighted=found.pairs.weighted,
        read={"edges": found.merged, **read.read, "edge_values": found.values},
        marks=read.marks,
        kinds=read.kinds,
        kind_names=read.kind_names,
        profile=None if tally is None else tally.profile(),
        records=found.records,
    )
    del stream, read
    _deal(found, cuts, work)
    for done, number in enumerate(run(partial(_sort_part, made), range(len(made))), start=1):
        found.merged["edges"] += number
        step(0.8 + 0.2 * done / len(made))
    found.merged["edges"] //= 2
    found.merged["duplicates"] -= found.merged["edges"]
    return made


def _cut(counts: np.ndarray, partitions: int | None, edges_per_part: int) -> np.ndarray:
    """First nodes of parts that cost about the same, and the number of nodes."""
    cost = np.cumsum(counts + NODE_COST)
    if partitions is None:
        partitions = -(-int(cost[-1]) // edges_per_part)
    parts = min(partitions, len(counts), MOST_PARTS)
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, parts) / parts)
    return np.unique(np.concatenate([[0], inner, [len(counts)]]))


def _deal(read: ReadEdges, cuts: np.ndarray, folder: Path) -> None:
    """Write every pair, and every row where rows are kept, into the files of both ends' parts."""
    pairs, records = read.pairs, read.records
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
                for name, users in read.users.items():
                    others_in_records(found, records.cell_field(name), users, directed=records.directed)
                deal_rows(found, cuts, files)
        rows.unlink()


def _dealt(folder: Path, number: int) -> Path:
    return folder / f"pairs-{number:05d}"


def _sort_part(made: Partitions, number: int) -> int:
    """Merge a part's edges, write its file and its nodes' degrees; the number of its edges."""
    pairs = Pairs(_dealt(made.folder, number), made.weighted, made.num_nodes)
    records = np.fromfile(pairs.path, pairs.dtype)
    start, stop = made.span(number)
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
