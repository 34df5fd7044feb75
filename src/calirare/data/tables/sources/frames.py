"""Bring any table into polars: CSV, Parquet and Arrow files, polars, pandas and Arrow frames, columns in a dict."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from calirare.data.tables.libraries import import_arrow, pl
from calirare.data.tables.sources.addresses import is_address
from calirare.data.tables.sources.arrow_files import read_feather, read_parquet, without_wide_decimals
from calirare.data.tables.sources.csv_files import read_csv_file
from calirare.data.tables.sources.csv_mistakes import explain_csv
from calirare.data.tables.sources.limits import check_text_file, check_width
from calirare.data.tables.sources.shard_files import CSV, ENDINGS, LINES, PARQUET, find_shards, is_sharded
from calirare.data.tables.sources.warehouse import read_address
from calirare.errors import CalirareError, ColumnError, DataError, InputError, did_you_mean, first_line, nearest

_MOST_NAMED = 12
"""Missing columns that are named."""


def to_frame(table: Any, what: str) -> pl.DataFrame:
    """A polars frame with at least one column.

    Args:
        table: A path, a folder or a pattern of files of one format, the address of a table in a database
            (`calirare.data.tables.sources.addresses`), a polars, pandas or Arrow frame, or a dict of columns.
        what: "nodes" or "edges", for messages.

    Raises:
        DataError: The file is missing, empty, truncated, or not what its name says.
        InputError: The object is no table.
    """
    if is_address(table):
        frame = read_address(table, what)
    elif isinstance(table, (str, os.PathLike)):
        frame = _read_file(Path(table), what)
    else:
        frame = _convert(table, what)
    if frame.width == 0:
        raise InputError(f"{what} must have columns; the table is empty.")
    frame = _unfolded(frame)
    check_width(frame.columns, what)
    plain = [_plain(frame[name]) for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum, pl.Object)]
    return frame.with_columns(plain)


def _unfolded(frame: pl.DataFrame) -> pl.DataFrame:
    """With a column for each field of columns that hold records, unless there is one of that name.

    >>> import polars as pl
    >>> _unfolded(pl.DataFrame({"id": [1], "place": [{"city": "Faro", "at": {"lat": 37.0}}]})).row(0, named=True)
    {'id': 1, 'place.city': 'Faro', 'place.at.lat': 37.0}
    """
    while True:
        columns, names = [], set(frame.columns)
        for column in frame.get_columns():
            fields = [column]
            if column.dtype == pl.Struct:
                parts = [part.alias(f"{column.name}.{part.name}") for part in column.struct.unnest().get_columns()]
                fields = parts if parts and names.isdisjoint(part.name for part in parts) else fields
            columns += fields
            names.update(field.name for field in fields)
        if len(columns) == frame.width and all(
            new.name == old for new, old in zip(columns, frame.columns, strict=True)
        ):
            return frame
        frame = pl.DataFrame(columns)


def _plain(column: pl.Series) -> pl.Series:
    """Text instead of polars' encoded categories and of mixed Python values."""
    if column.dtype == pl.Object:
        values = [None if value is None else str(value) for value in column.to_list()]
        return pl.Series(column.name, values, dtype=pl.String)
    return column.cast(pl.String)


def _read_folder(path: Path, what: str) -> pl.DataFrame:
    """The files of a folder or a pattern as one frame, in the order of their names; their columns must be alike.

    JSON does not say of numbers whether they are whole, nor of gaps what they lack: there names must be alike.
    """
    files = find_shards(path, what)
    frames = [_read_file(file, what) for file in files]
    typed = not files[0].name.lower().endswith(LINES)
    for file, frame in zip(files, frames, strict=True):
        if frame.columns != frames[0].columns or (typed and frame.schema != frames[0].schema):
            others = [name for name in frame.columns if name not in frames[0].columns]
            raise DataError(
                f"{what}: the columns of {file} differ from those of {files[0]}{f', by {others[:3]}' if others else ''}; "
                "shards must be alike."
            )
    return pl.concat(frames, how="vertical" if typed else "vertical_relaxed")


def _read_file(path: Path, what: str) -> pl.DataFrame:
    name = path.name.lower()
    if is_sharded(path):
        return _read_folder(path, what)
    if not path.exists():
        raise DataError(f"{what}: {path} does not exist.")
    if not path.is_file():
        raise DataError(f"{what}: {path} is not a file.")
    if not name.endswith(ENDINGS):
        raise InputError(f"{what}: {path} must end in one of {list(ENDINGS)}.{_way_in(path)}")
    if path.stat().st_size == 0:
        raise DataError(f"{what}: {path} is empty.")
    try:
        if name.endswith(LINES):
            check_text_file(path)
            return pl.read_ndjson(path, infer_schema_length=None)
        return read_csv_file(path) if name.endswith(CSV) else _read_arrow(path, is_parquet=name.endswith(PARQUET))
    except CalirareError:
        raise
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        ValueError,
        EOFError,
        zlib.error,
    ) as error:
        known = explain_csv(path) if path.suffix.lower() in CSV else ""
        if known:
            raise DataError(f"{what}: {path} cannot be read: {known}") from error
        raise DataError(
            f"{what}: {path} cannot be read as its name says; it is truncated, altered, or not in UTF-8 "
            f"({first_line(error)})."
        ) from error


def _way_in(path: Path) -> str:
    """How a file of another program becomes tables; empty where nobody knows."""
    ending = path.suffix.lower()
    if ending in (".xlsx", ".xls", ".ods", ".numbers"):
        return " Save the sheet as CSV."
    if ending in (".graphml", ".gml", ".gexf"):
        return f" In Python: calirare.from_networkx(networkx.read_{ending[1:]}({str(path)!r}), label=…, rare=…)."
    if ending in (".db", ".sqlite", ".sqlite3", ".duckdb"):
        return f" Name a table of the database: {'duckdb' if ending == '.duckdb' else 'sqlite'}:///{path}#TABLE."
    if ending == ".json":
        return " Write one object per line, as .jsonl."
    return ""


def _read_arrow(path: Path, is_parquet: bool) -> pl.DataFrame:
    """Read by Arrow's own library: given a damaged file it raises, where polars 2.1 can end the process."""
    pa, _ = import_arrow()
    try:
        table = read_parquet(path) if is_parquet else read_feather(path)
        table.validate(full=True)
        return pl.from_arrow(without_wide_decimals(table), rechunk=False)  # type: ignore[return-value]
    except (pa.ArrowException, MemoryError) as error:  # of many built-in kinds
        raise OSError(first_line(error)) from error


def _convert(table: Any, what: str) -> pl.DataFrame:
    try:
        if isinstance(table, pl.DataFrame):
            return table
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table), strict=False)
        if type(table).__module__.split(".")[0] == "pandas":
            return _from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(without_wide_decimals(table) if hasattr(table, "set_column") else table)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        NotImplementedError,  # of Arrow, which has no complex numbers
        TypeError,
        ValueError,
    ) as error:
        raise InputError(f"{what} cannot be turned into a table: {first_line(error)}.") from error
    raise InputError(
        f"{what} must be a path, or a polars, pandas or Arrow frame, or a dict of columns; got {type(table).__name__}."
    )


def _from_pandas(table: Any) -> pl.DataFrame:
    """Column by column, so that a column of mixed objects (ids, say) becomes text instead of an error."""
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
            columns.append(pl.from_pandas(column).alias(str(name)))  # type: ignore[attr-defined]
    return pl.DataFrame(columns)


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def pick_column(columns: Sequence[str], wanted: str, argument: str, what: str) -> str:
    """`wanted` if it is one of the columns, else an error that names the nearest."""
    if wanted in columns:
        return wanted
    raise ColumnError(f"{argument} must be a column of the {what} table; got {wanted!r}: {nearest(wanted, columns)}")


def check_fitted_columns(
    frame: pl.DataFrame, needed: Sequence[str], what: Literal["nodes", "edges"], lacking: Sequence[str] = ()
) -> None:
    """Refuse a table that lacks columns which a model was fitted on, and say what is near.

    Args:
        frame: All tables of the kind in one.
        needed: The columns.
        what: The kind.
        lacking: Names of tables that the model was fitted on and that were not given: there the columns may stand.
    """
    missing = [name for name in needed if name not in frame.columns]
    if not missing:
        return
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    said = (
        f"the {what} table must have the columns that the model was fitted on; {len(missing)} "
        f"{'is' if len(missing) == 1 else 'are'} missing: {missing[:_MOST_NAMED]}{more}"
    )
    if lacking:
        given = " ".join(f"--{what} {quote(f'{name}=FILE')}" for name in lacking)
        raise ColumnError(f"{said}. The model was fitted on further tables of {what}; give them too ({given}).")
    hint = did_you_mean(missing[0], [name for name in frame.columns if name not in needed])
    it = "it" if len(missing) == 1 else "them"
    raise ColumnError(f"{said}{f'; {hint}' if hint else '.'} Add {it}, empty where nothing is known.")
