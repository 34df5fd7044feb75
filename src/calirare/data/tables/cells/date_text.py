"""Texts that are dates, with or without a time of day."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from calirare.data.tables.libraries import pl

_DATE_LIKE = (
    r"^(\d{1,4}[-/. ](\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4}|\d{4}[-/.]\d{1,2}[-/.]\d|[A-Za-z]{3,9} \d{1,2},? \d{4})"
)
_WEEKDAY = (
    r"(?i)^(mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|"
    r"monday|tuesday|tues|wednesday|thursday|thur|thurs|friday|saturday|sunday)\.?,? +(\S+ )"
)
_MONTHS = {
    "Jan": "januar|janvier|enero|gennaio|janeiro|januari", "Feb": "februar|feber|février|fevrier|févr|febrero|febbraio|fevereiro|februari",
    "Mar": "märz|maerz|mär|mrz|mars|marzo|março|maart", "Apr": "avril|avr|abril|aprile", "May": "mai|mayo|maggio|maio|mei",
    "Jun": "juni|juin|junio|giugno|junho", "Jul": "juli|juillet|juil|julio|luglio|julho", "Aug": "août|aout|agosto|augustus",
    "Sep": "sept|septembre|septiembre|settembre|setembro", "Oct": "oktober|okt|octobre|octubre|ottobre|outubro",
    "Nov": "novembre|noviembre|novembro", "Dec": "dezember|dez|décembre|decembre|déc|diciembre|dicembre|dezembro|december",
}  # fmt: skip
_FOREIGN = rf"(?i)\b({'|'.join(_MONTHS.values())})\b"
_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y",
    "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y",
)  # fmt: skip
_EAST = r"^(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일号]"
"""Matches 2024年3月5日 and 2024년 3월 5일."""
_CLOCK_BEHIND = r"(\d),?\s+(?:(?:à|às|as|at|um|kl\.?|alle|a las|om)\s+)?(\d{1,2})(?:\s?[hH時点]\s?|[:시]\s?)([0-5]?\d)"
"""Matches the end of 31/12/2024 à 18h05, of 12/31/2024, 6:05 PM and of 31.12.2024 um 18:05 Uhr."""
_HOUR_BEHIND = r"(\d),?\s+(?:(?:à|às|as|at|um|kl\.?|alle|a las|om)\s+)?(\d{1,2})\s?(?:[hH時点시]|Uhr)$"
_UNUSUAL_CLOCK = r"\d,\s|\d\s?[hH時点시]|Uhr|[\p{Ll}.]\s+\d{1,2}:|[\u{202f}\u{a0}]"
_NEVER = r"^(9999[-/.]12[-/.]31|31[./-]12[./-]9999|12/31/9999|0{1,4}([-/.])0{1,2}([-/.])0{1,4})( |T|$)"
"""Matches 9999-12-31 and 00.00.0000, as databases write that there is no date."""
_MOST_FORMS = 3
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S%z", " %H:%M:%S%.f%z")


_BARE = (("%Y%m%d", 1), ("%Y%m%d%H%M", 10**4), ("%Y%m%d%H%M%S", 10**6))
"""Days and moments in digits alone, and by how much one day differs from the next."""
_FEWEST_BARE = 20


def bare_date(whole: pl.Series) -> str:
    """The form of whole numbers that are dates as databases write them, 20240131 or 20240131180500; "" where they are none.

    Of few it cannot be told. Where the hour is always 0, what stands behind the day is a count: 202401310017.

    >>> import polars as pl
    >>> bare_date(pl.Series([20240100 + day for day in range(1, 32)])), bare_date(pl.Series(range(20240100, 20240200)))
    ('%Y%m%d', '')
    >>> bare_date(pl.Series([20240131000000 + 10000 * hour for hour in range(24)]))
    '%Y%m%d%H%M%S'
    >>> bare_date(pl.Series(range(202401310001, 202401310060)))
    ''
    """
    whole = whole.drop_nans() if whole.dtype.is_float() else whole
    if whole.len() < _FEWEST_BARE:
        return ""
    least, most = float(whole.min()), float(whole.max())  # type: ignore[arg-type]
    for form, day in _BARE:
        if 19_000_101 * day <= least < most < 21_001_232 * day:
            some = whole.unique()
            dates = some.cast(pl.Int64)
            moments = read_dates(dates.cast(pl.String), form)
            read = (dates == some).all() and moments.null_count() == 0
            counted = (moments.dt.hour() == 0).all() and (moments.dt.truncate("1d") != moments).any()
            return form if read and not counted else ""
    return ""


def like_dates(known: pl.Series) -> bool:
    """Whether most of the first texts look like dates of some form."""
    some = _plain(known.head(1000))
    return bool(some.str.contains(_DATE_LIKE).sum() > 0.5 * some.len())


def without_never(known: pl.Series) -> pl.Series:
    """Null where a text says that there is no date.

    >>> import polars as pl
    >>> without_never(pl.Series(["2024-12-31", "9999-12-31 00:00:00", "00.00.0000"])).to_list()
    ['2024-12-31', None, None]
    """
    return known.set(known.str.contains(_NEVER), None)


def _plain(known: pl.Series) -> pl.Series:
    """Without the day of the week and the point of a day in words, months in English.

    >>> import polars as pl
    >>> _plain(pl.Series(["Do., 24. Oktober 2024", "Thu Oct 24 2024", "1 août 2024", "31.12.2024"])).to_list()
    ['24 Oct 2024', 'Oct 24 2024', '1 Aug 2024', '31.12.2024']
    """
    if not known.head(100).str.contains(r"\p{L}{2}|\d\p{L}").any():
        return known
    if known.str.contains(_EAST).any():
        known = known.str.replace(_EAST, "$1-$2-$3 ").str.strip_chars()
    known = (
        known.str.replace(_WEEKDAY, "$2")
        .str.replace(r"^(\d{1,2})\. ?(\p{L})", "$1 $2")
        .str.replace(r"^(\d{1,2}) (\p{L}{3,4})\. ", "$1 $2 ")
    )
    if known.str.contains(_FOREIGN).any():
        for english, names in _MONTHS.items():
            known = known.str.replace(rf"(?i)\b({names})\b\.?", english)
    return known


def _plain_clock(known: pl.Series) -> pl.Series:
    """The time of day behind a blank, with colons.

    >>> import polars as pl
    >>> _plain_clock(pl.Series(["31/12/2024 à 18h05", "31.12.2024, 18:05:30 Uhr", "2024-3-5 18時05分07秒", "31/12/2024 9h"])).to_list()
    ['31/12/2024 18:05', '31.12.2024 18:05:30', '2024-3-5 18:05:07', '31/12/2024 9:00']
    """
    if not known.head(100).str.contains(_UNUSUAL_CLOCK).any():
        return known
    known = known.str.replace_all(r"[\u{202f}\u{a0}]", " ")
    known = known.str.replace(_CLOCK_BEHIND, "$1 $2:$3").str.replace(_HOUR_BEHIND, "$1 $2:00")
    return known.str.replace(r"(:\d\d?)\s?[m分분](?:\s?(\d{1,2})\s?[s秒초]?)?$", "$1:$2").str.replace(r":$|\s?Uhr$", "")


def read_dates(known: pl.Series, date: str) -> pl.Series:
    """Moments in UTC, null where the text is of none of the forms; a time of day may follow, with an offset."""
    plain = pl.col("text").str.replace(r"(\d)T(\d)", "$1 $2").str.replace(r"(\d)\s?(Z|UTC|GMT)$", "$1")
    text = _plain_clock(_plain(known)).to_frame("text").select(plain.str.replace_all("  ", " ")).to_series()
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


def date_style(known: pl.Series, enough: float) -> dict[str, Any]:
    """The form that reads most, and where that is not enough the one that reads most of the rest, and so on.

    Of forms that read the same the first is taken, so 01/02/2024 is the first of February. Forms that would read one text as
    two different days do not go together: which of them wrote it nobody can tell.

    >>> import polars as pl
    >>> date_style(pl.Series(["2024-01-31", "31.01.2024"]), 2), date_style(pl.Series(["12/31/2024", "31/12/2024"]), 2)
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
