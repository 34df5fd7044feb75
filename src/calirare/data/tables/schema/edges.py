"""Edges from a table: ids become node indices; every row is kept, and repeats are merged for networks and counted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.merging import merge_edges
from calirare.data.tables.cells.columns import to_numbers
from calirare.data.tables.gathering.ids import find_places
from calirare.data.tables.gathering.naming import other_kind
from calirare.data.tables.gathering.rows import EdgeRows, NodeRows
from calirare.errors import InputError

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class EdgeList:
    """The edges merged for networks, every row as it came, and what was merged or left out on the way."""

    edge_index: np.ndarray
    edge_weight: np.ndarray | None
    table: EdgeTable
    counts: dict[str, int]


def read_edges(
    ids: pl.Series,
    rows: EdgeRows,
    columns: tuple[EdgeColumn, ...],
    weight: str | None,
    *,
    directed: bool = True,
    drop_unknown: bool = False,
    nodes: NodeRows | None = None,
    cells: Mapping[str, np.ndarray] | None = None,
) -> EdgeList:
    """The edges between the nodes named by `ids`, a column of `nodes`.

    A pair that appears in several rows, in either direction, is one edge with the sum of their weights
    (`calirare.data.merging.merge_edges`).

    Raises:
        InputError: A row names a node that is not in `ids`, or a weight is missing, negative or infinite.
    """
    called = [rows.tables[0][end] for end in ("source", "target")] if len(rows.tables) == 1 else ()
    other = other_kind(ids.name, called)
    start, end = find_places(
        ids, rows.source, rows.target, drop_unknown=drop_unknown, nodes=nodes, called=called, other=other
    )
    ends = np.maximum(start, 0), np.maximum(end, 0)
    table = EdgeTable(*ends, columns, directed, rows.type, rows.type_names, cells or {})
    values = None if weight is None else edge_weights(rows.frame[weight])
    known = (start >= 0) & (end >= 0)
    if not known.all():
        logger.warning(
            "%d of %d rows of the edges name nodes that are not in the nodes table; they are left out, and what they say of "
            "their other end is lost. --keep-unknown-edges keeps it.",
            known.size - known.sum(),
            known.size,
        )
        table, start, end = table.take(known), start[known], end[known]
        values = None if values is None else values[known]
    edge_index, edge_weight = merge_edges(np.vstack([start, end]), values, ids.len(), rows_count=True)
    loops = start == end
    empty = np.zeros_like(loops) if values is None else (values == 0) & ~loops
    pairs = edge_index.shape[1] // 2
    counts = {
        "rows": int(known.size),
        "edges": pairs,
        "duplicates": int(start.size - loops.sum() - empty.sum()) - pairs,
        "self_loops": int(loops.sum()),
        "zero_weights": int(empty.sum()),
    }
    if drop_unknown:
        counts["unknown_ends"] = int((~known).sum())
    return EdgeList(edge_index, edge_weight, table, counts)


def edge_weights(column: pl.Series) -> np.ndarray:
    """Weights as float64, or an error where one is missing, negative or infinite."""
    values = to_numbers(column)
    bad = np.flatnonzero(np.isnan(values) | (values < 0))
    if bad.size:
        raise InputError(
            f"column {column.name!r} must hold weights that are not negative, missing or infinite; {bad.size} are, the first "
            f"in row {bad[0] + 1}. Leave weight (--weight) out: as a column of the edges it is used anyway."
        )
    return values
