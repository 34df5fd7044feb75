"""The record of a case as the user knows it: its columns, its edges, its neighbours."""

from __future__ import annotations

from typing import Any

from dash import html

from calirare.decisions.numbers import say_probability
from calirare.review.case.edges_of import EdgesOfNode, Neighbour
from calirare.review.pages.widgets import aria, card, case_link, number, pill, table
from calirare.review.records import RecordCell, Records
from calirare.review.snapshot import Snapshot

_MOST_CELLS = 200
_LONG = 60


def record(records: Records, node: int) -> Any:
    """Every column of the node, those that the model does not read too."""
    cells = records.record(node)
    rows = [_name_and_value(one) for one in cells[:_MOST_CELLS]]
    said = "" if records.from_table else "As the model read it; start the desk with --nodes to see every column."
    if not rows:
        return card("Record", html.P("The nodes have no columns.", className="hint"))
    return card(
        "Record",
        _scrolling(table(rows, class_name="record", id="record"), "Record"),
        html.P(said, className="hint") if said else None,
    )


def _name_and_value(one: RecordCell) -> tuple[Any, ...]:
    """Name and value beside each other; a text stands below its name."""
    name = [one.name, html.Span("not read by the model", className="unused") if one.unused else None]
    if len(one.value) > _LONG:
        return (html.Th([*name, html.Div(one.value, className="prose")], scope="row", colSpan=2),)
    return html.Th(name, scope="row"), html.Td(one.value or "–", title=one.unused or None)


def neighbours(found: list[Neighbour], total: int, hidden: bool = False) -> Any:
    """The neighbours with their probability and what people said of them."""
    if not found:
        return None
    rows = [
        (
            case_link(one.node_id, one.called),
            number("" if hidden or one.probability is None else say_probability(one.probability)),
            _state(one.state),
            number(f"{one.num_edges:,}"),
        )
        for one in found
    ]
    scored = any(one.probability is not None for one in found)
    shown = f"{len(found)} most probable" if scored else f"first {len(found)}"
    some = f"The {shown} of {total:,}." if len(found) < total else _all(total, "neighbour")
    return card(
        "Neighbours",
        _scrolling(
            table(rows, ("Node", "P(rare)", "Known", "Edges"), class_name="figures rows", id="neighbours"), "Neighbours"
        ),
        html.P(some, className="hint"),
    )


def edges(found: EdgesOfNode, snapshot: Snapshot) -> Any:
    """The edges with their own columns, the latest first."""
    if not found.rows:
        return None
    rows = [
        (
            row.direction,
            case_link(snapshot.ids[row.other], snapshot.call(row.other)),
            *(_cell(cell, number) for cell, number in zip(row.cells, found.numbers, strict=True)),
        )
        for row in found.rows
    ]
    heads = zip(found.names, found.numbers, strict=True)
    names = [html.Th(name, scope="col", className="number" if is_number else None) for name, is_number in heads]
    shown = len(found.rows)
    some = f"{shown} of {found.total:,} edges." if shown < found.total else _all(found.total, "edge")
    return card(
        "Edges",
        _scrolling(table(rows, ("Way", "Node", *names), class_name="figures rows edges", id="edges"), "Edges"),
        html.P(some, className="hint"),
    )


def _all(total: int, what: str) -> str:
    return f"All {total:,}." if total > 1 else f"Its only {what}."


def _cell(words: str, is_number: bool) -> Any:
    return number(words or "–") if is_number else words or "–"


def _state(words: str) -> Any:
    if not words:
        return ""
    kind = "rare" if words == "decided rare" else "normal" if words == "decided normal" else "label"
    return pill(kind, words)


def _scrolling(table: Any, name: str) -> Any:
    """A table that may be larger than its place; the keyboard reaches it too."""
    return html.Div(table, className="scrolling", tabIndex=0, role="region", **aria(name))
