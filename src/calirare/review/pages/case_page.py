"""One node: how probable, why, who its neighbours are, and the buttons that decide it."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html, no_update

from calirare.review.case.attributes import compare
from calirare.review.case.edges_of import edges_of, likeliest_neighbours
from calirare.review.case.neighbourhood import neighbourhood
from calirare.review.case.summary import describe_case, pulling_labels
from calirare.review.desk import Desk
from calirare.review.pages import case_sections as sections
from calirare.review.pages import record_sections
from calirare.review.pages.painted import PAINTED, paint, painted
from calirare.review.pages.picture import draw, legend
from calirare.review.pages.widgets import card, give_to, key, tick
from calirare.review.security import current_reviewer
from calirare.review.store.decisions import LONGEST_NOTE, standing
from calirare.scoring.service.access import Access

_CARDS = ("probability", "picture", "neighbours", "attributes", "record", "edges", "why")
_SECOND = (
    html.Span("Ask for a second opinion", className="ask"),
    html.Span("No second opinion is needed", className="unask"),
    key("2"),
)
_CHOICES = (("rare", "r", "Rare"), ("normal", "n", "Normal"), ("unsure", "u", "Unsure"))


def layout() -> Any:
    return html.Div(
        [
            html.Div(id="case-head", className="case-head"),
            html.Div(
                [
                    html.Div(
                        [html.Div(id="case-probability"), _decision_card(), _team_card()], className="case-column"
                    ),
                    html.Div(
                        [
                            html.Div(id="case-why"),
                            html.Div(id="case-picture"),
                            html.Div(id="case-neighbours"),
                            html.Div(id="case-pulls"),
                        ],
                        className="case-column",
                    ),
                    html.Div([html.Div(id="case-record"), html.Div(id="case-attributes")], className="case-column"),
                    html.Div(html.Div(id="case-edges"), className="case-wide"),
                ],
                className="case-columns",
                id="case-columns",
            ),
        ]
    )


def _team_card() -> Any:
    return card(
        "Team",
        html.Div(id="team-now"),
        html.Div(
            [
                give_to("give-to"),
                html.Button("Give", id="give", className="button quiet"),
                html.Button("Take it", id="take", className="button quiet"),
            ],
            className="undo-row",
        ),
        html.Button(**painted(_SECOND), id="second", className="button quiet"),
    )


def _decision_card() -> Any:
    buttons = [
        html.Button(
            **painted([html.Span(words), key(letter)]), id=f"decide-{name}", className=f"button decide decide-{name}"
        )
        for name, letter, words in _CHOICES
    ]
    return card(
        "Decision",
        html.Div(id="decision-now"),
        html.Div(buttons, className="decide-row"),
        html.Label(
            [
                html.Span("Note", className="unseen"),
                dcc.Textarea(
                    id="note",
                    placeholder="Note (m): what you saw, stored with the decision",
                    maxLength=LONGEST_NOTE,
                    className="note",
                ),
            ]
        ),
        html.Div(
            [
                html.Button(**painted(["Undo ", key("z")]), id="undo", className="button quiet"),
                tick("then open the next case", id="advance-tick"),
            ],
            className="undo-row",
        ),
        html.Div(id="history"),
        id="decision-card",
        class_name="waiting",
    )


def add_callbacks(app: Dash, desk: Desk, access: Access) -> None:
    page = _CasePage(desk, access)
    _add_acts(app)
    app.callback(
        Output("case-head", PAINTED),
        Output("case-columns", "className"),
        Output("case", "data"),
        Output("note", "value"),
        Input("asked-case", "data"),
        State("view", "data"),
        State("grid-model", "data"),
        State("case", "data"),
        prevent_initial_call=True,
    )(page.open)
    app.callback(
        *(Output(f"case-{name}", "children" if name == "picture" else PAINTED) for name in _CARDS),
        Input("case", "data"),
        Input("acted", "data"),
        prevent_initial_call=True,
    )(page.show)
    app.callback(
        Output("case-pulls", PAINTED), Input("case", "data"), Input("acted", "data"), prevent_initial_call=True
    )(page.show_pulls)
    app.callback(
        *(Output(name, PAINTED) for name in ("decision-now", "history", "team-now")),
        Output("seen", "data"),
        Input("case", "data"),
        Input("acted", "data"),
        Input("asked-decision", "data"),
        prevent_initial_call=True,
    )(page.show_decision)


class _CasePage:
    """Fills the page; in blind mode the scores come when the case is decided."""

    def __init__(self, desk: Desk, access: Access) -> None:
        self.desk, self.access = desk, access

    def open(self, asked: Any, data: Any, model: Any, shown: Any) -> Any:
        """The head, and which case it is."""
        desk, node_id = self.desk, str(asked.get("id") or "") if isinstance(asked, dict) else ""
        node = desk.snapshot.find(node_id)
        if node is None:
            return paint(sections.not_found(node_id)), "case-columns hidden", None, ""
        who = current_reviewer(self.access)
        model = model if isinstance(model, dict) else {}
        view = desk.view(data, model.get("sort"), model.get("filter"), reviewer=who)
        queue = desk.queue
        same = isinstance(shown, dict) and shown.get("id") == node_id
        return (
            paint(sections.head(describe_case(queue, view, node), desk.links, hidden=desk.is_hidden(node_id, who))),
            "case-columns undecidable" if node in queue.snapshot.other_kind else "case-columns",
            {"id": node_id, "model": queue.snapshot.version, "settings": desk.setting.number},
            no_update if same else "",
        )

    def show(self, case: Any, acted: Any) -> Any:
        """What is known of the case, in the order of `_CARDS`."""
        desk, node = self.desk, self._node(case)
        if node is None:
            return [None if name == "picture" else paint(None) for name in _CARDS]
        queue, snapshot = desk.queue, desk.snapshot
        if self._only_acted():
            return [no_update] * len(_CARDS)
        hidden = desk.is_hidden(case["id"], current_reviewer(self.access))
        untold = hidden or node in snapshot.other_kind
        score = sections.hidden_score() if hidden else sections.probability(describe_case(queue, desk.view({}), node))
        return (
            paint(html.Div(score, id="case-body", **{"data-case": case["id"]})),  # whose the cards are
            self._picture(node, hidden),
            paint(record_sections.neighbours(*likeliest_neighbours(snapshot, desk.book, node), hidden)),
            paint(sections.attributes(compare(snapshot, node))),
            paint(record_sections.record(desk.station.records, node)),
            paint(record_sections.edges(edges_of(snapshot, node), snapshot)),
            paint(None if untold else sections.why(snapshot.why.facts(node), snapshot.why.neighbours(node))),
        )

    def show_pulls(self, case: Any, acted: Any) -> Any:
        """The labels that pull it, which take longest."""
        node = self._node(case)
        if node is None or self.desk.is_hidden(case["id"], current_reviewer(self.access)):
            return paint(None)
        if node in self.desk.snapshot.other_kind:
            return paint(None)
        return no_update if self._only_acted() else paint(sections.pulls(pulling_labels(self.desk.station.queue, node)))

    def show_decision(self, case: Any, acted: Any, asked: Any) -> Any:
        """What was decided, by whom, and whose case it is."""
        if not isinstance(case, dict):
            return *[paint(None)] * 3, None
        desk, name, who = self.desk, case["id"], current_reviewer(self.access)
        rows = desk.store.history(name)
        last = rows[-1] if rows else None
        stands = None if last is None else standing(last, {row.id: row for row in rows})
        conflict = acted if isinstance(acted, dict) and acted.get("conflict") and acted.get("node") == name else None
        seen = {"id": name, "model": case.get("model"), "seen": 0 if last is None else last.id}
        desk.team.refresh()
        team = paint(sections.team(desk.team.assigned_to(name), desk.team.wish(name), who))
        if desk.is_hidden(name, who) and conflict is None:
            return paint(sections.now(None, None)), paint(None), team, seen
        return paint(sections.now(stands, conflict)), paint(sections.history(rows, who)), team, seen

    def _node(self, case: Any) -> int | None:
        return self.desk.snapshot.find(case["id"]) if isinstance(case, dict) else None

    def _only_acted(self) -> bool:
        """Whether a decision alone asks, which changes nothing on these cards unless it lifts the blind.

        A decision and the next case may come in one request.
        """
        return set(ctx.triggered_prop_ids.values()) == {"acted"} and not self.desk.setting.settings.blind

    def _picture(self, node: int, hidden: bool) -> Any:
        snapshot = self.desk.snapshot
        around = snapshot.keep("neighbourhood", node, lambda: neighbourhood(snapshot, node))
        return card(
            "Neighbourhood",
            draw(snapshot, self.desk.book, around, hidden=hidden),
            legend(),
            html.P(around.said, className="hint", id="picture-said"),
        )


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
        State("advance", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "actWithTeam"),
        Output("acted", "data", allow_duplicate=True),
        *(Input(name, "n_clicks") for name in ("give", "take", "second")),
        State("give-to", "value"),
        State("seen", "data"),
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
