"""What a column is: numbers, moments, categories, texts, or nothing that a model can use, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

from calirare.data.tables.cells.addresses import CODE, NAME, are_codes, are_made_up, form_of
from calirare.data.tables.cells.columns import is_number_like
from calirare.data.tables.cells.date_text import bare_date, like_dates
from calirare.data.tables.cells.epochs import unit_of_time
from calirare.data.tables.cells.number_text import are_pairs, points_may_group
from calirare.data.tables.cells.prose import has_common_words, is_list, learn_words
from calirare.data.tables.cells.text import known_text, understand, words_for_gaps
from calirare.data.tables.cells.versions import like_versions
from calirare.data.tables.libraries import pl

KIND_OF_TYPE = {"numeric": "number", "categorical": "category", "time": "time", "text": "text", "ignore": "ignore"}
"""What users may call a column (`types`), and what we call it."""
EMPTY = "every value is missing"
LEFT_OUT = "left out by types"
"""The reason given for a column that the user left out."""
MAX_CATEGORIES = 100
"""Most categories of one column; rarer ones count as none of them."""
MAX_CATEGORY_LENGTH = 200
"""Longer texts are prose."""

_FEWEST_NUMBERED = 50
"""From this many rows on, whole numbers that never repeat and have no gaps are row numbers."""
_FEWEST_NAMED_ID = 20
_ID_NAME = re.compile(r"(^|_|\b)(id|ids|uuid|guid|key|iban|ssn|ref|reference|index|nr|number)$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Nr|Ref|Key)$")
_NAMED = re.compile(r"(^|[_\s])(id|uuid|guid|code|mcc)$|[a-z](Id|ID|Code)$|^(id|mcc)$", re.IGNORECASE)
"""Whole numbers under such a name are names, even if they repeat."""
_STARTS = r"(^|[_\s.-]|(?-i:(?<=[a-z])(?=[A-Z])))"
"""Where a word of a name starts: `risk_score`, `risk.score`, `riskScore`."""
_CODES = re.compile(
    _STARTS + r"(port|proto|protocol|vlan|asn|zip|zip_?code|post_?code|postal|plz|category|cat|class|"
    r"type|kind|group|cluster|segment|branch|region|district|department|dept|status|state|channel|currency|country|sex|"
    r"gender|sector|product|shop|store|merchant|terminal|device|ward|clinic|diagnosis)$",
    re.IGNORECASE,
)
"""Whole numbers under such a name may be names; the audit asks."""
_RANK = re.compile(_STARTS + r"(rank|ranking|percentile|score|elo|rang)$", re.IGNORECASE)
"""Whole numbers under such a name say who is before whom, even if they never repeat."""
_UNNAMED = re.compile(r"^column_\d+$")
_VERSION = re.compile(_STARTS + r"(version|ver|firmware|release)$", re.IGNORECASE)
"""Texts with points under such a name may be versions."""
_PERSON = re.compile(
    r"(first|last|full|given|family|middle|sur|fore|nick|user|vor|nach)[_\s-]?name(s|n)?$|^(prenom|nom|nombre|apellidos?)$",
    re.IGNORECASE,
)
"""Names of people are not read, even if their words repeat."""
_CHOSEN = re.compile(r"(nick|user)[_\s-]?name$", re.IGNORECASE)
"""Those that people make up: of them it is told how they are made."""
_TIME_NAME = re.compile(r"^(time|timestamp|datetime|date|ts|t|step|tick|epoch|day|when)$", re.IGNORECASE)
_MOMENT_NAME = re.compile(
    r"(time|timestamp|datetime|date|[_\s](ts|at|s|sec|ms|msec|us|ns|millis)|epoch|(?-i:At)|start|end|begin|created|updated|seen|when|"
    r"joined|registered|opened|closed|issued|posted|modified|changed|visited|accessed|login|signup|expires|expiry|since)"
    r"(_?utc)?$",
    re.IGNORECASE,
)
"""Numbers under such a name are moments if they are some of our days (`unit_of_time`)."""


@dataclass(frozen=True)
class Kind:
    """What a column is.

    Args:
        name: `"number"`, `"time"`, `"category"`, `"text"` or `"ignore"`.
        reason: Why it is ignored.
        style: How its text is to be read (see `calirare.data.tables.cells.text`); of addresses their `"form"`.
        unit: Of a time that came as numbers, or of numbers if they are one: so many seconds.
        mendable: Whether it is ignored for how it is written alone.
    """

    name: str
    reason: str = ""
    style: dict[str, Any] = field(default_factory=dict)
    unit: float = 1.0
    mendable: bool = False


def kind_of(column: pl.Series, most_categories: int = MAX_CATEGORIES) -> Kind:
    """What the column is, judged by its type, its values and, for ids and times, its name.

    Args:
        column: As it came.
        most_categories: From more different words on it may be text or names.

    >>> import polars as pl
    >>> kind_of(pl.Series("price", ["€ 3,50", "€ 12,00"])).name, kind_of(pl.Series("order_id", range(0, 900, 9))).reason
    ('number', '100 different whole numbers: an identifier')
    """
    if column.null_count() == column.len():
        return Kind("ignore", EMPTY)
    if column.dtype == pl.String:
        return _kind_of_text(column, most_categories)
    if column.dtype == pl.List(pl.String):
        return Kind("text")
    if not is_number_like(column.dtype):
        return Kind(
            "ignore",
            f"holds {column.dtype}{': give each value a column of its own' if column.dtype.is_nested() else ''}",
        )
    if column.dtype.is_numeric():
        return _kind_of_numbers(column, column, {}, most_categories)
    if column.dtype == pl.Time:
        return Kind("number", style={"clock": True})
    if column.dtype == pl.Duration:
        return Kind("number", style={"unit": "days"})  # as `to_numbers` counts them
    return Kind("time" if column.dtype.is_temporal() else "number")


def kinds_of(table: pl.DataFrame, most_categories: int = MAX_CATEGORIES) -> dict[str, Kind]:
    """What each column of one table is. Where one has decimal commas, the points of another group thousands, if they can.

    >>> import polars as pl
    >>> table = pl.DataFrame({"share": ["0,5", "1,25"], "pay": ["1.250", "243.560"]})
    >>> {name: kind.style for name, kind in kinds_of(table).items()}, kinds_of(table.select("pay"))["pay"].style
    ({'share': {'decimal': ','}, 'pay': {'decimal': ','}}, {})
    """
    found = {name: kind_of(table[name], most_categories) for name in table.columns}
    if not any(kind.style.get("decimal") == "," for kind in found.values()):
        return found
    for name, kind in found.items():
        if kind.name == "number" and not kind.style and table[name].dtype == pl.String:
            if points_may_group(known_text(table[name]).drop_nulls()):
                found[name] = replace(kind, style={"decimal": ","})
    return found


def _kind_of_text(column: pl.Series, most_categories: int) -> Kind:
    if _VERSION.search(column.name) and like_versions(known_text(column).drop_nulls(), most_categories):
        return Kind("category")
    found = understand(column)
    if found.style.get("clock"):
        return Kind("number", style=found.style)
    if found.kind == "number":
        if "missing" in found.style:
            column = column.set(column.str.strip_chars().is_in(words_for_gaps(found.style)), None)
        plain = column.str.strip_chars().cast(pl.Int64, strict=False)
        whole = plain if plain.null_count() == column.null_count() else None
        return _kind_of_numbers(column, whole, found.style, most_categories)
    if found.kind in ("time", "truth"):
        return Kind("time" if found.kind == "time" else "number", style=found.style)
    words = column.str.strip_chars().drop_nulls()
    words = words.filter(words != "")
    if not words.len():
        return Kind("ignore", EMPTY)
    distinct = words.n_unique()
    if distinct > most_categories and (form := form_of(words)):
        return Kind("text", style={"form": form})
    if distinct > most_categories and is_list(words):
        return Kind("text")
    if distinct > most_categories and 2 * distinct > words.len():
        if like_dates(words):
            some = f"such as {words.min()!r} and {words.max()!r}"
            return Kind("ignore", f"dates in no form that fits all, {some}: write them as 2024-12-31", mendable=True)
        if are_pairs(words):
            pair = f"two numbers in each cell, such as {words[0]!r}: give each a column of its own"
            return Kind("ignore", pair, mendable=True)
        if not is_of_people(column.name) and has_common_words(words):
            return Kind("text")
        if are_codes(words):
            return Kind("text", style={"form": CODE})
        reason = f"{distinct} different words: an identifier or names"
        people = is_of_people(column.name) and not _CHOSEN.search(column.name)
        if people or not are_made_up(words) or not learn_words(words, NAME):
            return Kind("ignore", reason)
        return Kind("text", style={"form": NAME})
    if distinct > most_categories and _mostly_others(words, most_categories) and are_codes(words):
        return Kind("text", style={"form": CODE})
    longest = int(words.str.len_chars().to_numpy().max())
    return Kind("category" if longest <= MAX_CATEGORY_LENGTH else "text")


def _mostly_others(words: pl.Series, most_categories: int) -> bool:
    """Whether most words are none of the most frequent ones, for which there would be a category each."""
    times = words.value_counts(name="times")["times"].sort(descending=True)
    return bool(2 * times.head(most_categories).sum() < words.len())


def _kind_of_numbers(column: pl.Series, whole: pl.Series | None, style: dict[str, Any], most_categories: int) -> Kind:
    """Numbers, unless they name things or tell the time."""
    values = None if whole is None or not whole.dtype.is_integer() else whole.drop_nulls()
    if whole is not None and (form := bare_date(whole.drop_nulls())):
        return Kind("time", style={**style, "date": form})
    found = _unit_of_time(column)
    moments, unit = found is not None, 1.0 if found is None else found
    if _TIME_NAME.search(column.name) or (_MOMENT_NAME.search(column.name) and moments):
        return Kind("time", style=style, unit=unit)
    if _UNNAMED.search(column.name) and moments:
        return Kind("time", style=style, unit=unit)
    if values is None or not values.len():
        return Kind("number", style=style, unit=unit)
    reason = _names_things(column.name, values)
    if not reason and _NAMED.search(column.name):
        distinct = values.n_unique()
        if distinct > most_categories and 2 * distinct > values.len():
            return Kind("ignore", f"{distinct} different whole numbers: an identifier")
        return Kind("category")
    if reason and moments:
        reason += f"; if it says when: --type {quote(f'{column.name}=time')}"
    return Kind("ignore", reason, unit=unit) if reason else Kind("number", style=style, unit=unit)


def named_as_codes(name: str) -> bool:
    """Whether a column of whole numbers is called as codes are, so that sums and means of it may mean nothing.

    >>> [name for name in ("dst_port", "Branch", "dstPort", "support", "report", "amount") if named_as_codes(name)]
    ['dst_port', 'Branch', 'dstPort']
    """
    return _CODES.search(name) is not None


def is_of_people(name: str) -> bool:
    """Whether a column is called as names of people are.

    >>> is_of_people("last_name"), is_of_people("product_name")
    (True, False)
    """
    return _PERSON.search(name) is not None


def named_as_id(name: str) -> bool:
    """Whether a column is called as ids and codes of things are.

    >>> named_as_id("device_id"), named_as_id("cardId"), named_as_id("town")
    (True, True, False)
    """
    return any(pattern.search(name) for pattern in (_NAMED, _ID_NAME, _CAMEL_ID))


def _unit_of_time(column: pl.Series) -> float | None:
    """The unit, in seconds, in which the median of plain numbers is a moment of our days; None where there is none."""
    text = column.str.strip_chars() if column.dtype == pl.String else column
    values = text.cast(pl.Float64, strict=False).drop_nulls().drop_nans()
    if not values.len():
        return None
    middle = float(values.median())  # type: ignore[arg-type]
    return unit_of_time(middle)


def _names_things(name: str, values: pl.Series) -> str:
    """Why these whole numbers are names and no quantities; empty where they are not."""
    rows = values.len()
    if rows < _FEWEST_NAMED_ID or values.n_unique() < rows:
        return ""
    array = values.to_numpy()
    least, most = int(array.min()), int(array.max())
    if _RANK.search(name):
        return ""
    if rows >= _FEWEST_NUMBERED and most - least < 1.5 * rows:
        return f"{rows} whole numbers that never repeat, nearly without gaps: row numbers"
    if _ID_NAME.search(name) or _CAMEL_ID.search(name):
        return f"{rows} different whole numbers: an identifier"
    if rows >= _FEWEST_NUMBERED and least >= 10**8 and len(str(least)) == len(str(most)):
        return f"{rows} different whole numbers of {len(str(least))} digits: an identifier"
    return ""
