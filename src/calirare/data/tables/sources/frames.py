"""Bring any table into polars: CSV, Parquet and Arrow files, polars, pandas and Arrow frames, columns in a dict."""

from __future__ import annotations

import io
import logging
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calirare.data.tables.libraries import import_arrow, pl
from calirare.data.tables.sources.addresses import is_address
from calirare.data.tables.sources.arrow_files import read_feather, read_parquet, without_wide_decimals
from calirare.data.tables.sources.csv_mistakes import (
    NUMBER_OR_DATE,
    drop_repeated_names,
    drop_total,
    explain_csv,
    refuse_titles,
)
from calirare.data.tables.sources.encodings import as_utf8, words_beyond_ascii
from calirare.data.tables.sources.limits import check_text_file, check_width, unpack
from calirare.data.tables.sources.shard_files import CSV, ENDINGS, LINES, PARQUET, find_shards, is_sharded
from calirare.data.tables.sources.warehouse import read_address
from calirare.errors import CalirareError, ColumnError, DataError, InputError, first_line, nearest

logger = logging.getLogger(__name__)

_SEPARATOR = re.compile(r"^\ufeff?\"?sep=(.|\\t)\"?$", re.IGNORECASE)
_MOST_REMARKS, _LONGEST_LINE, _HEAD = 100, 1 << 20, 1 << 14


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
        return _read_text(path) if name.endswith(CSV) else _read_arrow(path, is_parquet=name.endswith(PARQUET))
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


def _read_text(path: Path) -> pl.DataFrame:
    """A CSV file in UTF-8, or in what is plainly another encoding."""
    packed = path.name.lower().endswith(".gz")
    content = unpack(path) if packed else None
    try:
        return _read_csv(path, content)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        recoded, encoding = as_utf8(path.read_bytes() if content is None else content)
        if not encoding:
            raise
    words = words_beyond_ascii(recoded)
    some = f": {', '.join(words)}" if words else ""
    logger.warning("%s is read as %s%s. If letters are wrong, save it as UTF-8.", path, encoding, some)
    return _read_csv(path, recoded)


def _read_csv(path: Path, content: bytes | None) -> pl.DataFrame:
    if content is not None:
        source: Any = io.BytesIO(content)
        head, (remarks, first_line) = content[:_HEAD], _first_lines(io.BytesIO(content))
    else:
        check_text_file(path)
        source = path
        with path.open("rb") as stream:
            remarks, first_line = _first_lines(stream)
            stream.seek(0)
            head = stream.read(_HEAD)
    if not remarks:
        refuse_titles(head.decode("utf-8-sig", errors="replace").split("\n")[:-1], path)
    check_width([""] * (1 + max(first_line.count(sign) for sign in ",;\t|")), str(path))
    separator = max((",", ";", "\t", "|"), key=first_line.count)
    if separator not in first_line and " " in first_line.strip():
        separator = " "
    # Everything stays text: ids keep their bytes, and what the other columns mean is judged by all of their values.
    named = not _is_data(first_line.split(separator))
    frame = pl.read_csv(
        source, separator=separator, infer_schema=False, glob=False, has_header=named, skip_lines=len(remarks)
    )
    if not named:
        frame.columns = _names_in(remarks, separator, frame.width, path)
    # A blank line is read as a row of gaps; nobody means a node by it.
    frame = drop_total(drop_repeated_names(frame.filter(~pl.all_horizontal(pl.all().is_null())), path), path)
    # As the columns of a file without names; pandas leaves one nameless when it writes its index.
    return frame.rename({name: f"column_{k}" for k, name in enumerate(frame.columns, start=1) if not name.strip()})


def _first_lines(stream: Any) -> tuple[list[str], str]:
    """Remarks that stand above a table and its first line; a `#id,…` is a line of names.

    Remarks begin with #, or say `sep=;`, as spreadsheets want to be told.
    """
    lines: list[str] = []
    while len(lines) < _MOST_REMARKS:
        line = stream.readline(_LONGEST_LINE)
        # polars replaces what is not UTF-8 in names without a word; a line that was cut may end inside a character.
        lines.append(line.decode("utf-8", errors="strict" if len(line) < _LONGEST_LINE else "replace").rstrip("\r\n"))
        if not _is_remark(lines[-1]):
            break
    *remarks, first = lines
    if not remarks or _is_remark(first):
        return [], lines[0]
    names = (
        len(remarks) == 1
        and not _SEPARATOR.match(remarks[0])
        and any(sign in remarks[0] for sign in ",;\t|")
        and not _is_data(_cells(first))
    )
    return ([], remarks[0]) if names else (remarks, first)


def _is_remark(line: str) -> bool:
    return line.startswith("#") or _SEPARATOR.match(line) is not None


def _cells(line: str) -> list[str]:
    return line.split(max((",", ";", "\t", "|", " "), key=line.count))


def _names_in(remarks: list[str], separator: str, width: int, path: Path) -> list[str]:
    """The names that the last remark gives the columns, else numbered ones."""
    names = remarks[-1].lstrip("# ").strip().split(separator) if remarks else []
    if len(names) == width == len({name.strip() for name in names}):
        return [name.strip() for name in names]
    logger.warning("%s begins with numbers and no names; its columns are called column_1, column_2, …", path)
    return [f"column_{place}" for place in range(1, width + 1)]


def _is_data(cells: list[str]) -> bool:
    """Whether a first line is a row of numbers and dates rather than names; 0, 1, 2, … are names that a program gave.

    >>> _is_data(["6", "2", "4", "1289241911.7"]), _is_data(["id", "0", "1"]), _is_data(["0", "1", "2"])
    (True, False, False)
    """
    texts = [cell.strip().strip("\"'") for cell in cells]
    if len(texts) < 2 or not all(NUMBER_OR_DATE.fullmatch(text) for text in texts):
        return False
    return texts not in ([str(k + first) for k in range(len(texts))] for first in (0, 1))


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


def check_fitted_columns(frame: pl.DataFrame, needed: Sequence[str], what: str) -> None:
    """Refuse a table that lacks columns which a model was fitted on, and name the nearest of the others."""
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        it = "it" if len(missing) == 1 else "them"
        hint = nearest(missing[0], [name for name in frame.columns if name not in needed])
        raise ColumnError(
            f"the {what} table must have the columns that the model was fitted on; {len(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing: {missing[:5]}; {hint} "
            f"Add {it}, empty where nothing is known, or fit again without {it}."
        )
