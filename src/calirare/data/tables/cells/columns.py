"""One column of a table as numbers or as categories, whatever type it arrives in."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calirare.data.tables.cells.epochs import in_seconds
from calirare.data.tables.cells.text import SPREADSHEET_ERRORS, STRANGE_SHARE, read_styled
from calirare.data.tables.libraries import pl
from calirare.errors import InputError

logger = logging.getLogger(__name__)

MAX_RARE_NAMES = 1_000
"""Most names of rare categories that are kept, to tell them from those never seen."""
_WHOLE = r"^([+-]?\d+)\.0+$"
"""A whole number as it is written where other rows of the column have gaps."""
_DAY, _HOUR = 86_400.0, 3_600.0
_SECOND_IN_MICROSECONDS = 1_000_000.0


def is_number_like(kind: Any) -> bool:
    """Whether columns of this polars type are numbers: numeric, true/false, dates and times."""
    return bool(kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean)


def to_numbers(
    column: pl.Series, style: Mapping[str, Any] | None = None, infinite: dict[str, int] | None = None
) -> np.ndarray:
    """The column as float64, NaN where a value is missing or infinite; dates and spans in days, times of day in hours.

    Args:
        column: Of any type.
        style: How its text is to be read (see `calirare.data.tables.cells.text`); default: plain numbers.
        infinite: Told how many values of the column are infinite, where some are.

    Raises:
        InputError: It holds words, or values within values.

    >>> import polars as pl
    >>> counts: dict[str, int] = {}
    >>> to_numbers(pl.Series("rate", [1.0, float("inf")]), infinite=counts), counts
    (array([ 1., nan]), {'rate': 1})
    """
    column = _read_text(column, style)
    kind = column.dtype
    if kind == pl.Duration:
        numbers = column.dt.total_microseconds().cast(pl.Float64) / (_DAY * _SECOND_IN_MICROSECONDS)
    elif kind == pl.Time:
        unit = _HOUR if (style or {}).get("clock") else _DAY  # models of earlier versions were told in days
        numbers = column.cast(pl.Int64).cast(pl.Float64) / (1000 * unit * _SECOND_IN_MICROSECONDS)
    elif kind.is_temporal():
        numbers = _seconds(column) / _DAY
    elif kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        numbers = column.cast(pl.Float64)
    else:
        raise InputError(f"column {column.name!r} must hold single values; it holds {kind}. Leave it out with types.")
    values = np.array(numbers.to_numpy(), dtype=np.float64)  # NaN for null
    endless = np.isinf(values)
    if infinite is not None and endless.any():
        infinite[column.name] = int(endless.sum())
    values[endless] = np.nan  # a division by zero says that nothing is known
    return values


def to_seconds(
    column: pl.Series,
    style: Mapping[str, Any] | None = None,
    unit: float = 1.0,
    infinite: dict[str, int] | None = None,
) -> np.ndarray:
    """Moments as float64 seconds since 1970 (UTC), NaN where missing. Numbers are times `unit`, or as `in_seconds` reads them."""
    column = _read_text(column, style)
    if column.dtype.is_temporal() and column.dtype not in (pl.Duration, pl.Time):
        return np.array(_seconds(column).to_numpy(), dtype=np.float64)
    if column.dtype == pl.Time or (style or {}).get("clock"):
        return to_numbers(column, {"clock": True}, infinite) * _HOUR
    return in_seconds(to_numbers(column, style, infinite), unit, column.name)


def _seconds(column: pl.Series) -> pl.Series:
    return column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64) / _SECOND_IN_MICROSECONDS


def _read_text(column: pl.Series, style: Mapping[str, Any] | None) -> pl.Series:
    """Text as the numbers or dates that it writes. A stray word counts as missing, with a warning; many are a mistake."""
    style = style or {}
    if "date" in style and column.dtype.is_numeric():  # whole numbers that are dates, 20240131
        column = column.cast(pl.Int64, strict=False).cast(pl.String)
    if column.dtype != pl.String:
        return column
    column, strange = read_styled(column, style)
    if not strange.len():
        return column
    words = strange.filter(~strange.str.to_lowercase().is_in(SPREADSHEET_ERRORS))
    known = column.len() - column.null_count() + strange.len()
    if words.len() > STRANGE_SHARE * known:
        what = "dates" if column.dtype.is_temporal() else "numbers"
        raise InputError(
            f"column {column.name!r} must hold {what}; {words.len()} values are words, such as {words[0]!r}. "
            "Correct them, or make it categorical with types."
        )
    logger.warning(
        "column %r: %d of %d values cannot be read, such as %r; they count as missing.",
        column.name, strange.len(), known, strange[0],
    )  # fmt: skip
    return column


def count_strange(column: pl.Series, style: Mapping[str, Any] | None) -> int:
    """How many texts of a column of numbers or dates cannot be read as such."""
    if column.dtype != pl.String:
        return 0
    return int(read_styled(column, style or {})[1].len())


def to_categories(column: pl.Series) -> pl.Series:
    """The column as text, null where a value is missing or empty; 1, 1.0 and "1" are the same category."""
    kind = column.dtype
    if kind == pl.String:
        text = column.str.strip_chars()
    elif kind == pl.Boolean:
        text = column.cast(pl.String)
    elif kind.is_float():
        column = column.set(column.is_nan(), None)
        whole = column.cast(pl.Int64, strict=False)
        as_whole = (whole.cast(kind) == column).fill_null(False)
        text = whole.cast(pl.String).zip_with(as_whole, column.cast(pl.String))
    elif kind.is_numeric() or kind.is_temporal() or kind == pl.Null:
        text = column.cast(pl.String)
    else:
        raise InputError(f"column {column.name!r} must hold single values; it holds {kind}. Leave it out with types.")
    return text.set(text == "", None).alias(column.name)


def to_codes(column: pl.Series, names: Sequence[str]) -> tuple[pl.Series, pl.Series]:
    """The categories of a column, and the place of each among known `names`, null where it is none of them; 445.0 is 445.

    >>> import polars as pl
    >>> to_codes(pl.Series(["445.0", "80", "x", None]), ["80", "445"])[1].to_list()
    [1, 0, None, None]
    """
    text, whole = to_categories(column), [_as_whole(name) for name in names]
    known, plain = (whole, text.str.replace(_WHOLE, "$1")) if len(set(whole)) == len(names) else (list(names), text)
    return text, plain.replace_strict(known, list(range(len(known))), default=None, return_dtype=pl.Int32)


def _as_whole(name: str) -> str:
    return re.sub(_WHOLE, r"\1", name)


def to_texts(column: pl.Series) -> pl.Series:
    """The same for texts, which may be lists of words."""
    return to_categories(column.list.join("; ") if column.dtype == pl.List(pl.String) else column)


def count_rare(others: pl.Series, rare: Any) -> dict[str, int]:
    """How many categories that have no column of their own were `"rare"` at fit, and how many were `"unseen"`.

    Args:
        others: Them, one per row.
        rare: Names that were too rare at fit, as a schema keeps them. Where there were more than are kept, nobody knows which
            were seen, and all count as rare.

    >>> import polars as pl
    >>> count_rare(pl.Series(["a", "b"]), ["a"]), count_rare(pl.Series(["a"]), [])
    ({'rare': 1, 'unseen': 1}, {'unseen': 1})
    """
    names = rare if isinstance(rare, list) else []
    known = others.len() if len(names) >= MAX_RARE_NAMES else int(others.is_in(names).sum()) if names else 0
    counts = {"rare": known, "unseen": others.len() - known}
    return {word: number for word, number in counts.items() if number}


def commonest(column: pl.Series) -> list[str]:
    """The categories of a column, the commonest first, equally common ones by name."""
    counts = to_categories(column).drop_nulls().alias("category").value_counts(name="count")
    return [str(name) for name in counts.sort(["count", "category"], descending=[True, False])["category"].to_list()]
