"""How tables become a graph, learned once and kept as plain data.

A schema is a dict that JSON can hold:

    format    1
    id        name of the id column
    label     {"column", "rare", "values"}: the label column, the rare value, every value seen; or None
    nodes     {"type", "types", "labelled", "time", "from_edges", "apart"}: the column of kinds of node, their names, those
              that carry labels, the column that says when, whether the nodes come from the edges alone, and which ends
              name a kind of their own (`calirare.data.tables.gathering.apart`)
    edges     {"source", "target", "weight", "directed", "type", "types", "time", "tables", "columns", "cells"}: column names,
              names of the types, {"name", "source", "target"} of each table, and what every other column is
              (`calirare.data.tables.schema.edge_columns`)
    columns   per attribute {"name", "type"} and
                numeric:      "median" (fills gaps), "mean", "scale", "indicator" (a column that says where gaps were),
                              "text" (how it is written, where it is text), "days" (of a date: counted since 1970)
                categorical:  "categories" (one column each), "rare" (names too rare for one), "indicator"
                text:         "words" (one column each, behind those of all other attributes), "indicator", "form" (of
                              addresses and codes, whose parts are the words)
                ignore:       "reason"
    seen      what the columns looked like (`calirare.data.tables.schema.profile`), to notice shifts at scoring
    sparse    whether the features are kept as CSR
    read      what was counted at reading: edges merged, self-loops, missing labels, of nodes imputed values, cells of kinds
              that lack the column and unseen categories, and under `edge_values` those of edges

All but `nodes` and the later keys of `edges` must be there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from calirare.data.feature_places import EQUALS, HAS
from calirare.data.tables.cells.addresses import FORMS, MAIL, NOT_SHARED
from calirare.data.tables.cells.columns import MAX_RARE_NAMES, commonest, to_categories, to_numbers, to_texts
from calirare.data.tables.cells.kinds import EMPTY, LEFT_OUT, MAX_CATEGORIES, Kind, kinds_of
from calirare.data.tables.cells.prose import NO_COMMON_WORDS, learn_words
from calirare.data.tables.cells.text import what_is_mixed
from calirare.data.tables.schema.edge_columns import check_edge_columns
from calirare.data.tables.schema.profile import check_profile
from calirare.errors import InputError

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)

FORMAT = 1
TYPES = ("numeric", "categorical", "text", "ignore")
_ROUNDING = 1e-6
"""Means of the same rows, summed in another order or in single precision, differ by less than this."""
_OUT_OF_PROPORTION = 1e12
"""A number so many times the spread of the middle half away from it: in single precision all others would be one."""
SPARSE_WIDTH = 200
"""Number of features above which they are kept sparse: most are then columns with few ones."""


def learn_columns(frame: pl.DataFrame, skip: set[str], types: Mapping[str, str]) -> list[dict[str, Any]]:
    """Type and preprocessing of every attribute column, those in `types` as the caller says.

    Args:
        frame: The node table.
        skip: Columns that are no attributes: id and label.
        types: `{"column": "numeric" | "categorical" | "text" | "ignore"}`.
    """
    kinds = kinds_of(frame.select(name for name in frame.columns if name not in skip))
    return [_learn(frame[name], types.get(name), kind) for name, kind in kinds.items()]


def _learn(column: pl.Series, wanted: str | None, found: Kind) -> dict[str, Any]:
    if wanted == "ignore":
        return _ignore(column, LEFT_OUT)
    if found.reason == EMPTY or (found.name == "ignore" and wanted is None):
        if found.mendable:
            logger.warning("column %r is left out: %s.", column.name, found.reason)
        return _ignore(column, found.reason)
    if wanted == "categorical" or (wanted is None and found.name == "category"):
        learned = _learn_categorical(column)
    elif wanted == "text" or (wanted is None and found.name == "text"):
        learned = _learn_text(column, found.style.get("form", ""))
    else:
        learned = _learn_numeric(column, found)
    return {**learned, "identifier": found.reason} if found.name == "ignore" else learned  # kept against advice


def _ignore(column: pl.Series, reason: str) -> dict[str, Any]:
    return {"name": column.name, "type": "ignore", "reason": reason}


def _learn_numeric(column: pl.Series, kind: Kind) -> dict[str, Any]:
    values = to_numbers(column, kind.style)
    known = values[~np.isnan(values)]
    if not known.size:
        return _ignore(column, EMPTY)
    check_proportion(column.name, values)
    if said := what_is_mixed(column):
        logger.warning("column %r: %s.", column.name, said)
    # Divided by the largest first, so that the squares of huge values do not overflow.
    largest = float(np.abs(known).max()) or 1.0
    mean, scale = float((known / largest).mean()) * largest, float((known / largest).std()) * largest
    if not scale > 1e-12 * largest:
        scale = 1.0  # constant up to rounding: the feature is 0 everywhere
    return {
        "name": column.name,
        "type": "numeric",
        "median": float(np.median(known)),
        "mean": mean,
        "scale": scale,
        "indicator": bool(known.size < values.size),
        **({"text": kind.style} if kind.style else {}),
        **({"days": True} if column.dtype.is_temporal() and kind.name == "time" or "date" in kind.style else {}),
    }


def check_proportion(name: str, values: np.ndarray) -> None:
    """Refuse numbers among which one is so large that the others would all be alike.

    >>> check_proportion("sum", np.array([3.0, 4.0, 7.0, np.nan, 9.0, 1e30]))
    Traceback (most recent call last):
    calirare.errors.InputError: column 'sum' holds a value out of all proportion in row 6: 1e+30. Correct it, or leave the cell empty to have it imputed.
    """
    with np.errstate(over="ignore"):
        low, middle, high = np.nanquantile(values, (0.25, 0.5, 0.75))
        out = np.abs(values - middle) > _OUT_OF_PROPORTION * (high - low)
    if high > low and out.any():
        refuse_proportion(name, values, out)


def refuse_proportion(name: str, values: np.ndarray, out: np.ndarray) -> NoReturn:
    """The error, for the first of the rows `out` `(n,)` bool."""
    row = int(np.flatnonzero(out)[0])
    raise InputError(
        f"column {name!r} holds a value out of all proportion in row {row + 1}: {values[row]:g}. "
        "Correct it, or leave the cell empty to have it imputed."
    )


def is_moment(column: Mapping[str, Any]) -> bool:
    """Whether a numeric column of a schema counts the days since 1970.

    >>> is_moment({"type": "numeric", "text": {"date": "%Y-%m-%d"}}), is_moment({"type": "numeric"})
    (True, False)
    """
    style = column.get("text")
    return column.get("days") is True or (isinstance(style, Mapping) and "date" in style)


def truth_words(column: Mapping[str, Any]) -> tuple[str, str]:
    """What 0 and 1 of a numeric column of a schema are called in the table, if nothing else is in it.

    >>> truth_words({"type": "numeric", "text": {"truth": True}}), truth_words({"type": "numeric"})
    (('no', 'yes'), ('0', '1'))
    """
    style = column.get("text")
    return ("no", "yes") if isinstance(style, Mapping) and style.get("truth") is True else ("0", "1")


def _learn_categorical(column: pl.Series) -> dict[str, Any]:
    names = commonest(column)
    if not names:
        return _ignore(column, EMPTY)
    return {
        "name": column.name,
        "type": "categorical",
        "categories": sorted(names[:MAX_CATEGORIES]),
        "rare": names[MAX_CATEGORIES : MAX_CATEGORIES + MAX_RARE_NAMES],
        "indicator": bool(to_categories(column).null_count()),
    }


def _learn_text(column: pl.Series, form: str) -> dict[str, Any]:
    texts = to_texts(column)
    words = learn_words(texts, form)
    if not words:
        return _ignore(column, NOT_SHARED.get(form, NO_COMMON_WORDS))
    learned = {"name": column.name, "type": "text", "words": words, "indicator": bool(texts.null_count())}
    return {**learned, "form": form} if form else learned


def scaled_otherwise(at_fit: Mapping[str, Any], now: Mapping[str, Any], by: float = 0.0) -> str | None:
    """The first numeric column that two schemas bring to another mean or scale, by more than `by` scales; None: there is none.

    >>> age = {"name": "age", "type": "numeric", "mean": 40.0, "scale": 10.0}
    >>> scaled_otherwise({"columns": [age]}, {"columns": [age]})
    >>> scaled_otherwise({"columns": [age]}, {"columns": [age | {"mean": 41.0}]})
    'age'
    """
    before = {column["name"]: column for column in at_fit["columns"] if column["type"] == "numeric"}
    for column in now["columns"]:
        then = before.get(column["name"])
        if then is None or column["type"] != "numeric":
            continue
        most = by * then["scale"] + _ROUNDING * (abs(then["mean"]) + then["scale"])
        if any(abs(column[said] - then[said]) > most for said in ("mean", "scale")):
            return str(column["name"])
    return None


def feature_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the features in the order of their columns.

    >>> feature_names({"columns": [{"name": "country", "type": "categorical", "categories": ["NO"], "indicator": True}]})
    ('country = NO', 'country is missing')
    """
    names, words = [], []
    for column in schema["columns"]:
        if column["type"] == "numeric":
            names.append(column["name"])
        elif column["type"] == "categorical":
            names += [f"{column['name']}{EQUALS}{category}" for category in column["categories"]]
        elif column["type"] == "text":
            words += [f"{column['name']}{HAS}{word}" for word in column["words"]]
        if column.get("indicator"):
            names.append(f"{column['name']} is missing")
    return (*names, *words)


def check_schema(schema: Any) -> None:
    """Refuse a schema that this version does not understand or that was edited into nonsense."""
    try:
        if schema["format"] != FORMAT:
            raise InputError(f"schema is of format {schema['format']!r}; this calirare reads {FORMAT}.")
        good = isinstance(schema["id"], str) and isinstance(schema["edges"]["source"], str)
        good &= schema["label"] is None or isinstance(schema["label"]["column"], str)
        good &= not schema.get("seen") or check_profile(schema["seen"])
        good &= _good_edges(schema["edges"]) and _good_nodes(schema.get("nodes", {}))
        for column in schema["columns"]:
            good &= isinstance(column["name"], str) and column["type"] in TYPES
            if column["type"] == "numeric":
                numbers = [float(column[key]) for key in ("median", "mean", "scale")]
                good &= all(math.isfinite(number) for number in numbers) and column["scale"] > 0
            elif column["type"] == "categorical":
                good &= all(isinstance(category, str) for category in column["categories"])
            elif column["type"] == "text":
                good &= (
                    all(isinstance(word, str) for word in column["words"])
                    and len(set(column["words"])) == len(column["words"]) > 0
                    and column.get("form", MAIL) in FORMS
                )
            if column["type"] != "ignore":
                good &= isinstance(column["indicator"], bool)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"schema is incomplete: {error}.") from error
    if not good:
        raise InputError("schema holds values of the wrong type; use the one that read_tables gave.")


def _good_edges(edges: Mapping[str, Any]) -> bool:
    good = all(edges.get(key) is None or isinstance(edges[key], str) for key in ("weight", "type", "time"))
    good &= isinstance(edges["target"], str) and isinstance(edges.get("directed", True), bool)
    good &= all(isinstance(name, str) for key in ("types", "cells") for name in edges.get(key, ()))
    good &= all(
        isinstance(table[key], str) for table in edges.get("tables", ()) for key in ("name", "source", "target")
    )
    return good and check_edge_columns(edges.get("columns", []))


def _good_nodes(nodes: Mapping[str, Any]) -> bool:
    good = all(nodes.get(key) is None or isinstance(nodes[key], str) for key in ("type", "time"))
    good &= all(isinstance(name, str) for key in ("types", "labelled") for name in nodes.get(key, ()))
    good &= all(isinstance(text, str) for pair in nodes.get("apart", {}).items() for text in pair)
    return good and isinstance(nodes.get("from_edges", False), bool)
