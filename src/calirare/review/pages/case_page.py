"""One node: how probable, why, who its neighbours are, and the buttons that decide it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from calirare.review.attributes import Attribute, compare
from calirare.review.case import Case, Pull, describe_case, strongest_pulls
from calirare.review.desk import Desk
from calirare.review.neighbourhood import neighbourhood
from calirare.review.pages.picture import draw, legend
from calirare.review.pages.widgets import card, case_href, case_link, interval_track, key, percent, pill
from calirare.review.security import Access, current_reviewer
from calirare.review.store import LONGEST_NOTE, OPEN, Decision
from calirare.review.view import View

_CHOICES = (("rare", "r", "Rare"), ("normal", "n", "Normal"), ("unsure", "u", "Unsure"))
_MOST_HISTORY = 20


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
            return _not_found(node_id), None, None, None, "case-columns hidden", None, ""
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
            _head(case),
            _probability(case),
            picture,
            _attributes(compare(queue.snapshot, node)),
            "case-columns",
            {"id": node_id, "model": queue.snapshot.version},
            no_update if same else "",
        )

    @app.callback(Output("case-pulls", "children"), Input("case", "data"))
    def show_pulls(case: Any) -> Any:
        node = desk.snapshot.find(case["id"]) if isinstance(case, dict) else None
        return None if node is None else _pulls(strongest_pulls(desk.station.queue, node))

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
        seen = {"id": case["id"], "seen": 0 if last is None else last.id}
        return _now(last, conflict), _history(rows, current_reviewer(access)), seen


def _add_acts(app: Dash) -> None:
    """Decisions go to the server by a script, which sends the same key again when an answer gets lost."""
    app.clientside_callback(
        ClientsideFunction("desk", "act"),
        Output("acted", "data"),
        Output("undo-stack", "data"),
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


def _not_found(node_id: str) -> Any:
    return html.Div(
        [
            html.H1("No such node"),
            html.P(["This graph has no node ", html.Code(node_id or "without a name"), "."]),
            dcc.Link("Back to the queue", href="/"),
        ],
        className="not-found",
    )


def _head(case: Case) -> Any:
    place = f"{case.place + 1:,} of {case.total:,} in the queue" if case.place is not None else "not in this queue"
    if case.label is not None and case.action is None:
        status = html.Span([pill("label", f"labelled {case.label}")])
    else:
        status = pill(case.action or "label", case.action or "labelled")
    return [
        dcc.Link(["Queue", key("q")], href="/", id="to-queue", className="button quiet"),
        html.H1(case.node_id, title=case.node_id, id="case-id"),
        status,
        html.Div(
            [
                html.Span(place, className="place", id="case-place"),
                _step("previous", case.before, "k"),
                _step("next", case.after, "j"),
            ],
            className="steps",
        ),
    ]


def _step(words: str, node_id: str | None, letter: str) -> Any:
    if node_id is None:
        return html.Span([words, key(letter)], className="button quiet disabled")
    return dcc.Link([words, key(letter)], href=case_href(node_id), id=f"{words}-case", className="button quiet")


def _probability(case: Case) -> Any:
    lines: list[Any] = [
        html.Div(
            [
                html.Span(f"{case.probability:.3f}", className="big", id="case-p"),
                html.Span(f"90% interval {case.lower:.2f} to {case.upper:.2f}", className="hint"),
            ],
            className="big-row",
        ),
        interval_track(case.probability, case.lower, case.upper, case.thresholds),
    ]
    if case.reason:
        lines.append(html.P(case.reason.split(": ", 1)[-1].capitalize(), className="reason"))
    lines.append(html.P(["Not ruled out at 90% coverage: ", html.Strong(case.set), "."], className="hint"))
    if case.label is not None:
        said = f"Its label, {case.label}, has trained the model."
        if case.without_label is not None:
            said += f" Without it P(rare) would be {case.without_label:.3f}."
        lines.append(html.P(said, className="hint"))
    return card("P(rare)", *lines)


def _attributes(comparison: Any) -> Any:
    rows = [_attribute(one) for one in comparison.attributes]
    more = f" {comparison.left_out:,} more usual ones are not shown." if comparison.left_out else ""
    return card(
        "Attributes against normal nodes",
        html.Div(rows, className="attributes") if rows else html.P("It has none of the attributes.", className="hint"),
        html.P(f"Most unusual first. Compared with {comparison.against}.{more}", className="hint"),
    )


def _attribute(one: Attribute) -> Any:
    strange = "strange" if one.surprise > 0.9 else ""
    if one.percentile is not None:
        at = percent(one.percentile)
        bar = html.Div(
            [html.Div(className="middle"), html.Div(className=f"mark-at {strange}", style={"left": at})],
            className="percentile",
        )
        words = f"above {100 * one.percentile:.0f}% of them; their median is {one.usual}"
    elif one.share is not None:
        bar = html.Div(
            html.Div(className=f"share {strange}", style={"width": percent(one.share)}), className="percentile"
        )
        words = f"shared by {100 * one.share:.1f}% of them; most often {one.usual}"
    else:
        bar, words = html.Div(className="percentile"), f"their median is {one.usual}"
    return html.Div(
        [
            html.Div(
                [
                    html.Span(one.name, className="name", title=one.name),
                    html.Span(one.value, className="value", title=one.value),
                ],
                className="attribute-head",
            ),
            bar,
            html.Div(words, className="hint"),
        ],
        className="attribute",
    )


def _pulls(pulls: list[Pull]) -> Any:
    largest = max((abs(one.pull) for one in pulls), default=1.0) or 1.0
    rows = [
        html.Div(
            [
                case_link(one.node_id),
                pill("rare" if one.is_rare else "normal", one.label),
                html.Div(
                    html.Div(
                        className=f"pull-bar {'up' if one.pull > 0 else 'down'}",
                        style={"width": percent(abs(one.pull) / largest / 2)},
                    ),
                    className="pull-track",
                ),
                html.Span(f"{one.pull:+.4f}", className="number"),
            ],
            className="pull",
        )
        for one in pulls
    ]
    return card(
        "Labels that pull this call",
        html.Div(rows, className="pulls"),
        html.P(
            "How far each label moves P(rare): to the right towards rare, to the left away from it.", className="hint"
        ),
    )


def _now(last: Decision | None, conflict: Any) -> Any:
    children: list[Any] = []
    if conflict:
        children.append(
            html.Div(
                [html.Strong("Not stored. "), str(conflict.get("error", ""))[:300], " Look again, then decide."],
                className="conflict",
                role="alert",
            )
        )
    if last is None or last.decision == OPEN:
        children.append(html.P("Not decided yet.", className="hint"))
    else:
        children.append(html.P([pill(last.decision), f" by {last.reviewer}"], className="decided"))
    return children


def _history(rows: list[Decision], reviewer: str | None) -> Any:
    shown = list(reversed(rows))[:_MOST_HISTORY]
    return html.Ol(
        [
            html.Li(
                [
                    html.Span(f"{row.time:%Y-%m-%d %H:%M} UTC", className="when"),
                    html.Span(["took it back: ", pill(row.decision)] if row.undoes else pill(row.decision)),
                    html.Span("you" if row.reviewer == reviewer else row.reviewer, className="by"),
                    html.Div(row.note, className="note-text") if row.note and not row.undoes else None,
                ]
            )
            for row in shown
        ],
        className="history",
    )
