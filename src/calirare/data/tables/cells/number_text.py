"""Texts that are numbers: amounts, shares, times of day and spans, numbers with a unit."""

from __future__ import annotations

import re

from calirare.data.tables.libraries import pl

_CODES = "usd|eur|gbp|chf|sek|nok|dkk|jpy|cny|inr|aud|cad|brl|mxn|zar|pln|czk|huf|ron|try|rub|ils|krw|sgd|hkd|nzd|thb"
_MONEY = (
    r"(?i)\b[a-z]{1,2}\$|[\s\u{00a0}\u{202f}'’%()$€£¥₹₽₺₩₪₫฿]|"
    rf"{_CODES}|zł|kč|[円圆圓元원]|\b(kr|ft|lei)\b"
)
_CURRENCY = rf"(?i){_CODES}|[€£¥₹₽₺₩₪฿]"
_SIGNS = {"€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₺": "TRY", "₩": "KRW", "₪": "ILS", "฿": "THB"}
_MINUS_BEHIND = r"^(\d[\d.,]*)-$"
_SCALES = {
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "Mio": 1e6,
    "mn": 1e6,
    "B": 1e9,
    "bn": 1e9,
    "Mrd": 1e9,
    "万": 1e4,
    "億": 1e8,
    "亿": 1e8,
}
_SCALED = rf"(\d[.,]?)({'|'.join(_SCALES)})\.?$"
_GROUPED = r"^[+-]?(\d{1,3}([.,]\d{3})+|\d+)?([.,]\d*)?([eE][+-]?\d+)?$"
_COMMA_DECIMAL = r"^[+-]?(\d{1,3}(\.\d{3})+,\d+|\d+,(\d{1,2}|\d{4,})|0,\d+|\d{1,3}(\.\d{3}){2,})$"
_POINT_DECIMAL = r"^[+-]?(\d{1,3}(,\d{3})+\.\d+|\d*\.(\d{1,2}|\d{4,})|0?\.\d+|\d{1,3}(,\d{3}){2,})$"
_WHOLE_BY_POINTS = r"^[+-]?([1-9]\d{0,2}(\.\d{3})*|0)$"
_FEWEST_GROUPED = 20
_COMPARED = r"^[<>≤≥~≈]=?\s*"
"""Matches the sign of <0.5, as laboratories write what they cannot measure, and of ~100."""
_MINUS = r"^[−–](\d)"
_CLOCK = r"^(?<h>\d{1,3}):(?<m>[0-5]\d)(?::(?<s>[0-5]\d(?:\.\d+)?))?(?: ?(?<half>[AaPp][Mm]))?$"


_SPAN = (
    r"(?i)^P?(?:(?<d>\d+) ?d(?:ays?)?)?[ ,T]*(?:(?<h>\d+) ?h(?:ours?|rs?)?)?[ ,]*(?:(?<m>\d+) ?m(?:in(?:utes?|s)?)?)?[ ,]*"
    r"(?:(?<s>\d+(?:\.\d+)?) ?s(?:ec(?:onds?|s)?)?)?$"
)
_TWO_UNITS = r"(?i)^PT?\d|\d ?[a-z]+[ ,]*\d"


_OUT_OF = r"^(?<mark>[\d.,]+)\s?/\s?(?<whole>\d+)$"
"""Matches 4.3 / 5."""
_YEAR = r"(19|20)\d\d"
_PAIR = r"^\d+([.,]\d+)?\s?/\s?\d+([.,]\d+)?(\s\p{L}+)?$"
"""Matches 132/85."""
_UNIT = r"^\D{0,2}\d[\d.,\s']*([A-Za-zµ°²³/]+)\.?$"
_LEDGERS = ({"H": 1.0, "S": -1.0}, {"CR": 1.0, "DR": -1.0})
"""Letters behind an amount that say which side of an account it stands on, as banks write them."""
_FAMILIES = (
    {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30},
    {"ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
     "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
     "week": 604800, "weeks": 604800},
    {"month": 1, "months": 1, "year": 12, "years": 12, "yr": 12, "yrs": 12},
    {"mg": 1e-3, "g": 1, "kg": 1e3, "t": 1e6}, {"mm": 1e-3, "cm": 1e-2, "m": 1, "km": 1e3},
)  # fmt: skip
"""Units that may occur together in one column."""


def is_clock(known: pl.Series) -> pl.Series:
    """Whether each text is a time of day or a span."""
    return known.str.contains(_CLOCK)


def are_spans(known: pl.Series, enough: float) -> bool:
    """Whether nearly all are spans in words, and one has two units at least: of `45 m` alone nobody can tell.

    >>> import polars as pl
    >>> are_spans(pl.Series(["1h 05m", "45m"]), 2), are_spans(pl.Series(["105 m", "45 m"]), 2), are_spans(pl.Series(["PT5M"]), 1)
    (True, False, True)
    """
    if not known.head(100).str.contains(_SPAN).any():
        return False
    spans = known.filter(known.str.contains(_SPAN) & known.str.contains(r"\d"))
    return spans.len() >= enough and bool(spans.str.contains(_TWO_UNITS).any())


def units_of(known: pl.Series, enough: float) -> str:
    """The unit behind the numbers, in lower case, of several the commonest first, joined by |; "" where there is none.

    Of marks such as 4.3 / 5 it is what they are out of. Days of a month (24/12) and months of a year (3/2024) are none.

    >>> import polars as pl
    >>> [units_of(pl.Series(some), 2) for some in (["4.3 / 5", "4 / 5"], ["1/2", "3/4"], ["3/12", "24/12"], ["3/2024", "4/2024"])]
    ['/ 5', '', '', '']
    >>> units_of(pl.Series(["3 days", "1 day", "9 days"]), 3), units_of(pl.Series(["12 MB", "3 kg"]), 2)
    ('days|day', '')
    >>> units_of(pl.Series(["7,50 S", "20 H"]), 2), units_of(pl.Series(["7 s", "2 h"]), 2)
    ('H|S', 's|h')
    """
    marks, whole = (known.str.extract_groups(_OUT_OF).struct.field(name).drop_nulls() for name in ("mark", "whole"))
    if whole.len() >= max(enough, 1) and whole.n_unique() == 1 and known.n_unique() > 1:
        most = float(marks.str.replace_all(",", ".", literal=True).cast(pl.Float64, strict=False).max() or 0)  # type: ignore[arg-type]
        return f"/ {whole[0]}" if most <= float(whole[0]) and not re.fullmatch(_YEAR, whole[0]) else ""
    found = known.str.extract(_UNIT, 1).drop_nulls()
    if found.len() < max(enough, 1):
        return ""
    if sides := next((side for side in _LEDGERS if sorted(found.unique().to_list()) == sorted(side)), None):
        return "|".join(sides)
    found = found.str.to_lowercase()
    words = found.alias("unit").value_counts(sort=True)["unit"].to_list()
    related = any(all(word in family for word in words) for family in _FAMILIES)
    return "|".join(words) if related or (len(words) == 1 and len(words[0]) > 1) else ""


def without_units(known: pl.Series, units: str) -> tuple[pl.Series, pl.Series]:
    """The numbers as text, and how many of the commonest unit each counts; of a ledger, the sign of its side.

    >>> import polars as pl
    >>> [part.to_list() for part in without_units(pl.Series(["90 min", "2 h", "7"]), "h|min")]
    [['90', '2', '7'], [0.016666666666666666, 1.0, 1.0]]
    >>> [part.to_list() for part in without_units(pl.Series(["7,50 S", "20 H"]), "H|S")]
    [['7,50', '20'], [-1.0, 1.0]]
    """
    if units.startswith("/"):
        whole = re.escape(units.removeprefix("/ "))
        return known.str.replace(rf"\s?/\s?{whole}$", ""), pl.Series([1.0]).new_from_index(0, known.len())
    words = units.split("|")
    side = next((side for side in _LEDGERS if words == list(side)), None)
    family = side or next((one for one in _FAMILIES if all(word in one for word in words)), {words[0]: 1.0})
    pattern = rf"(?i)([\d.,])\s*({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})\.?$"
    sizes = {word: family[word] / family[words[0]] for word in words}
    unit = known.str.extract(pattern, 2)
    unit = unit.str.to_uppercase() if side else unit.str.to_lowercase()
    return known.str.replace(pattern, "$1"), unit.replace_strict(sizes, default=1.0, return_dtype=pl.Float64)


def is_ledger(units: str) -> bool:
    """Whether these are no units, but the sides of an account."""
    return any(units == "|".join(side) for side in _LEDGERS)


def mixed_amounts(known: pl.Series) -> str:
    """What one column of numbers must not mix: currencies, or shares with and without a percent sign; "" where it does not.

    >>> import polars as pl
    >>> mixed_amounts(pl.Series(["7 EUR", "8 €", "900 JPY"]))
    'amounts in several currencies (EUR 2, JPY 1) are read as if they were one. Bring them to one'
    >>> mixed_amounts(pl.Series(["66%", "51"]))
    '1 of 2 numbers have a percent sign and are read as shares (66% as 0.66), the others as they stand. Write all of them one way'
    """
    few = 0.01 * known.len()
    signs = known.str.extract(_CURRENCY, 0).str.to_uppercase().drop_nulls()
    if signs.len() > few:
        counts = signs.replace(_SIGNS).alias("sign").value_counts(sort=True, name="number").sort("number", "sign", descending=[True, False])  # fmt: skip
        counts = counts.filter(counts["number"] > few)
        if counts.height > 1:
            told = ", ".join(f"{sign} {number:,}" for sign, number in counts.rows())
            return f"amounts in several currencies ({told}) are read as if they were one. Bring them to one"
    shares = known.filter(known.str.ends_with("%"))
    if few < shares.len() < known.len() - few:
        return (
            f"{shares.len():,} of {known.len():,} numbers have a percent sign and are read as shares ({shares[0]} as "
            f"{read_numbers(shares.head(1))[0]:g}), the others as they stand. Write all of them one way"
        )
    return ""


def are_pairs(known: pl.Series) -> bool:
    """Whether texts are two numbers each, as of blood pressure.

    >>> import polars as pl
    >>> are_pairs(pl.Series(["132/85", "120/80 mmHg"])), are_pairs(pl.Series(["A/4", "132/85"]))
    (True, False)
    """
    return all(bool(some.str.contains(_PAIR).all()) for some in (known.head(100), known))


def is_compared(known: pl.Series) -> pl.Series:
    """Whether each text is less or more than a number, or about it."""
    return known.str.contains(_COMPARED)


def read_clock(known: pl.Series) -> pl.Series:
    """Float64 hours, null where the text is no time of day and no span.

    >>> import polars as pl
    >>> read_clock(pl.Series(["18:30", "6:30:36 pm", "37:00", "1d 6h", "PT90S", "soon"])).to_list()
    [18.5, 18.51, 37.0, 30.0, 0.025, None]
    """
    clocks = _read_clock(known)
    parts = known.str.extract_groups(_SPAN).struct
    hours = {"d": 24.0, "h": 1.0, "m": 1 / 60, "s": 1 / 3600}
    counts = [parts.field(name).cast(pl.Float64, strict=False) * size for name, size in hours.items()]
    spans = (
        pl.select(pl.sum_horizontal(*counts))
        .to_series()
        .set(pl.select(pl.all_horizontal(*(one.is_null() for one in counts))).to_series(), None)
    )
    return clocks.zip_with(clocks.is_not_null(), spans)


def _read_clock(known: pl.Series) -> pl.Series:
    groups = known.str.extract_groups(_CLOCK).struct
    hours, minutes, seconds = (groups.field(name).cast(pl.Float64, strict=False) for name in ("h", "m", "s"))
    half = groups.field("half").str.to_lowercase()
    hours = hours.zip_with(half.is_null(), hours % 12 + 12.0 * (half == "pm").cast(pl.Float64))
    return hours + minutes / 60 + seconds.fill_null(0.0) / 3600


def read_numbers(known: pl.Series, decimal: str = ".") -> pl.Series:
    """Float64, null where the text is no number: currency and percent signs, grouped thousands, (1) and 1- for -1, 2K for 2000.

    >>> import polars as pl
    >>> read_numbers(pl.Series(["€ 1.234,5", "12,5%", "(3)", "7,5-", "1,2 Mio. €", "x"]), ",").to_list()
    [1234.5, 0.125, -3.0, -7.5, 1200000.0, None]
    """
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
    core = known.str.replace(_COMPARED, "").str.replace_all(_MONEY, "").str.replace(_MINUS, "-$1")
    scale = core.str.extract(_SCALED, 2).replace_strict(_SCALES, default=1.0, return_dtype=pl.Float64)
    core = core.str.replace(_SCALED, "$1")
    return core.str.replace(_MINUS_BEHIND, "$1"), core.str.contains(_MINUS_BEHIND), scale


def _grouped_well(core: pl.Series, decimal: str) -> pl.Series:
    """Whether the other sign only ever groups three digits, before the decimal sign."""
    group, point = (r"\.", ",") if decimal == "," else (",", r"\.")
    return core.str.contains(rf"^[+-]?(\d{{1,3}}({group}\d{{3}})+|\d*)({point}\d*)?([eE][+-]?\d+)?$")


def decimal_signs(known: pl.Series) -> tuple[str, ...]:
    """Decimal signs to try, the likelier first. Where all is ambiguous (1,234) the comma groups thousands."""
    core, _, _ = _core(known)
    if not known.str.contains(",", literal=True).any():
        grouped = known.str.contains(r"\.\d{3}\.").any() or points_group(core)
        return (",", ".") if grouped else (".",)
    comma, point = core.str.contains(_COMMA_DECIMAL).sum(), core.str.contains(_POINT_DECIMAL).sum()
    return (",", ".") if comma > point else (".", ",")


def points_may_group(known: pl.Series) -> bool:
    """Whether texts are numbers with three digits behind every point: thousands where decimals have commas."""
    some = known.str.contains(_WHOLE_BY_POINTS)
    return bool(some.all()) and bool(known.str.contains(".", literal=True).any())


def points_group(known: pl.Series) -> bool:
    """Whether points group thousands: three digits stand behind every one, and numbers without one are small, but there are some.

    As decimals, one in ten would end in a zero that is not written, or all would have three.

    >>> import polars as pl
    >>> grouped = [f"{1_000 + 37 * k:,}".replace(",", ".") for k in range(30)]
    >>> [points_group(pl.Series([*grouped, more])) for more in ("850", "1850", "8.5", "0.850", "3.850")]
    [True, False, False, False, False]
    """
    if not all(some.str.contains(_WHOLE_BY_POINTS).all() for some in (known.head(100), known)):
        return False
    points = known.str.contains(".", literal=True)
    return bool(points.sum() >= _FEWEST_GROUPED) and bool((~points & (known != "0")).any())
