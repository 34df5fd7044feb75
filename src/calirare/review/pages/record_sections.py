"""The record of a case as the user knows it: its columns, its edges, its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import html

from calirare.review.edges_of import EdgeRows, Neighbour
from calirare.review.pages.widgets import aria, card, case_link, pill
from calirare.review.records import Records

_MOST_CELLS = 200


def record(records: Records, node: int) -> Any:
    """Every column of the node, those that the model does not read too."""
    cells = records.record(node)
    rows = [
        html.Tr(
            [
                html.Th(
                    [one.name, html.Span("not read by the model", className="unused") if one.unused else None],
                    scope="row",
                ),
                html.Td(one.value or "–", title=one.unused or None),
            ]
        )
        for one in cells[:_MOST_CELLS]
    ]
    said = "" if records.from_table else "As the model read it; start the desk with --nodes to see every column."
    if not rows:
        return card("Record", html.P("The nodes have no columns.", className="hint"))
    return card(
        "Record",
        _scrolling(html.Table(html.Tbody(rows), className="record", id="record"), "Record"),
        html.P(said, className="hint") if said else None,
    )


def neighbours(found: list[Neighbour], total: int, hidden: bool = False) -> Any:
    """The neighbours with their probability and what people said of them."""
    if not found:
        return None
    rows = [
        html.Tr(
            [
                html.Td(case_link(one.node_id)),
                html.Td("" if hidden else f"{one.probability:.3f}", className="number"),
                html.Td(_state(one.state)),
                html.Td(f"{one.num_edges:,}", className="number"),
            ]
        )
        for one in found
    ]
    head = html.Tr([html.Th("Node"), html.Th("P(rare)"), html.Th("Known"), html.Th("Edges")])
    some = f"The {len(found)} most probable of {total:,}." if len(found) < total else f"All {total:,}."
    return card(
        "Neighbours",
        _scrolling(
            html.Table([html.Thead(head), html.Tbody(rows)], className="figures rows", id="neighbours"), "Neighbours"
        ),
        html.P(some, className="hint"),
    )


def edges(found: EdgeRows, ids: np.ndarray) -> Any:
    """The edges with their own columns, the latest first."""
    if not found.rows:
        return None
    names: Sequence[str] = ("", "Node", *found.names)
    rows = [
        html.Tr(
            [html.Td(row.direction), html.Td(case_link(ids[row.other])), *(html.Td(cell or "–") for cell in row.cells)]
        )
        for row in found.rows
    ]
    head = html.Tr([html.Th(name or "Way", scope="col") for name in names])
    some = f"{len(found.rows)} of {found.total:,} edges." if len(found.rows) < found.total else f"All {found.total:,}."
    return card(
        "Edges",
        _scrolling(
            html.Table([html.Thead(head), html.Tbody(rows)], className="figures rows edges", id="edges"), "Edges"
        ),
        html.P(some, className="hint"),
    )


def _state(words: str) -> Any:
    if not words:
        return ""
    kind = "rare" if words == "decided rare" else "normal" if words == "decided normal" else "label"
    return pill(kind, words)


def _scrolling(table: Any, name: str) -> Any:
    """A table that may be larger than its place; the keyboard reaches it too."""
    return html.Div(table, className="scrolling", tabIndex=0, role="region", **aria(name))
