"""Text that means numbers, dates or yes and no: `1.234,56`, `$1,234.50`, `12 %`, `3 kg`, `31.12.2024 18:05`, `true`.

How a column is to be read is decided once, from all of its values, and kept as a *style*: plain data with which the next
table is read the same way.

    {}                           plain numbers, or words
    {"decimal": ","}             numbers with this decimal sign; the other of . and , groups thousands
    {"date": "%d.%m.%Y"}         dates, with or without a time of day; forms of one column are joined by |
    {"truth": True}              true/false, yes/no, t/f, y/n
    {"clock": True}              times of day and spans, 18:05, 6:05:30 pm, 1h 05m, in hours
    {…, "unit": "mb|gb"}         numbers with units behind them, in the first; "/ 5" of marks such as 4.3 / 5
    {…, "missing": "k.A."}       with this word where a number or a date is missing; several are joined by |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.data.tables.cells.date_text import date_style, like_dates, read_dates, without_never
from calirare.data.tables.cells.number_text import (
    are_spans,
    decimal_signs,
    is_clock,
    is_compared,
    mixed_amounts,
    points_group,
    read_clock,
    read_numbers,
    units_of,
    without_units,
)
from calirare.data.tables.cells.versions import are_versions
from calirare.data.tables.libraries import pl

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "-", "?", "<na>", "nat", "#n/a")
"""What people write for a missing number. In a column of words these stay words: NA is also Namibia."""
NOT_KNOWN = (
    *("n.a.", "unknown", "not known", "unlabelled", "unlabeled"),
    *("k.a.", "k. a.", "keine angabe", "unbekannt", "nicht bekannt"),
    *(
        "inconnu",
        "inconnue",
        "desconocido",
        "desconocida",
        "desconhecido",
        "sconosciuto",
        "onbekend",
        "okänd",
        "nieznany",
    ),
    *("não informado", "não informada", "sem informação", "sin datos", "non renseigné", "non communiqué", "неизвестно"),
    *("不明", "未知", "未回答", "알 수 없음"),
)
"""In lower case, what people write for what nobody knows, be it a label or a number."""
_GAPS = (
    *NOT_KNOWN, "missing", "not available", "not applicable", "not given", "not stated", "not measured", "not recorded",
    "not reported", "undisclosed", "withheld", "n.v.", "n. v.", "nicht vorhanden", "nicht erhoben", "nicht gemessen",
    "nicht angegeben", "entfällt", "fehlt", "non disponible", "no disponible", "--", "---", "–", "—", ".", "..",
    "...",
)  # fmt: skip
"""Of these several may stand among numbers."""
SPREADSHEET_ERRORS = ("#ref!", "#div/0!", "#value!", "#name?", "#num!", "#null!", "#n/a", "#error!")
WHOLE_WITH_POINT = r"^([+-]?\d+)\.0+$"
"""Matches 7.0, as programs write a 7 beside gaps; the group is the 7."""
STRANGE_SHARE = 0.01
"""Up to this share of a column may be unreadable; it counts as missing, with a warning."""

_MOST_GAPS = 3
"""Different words that may stand where numbers are missing."""
_MOST_CODES = 20
"""In a column with at most this many different values, a word among numbers is a code like the others, unless it says that nobody knows."""

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
_CODE = r"^[+-]?0\d|^\+\d{6,}"
_WIDE = r"[０-９٠-٩۰-۹￥]"
_NARROW = {
    **{sign: str(k % 10) for k, sign in enumerate("０１２３４５６７８９٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹")},
    **dict(zip("．，－＋％￥：／（）　٫٬", ".,-+%¥:/() .,", strict=True)),
}
"""Digits of full width and of Arabic scripts, and the signs among them."""
_PHONE, _GROUPS = r"^\+\d{1,3}[\s/(-][\d\s()/-]{6,}$", r"^\+\d{1,3}(\s\d{3})+$"
"""Matches +49 151 2345678; and +12 345 678, which may be a number."""


@dataclass(frozen=True)
class Understood:
    """What a text column means.

    Args:
        kind: `"number"`, `"time"`, `"truth"` or `"words"`.
        style: With which the next table is read the same way; empty for words and plain numbers.
    """

    kind: str
    style: dict[str, Any]


def known_text(text: pl.Series) -> pl.Series:
    """Without spaces around it and with plain digits, null where it says that a value is missing."""
    if text.str.contains(_WIDE).any():
        text = text.str.replace_many(_NARROW)
    clean = pl.col("text").str.strip_chars()
    said = text.to_frame("text").select(pl.when(~clean.str.to_lowercase().is_in(MISSING_WORDS)).then(clean))
    return said.to_series().alias(text.name)


def understand(text: pl.Series) -> Understood:
    """What the values mean, looking at all of them. Numbers with leading zeros and phone numbers are codes: words.

    >>> import polars as pl
    >>> understand(pl.Series(["1.234,56", "7,5"])), understand(pl.Series(["$1,234.50", "-"]))
    (Understood(kind='number', style={'decimal': ','}), Understood(kind='number', style={}))
    >>> understand(pl.Series(["31.12.2024 18:05", "01.02.2024"])).style, understand(pl.Series(["007", "12"])).kind
    ({'date': '%d.%m.%Y'}, 'words')
    """
    known = text if _all_plain(text) else known_text(text).drop_nulls()
    if known is text or _all_plain(known):  # the usual cases, without a further look
        if _any_code(known):
            return Understood("words", {})
        return Understood("number", {"decimal": ","} if points_group(known) else {})
    lower = known.head(1000).str.to_lowercase()
    truths = [*TRUE_WORDS, *FALSE_WORDS]
    if lower.is_in(truths).all() and lower.is_in(TRUE_WORDS).any() and lower.is_in(FALSE_WORDS).any():
        if known.str.to_lowercase().is_in(truths).all():
            return Understood("truth", {"truth": True})
    good = known.filter(~known.str.to_lowercase().is_in(SPREADSHEET_ERRORS))
    words = _missing_words(good)
    if words:
        found = _numbers_or_dates(good.filter(~good.is_in(words)))
        if found.kind != "words":
            return Understood(found.kind, {**found.style, "missing": "|".join(words)})
    return _numbers_or_dates(good)


def words_for_gaps(style: Mapping[str, Any]) -> list[str]:
    """The words that stand where a value is missing."""
    return str(style["missing"]).split("|") if "missing" in style else []


def what_is_mixed(column: pl.Series) -> str:
    """What a column of numbers mixes that should not be mixed (see `mixed_amounts`); "" for none, and where it holds no text."""
    return "" if column.dtype != pl.String else mixed_amounts(known_text(column).drop_nulls())


def _any_code(known: pl.Series) -> bool:
    """Whether a text is no number, though it looks like one: it has leading zeros, or is the number of a phone or a version.

    >>> import polars as pl
    >>> [_any_code(pl.Series([one])) for one in ("007", "+49 151 2345678", "+12 345 678", "+4,5")]
    [True, True, False, False]
    """
    codes = known.str.contains(_CODE) | (known.str.contains(_PHONE) & ~known.str.contains(_GROUPS))
    return bool(codes.any()) or are_versions(known)


def _missing_words(good: pl.Series) -> list[str]:
    """The word that stands among many numbers or dates, and too often for a slip; or a few that say that something is missing.

    >>> import polars as pl
    >>> _missing_words(pl.Series([*map(str, range(30)), "missing"])), _missing_words(pl.Series(["1", "2", "other"]))
    (['missing'], [])
    >>> _missing_words(pl.Series(["1", "2", "k.A."])), _missing_words(pl.Series([*map(str, range(30)), "low", "high"]))
    (['k.A.'], [])
    >>> _missing_words(pl.Series(["1", "2", "3", "missing", "entfällt"]))
    ['entfällt', 'missing']
    """
    words = good.filter(~good.str.contains(r"\d"))
    if not STRANGE_SHARE * good.len() < words.len() <= 0.5 * good.len() or words.n_unique() > _MOST_GAPS:
        return []
    found, many = sorted(words.unique().to_list()), good.n_unique() > _MOST_CODES
    not_known = all(word.lower() in (NOT_KNOWN if len(found) == 1 else _GAPS) for word in found)
    return found if not_known or (many and len(found) == 1 and "|" not in found[0]) else []


def _numbers_or_dates(good: pl.Series) -> Understood:
    """What texts mean that do not say yes and no."""
    enough = (1 - STRANGE_SHARE) * good.len()
    if not good.len():
        return Understood("words", {})
    dates = without_never(good).drop_nulls()
    if like_dates(dates) and (style := date_style(dates, (1 - STRANGE_SHARE) * dates.len())):
        return Understood("time", style)
    if is_clock(good.head(1000)).all() and is_clock(good).sum() >= enough:
        return Understood("number", {"clock": True})
    if are_spans(good, enough):
        return Understood("number", {"clock": True})
    if _any_code(good):
        return Understood("words", {})
    if _only_compared(good):
        return Understood("words", {})
    units = ""
    found = _number_style(good, enough)
    if found is None and (units := units_of(good, enough)):
        found = _number_style(without_units(good, units)[0], enough)
    if found is None:
        return Understood("words", {})
    return Understood("number", {**found, "unit": units} if units else found)


def _only_compared(good: pl.Series) -> bool:
    """Whether texts say little more than <10 and >10, which would be one number; beside many numbers >90 is the end of a scale.

    >>> import polars as pl
    >>> _only_compared(pl.Series(["<10", ">10", "10"])), _only_compared(pl.Series([*map(str, range(90)), *[">90"] * 200]))
    (True, False)
    """
    compared = is_compared(good)
    return bool(2 * compared.sum() > good.len()) and good.filter(~compared).n_unique() <= _MOST_CODES


def _number_style(good: pl.Series, enough: float) -> dict[str, Any] | None:
    """How the numbers are written; None where they are none."""
    for decimal in decimal_signs(good):
        if read_numbers(good, decimal).is_not_null().sum() >= enough:
            return {"decimal": ","} if decimal == "," else {}
    return None


def read_styled(text: pl.Series, style: Mapping[str, Any]) -> tuple[pl.Series, pl.Series]:
    """The values (float64, truth values or times), and the texts that are neither one nor a sign of a missing value.

    Where the style reads nothing at all (another export, another form of the same dates) the text is understood again.
    """
    if style.get("decimal", ".") == "." and not style.keys() & {"date", "truth", "clock"}:
        numbers = _plain_numbers(text)
        if numbers is not None:
            return numbers, text.clear()
    known = known_text(text)
    if "missing" in style:
        known = known.set(known.is_in(words_for_gaps(style)), None)
    if "date" in style:
        known = without_never(known)
    values = _read(known, style)
    if values.null_count() == values.len() and known.null_count() < known.len():
        values = _read(known, understand(text).style)
    return values.alias(text.name), known.filter(values.is_null() & known.is_not_null())


def _all_plain(text: pl.Series) -> bool:
    """Whether there are texts, and all of them plain numbers; a look at the first ones is often enough."""
    return text.null_count() < text.len() and all(_plain_numbers(some) is not None for some in (text.head(100), text))


def _plain_numbers(text: pl.Series) -> pl.Series | None:
    """Float64, or None where a text is no plain number: one with spaces around it, say, or NaN, which means missing."""
    numbers = text.cast(pl.Float64, strict=False)
    no_numbers = np.count_nonzero(np.isnan(numbers.to_numpy()))  # of gaps, of words, or NaN
    return numbers if no_numbers == text.null_count() else None


def _read(known: pl.Series, style: Mapping[str, Any]) -> pl.Series:
    if "date" in style:
        return read_dates(known, style["date"])
    if style.get("truth"):
        lower = known.str.to_lowercase()
        return lower.is_in(TRUE_WORDS).set(~lower.is_in([*TRUE_WORDS, *FALSE_WORDS]), None)
    if style.get("clock"):
        return read_clock(known)
    if "unit" in style:
        plain, size = without_units(known, style["unit"])
        return read_numbers(plain, style.get("decimal", ".")) * size
    return read_numbers(known, style.get("decimal", "."))
