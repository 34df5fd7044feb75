"""Where the features of each column of a schema stand: in the order of the columns, with the words of texts last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HAS = " has "
"""Stands between the name of a column of texts and a word."""
EQUALS = " = "
"""Stands between the name of a column and one of its categories."""


def says_how_made(word: str) -> bool:
    """Whether a part of a text is no word of it, but says how it is made: that has blanks, as no word has.

    >>> says_how_made("refund"), says_how_made("a link")
    (False, True)
    """
    return " " in word


def feature_places(columns: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], slice, int | None]]:
    """(column, its features, the one that says where a value was missing or None) of every column that is read.

    >>> word = {"name": "city", "type": "categorical", "categories": ["Oslo", "Rome"], "indicator": True}
    >>> [(places, gap) for _, places, gap in feature_places([word, {"name": "age", "type": "numeric"}])]
    [(slice(0, 2, None), 2), (slice(3, 4, None), None)]
    >>> note = {"name": "note", "type": "text", "words": ["urgent"], "indicator": True}
    >>> [(places, gap) for _, places, gap in feature_places([note, {"name": "age", "type": "numeric"}])]
    [(slice(2, 3, None), 0), (slice(1, 2, None), None)]
    """
    columns = list(columns)
    place, word = 0, sum(_plain_width(column) + _has_gap(column) for column in columns)
    for column in columns:
        width, words = _plain_width(column), len(column.get("words", ()))
        if width or words or _has_gap(column):
            gap = place + width if _has_gap(column) else None
            yield column, slice(word, word + words) if words else slice(place, place + width), gap
            place, word = place + width + _has_gap(column), word + words


def count_words(columns: Iterable[Mapping[str, Any]]) -> int:
    """How many features are words of texts.

    >>> count_words([{"name": "note", "type": "text", "words": ["urgent", "refund"]}, {"name": "age", "type": "numeric"}])
    2
    """
    return sum(len(column.get("words", ())) for column in columns)


def _plain_width(column: Mapping[str, Any]) -> int:
    return {"numeric": 1, "categorical": len(column.get("categories", ()))}.get(column["type"], 0)


def _has_gap(column: Mapping[str, Any]) -> bool:
    return bool(column.get("indicator"))
