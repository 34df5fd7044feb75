"""The columns of an edge table: what each is, learned once, and read the same way ever after.

In a schema each is `{"name", "kind"}` with

    number      "text": how it is written, where it is text
    time        "text", and "unit": the seconds in one of its units, where it came as numbers
    category    "categories", and "rare": names too rare for one (of earlier versions: how many)
    text        "categories": the words, and of addresses "form"
    ignore      "reason"
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calirare.data.checks import are_texts
from calirare.data.edge_table import MISSING, MOST_EDGE_WORDS, EdgeColumn
from calirare.data.tables.cells.addresses import FORMS, MAIL, NOT_SHARED
from calirare.data.tables.cells.columns import (
    MAX_RARE_NAMES,
    commonest,
    count_rare,
    to_codes,
    to_numbers,
    to_seconds,
    to_texts,
)
from calirare.data.tables.cells.kinds import EMPTY, KIND_OF_TYPE, LEFT_OUT, Kind, kinds_of
from calirare.data.tables.cells.prose import NO_COMMON_WORDS, find_words, learn_edge_words
from calirare.data.tables.cells.text import what_is_mixed
from calirare.data.tables.gathering.rows import EdgeRows
from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.frames import check_fitted_columns
from calirare.errors import InputError

logger = logging.getLogger(__name__)

MAX_EDGE_CATEGORIES = 200


def kinds_of_edges(rows: EdgeRows, types: Mapping[str, str], time: str | None) -> dict[str, Kind]:
    """What every column is, by its name.

    Args:
        rows: Of all edge tables.
        types: `{"column": "numeric" | "categorical" | "time" | "text" | "ignore"}` where the guess would be wrong.
        time: The column that says when; it is a time whatever it looks like.
    """
    types = {**types, **({} if time is None else {time: "time"})}
    # The time that was named comes first: of several, the first is the clock.
    names = sorted(rows.frame.columns, key=lambda name: name != time)
    kinds = kinds_of(rows.frame, MAX_EDGE_CATEGORIES)
    return {name: _as_wanted(kinds[name], types.get(name)) for name in names}


def _as_wanted(found: Kind, wanted: str | None) -> Kind:
    if wanted is None or found.reason == EMPTY:
        return found
    kind = KIND_OF_TYPE[wanted]
    if kind == "ignore":
        return Kind("ignore", LEFT_OUT)
    return found if found.name == kind else Kind(kind, style=found.style, unit=found.unit)


def learn_edge_columns(rows: EdgeRows, kinds: Mapping[str, Kind]) -> list[dict[str, Any]]:
    """What must be known of every column, of which `kinds_of_edges` says what it is."""
    return [_learn(rows.frame[name], rows, kind) for name, kind in kinds.items()]


def _learn(column: pl.Series, rows: EdgeRows, found: Kind) -> dict[str, Any]:
    name = column.name
    words, form = [], found.style.get("form", "")
    if found.name == "text":
        words = learn_edge_words(to_texts(column), rows.source, rows.target, MOST_EDGE_WORDS, form)
    if found.name == "text" and not words:
        found = Kind("ignore", NOT_SHARED.get(form, NO_COMMON_WORDS))
    if found.name == "ignore":
        if found.mendable:
            logger.warning("column %r of edges is left out: %s.", name, found.reason)
        return {"name": name, "kind": "ignore", "reason": found.reason}
    if found.name == "number" and (said := what_is_mixed(column)):
        logger.warning("column %r of edges: %s.", name, said)
    if found.name == "text":
        return {"name": name, "kind": "text", "categories": words} | ({"form": form} if form else {})
    learned: dict[str, Any] = {"name": name, "kind": found.name}
    if found.name == "category":
        names = commonest(column)
        if not names:
            return {"name": name, "kind": "ignore", "reason": EMPTY}
        rare = names[MAX_EDGE_CATEGORIES : MAX_EDGE_CATEGORIES + MAX_RARE_NAMES]
        return {**learned, "categories": sorted(names[:MAX_EDGE_CATEGORIES]), "rare": rare}
    if found.style:
        learned["text"] = found.style
    if found.name == "time":
        learned["unit"] = found.unit
    return learned


def apply_edge_columns(
    frame: pl.DataFrame, columns: Sequence[Mapping[str, Any]], lacking: Sequence[str] = ()
) -> tuple[tuple[EdgeColumn, ...], dict[str, dict[str, int]]]:
    """The columns of every edge, and how many values of each are `"infinite"`, or of `"rare"` or `"unseen"` categories.

    `lacking` are the tables of the fit that were not given.

    Raises:
        ColumnError: A column that the model was fitted on is missing.
    """
    wanted = [column for column in columns if column["kind"] != "ignore"]
    check_fitted_columns(frame, [column["name"] for column in wanted], "edges", lacking)
    counts: dict[str, dict[str, int]] = {"rare": {}, "unseen": {}, "infinite": {}}
    return tuple(_apply(frame[column["name"]], column, counts) for column in wanted), counts


def _apply(series: pl.Series, column: Mapping[str, Any], counts: dict[str, dict[str, int]]) -> EdgeColumn:
    name, kind = column["name"], column["kind"]
    if kind == "number":
        return EdgeColumn(name, "number", to_numbers(series, column.get("text"), counts["infinite"]))
    if kind == "time":
        unit = column.get("unit", 1.0)
        return EdgeColumn(name, "time", to_seconds(series, column.get("text"), unit, counts["infinite"]))
    names = column["categories"]
    if kind == "text":
        return EdgeColumn(name, "text", _bits_of_words(to_texts(series), names, column.get("form", "")), tuple(names))
    text, codes = to_codes(series, names)
    for word, number in count_rare(text.filter(codes.is_null() & text.is_not_null()), column.get("rare")).items():
        counts[word][name] = number
    values = np.array(codes.fill_null(MISSING).to_numpy(), dtype=np.int32)
    return EdgeColumn(name, "category", values, tuple(names))


def _bits_of_words(texts: pl.Series, words: Sequence[str], form: str) -> np.ndarray:
    """The words of each text as bits of one number, as `EdgeColumn` keeps them."""
    found = find_words(texts, words, form)
    found.data[:] = 1.0
    return np.where(texts.is_null().to_numpy(), np.nan, found.astype(np.float64) @ 2.0 ** np.arange(len(words)))


def check_edge_columns(columns: Any) -> bool:
    """Whether the columns of a schema are what `learn_edge_columns` gives."""
    good = isinstance(columns, list)
    for column in columns:
        good &= isinstance(column["name"], str) and column["kind"] in KIND_OF_TYPE.values()
        if column["kind"] in ("category", "text"):
            names = column["categories"]
            good &= are_texts(names)
            good &= len(set(names)) == len(names) and isinstance(column.get("rare", []), list | int)
            good &= column["kind"] == "category" or len(names) <= MOST_EDGE_WORDS
            good &= column.get("form", MAIL) in FORMS
        elif column["kind"] == "time":
            good &= 0 < float(column.get("unit", 1.0)) < float("inf")
    return bool(good) and len({column["name"] for column in columns}) == len(columns)


def check_types(types: Mapping[str, str]) -> None:
    """Refuse types that nobody knows."""
    for name, kind in types.items():
        if kind not in KIND_OF_TYPE:
            raise InputError(f"types[{name!r}] must be one of {list(KIND_OF_TYPE)}; got {kind!r}.")
