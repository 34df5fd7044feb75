"""Rows of the edge table on disk, with their columns, for parts that sum them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable


def place_type(num_nodes: int) -> str:
    """The type in which places of nodes are written, no wider than this number of nodes needs."""
    return "<u4" if num_nodes < 2**32 else "<u8"


OTHER_TYPES = "(types that the fit did not know)"


@dataclass(frozen=True)
class EdgeRecords:
    """How a row is written: places of both ends, its type, its columns.

    Args:
        num_nodes: Of the whole graph.
        columns: (name, kind, categories) of each.
        directed: Whether source and target differ in meaning.
        types: Names of the types; empty where rows have none.
        cells: Names of the columns of which it is asked whether others have the same values. In the parts' files stands of each
            cell how many others have it.
    """

    num_nodes: int
    columns: tuple[tuple[str, Any, tuple[str, ...]], ...]
    directed: bool
    types: tuple[str, ...]
    cells: tuple[str, ...] = ()

    @classmethod
    def of(cls, edges: Mapping[str, Any], num_nodes: int, *, directed: bool, typed: bool) -> EdgeRecords:
        """From the edges of a schema."""
        used = [column for column in edges.get("columns", ()) if column["kind"] != "ignore"]
        columns = tuple((one["name"], one["kind"], tuple(one.get("categories", ()))) for one in used)
        types = (*edges.get("types", ()), OTHER_TYPES) if typed else ()
        return cls(num_nodes, columns, directed, types, tuple(edges.get("cells", ())))

    @property
    def dtype(self) -> np.dtype:
        index = place_type(self.num_nodes)
        values = [(f"{k}", "<i4" if kind == "category" else "<f8") for k, (_, kind, _) in enumerate(self.columns)]
        cells = [(self.cell_field(name), "<f8") for name in self.cells]
        return np.dtype([("source", index), ("target", index), ("type", "<i2"), *values, *cells])

    def cell_field(self, name: str) -> str:
        """Under which name the cells of a column are written."""
        return f"cell {self.cells.index(name)}"

    def pack(self, rows: EdgeTable) -> np.ndarray:
        """Rows as they are written."""
        records = np.zeros(len(rows), dtype=self.dtype)
        records["source"], records["target"] = rows.source, rows.target
        if rows.type is not None and self.types:
            records["type"] = np.minimum(rows.type, len(self.types) - 1)  # those that the fit did not know come last
        for k, column in enumerate(rows.columns):
            records[f"{k}"] = column.values
        for name, values in rows.cells.items():
            records[self.cell_field(name)] = values
        return records

    def read(self, path: Path) -> EdgeTable:
        """The rows of a file."""
        records = np.fromfile(path, self.dtype)
        columns = tuple(
            EdgeColumn(name, kind, np.ascontiguousarray(records[f"{k}"]), categories)
            for k, (name, kind, categories) in enumerate(self.columns)
        )
        source, target = (records[end].astype(np.int64) for end in ("source", "target"))
        codes = records["type"].astype(np.int64) if self.types else None
        cells = {name: np.ascontiguousarray(records[self.cell_field(name)]) for name in self.cells}
        return EdgeTable(source, target, columns, self.directed, codes, self.types, cells)


def owners(cuts: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The parts that nodes belong to."""
    return np.searchsorted(cuts, places, side="right") - 1


def deal_rows(batch: np.ndarray, cuts: np.ndarray, files: Sequence[Path]) -> None:
    """Append rows to the files of both ends' parts, once where these are the same, in the order of the table."""
    one, other = (owners(cuts, batch[end]) for end in ("source", "target"))
    apart = np.flatnonzero(one != other)
    rows = np.concatenate([np.arange(len(batch)), apart])
    order = np.argsort(rows, kind="stable")  # two ascending runs: merged, not sorted
    append_by_owner(batch, rows[order], np.concatenate([one, other[apart]])[order], files)


def append_by_owner(records: np.ndarray, rows: np.ndarray, owner: np.ndarray, files: Sequence[Path]) -> None:
    """Append each of `rows` to the file of its owner; rows of one file in their order."""
    order = np.argsort(owner.astype(np.uint16), kind="stable")  # small whole numbers sort by counting
    ends = np.searchsorted(owner[order], np.arange(len(files) + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        with files[number].open("ab") as stream:
            stream.write(records[rows[order[ends[number] : ends[number + 1]]]].tobytes())
