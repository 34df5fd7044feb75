"""Tables in CSV files: which sign parts the columns, whether the first line names them, what stands above it."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path
from typing import Any

from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.csv_mistakes import (
    NUMBER_OR_DATE,
    drop_repeated_names,
    drop_total,
    refuse_titles,
    warn_of_short_rows,
)
from calirare.data.tables.sources.encodings import as_utf8, words_beyond_ascii
from calirare.data.tables.sources.limits import check_text_file, check_width, unpack

logger = logging.getLogger(__name__)

_SEPARATOR = re.compile(r"^\ufeff?\"?sep=(.|\\t)\"?$", re.IGNORECASE)
_SAME_NAME = re.compile(r"._duplicated_\d+$")
"""The end that polars gives to a name that stood before."""
_MOST_COUNTED = 1 << 28
"""Bytes of a file whose cells are counted."""
_MOST_REMARKS, _LONGEST_LINE, _HEAD = 100, 1 << 20, 1 << 14


def read_csv_file(path: Path) -> pl.DataFrame:
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
    again = [name for name in frame.columns if _SAME_NAME.search(name) and name not in first_line]
    if again:
        logger.warning("%s names columns twice; the later ones are called %s.", path, ", ".join(map(repr, again)))
    if content is not None or path.stat().st_size <= _MOST_COUNTED:
        warn_of_short_rows(path.read_bytes() if content is None else content, separator, frame.width, path)
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
