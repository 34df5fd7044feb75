"""Every column of both tables for the eye: how it is used, or why not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from typing import Any

from calirare.data.edge_table import MOST_CATEGORIES
from calirare.data.tables.cells.columns import MAX_RARE_NAMES
from calirare.data.tables.cells.number_text import is_ledger
from calirare.data.tables.cells.text import words_for_gaps
from calirare.data.tables.gathering.naming import plain_name
from calirare.data.tables.gathering.tables import without_edges

_SIZES = {"b": "bytes", "kb": "KB", "mb": "MB", "gb": "GB", "tb": "TB", "kib": "KiB", "mib": "MiB", "gib": "GiB"}
_PARTS_OF_DATES = {
    "%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year", "%H": "hour", "%M": "minute", "%S": "second",
}  # fmt: skip
SAME_AS_OTHERS = "whether others have the same value"
NOT_BY_NETWORKS = "not used: a network alone reads the nodes' columns and who is joined to whom; auto reads it"


def describe_schema(schema: Mapping[str, Any], *, networks_alone: bool = False) -> list[dict[str, str]]:
    """One row per column: its table, its name, its type, and what is done with it.

    Args:
        schema: Of the tables.
        networks_alone: The model reads no columns that are summed up from edges.

    >>> describe_schema({"columns": [{"name": "note", "type": "ignore", "reason": "free text"}]})
    [{'table': 'nodes', 'column': 'note', 'type': 'ignore', 'treatment': 'not used: free text'}]
    """
    read = schema.get("read") or {}
    lacking = read.get("lacking", {}).keys() - read.get("imputed", {}).keys()
    nodes, edges = schema.get("nodes") or {}, schema.get("edges") or {}
    same = nodes.get("same", ())
    rows = [*_roles_of_nodes(schema), *(_node_column(column, lacking, same) for column in schema["columns"])]
    if without_edges(schema):
        edges = {**edges, "columns": [], "tables": edges.get("tables", ())[1:], "source": same}
    rows += _roles_of_edges(edges, nodes.get("apart", {}))
    return rows + [_edge_column(column, edges, networks_alone) for column in edges.get("columns", ())]


def _row(table: str, column: str, type: str, treatment: str) -> dict[str, str]:
    return {"table": table, "column": column, "type": type, "treatment": treatment}


def _roles_of_nodes(schema: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = []
    nodes, label = schema.get("nodes") or {}, schema.get("label")
    if schema.get("id"):
        source = "the nodes, by the edges that name them" if nodes.get("from_edges") else "names the nodes"
        rows.append(_row("nodes", schema["id"], "id", source))
    if label:
        rows.append(_row("nodes", label["column"], "label", _classes(label)))
    if nodes.get("type"):
        rows.append(_row("nodes", nodes["type"], "node type", _shown(nodes.get("types", ()), "kinds")))
    if nodes.get("time"):
        rows.append(_row("nodes", nodes["time"], "time", "when; not an attribute"))
    return rows


def _classes(label: Mapping[str, Any]) -> str:
    """
    >>> _classes({"rare": "mule", "values": ["fine", "mule", "odd"]})
    "'mule' is rare; 'fine', 'odd' are not; empty: unknown"
    """
    rest = [repr(value) for value in label.get("values", ()) if value != label["rare"]]
    more = f" and {len(rest) - 4} more" if len(rest) > 4 else ""
    others = f"; {', '.join(rest[:4])}{more} {'are' if len(rest) > 1 else 'is'} not" if rest else ""
    return f"{label['rare']!r} is rare{others}; empty: unknown"


def _roles_of_edges(edges: Mapping[str, Any], apart: Mapping[str, str]) -> list[dict[str, str]]:
    rows = []
    ends = ("from", "to") if edges.get("directed", True) else ("one end", "other end")
    tables = edges.get("tables") or [edges]
    for table in tables if edges.get("source") else ():
        where = f"edges {table['name']}" if len(tables) > 1 else "edges"
        for key, word in zip(("source", "target"), ends, strict=True):
            kind = apart.get(plain_name(table[key]))
            words = word if kind is None else f"{word}; nodes of a kind of their own, {kind!r}"
            rows.append(_row(where, table[key], "end", words))
    if edges.get("type"):
        rows.append(_row("edges", edges["type"], "edge type", _shown(edges.get("types", ()), "types")))
    return rows


def _node_column(column: Mapping[str, Any], lacking: Collection[str], same: Collection[str]) -> dict[str, str]:
    """What is missing at kinds of node alone that have no such column is no gap: not told.

    >>> _node_column({"name": "device", "type": "ignore", "reason": "names"}, [], ["device"])["treatment"]
    'joins nodes that have the same'
    """
    if column["name"] in same:
        row = _node_column(column, lacking, ())
        joins = "joins nodes that have the same"
        return row | {"treatment": joins if column["type"] == "ignore" else f"{row['treatment']}; {joins}"}
    if column["type"] == "ignore":
        return _row("nodes", column["name"], "ignore", f"not used: {column['reason']}")
    if column["type"] == "numeric":
        treatment = _scaled(column) + _style(column)
        fill = f"missing: {calendar_day(column['median']) if column.get('days') else format(column['median'], '.4g')}"
    elif column["type"] == "text":
        treatment, fill = _shown(column["words"], "parts" if "form" in column else "words"), "missing: no words"
    else:
        treatment = _shown(column["categories"], "categories") + _rarer(column)
        fill = "missing: none of them"
    treatment += f"; {fill}, with an indicator" if column["indicator"] and column["name"] not in lacking else ""
    return _row("nodes", column["name"], column["type"], treatment)


def _scaled(column: Mapping[str, Any]) -> str:
    """
    >>> _scaled({"mean": -2.0, "scale": 4.0}), _scaled({"mean": 18_262.0, "scale": 30.0, "days": True})
    ('(value + 2) / 4', 'days since 2020-01-01, / 30')
    """
    mean, scale = column["mean"], column["scale"]
    if column.get("days"):
        return f"days since {calendar_day(mean)}, / {scale:.4g}"
    return f"(value {'+' if mean < 0 else '-'} {abs(mean):.4g}) / {scale:.4g}"


def calendar_day(days: float) -> str:
    """The day that is so many days after the first of 1970.

    >>> calendar_day(20_116.0), calendar_day(1e12)
    ('2025-01-28', 'day 1e+12')
    """
    try:
        return str(date(1970, 1, 1) + timedelta(days=round(days)))
    except OverflowError:
        return f"day {days:.4g}"


def _edge_column(column: Mapping[str, Any], edges: Mapping[str, Any], networks_alone: bool) -> dict[str, str]:
    kind, weighs = column["kind"], column["name"] == edges.get("weight")
    of_cells = SAME_AS_OTHERS if column["name"] in edges.get("cells", ()) and not networks_alone else ""
    if kind == "ignore":
        return _row("edges", column["name"], kind, f"{of_cells or 'not used'}: {column['reason']}")
    if networks_alone:
        return _row("edges", column["name"], kind, "the weight of the edges" if weighs else NOT_BY_NETWORKS)
    if kind == "category":
        many = len(column["categories"]) > MOST_CATEGORIES
        shares = f"the {MOST_CATEGORIES} most frequent of " if many else ""
        treatment = f"shares of {shares}{_shown(column['categories'], 'categories')}{_rarer(column)}"
    elif kind == "text":
        treatment = "shares of " + _shown(column["categories"], "words")
    else:
        treatment = "summed up per node" if kind == "number" else "when: first, last and spread per node"
        treatment += _style(column)
    treatment += "; the weight of the edges" if weighs else ""
    treatment += f"; {of_cells}" if of_cells else ""
    return _row("edges", column["name"], kind, treatment)


def _rarer(column: Mapping[str, Any]) -> str:
    """How many categories have no column of their own; of very many, the schema keeps some.

    >>> _rarer({"rare": ["a", "b"]}), _rarer({"rare": ["a"] * MAX_RARE_NAMES})
    ('; 2 rarer ones count as none of them', '; 1,000 or more rarer ones count as none of them')
    """
    rare = column.get("rare", ())
    count, kept = (rare, False) if isinstance(rare, int) else (len(rare), True)  # of earlier versions: how many
    more = " or more" if kept and count >= MAX_RARE_NAMES else ""
    return f"; {count:,}{more} rarer ones count as none of them" if count else ""


def _style(column: Mapping[str, Any]) -> str:
    """
    >>> _style({"text": {"truth": True}}), _style({"text": {"date": "%d.%m.%Y"}})
    (', yes read as 1', ', read as day.month.year')
    >>> _style({"text": {"date": "%Y%m%d%H%M"}})
    ', read as year month day hour minute'
    >>> _style({"text": {"decimal": ",", "missing": "k.A."}})
    ", read with decimal comma, 'k.A.' is missing"
    """
    style = column.get("text") or {}
    gaps = words_for_gaps(style)
    gap = f", {' and '.join(map(repr, gaps))} {'is' if len(gaps) == 1 else 'are'} missing" if gaps else ""
    return f"{_form(style)}{gap}"


def _form(style: Mapping[str, Any]) -> str:
    if style.get("truth"):
        return ", yes read as 1"
    if "date" in style:
        form = style["date"]
        if re.fullmatch("(%[a-zA-Z])+", form):  # nothing stands between its parts
            form = form.replace("%", " %").strip()
        for sign, word in _PARTS_OF_DATES.items():
            form = form.replace(sign, word)
        return f", read as {form.replace('|', ' or ')}"
    if style.get("clock"):
        return ", read as times, in hours"
    unit = f", {_unit(style['unit'])}" if "unit" in style else ""
    return (", read with decimal comma" if style.get("decimal") == "," else "") + unit


def _unit(units: str) -> str:
    """The unit in which numbers are counted, or what they are out of, as people write it.

    >>> _unit("gb|mb"), _unit("b"), _unit("kg"), _unit("/ 5")
    ('in GB', 'in bytes', 'in kg', 'out of 5')
    >>> _unit("H|S")
    'H above 0, S below'
    """
    first = units.split("|")[0]
    if is_ledger(units):
        return f"{first} above 0, {units.split('|')[1]} below"
    return f"out of {first[2:]}" if first.startswith("/ ") else f"in {_SIZES.get(first, first)}"


def _shown(names: Any, what: str) -> str:
    counted = what if len(names) != 1 else {"categories": "category"}.get(what, what.removesuffix("s"))
    told = [repr(name) if "," in name else name for name in list(names)[:4]]
    return f"{len(names)} {counted}: " + ", ".join(told) + (", …" if len(names) > 4 else "")
