"""Write results as tables that other programs open."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from calirare.data.storage.archive import write_atomically
from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.addresses import is_address
from calirare.data.tables.sources.warehouse import check_writable, write_address
from calirare.errors import InputError

FORMATS = (".parquet", ".csv", ".jsonl")

_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
# Spreadsheets of many languages part cells at semicolons, or tabs, whatever the quotes say: what follows starts a cell.
_SIGNED_NUMBER = re.compile(r"[+-]\d[\d ]*", re.ASCII)
"""Telephone numbers and the like. As a formula they are themselves, and with an apostrophe no other table would match them."""
_INNER_FORMULA = re.compile(r"([;\t|\r\n]\s*)([=+\-@＝＋－＠])")


def check_export_path(path: str | Path) -> None:
    """Refuse a path whose ending does not say how to write it. Call it before long work, so that a typo costs nothing.

    >>> check_export_path("scores.csv")
    >>> check_export_path("sqlite:///cases.db#scores")
    """
    if is_address(path):
        return check_writable(str(path))
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"the output file must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; got {path.name!r}.")
    if path.is_dir():
        raise InputError(f"the output must be a file; {path} is a folder.")


def write_table(columns: Mapping[str, Any], path: str | Path) -> None:
    """Write columns of equal length as Parquet, CSV or JSON Lines, by the file's ending, or into a table of a database at an address
    (`calirare.data.tables.sources.addresses`), whole or not at all.

    In a CSV, text that a spreadsheet would run as a formula gets an apostrophe in front (see `escape_formula`);
    Parquet and JSON Lines keep every value as it is.
    """
    check_export_path(path)
    if is_address(path):
        return write_address(make_frame(columns), str(path))
    path = Path(path)
    with write_atomically(path) as stream:
        write_stream(columns, stream, path.suffix.lower())


def write_stream(columns: Mapping[str, Any], stream: IO[bytes], ending: str) -> None:
    """Write columns into an open stream in the format of a file's ending; see `write_table`."""
    if ending == ".parquet":
        content = io.BytesIO()  # polars hides why a write to the stream failed; compressed, the table is small
        make_frame(columns).write_parquet(content)
        stream.write(content.getbuffer())
    elif ending == ".jsonl":
        stream.write(make_frame(columns).write_ndjson().encode(errors="replace"))
    else:
        make_frame(_without_formulas(columns)).write_csv(stream)


def _without_formulas(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns, safe to open in a spreadsheet."""
    return {
        escape_formula(name): [escape_formula(cell) for cell in values] if _holds_text(values) else values
        for name, values in columns.items()
    }


def escape_formula(cell: Any) -> Any:
    """The cell with an apostrophe before what a spreadsheet would take for a formula.

    >>> escape_formula("=1+1"), escape_formula("account 7"), escape_formula(-3), escape_formula("a;=1+1")
    ("'=1+1", 'account 7', -3, "a;'=1+1")
    >>> escape_formula("+49 151 2345"), escape_formula("+49-151")
    ('+49 151 2345', "'+49-151")
    """
    if not isinstance(cell, str) or _SIGNED_NUMBER.fullmatch(cell):
        return cell
    inside = _INNER_FORMULA.sub(r"\1'\2", cell)
    return f"'{inside}" if cell.startswith(_FORMULA_STARTS) else inside


def _holds_text(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "OUT"


def make_frame(columns: Mapping[str, Any]) -> Any:
    """The columns as a polars frame."""
    return pl.DataFrame({name: pl.Series(name, _plain(values)) for name, values in columns.items()})


def _plain(values: Any) -> Any:
    """Text and mixed values as a list, which polars types by itself; numbers stay arrays."""
    return list(np.asarray(values).tolist()) if _holds_text(values) else values
