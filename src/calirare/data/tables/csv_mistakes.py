"""Why a CSV file cannot be read, and what to do: another encoding, a row with too many cells."""

from __future__ import annotations

import csv
from pathlib import Path
from shlex import quote
from typing import TextIO

_SAVE = "Save it as UTF-8 (in a spreadsheet: CSV UTF-8), or"


def explain_csv(path: Path) -> str:
    """The mistake in one sentence and the way out; empty where it is none of these."""
    with path.open("rb") as stream:
        start = stream.read(2)
    if start in (b"\xff\xfe", b"\xfe\xff"):
        return f"it is in UTF-16. {_SAVE}: {_convert(path, 'UTF-16')}"
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return _too_many_cells(lines)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return f"it is not in UTF-8 (byte 0x{byte:02x}). {_SAVE}, if it came from Windows: {_convert(path, 'WINDOWS-1252')}"
    except csv.Error:  # a cell that is longer than the module takes
        return ""


def _convert(path: Path, encoding: str) -> str:
    return f"iconv -f {encoding} -t UTF-8 {quote(str(path))} > {quote(path.stem + '-utf8' + path.suffix)}"


def _too_many_cells(lines: TextIO) -> str:
    first = lines.readline()
    sign = max(",;\t|", key=first.count)
    width = len(next(csv.reader([first], delimiter=sign), []))
    rows = csv.reader(lines, delimiter=sign)
    for row in rows:
        if len(row) > width:
            return (
                f"line {rows.line_num + 1:,} has {len(row)} cells, the first line {width}. Is a {sign!r} inside a cell that has "
                "no quotation marks?"
            )
    return ""
