"""Text that means numbers, dates or yes and no: `1.234,56`, `$1,234.50`, `12 %`, `31.12.2024 18:05`, `true`.

How a column is to be read is decided once, from all of its values, and kept as a *style*: plain data with which the next
table is read the same way.

    {}                           plain numbers, or words
    {"decimal": ","}             numbers with this decimal sign; the other of . and , groups thousands
    {"date": "%d.%m.%Y"}         dates, with or without a time of day; forms of one column are joined by |
    {"truth": True}              true/false, yes/no, t/f, y/n
    {"clock": True}              times of day and spans, 18:05, 6:05:30 pm, in hours
    {…, "missing": "k.A."}       with this word where a number or a date is missing
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.tables.libraries import import_polars

if TYPE_CHECKING:
    import polars as pl

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "-", "?", "<na>", "nat", "#n/a")
"""What people write for a missing number. In a column of words these stay words: NA is also Namibia."""
SPREADSHEET_ERRORS = ("#ref!", "#div/0!", "#value!", "#name?", "#num!", "#null!", "#n/a", "#error!")
WHOLE_WITH_POINT = r"^([+-]?\d+)\.0+$"
"""7.0, as programs write a 7 beside gaps; the group is the 7."""
STRANGE_SHARE = 0.01
"""Up to this share of a column may be unreadable; it counts as missing, with a warning."""

_MOST_CODES = 20
"""Of no more different values one word among numbers is a code among codes."""

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
_CODE = r"^[+-]?0\d|^\+\d{6,}"
_MONEY = r"(?i)[\s\u{00a0}\u{202f}'’%()$€£¥₹]|usd|eur|gbp|chf|sek|nok|dkk|jpy|cny|inr|aud|cad|\bkr\b"
_MINUS_BEHIND = r"^(\d[\d.,]*)-$"
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "mn": 1e6, "B": 1e9, "bn": 1e9, "Mrd": 1e9}
_SCALED = rf"(\d[.,]?)({'|'.join(_SCALES)})\.?$"
_GROUPED = r"^[+-]?(\d{1,3}([.,]\d{3})+|\d+)?([.,]\d*)?([eE][+-]?\d+)?$"
_COMMA_DECIMAL = r"^[+-]?(\d{1,3}(\.\d{3})+,\d+|\d+,(\d{1,2}|\d{4,})|0,\d+|\d{1,3}(\.\d{3}){2,})$"
_POINT_DECIMAL = r"^[+-]?(\d{1,3}(,\d{3})+\.\d+|\d*\.(\d{1,2}|\d{4,})|0?\.\d+|\d{1,3}(,\d{3}){2,})$"
_DATE_LIKE = r"^(\d{1,4}[-/. ](\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4})"
_CLOCK = r"^(?<h>\d{1,3}):(?<m>[0-5]\d)(?::(?<s>[0-5]\d(?:\.\d+)?))?(?: ?(?<half>[AaPp][Mm]))?$"
_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y",
    "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y",
)  # fmt: skip
_MOST_FORMS = 3
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S%z", " %H:%M:%S%.f%z")


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
    """Without spaces around it, null where it says that a value is missing."""
    pl = import_polars()
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
        return Understood("words", {}) if known.str.contains(_CODE).any() else Understood("number", {})
    lower = known.head(1000).str.to_lowercase()
    truths = [*TRUE_WORDS, *FALSE_WORDS]
    if lower.is_in(truths).all() and lower.is_in(TRUE_WORDS).any() and lower.is_in(FALSE_WORDS).any():
        if known.str.to_lowercase().is_in(truths).all():
            return Understood("truth", {"truth": True})
    good = known.filter(~known.str.to_lowercase().is_in(SPREADSHEET_ERRORS))
    word = _missing_word(good)
    if word is not None:
        found = _numbers_or_dates(good.filter(good != word))
        if found.kind != "words":
            return Understood(found.kind, {**found.style, "missing": word})
    return _numbers_or_dates(good)


def _missing_word(good: pl.Series) -> str | None:
    """The one word that stands among many numbers or dates, and too often for a slip: `k.A.`, `unbekannt`, `missing`.

    >>> import polars as pl
    >>> _missing_word(pl.Series([*map(str, range(30)), "k.A.", "k.A."])), _missing_word(pl.Series(["1", "2", "other"]))
    ('k.A.', None)
    """
    words = good.filter(~good.str.contains(r"\d"))
    if not STRANGE_SHARE * good.len() < words.len() <= 0.5 * good.len() or words.n_unique() > 1:
        return None
    return str(words[0]) if good.n_unique() > _MOST_CODES else None


def _numbers_or_dates(good: pl.Series) -> Understood:
    """What texts mean that do not say yes and no."""
    enough = (1 - STRANGE_SHARE) * good.len()
    if not good.len():
        return Understood("words", {})
    if like_dates(good) and (style := _date_style(good, enough)):
        return Understood("time", style)
    if good.head(1000).str.contains(_CLOCK).all() and good.str.contains(_CLOCK).sum() >= enough:
        return Understood("number", {"clock": True})
    if good.str.contains(_CODE).any():
        return Understood("words", {})
    for decimal in _decimal_signs(good):
        if read_numbers(good, decimal).is_not_null().sum() >= enough:
            return Understood("number", {"decimal": ","} if decimal == "," else {})
    return Understood("words", {})


def like_dates(known: pl.Series) -> bool:
    """Whether most of the first texts look like dates of some form."""
    some = known.head(1000)
    return bool(some.str.contains(_DATE_LIKE).sum() > 0.5 * some.len())


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
        known = known.set(known == style["missing"], None)
    values = _read(known, style)
    if values.null_count() == values.len() and known.null_count() < known.len():
        values = _read(known, understand(text).style)
    return values.alias(text.name), known.filter(values.is_null() & known.is_not_null())


def _all_plain(text: pl.Series) -> bool:
    """Whether there are texts, and all of them plain numbers; a look at the first ones is often enough."""
    return text.null_count() < text.len() and all(_plain_numbers(some) is not None for some in (text.head(100), text))


def _plain_numbers(text: pl.Series) -> pl.Series | None:
    """Float64, or None where a text is no plain number: one with spaces around it, say, or NaN, which means missing."""
    numbers = text.cast(import_polars().Float64, strict=False)
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
    return read_numbers(known, style.get("decimal", "."))


def read_clock(known: pl.Series) -> pl.Series:
    """Float64 hours, null where the text is no time of day and no span.

    >>> import polars as pl
    >>> read_clock(pl.Series(["18:30", "6:30:36 pm", "37:00", "soon"])).to_list()
    [18.5, 18.51, 37.0, None]
    """
    pl = import_polars()
    parts = known.str.extract_groups(_CLOCK).struct
    hours, minutes, seconds = (parts.field(name).cast(pl.Float64, strict=False) for name in ("h", "m", "s"))
    half = parts.field("half").str.to_lowercase()
    hours = hours.zip_with(half.is_null(), hours % 12 + 12.0 * (half == "pm").cast(pl.Float64))
    return hours + minutes / 60 + seconds.fill_null(0.0) / 3600


def read_numbers(known: pl.Series, decimal: str = ".") -> pl.Series:
    """Float64, null where the text is no number: currency and percent signs, grouped thousands, (1) and 1- for -1, 2K for 2000.

    >>> import polars as pl
    >>> read_numbers(pl.Series(["€ 1.234,5", "12,5%", "(3)", "7,5-", "1,2 Mio. €", "x"]), ",").to_list()
    [1234.5, 0.125, -3.0, -7.5, 1200000.0, None]
    """
    pl = import_polars()
    plain = known.cast(pl.Float64, strict=False)
    if decimal == "." and plain.null_count() == known.null_count():
        return plain
    core, behind, scale = _core(known)
    core = core.set(~core.str.contains(_GROUPED) | ~core.str.contains(r"\d"), None)
    core = core.set(~_grouped_well(core, decimal), None)
    core = core.str.replace_all("." if decimal == "," else ",", "", literal=True)
    numbers = core.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False) * scale
    numbers = numbers.zip_with(~known.str.ends_with("%"), numbers / 100)
    numbers = numbers.zip_with(~(known.str.contains(r"^\(.*\)$") | behind), -numbers)
    # What is plain in every convention keeps the digits of the plain reading ("inf" among them).
    return numbers if decimal == "," else plain.zip_with(plain.is_not_null(), numbers)


def _core(known: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """The digits and their signs, where a minus stood behind them, as ledgers write it, and what they count: 12K thousands."""
    core = known.str.replace_all(_MONEY, "")
    scale = core.str.extract(_SCALED, 2).replace_strict(_SCALES, default=1.0, return_dtype=import_polars().Float64)
    core = core.str.replace(_SCALED, "$1")
    return core.str.replace(_MINUS_BEHIND, "$1"), core.str.contains(_MINUS_BEHIND), scale


def _grouped_well(core: pl.Series, decimal: str) -> pl.Series:
    """Whether the other sign only ever groups three digits, before the decimal sign."""
    group, point = (r"\.", ",") if decimal == "," else (",", r"\.")
    return core.str.contains(rf"^[+-]?(\d{{1,3}}({group}\d{{3}})+|\d*)({point}\d*)?([eE][+-]?\d+)?$")


def _decimal_signs(known: pl.Series) -> tuple[str, ...]:
    """Decimal signs to try, the likelier first. Where all is ambiguous (1,234) the comma groups thousands."""
    if not known.str.contains(",", literal=True).any():
        return (".",) if not known.str.contains(r"\.\d{3}\.").any() else (",", ".")
    core, _, _ = _core(known)
    comma, point = core.str.contains(_COMMA_DECIMAL).sum(), core.str.contains(_POINT_DECIMAL).sum()
    return (",", ".") if comma > point else (".", ",")


def read_dates(known: pl.Series, date: str) -> pl.Series:
    """Moments in UTC, null where the text is of none of the forms; a time of day may follow, with an offset."""
    pl = import_polars()
    plain = pl.col("text").str.replace(r"(\d)T(\d)", "$1 $2").str.replace(r"(\d)\s?(Z|UTC|GMT)$", "$1")
    text = known.to_frame("text").select(plain.str.replace_all("  ", " ")).to_series()
    found, rest = pl.Series("time", [None], dtype=pl.Datetime("us")).new_from_index(0, known.len()), text
    clocks = _CLOCKS if text.str.contains(":", literal=True).any() else _CLOCKS[:1]
    for form, clock in product(date.split("|"), clocks):
        if rest.null_count() == rest.len():
            break
        moments = rest.str.to_datetime(form + clock, strict=False, exact=True, time_unit="us")
        if moments.null_count() == rest.len():
            continue
        if clock.endswith("%z"):
            moments = moments.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        understood = moments.is_not_null()
        found, rest = moments.zip_with(understood, found), rest.set(understood, None)
    sane = found.to_frame("time").select(pl.when(pl.col("time").dt.year().is_between(1800, 2200)).then(pl.col("time")))
    return sane.to_series().alias(known.name)


def _date_style(known: pl.Series, enough: float) -> dict[str, Any]:
    """The form that reads most, and where that is not enough the one that reads most of the rest, and so on.

    Of forms that read the same the first is taken, so 01/02/2024 is the first of February. Forms that would read one text as
    two different days do not go together: which of them wrote it nobody can tell.

    >>> import polars as pl
    >>> _date_style(pl.Series(["2024-01-31", "31.01.2024"]), 2), _date_style(pl.Series(["12/31/2024", "31/12/2024"]), 2)
    ({'date': '%Y-%m-%d|%d.%m.%Y'}, {})
    """
    forms: list[str] = []
    rest = known
    while known.len() - rest.len() < enough:
        form, unread = _best_form(rest)
        if not form or len(forms) == _MOST_FORMS or any(_at_odds(form, other) for other in forms):
            return {}
        forms.append(form)
        rest = rest.filter(unread)
    return {"date": "|".join(forms)} if forms else {}


def _best_form(known: pl.Series) -> tuple[str, pl.Series]:
    """The form that reads most, and where it reads nothing; empty where none reads a fifth."""
    sample = known.head(200)
    best, unread, fewest = "", known.is_null(), 0.8 * known.len()
    for form in _DATES:
        moments = read_dates(sample, form)
        if sample.len() - moments.null_count() < 0.1 * sample.len():
            continue
        if sample.len() < known.len():
            moments = read_dates(known, form)
        if moments.null_count() < fewest:
            best, unread, fewest = form, moments.is_null(), moments.null_count()
        if not fewest:
            break
    return best, unread


def _at_odds(one: str, other: str) -> bool:
    """Whether both read the same texts, as other days."""
    return one != other and re.sub(r"%[dm]", "", one) == re.sub(r"%[dm]", "", other)
