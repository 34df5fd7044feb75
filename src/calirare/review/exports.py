"""The queue and the decisions as files: CSV that a spreadsheet can open without harm, and Parquet."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from calirare.data.tables.sources.export import write_stream
from calirare.errors import InputError
from calirare.review.queue import Queue
from calirare.review.store.decisions import Decision, DecisionStore, standing, stored_text
from calirare.review.view import View

FORMATS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
_DECISION_COLUMNS = tuple(Decision.__dataclass_fields__)


def export_queue(queue: Queue, view: View, kind: str) -> bytes:
    """Every row of a view, in its order."""
    order = queue.order(view)
    columns: dict[str, Any] = queue.columns(order, view) | {"reason": queue.reasons(order, view)}
    columns["model_version"] = [queue.snapshot.version] * len(columns["id"])
    return encode(columns, kind)


def export_decisions(store: DecisionStore, kind: str) -> bytes:
    """Every row ever written, oldest first; times in UTC."""
    rows = store.since()
    by_id = {row.id: row for row in rows}
    stands = [standing(row, by_id) for row in rows]
    columns: dict[str, Any] = {}
    for name in _DECISION_COLUMNS:
        values = [getattr(row, name) for row in rows]
        if name == "time":
            columns[name] = [one.isoformat(timespec="microseconds") for one in values]
        elif name in ("id", "supersedes", "undoes"):
            columns[name] = np.array(values, dtype=np.int64)
        else:
            columns[name] = values
    # After each row: whose decision is in force, which after an undo is not that of who took theirs back.
    columns["stands"] = np.array([0 if one is None else one.id for one in stands], dtype=np.int64)
    columns["stands_by"] = ["" if one is None else one.reviewer for one in stands]
    return encode(columns, kind)


def encode(columns: dict[str, Any], kind: str) -> bytes:
    """The columns as the bytes of a file."""
    stream = io.BytesIO()
    # As objects: an array of text takes the longest cell's room for every cell.
    columns = {
        name: _text(values) if isinstance(values, list) and _is_text(values) else values
        for name, values in columns.items()
    }
    if kind not in FORMATS:
        raise InputError(f"the format must be one of {list(FORMATS)}; got {kind!r}.")
    write_stream(columns, stream, f".{kind}")
    return stream.getvalue()


def _is_text(values: list[Any]) -> bool:
    return not values or isinstance(values[0], str)


def _text(values: list[str]) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = [stored_text(value) for value in values]
    return column
