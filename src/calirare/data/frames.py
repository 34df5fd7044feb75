"""Bring any table into polars: CSV, Parquet and Arrow files, polars, pandas and Arrow frames, columns in a dict."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calirare.data.columns import guess_csv_types, import_polars
from calirare.errors import ColumnError, DataError, InputError, nearest

if TYPE_CHECKING:
    import polars as pl

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")


def to_frame(table: Any, what: str) -> pl.DataFrame:
    """A polars frame with at least one column.

    Args:
        table: A path, or a polars, pandas or Arrow frame, or a dict of columns.
        what: "nodes" or "edges", for messages.

    Raises:
        DataError: The file is missing, empty, truncated, or not what its name says.
        InputError: The object is no table.
    """
    pl = import_polars()
    if isinstance(table, (str, os.PathLike)):
        frame = _read_file(Path(table), what)
    else:
        frame = _convert(table, what)
    if frame.width == 0:
        raise InputError(f"{what} must have columns; the table is empty.")
    plain = [pl.col(name).cast(pl.String) for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return frame.with_columns(plain)


def _read_file(path: Path, what: str) -> pl.DataFrame:
    pl = import_polars()
    name = path.name.lower()
    if not path.exists():
        raise DataError(f"{what}: {path} does not exist.")
    if not path.is_file():
        raise DataError(f"{what}: {path} is not a file.")
    if path.stat().st_size == 0:
        raise DataError(f"{what}: {path} is empty.")
    try:
        if name.endswith(_CSV):
            # Everything as text first: the types of a CSV are a guess, and a guess from its first rows can fail later.
            frame = pl.read_csv(path, separator=_separator(path), infer_schema=False, glob=False)
            return guess_csv_types(frame)
        if name.endswith(_PARQUET):
            return pl.read_parquet(path, glob=False)  # type: ignore[no-any-return]
        if name.endswith(_ARROW):
            return pl.read_ipc(path, memory_map=False)  # type: ignore[no-any-return]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise DataError(
            f"{what}: {path} cannot be read as its name says; it is truncated, altered, or not in UTF-8 ({_first(error)})."
        ) from error
    raise InputError(f"{what}: {path} must end in one of {[*_CSV, *_PARQUET, *_ARROW]}.")


def _separator(path: Path) -> str:
    """The separator that the first line holds most often; a comma if none."""
    if path.name.lower().endswith(".gz"):
        return "\t" if ".tsv" in path.name.lower() else ","
    with path.open("rb") as stream:
        head = stream.readline(1 << 20).decode("utf-8", errors="replace")
    return max((",", ";", "\t", "|"), key=head.count)


def _convert(table: Any, what: str) -> pl.DataFrame:
    pl = import_polars()
    try:
        if isinstance(table, pl.DataFrame):
            return table  # type: ignore[no-any-return]
        if isinstance(table, pl.LazyFrame):
            return table.collect()  # type: ignore[no-any-return]
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table), strict=False)  # type: ignore[no-any-return]
        if type(table).__module__.split(".")[0] == "pandas":
            return _from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(table)  # type: ignore[no-any-return]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be turned into a table: {_first(error)}.") from error
    raise InputError(
        f"{what} must be a path, or a polars, pandas or Arrow frame, or a dict of columns; got {type(table).__name__}."
    )


def _from_pandas(table: Any) -> pl.DataFrame:
    """Column by column, so that a column of mixed objects (ids, say) becomes text instead of an error."""
    pl = import_polars()
    if table.index.name is not None and table.index.name not in table.columns:
        table = table.reset_index()
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].tolist()
        raise InputError(f"column names must differ; {twice[:5]} appear twice.")
    columns = []
    for name in table.columns:
        column = table[name]
        if column.dtype == object:
            values = [None if _is_missing(value) else value for value in column]
            if len({type(value) for value in values if value is not None}) > 1:
                values = [None if value is None else str(value) for value in values]
            columns.append(pl.Series(str(name), values, strict=False))
        else:
            columns.append(pl.from_pandas(column).alias(str(name)))
    return pl.DataFrame(columns)  # type: ignore[no-any-return]


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def pick_column(frame: pl.DataFrame, wanted: str, argument: str, what: str) -> str:
    """`wanted` if the table has it, else an error that names the nearest columns."""
    if wanted in frame.columns:
        return wanted
    raise ColumnError(
        f"{argument} must be a column of the {what} table; got {wanted!r}: {nearest(wanted, frame.columns)}"
    )
