"""One node: how probable, why, who its neighbours are, and the buttons that decide it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from calirare.review.attributes import compare
from calirare.review.case import describe_case, strongest_pulls
from calirare.review.desk import Desk
from calirare.review.neighbourhood import neighbourhood
from calirare.review.pages import case_parts as parts
from calirare.review.pages.picture import draw, legend
from calirare.review.pages.widgets import card, key
from calirare.review.security import Access, current_reviewer
from calirare.review.store import LONGEST_NOTE, standing
from calirare.review.view import View

_CHOICES = (("rare", "r", "Rare"), ("normal", "n", "Normal"), ("unsure", "u", "Unsure"))


def layout() -> Any:
    return html.Div(
        [
            html.Div(id="case-head", className="case-head"),
            html.Div(
                [
                    html.Div([html.Div(id="case-probability"), _decision_card()], className="case-column"),
                    html.Div([html.Div(id="case-picture"), html.Div(id="case-pulls")], className="case-column"),
                    html.Div(html.Div(id="case-attributes"), className="case-column"),
                ],
                className="case-columns",
                id="case-columns",
            ),
        ]
    )


def _decision_card() -> Any:
    buttons = [
        html.Button([html.Span(words), key(letter)], id=f"decide-{name}", className=f"button decide decide-{name}")
        for name, letter, words in _CHOICES
    ]
    return card(
        "Decision",
        html.Div(id="decision-now"),
        html.Div(buttons, className="decide-row"),
        dcc.Textarea(
            id="note",
            placeholder="Note (m): what you saw, stored with the decision",
            maxLength=LONGEST_NOTE,
            className="note",
        ),
        html.Div(
            [
                html.Button(["Undo ", key("z")], id="undo", className="button quiet"),
                dcc.Checklist(
                    id="advance",
                    options=[{"label": "then open the next case", "value": "yes"}],
                    value=[],
                    persistence=True,
                    persistence_type="local",
                    className="advance",
                ),
            ],
            className="undo-row",
        ),
        html.Div(id="history"),
        id="decision-card",
        class_name="waiting",
    )


def add_callbacks(app: Dash, desk: Desk, access: Access) -> None:
    _add_acts(app)

    @app.callback(
        Output("case-head", "children"),
        Output("case-probability", "children"),
        Output("case-picture", "children"),
        Output("case-attributes", "children"),
        Output("case-columns", "className"),
        Output("case", "data"),
        Output("note", "value"),
        Input("url", "pathname"),
        Input("url", "search"),
        State("view", "data"),
        State("grid-model", "data"),
        State("case", "data"),
    )
    def open_case(path: str, search: str, data: Any, model: Any, shown: Any) -> Any:
        if path != "/case":
            return [no_update] * 7
        node_id = (parse_qs((search or "").lstrip("?")).get("id") or [""])[0]
        node = desk.snapshot.find(node_id)
        if node is None:
            return parts.not_found(node_id), None, None, None, "case-columns hidden", None, ""
        model = model if isinstance(model, dict) else {}
        view = View.parse(data, model.get("sort"), model.get("filter"))
        queue = desk.queue
        case = describe_case(queue, view, node)
        around = neighbourhood(queue.snapshot, node)
        picture = card(
            "Neighbourhood",
            draw(queue.snapshot, desk.book, around),
            legend(),
            html.P(around.said, className="hint", id="picture-said"),
        )
        same = isinstance(shown, dict) and shown.get("id") == node_id
        return (
            parts.head(case),
            parts.probability(case),
            picture,
            parts.attributes(compare(queue.snapshot, node)),
            "case-columns",
            {"id": node_id, "model": queue.snapshot.version},
            no_update if same else "",
        )

    @app.callback(Output("case-pulls", "children"), Input("case", "data"))
    def show_pulls(case: Any) -> Any:
        node = desk.snapshot.find(case["id"]) if isinstance(case, dict) else None
        return None if node is None else parts.pulls(strongest_pulls(desk.station.queue, node))

    @app.callback(
        Output("decision-now", "children"),
        Output("history", "children"),
        Output("seen", "data"),
        Input("case", "data"),
        Input("acted", "data"),
    )
    def show_decision(case: Any, acted: Any) -> Any:
        if not isinstance(case, dict):
            return None, None, None
        rows = desk.store.history(case["id"])
        last = rows[-1] if rows else None
        conflict = (
            acted if isinstance(acted, dict) and acted.get("conflict") and acted.get("node") == case["id"] else None
        )
        seen = {"id": case["id"], "model": case.get("model"), "seen": 0 if last is None else last.id}
        stands = None if last is None else standing(last, {row.id: row for row in rows})
        return parts.now(stands, conflict), parts.history(rows, current_reviewer(access)), seen


def _add_acts(app: Dash) -> None:
    """Decisions go to the server by a script, which sends the same key again when an answer gets lost."""
    app.clientside_callback(
        ClientsideFunction("desk", "act"),
        Output("acted", "data"),
        Output("undo-stack", "data"),
        Output("note", "value", allow_duplicate=True),
        *(Input(f"decide-{name}", "n_clicks") for name, _, _ in _CHOICES),
        Input("undo", "n_clicks"),
        State("seen", "data"),
        State("note", "value"),
        State("undo-stack", "data"),
        State("advance", "value"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "markWaiting"),
        Output("decision-card", "className"),
        Input("url", "search"),
        Input("url", "pathname"),
        Input("seen", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("desk", "openTapped"),
        Output("case-picture", "id"),
        Input("picture", "tapNodeData"),
        prevent_initial_call=True,
    )
