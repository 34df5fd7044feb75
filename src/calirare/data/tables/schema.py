"""How a node table becomes features, learned once and kept as plain data.

A schema is a dict that JSON can hold:

    format    1
    id        name of the id column
    label     {"column", "rare", "values"}: the label column, the rare value, every value seen; or None
    edges     {"source", "target", "weight"}: column names of the edge table
    columns   per attribute {"name", "type"} and
                numeric:      "median" (fills gaps), "mean", "scale", "indicator" (a column that says where gaps were)
                categorical:  "categories" (one column each), "indicator"
                ignore:       "reason"
    sparse    whether the features are kept as CSR
    read      what was counted at reading: edges merged, self-loops, imputed values, unseen categories
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.tables.columns import import_polars, is_number_like, to_categories, to_numbers
from calirare.data.tables.frames import pick_column
from calirare.errors import InputError

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
TYPES = ("numeric", "categorical", "ignore")
MAX_CATEGORIES = 100
"""Most categories of one column; rarer ones are treated like categories never seen."""
SPARSE_WIDTH = 200
"""From this many features on they are kept sparse: most of them are then columns of a few ones."""


def learn_columns(frame: pl.DataFrame, skip: set[str], types: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """Type and preprocessing of every attribute column, those in `types` as the caller says.

    Args:
        frame: The node table.
        skip: Columns that are no attributes: id and label.
        types: `{"column": "numeric" | "categorical" | "ignore"}`.
    """
    types = dict(types or {})
    for name, kind in types.items():
        pick_column(frame, name, "types", "nodes")
        if kind not in TYPES:
            raise InputError(f"types[{name!r}] must be one of {list(TYPES)}; got {kind!r}.")
    columns = [_learn(frame[name], types.get(name)) for name in frame.columns if name not in skip]
    if all(column["type"] == "ignore" for column in columns):
        seen = "; ".join(f"{column['name']}: {column['reason']}" for column in columns) or "it has only id and label"
        raise InputError(f"nodes must have at least one attribute column that can be used ({seen}).")
    return columns


def _learn(column: pl.Series, kind: str | None) -> dict[str, Any]:
    if kind == "ignore":
        return _ignore(column, "left out by types")
    if column.null_count() == column.len():
        return _ignore(column, "every value is missing")
    if kind is None:
        kind, reason = _infer(column)
        if kind == "ignore":
            return _ignore(column, reason)
    return _learn_numeric(column) if kind == "numeric" else _learn_categorical(column)


def _infer(column: pl.Series) -> tuple[str, str]:
    pl = import_polars()
    if is_number_like(column.dtype):
        return "numeric", ""
    if column.dtype != pl.String:
        return "ignore", f"holds {column.dtype}"
    distinct = column.drop_nulls().n_unique()
    if distinct > MAX_CATEGORIES and 2 * distinct > column.len() - column.null_count():
        return "ignore", f"{distinct} different words: an identifier or free text"
    return "categorical", ""


def _ignore(column: pl.Series, reason: str) -> dict[str, Any]:
    return {"name": column.name, "type": "ignore", "reason": reason}


def _learn_numeric(column: pl.Series) -> dict[str, Any]:
    values = to_numbers(column)
    known = values[~np.isnan(values)]
    if not known.size:
        return _ignore(column, "every value is missing")
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
    }


def _learn_categorical(column: pl.Series) -> dict[str, Any]:
    pl = import_polars()
    text = to_categories(column)
    counts = text.drop_nulls().value_counts(name="n").sort(["n", column.name], descending=[True, False])
    if not counts.height:
        return _ignore(column, "every value is missing")
    return {
        "name": column.name,
        "type": "categorical",
        "categories": counts[column.name].head(MAX_CATEGORIES).sort().cast(pl.String).to_list(),
        "indicator": bool(text.null_count()),
    }


def feature_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the features in the order of their columns.

    >>> feature_names({"columns": [{"name": "country", "type": "categorical", "categories": ["NO"], "indicator": True}]})
    ('country = NO', 'country is missing')
    """
    names = []
    for column in schema["columns"]:
        if column["type"] == "numeric":
            names.append(column["name"])
        elif column["type"] == "categorical":
            names += [f"{column['name']} = {category}" for category in column["categories"]]
        if column.get("indicator"):
            names.append(f"{column['name']} is missing")
    return tuple(names)


def describe_schema(schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """One row per column for the eye: its name, its type, and what is done with it.

    >>> describe_schema({"columns": [{"name": "note", "type": "ignore", "reason": "free text"}]})
    [{'column': 'note', 'type': 'ignore', 'treatment': 'not used: free text'}]
    """
    rows = []
    for column in schema["columns"]:
        if column["type"] == "numeric":
            treatment = f"(value - {column['mean']:.4g}) / {column['scale']:.4g}"
            fill = f"missing: {column['median']:.4g}"
        elif column["type"] == "categorical":
            shown = ", ".join(column["categories"][:4]) + (", …" if len(column["categories"]) > 4 else "")
            treatment = f"{len(column['categories'])} categories: {shown}"
            fill = "missing: none of them"
        else:
            rows.append({"column": column["name"], "type": "ignore", "treatment": f"not used: {column['reason']}"})
            continue
        treatment += f"; {fill}, with an indicator" if column["indicator"] else ""
        rows.append({"column": column["name"], "type": column["type"], "treatment": treatment})
    return rows


def check_schema(schema: Any) -> None:
    """Refuse a schema that this version does not understand or that was edited into nonsense."""
    try:
        if schema["format"] != FORMAT:
            raise InputError(f"schema is of format {schema['format']!r}; this calirare reads {FORMAT}.")
        good = isinstance(schema["id"], str) and isinstance(schema["edges"]["source"], str)
        good &= schema["label"] is None or isinstance(schema["label"]["column"], str)
        for column in schema["columns"]:
            good &= isinstance(column["name"], str) and column["type"] in TYPES
            if column["type"] == "numeric":
                numbers = [float(column[key]) for key in ("median", "mean", "scale")]
                good &= all(math.isfinite(number) for number in numbers) and column["scale"] > 0
            elif column["type"] == "categorical":
                good &= all(isinstance(category, str) for category in column["categories"])
            if column["type"] != "ignore":
                good &= isinstance(column["indicator"], bool)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"schema is incomplete: {error}.") from error
    if not good:
        raise InputError("schema holds values of the wrong type; use the one that read_tables gave.")
