"""Where the features of each column stand, as a schema says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def feature_places(columns: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], slice, int | None]]:
    """(column, its features, the one that says where a value was missing or None) of every column that is read.

    >>> word = {"name": "city", "type": "categorical", "categories": ["Oslo", "Rome"], "indicator": True}
    >>> [(places, gap) for _, places, gap in feature_places([word, {"name": "age", "type": "numeric"}])]
    [(slice(0, 2, None), 2), (slice(3, 4, None), None)]
    """
    place = 0
    for column in columns:
        width = {"numeric": 1, "categorical": len(column.get("categories", ()))}.get(column["type"], 0)
        if width or column.get("indicator"):
            gap = place + width if column.get("indicator") else None
            yield column, slice(place, place + width), gap
            place += width + (gap is not None)
