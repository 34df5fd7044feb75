"""One column of a table as numbers or as categories, whatever type it arrives in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import polars as pl

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""What people write for a missing number. In a column of words these stay words: NA is also Namibia."""

_DAY_IN_MICROSECONDS = 86_400_000_000.0


def import_polars() -> Any:
    """The polars module, or the line that installs it."""
    try:
        import polars
    except ImportError as error:
        raise MissingDependencyError("polars", "tables") from error
    return polars


def guess_csv_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the text columns of a CSV their types, looking at every row.

    Whole numbers, numbers, true/false and ISO dates are recognised. Numbers written with leading zeros are codes and
    stay text.
    """
    return frame.with_columns([_guess(frame[name]) for name in frame.columns])


def _guess(text: pl.Series) -> pl.Series:
    pl = import_polars()
    clean = text.str.strip_chars()
    known = clean.set(clean.str.to_lowercase().is_in(MISSING_WORDS), None)
    if known.null_count() == known.len() or known.str.contains(r"^[+-]?0\d|^\+").any():
        return text
    for kind in (pl.Int64, pl.Float64):
        numbers = known.cast(kind, strict=False)
        if numbers.null_count() == known.null_count():
            return numbers.alias(text.name)
    lower = known.str.to_lowercase()
    if lower.drop_nulls().is_in(["true", "false"]).all():
        return (lower == "true").alias(text.name)
    if known.drop_nulls().str.contains(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$").all():
        moments = known.str.slice(0, 10).str.to_date(strict=False)
        if moments.null_count() == known.null_count():
            return moments.alias(text.name)
    return text


def is_number_like(kind: Any) -> bool:
    """Whether columns of this polars type are numbers: numeric, true/false, dates and times."""
    pl = import_polars()
    return bool(kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean)


def to_numbers(column: pl.Series) -> np.ndarray:
    """The column as float64, NaN where a value is missing; dates and times in days.

    Raises:
        InputError: It holds words, infinite values, or values within values.
    """
    pl = import_polars()
    kind = column.dtype
    if kind == pl.String:
        numbers = _parse_numbers(column)
    elif kind == pl.Duration:
        numbers = column.dt.total_microseconds().cast(pl.Float64) / _DAY_IN_MICROSECONDS
    elif kind == pl.Time:
        numbers = column.cast(pl.Int64).cast(pl.Float64) / (1000 * _DAY_IN_MICROSECONDS)
    elif kind.is_temporal():
        numbers = column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64) / _DAY_IN_MICROSECONDS
    elif kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        numbers = column.cast(pl.Float64)
    else:
        raise InputError(f"column {column.name!r} must hold single values; it holds {kind}. Leave it out with types.")
    values = np.array(numbers.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise InputError(
            f"column {column.name!r} holds {infinite.size} infinite values, the first in row {infinite[0] + 1}. "
            "Replace them, or leave them empty to have them imputed."
        )
    return values


def _parse_numbers(column: pl.Series) -> pl.Series:
    pl = import_polars()
    clean = column.str.strip_chars()
    known = clean.set(clean.str.to_lowercase().is_in(MISSING_WORDS), None)
    numbers = known.cast(pl.Float64, strict=False)
    words = known.filter(numbers.is_null() & known.is_not_null())
    if words.len():
        raise InputError(
            f"column {column.name!r} must hold numbers; {words.len()} values are words, such as {words[0]!r}. "
            "Correct them, or make it categorical with types."
        )
    return numbers


def to_categories(column: pl.Series) -> pl.Series:
    """The column as text, null where a value is missing or empty; 1, 1.0 and "1" are the same category."""
    pl = import_polars()
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
