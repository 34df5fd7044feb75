"""Mistakes in CSV files, and what to do: another encoding, a row with too many cells, titles above the names, names twice, totals."""

from __future__ import annotations

import csv
import io
import logging
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TextIO

from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.encodings import as_utf8
from calirare.errors import DataError

logger = logging.getLogger(__name__)

NUMBER_OR_DATE = re.compile(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T][\d:.]+Z?)?")
_SAVE = "Save it as UTF-8 (in a spreadsheet: CSV UTF-8), or"
_TOTALS = {
    "total", "totals", "grand total", "sum", "summe", "gesamt", "gesamtsumme", "insgesamt", "total général", "total general", "totale",
    "totaal", "suma", "soma", "razem", "summa", "итого", "всего", "合計", "总计", "總計", "합계",
}  # fmt: skip
"""What the row is called that adds up the others."""
_ENCODINGS = (
    "ENCODING: WINDOWS-1252 in the West, WINDOWS-1250 in Central Europe, WINDOWS-1251 for Cyrillic, CP932 in Japan, GB18030 in China, "
    "IBM850 of DOS, MACINTOSH of old Macs"
)


def explain_csv(path: Path) -> str:
    """The mistake in one sentence and the way out; empty where it is none of these."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return _wrong_row(lines)
    except UnicodeDecodeError as error:
        recoded, encoding = as_utf8(path.read_bytes())
        if encoding:
            return _wrong_row(io.StringIO(recoded.decode(), newline=""))
        byte = error.object[error.start]
        return f"it is not in UTF-8 (byte 0x{byte:02x}), nor plainly in Windows-1252. {_SAVE}: {_convert(path)} ({_ENCODINGS})."


def _convert(path: Path) -> str:
    return f"iconv -f ENCODING -t UTF-8 {quote(str(path))} > {quote(path.stem + '-utf8' + path.suffix)}"


def _wrong_row(lines: TextIO) -> str:
    """What is wrong with the first row that has too many cells or a quotation mark that is not closed where its cell ends."""
    first = lines.readline()
    sign = max(",;\t|", key=first.count)
    width = len(next(csv.reader([first], delimiter=sign), []))
    rows = csv.reader(lines, delimiter=sign, strict=True)
    begins = 2
    try:
        for row in rows:
            if len(row) > width:
                return (
                    f"line {rows.line_num + 1:,} has {len(row)} cells, the first line {width}. Is a {sign!r} inside a cell that has "
                    "no quotation marks?"
                )
            begins = rows.line_num + 2
    except csv.Error as error:
        if "field limit" in str(error) and rows.line_num + 1 == begins:
            return ""  # a long cell of one line may be as it should
        return f"in line {begins:,} a cell begins with a quotation mark that is not closed where the cell ends. Is one missing?"
    return ""


def refuse_titles(lines: Sequence[str], path: Path) -> None:
    """Refuse a file whose first lines are titles: what follows them would be read as rows under wrong names.

    Args:
        lines: The first lines of the file.
        path: The file.
    """
    place = names_below_titles(lines)
    if not place:
        return
    plain = path.suffix.lower() != ".gz"
    copy = f", for instance: tail -n +{place} {quote(str(path))} > {quote(path.stem + '-table' + path.suffix)}"
    raise DataError(
        f"{path} has titles above its table: line {place} looks like the names of the columns ({lines[place - 1].strip()[:80]}). "
        f"Delete the lines above it{copy if plain else '.'}"
    )


def names_below_titles(lines: Sequence[str]) -> int:
    """Number of the line that names the columns under titles, the first being 1; 0 where there are no titles.

    A title fills fewer cells than the table has columns. It is one where below it a line fills them all, with words that
    differ. Where programs pad it with empty cells it fills the first alone, of three or more.

    >>> names_below_titles(["Accounts, January 2024", "", "id,age,risk,fraud", "a1,30,low,no", "a2,,low,yes"])
    3
    >>> names_below_titles(["id,age,note", "a1,30", "a2,31,late", "a3,32"]), names_below_titles([",fraud", "a,no"])
    (0, 0)
    """
    text = "\n".join(lines)
    sign = max(",;\t|", key=text.count)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=sign)]
    except csv.Error:
        return 0
    widths = Counter(len(row) for row in rows if any(row))
    width = max(widths, key=lambda size: (widths[size], size), default=0)
    if len(rows) != len(lines) or width < 2 or not _is_title(rows[0], width):
        return 0
    for place, row in enumerate(rows[:-1], start=1):
        names = set(row)
        if len(row) == len(names) == width and all(row) and not any(NUMBER_OR_DATE.fullmatch(name) for name in row):
            return place
        if sum(map(bool, row)) >= width:
            return 0
    return 0


def _is_title(row: list[str], width: int) -> bool:
    if not row or not row[0]:
        return False
    return len(row) < width or (width >= 3 and not any(row[1:]))


def warn_of_short_rows(content: bytes, separator: str, width: int, path: Path) -> None:
    """Log that rows have fewer cells than there are columns: a file that was cut off, or a row that somebody split.

    Where cells may be quoted nobody looks: a separator inside of one parts nothing.
    """
    sign = separator.encode()
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if width < 2 or b'"' in content or content.count(sign) >= lines * (width - 1):
        return
    counts = [(place, line.count(sign) + 1) for place, line in enumerate(content.splitlines(), start=1) if line.strip() and not line.startswith(b"#")]  # fmt: skip
    short = [(place, cells) for place, cells in counts if cells < width]
    if short:
        place, cells = short[0]
        rows = "1 row has" if len(short) == 1 else f"{len(short):,} rows have"
        logger.warning(
            "%s: %s fewer than %d cells, the first in line %d (%d); what is not there counts as empty. Was the file cut off?",
            path, rows, width, place, cells,
        )  # fmt: skip


def drop_repeated_names(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Without rows that repeat the names of the columns, as they stand where files were put one behind the other.

    Args:
        frame: All text.
        path: Its file.
    """
    if not frame[:, 0].str.contains(frame.columns[0].strip(), literal=True).any():  # a look at one column is cheap
        return frame
    repeats = [pl.col(name).fill_null("").str.strip_chars("\ufeff ") == name.strip() for name in frame.columns]
    kept = frame.filter(~pl.all_horizontal(repeats))
    if kept.height < frame.height:
        rows = frame.height - kept.height
        logger.warning("%s: rows that repeat the names of the columns are left out, %d of them.", path, rows)
    return kept


def drop_total(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Without a last row that adds the others up, as spreadsheets have it.

    It is called a total and has cells that are empty, one of them in a column that every other row fills, or a cell that is the
    sum of the others. A firm may be called Total, and have no label.

    Args:
        frame: All text.
        path: Its file.

    >>> import polars as pl
    >>> drop_total(pl.DataFrame({"id": ["a", "Total:"], "pay": ["7", "7"], "city": ["Rome", None]}), Path("t.csv")).height
    1
    """
    if frame.height < 2:
        return frame
    cells = [(cell or "").strip() for cell in frame.row(-1)]
    called = next((cell for cell in cells if cell), "")
    if called.rstrip(" :").casefold() not in _TOTALS or all(cells):
        return frame
    if not any(_closes(column[:-1], cell) for column, cell in zip(frame.get_columns(), cells, strict=True)):
        return frame
    logger.warning("%s: the last row, %r, adds up the others and is left out.", path, called)
    return frame[:-1]


def _closes(column: pl.Series, cell: str) -> bool:
    """Whether a cell below a column is empty where no other is, or the sum of the others."""
    if not cell:
        return not column.is_null().any() and bool((column.str.strip_chars() != "").all())
    numbers = column.cast(pl.Float64, strict=False).drop_nulls()
    total = pl.Series([cell]).cast(pl.Float64, strict=False)[0]
    return total is not None and numbers.len() > 1 and math.isclose(total, numbers.sum(), rel_tol=1e-6)
