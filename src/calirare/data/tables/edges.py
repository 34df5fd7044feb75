"""Edges from a table: ids become node indices, direction is dropped, repeats are merged and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from calirare.data.tables.columns import import_polars, to_numbers
from calirare.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class EdgeList:
    """Each undirected edge once, with what was merged on the way."""

    edge_index: np.ndarray
    edge_weight: np.ndarray | None
    counts: dict[str, int]


def check_ids(ids: pl.Series) -> None:
    """Every node needs an id of its own."""
    if ids.dtype.is_nested():
        raise InputError(f"column {ids.name!r} must hold one id per node; it holds {ids.dtype}.")
    if ids.null_count():
        raise InputError(f"column {ids.name!r} must name every node; {ids.null_count()} ids are missing.")
    if ids.dtype == import_polars().String and ids.str.contains("\0", literal=True).any():
        raise InputError(f"column {ids.name!r} must hold readable ids; some hold a NUL character.")
    repeated = ids.filter(ids.is_duplicated())
    if repeated.len():
        distinct = repeated.unique(maintain_order=True)
        raise InputError(
            f"column {ids.name!r} must name every node once; {distinct.len()} ids appear more than once: "
            f"{distinct.head(5).to_list()}."
        )


def read_edges(ids: pl.Series, frame: pl.DataFrame, source: str, target: str, weight: str | None) -> EdgeList:
    """The edges between the nodes named by `ids`.

    A pair that appears in several rows, in either direction, is one edge with the sum of their weights.

    Raises:
        InputError: A row names a node that is not in `ids`, or a weight is missing, negative or infinite.
    """
    start, end = find_places(ids, frame[source], frame[target])
    num_nodes = ids.len()
    values = np.ones(start.size) if weight is None else edge_weights(frame[weight])
    loops, empty = start == end, values == 0
    keep = ~loops & ~empty
    low, high = np.minimum(start, end)[keep], np.maximum(start, end)[keep]
    merged = sp.csr_array((values[keep], (low, high)), shape=(num_nodes, num_nodes))
    merged.sum_duplicates()
    pairs = merged.tocoo()
    counts = {
        "rows": int(start.size),
        "edges": int(pairs.nnz),
        "duplicates": int(keep.sum()) - int(pairs.nnz),
        "self_loops": int(loops.sum()),
        "zero_weights": int((empty & ~loops).sum()),
    }
    edge_index = np.vstack([pairs.row, pairs.col]).astype(np.int64)
    return EdgeList(edge_index, None if weight is None else pairs.data.astype(np.float32), counts)


def edge_weights(column: pl.Series) -> np.ndarray:
    """Weights as float64, or an error where one is missing, negative or infinite."""
    values = to_numbers(column)
    bad = np.flatnonzero(np.isnan(values) | (values < 0))
    if bad.size:
        raise InputError(
            f"column {column.name!r} must hold weights that are not negative and not missing; {bad.size} are, the first "
            f"in row {bad[0] + 1}."
        )
    return values


def find_places(ids: pl.Series, source: pl.Series, target: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Places in `ids` of both ends of every edge.

    Raises:
        InputError: An edge names a node that is not there.
    """
    pl = import_polars()
    key, ends = _common_type(ids, [source, target])
    places = pl.DataFrame({"id": key, "place": np.arange(ids.len())})
    found = [
        pl.DataFrame({"id": end}).join(places, on="id", how="left", maintain_order="left")["place"] for end in ends
    ]
    lost = pl.concat([end.filter(place.is_null()) for end, place in zip(ends, found, strict=True)])
    if lost.len():
        rows = int((found[0].is_null() | found[1].is_null()).sum())
        names = lost.unique(maintain_order=True)
        raise InputError(
            f"edges must join nodes of the nodes table; {rows} of {source.len()} rows name {names.len()} nodes that are "
            f"not in column {ids.name!r}, first: {names.head(5).to_list()}. Add these nodes or drop these rows."
        )
    start, end = (np.asarray(place.to_numpy(), dtype=np.int64) for place in found)
    return start, end


def _common_type(ids: pl.Series, ends: list[pl.Series]) -> tuple[pl.Series, list[pl.Series]]:
    """All columns in one type: as they are if equal, whole numbers if all are, else text."""
    pl = import_polars()
    ends = [end.alias("end") for end in ends]
    if all(end.dtype == ids.dtype for end in ends) and not ids.dtype.is_float():
        return ids, ends
    whole = [as_whole(column) for column in (ids, *ends)]
    numbers = [column for column in whole if column is not None]
    if len(numbers) == len(whole):
        return numbers[0], numbers[1:]
    text = [
        (column if number is None else number).cast(pl.String)
        for column, number in zip((ids, *ends), whole, strict=True)
    ]
    return text[0], text[1:]


def as_whole(column: pl.Series) -> pl.Series | None:
    """The column as int64 if that loses nothing (a float column of whole numbers, say), else None."""
    pl = import_polars()
    if not column.dtype.is_numeric():
        return None
    if column.dtype.is_float():
        column = column.set(column.is_nan(), None)
    whole = column.cast(pl.Int64, strict=False)
    same = (whole.cast(column.dtype, strict=False) == column).fill_null(column.is_null())
    return whole if same.all() else None
