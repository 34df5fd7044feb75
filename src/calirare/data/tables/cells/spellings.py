"""One class written in several ways: `yes`, `Yes`, `TRUE` and `1`.

Words that differ in case or blanks alone are one class. Where every word says true or false, all that say the same are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from calirare.data.tables.cells.columns import commonest
from calirare.data.tables.cells.text import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    import polars as pl

_TRUE, _FALSE = {*TRUE_WORDS, "1"}, {*FALSE_WORDS, "0"}


def same_spelling(values: Sequence[str]) -> Callable[[str], str]:
    """What two spellings of one class have in common, in a column of these values.

    >>> list(map(same_spelling(["yes", "No", "0"]), ["TRUE", "0", "maybe"])), same_spelling(["0", "1", "2"])("1")
    (['true', 'false', 'maybe'], '1')
    """
    plain = {_plain(value) for value in values}
    truths = plain <= _TRUE | _FALSE and bool(plain & _TRUE) and bool(plain & _FALSE)
    if not truths or (len(plain) > 2 and all(value.isalpha() and len(value) == 1 for value in plain)):  # codes F, N, T
        return _plain
    return lambda value: "true" if _plain(value) in _TRUE else "false" if _plain(value) in _FALSE else _plain(value)


def merge_spellings(text: pl.Series, rare: str) -> dict[str, str]:
    """Which values stand for another one: the commonest of its class, or the `rare` one as the user wrote it.

    >>> import polars as pl
    >>> merge_spellings(pl.Series(["yes", "no", "No", "no", "TRUE"]), rare="yes")
    {'No': 'no', 'TRUE': 'yes'}
    """
    values = commonest(text)
    return known_spellings([rare, *(value for value in values if value != rare)], values, first=True)


def known_spellings(classes: Sequence[str], values: Sequence[str], *, first: bool = False) -> dict[str, str]:
    """Which of the values stand for one of the classes and are written in another way.

    A spelling that two classes share stands for none of them, or for the `first`.
    """
    key = same_spelling(classes)
    keys = [key(one) for one in classes]
    meant = {
        own: one for own, one in zip(reversed(keys), reversed(classes), strict=True) if first or keys.count(own) == 1
    }
    found = {value: meant[key(value)] for value in values if key(value) in meant and (first or value not in classes)}
    return {value: one for value, one in sorted(found.items()) if value != one}


def _plain(value: str) -> str:
    return " ".join(value.lower().split())
