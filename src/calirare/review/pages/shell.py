"""The frame around the pages: header, what the browser remembers, which page is shown."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from calirare.review.desk import Desk
from calirare.review.pages import case_page, model_page, monitoring_page, prices, quality_page, queue_page
from calirare.review.pages.painted import PAINTED, paint, painted
from calirare.review.pages.widgets import aria, key, percent, table
from calirare.review.queue import Queue
from calirare.review.security import current_reviewer
from calirare.review.view import View
from calirare.scoring.service.access import Access

PAGES = {
    "queue": "Queue",
    "case": "Case",
    "reliability": "Reliability",
    "monitoring": "Monitoring",
    "model": "Model",
    "nowhere": "No such page",
}
ASKED = ("case", "decision", "reliability", "monitoring", "model")
"""Parts that are filled when their page is open; a script asks for them, so that hidden pages cost nothing."""
_POLL_MILLISECONDS = 5_000
_MOST_NAMES = 500
_KEYS = (
    ("r n u", "decide rare, normal, unsure"),
    ("2", "ask for a second opinion"),
    ("z", "take your last decision back"),
    ("j k", "next, previous case"),
    ("m", "write a note (Esc to leave it)"),
    ("q", "back to the queue"),
    ("/", "search by node id"),
    ("?", "show or hide this list"),
)


def layout(desk: Desk, access: Access) -> Any:
    """The whole app; pages stay in place and are shown one at a time, so that the queue keeps where it was."""
    return html.Div(
        [
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="view", storage_type="session"),
            dcc.Store(id="grid-model", storage_type="session"),
            dcc.Store(id="undo-stack", storage_type="session", data=[]),
            dcc.Store(id="acted"),
            dcc.Store(id="stamp"),
            dcc.Store(id="case"),
            dcc.Store(id="seen"),
            dcc.Store(id="message"),
            dcc.Store(id="settings"),
            *(dcc.Store(id=f"asked-{name}") for name in ASKED),
            dcc.Store(id="blind"),
            dcc.Store(id="columns"),
            dcc.Store(id="advance", storage_type="local"),
            dcc.Store(id="stops", data=list(prices.STOPS)),
            html.Datalist(id="people", **painted(_options(desk))),
            dcc.Interval(id="poll", interval=_POLL_MILLISECONDS),
            _header(access),
            html.Main(
                [
                    html.Div(queue_page.layout(desk), id="page-queue", className="page"),
                    html.Div(case_page.layout(), id="page-case", className="page hidden"),
                    html.Div(quality_page.layout(), id="page-reliability", className="page hidden"),
                    html.Div(monitoring_page.layout(), id="page-monitoring", className="page hidden"),
                    html.Div(model_page.layout(), id="page-model", className="page hidden"),
                    html.Div(_nowhere(), id="page-nowhere", className="page hidden"),
                ],
                tabIndex=0,  # it scrolls, and the arrow keys must reach it
            ),
            _shortcuts(),
        ],
        id="desk",
    )


def _nowhere() -> Any:
    """For an address that the desk does not have."""
    return html.Div(
        [
            html.H1(PAGES["nowhere"]),
            html.P("The desk has no page and no case at this address."),
            dcc.Link("Back to the queue", href="/"),
        ],
        className="nowhere",
    )


def _options(desk: Desk) -> list[Any]:
    return [html.Option(value=name) for name in desk.team.names[:_MOST_NAMES]]


def _header(access: Access) -> Any:
    who: list[Any] = [html.Span(current_reviewer(access), className="who", title="Written beside your decisions")]
    if access.token is not None:
        who.append(html.Form(html.Button("Log out", className="link"), method="post", action="/logout"))
    links = [("queue", "/"), ("reliability", "/reliability"), ("monitoring", "/monitoring"), ("model", "/model")]
    return html.Header(
        [
            html.Div(
                **painted(
                    [html.Span(className="mark"), "calirare ", html.Span("review desk", className="brand-second")]
                ),
                className="brand",
            ),
            html.Nav(
                [dcc.Link(PAGES[name], href=href, id=f"nav-{name}", className="nav-link") for name, href in links]
            ),
            html.Div(id="progress", className="progress-box"),
            html.Div(who, className="who-box"),
            html.Button(
                "?",
                id="keys-toggle",
                className="round",
                title="Keyboard shortcuts",
                **aria("Keyboard shortcuts", expanded="false", controls="keys"),
            ),
        ],
        className="top",
    )


def _shortcuts() -> Any:
    rows = [([key(letter) for letter in letters.split()], meaning) for letters, meaning in _KEYS]
    close = html.Button("×", id="keys-close", className="round", **aria("Close"))
    return html.Div(
        **painted([html.Div([html.H2("Keyboard"), close], className="keys-head"), table(rows, class_name="")]),
        id="keys",
        className="keys hidden",
        role="dialog",
        tabIndex=-1,
        **aria("Keyboard shortcuts"),
    )


def add_callbacks(app: Dash, desk: Desk, access: Access) -> None:
    _add_scripts(app)

    @app.callback(
        Output("progress", PAINTED),
        Output("stamp", "data"),
        Output("settings", "data"),
        Output("people", PAINTED),
        Input("acted", "data"),
        Input("poll", "n_intervals"),
        State("stamp", "data"),
        State("settings", "data"),
    )
    def show_progress(acted: Any, polled: Any, stamp: Any, settings: Any) -> Any:
        """Progress, and a mark that changes when the decisions or the model do, so that tables know to read again."""
        desk.team.meet(current_reviewer(access))
        change, children, mark = desk.setting, draw_progress(desk.queue, desk.view({})), desk.stamp
        same = isinstance(settings, dict) and settings.get("number") == change.number
        people = no_update if mark == stamp else paint(_options(desk))
        shown = no_update if mark == stamp else mark
        return paint(children), shown, no_update if same else prices.store(change), people


def draw_progress(queue: Queue, view: View) -> list[Any]:
    """How many of the reviews are done: of all, or of those that a kept filter leaves, which the words then say."""
    progress = queue.progress(view)
    share = progress.done / progress.total if progress.total else 0.0
    under = " under the kept filter" if view.conditions else ""
    words = f"{progress.done:,} of {progress.total:,} reviews done{under}"
    return [
        html.Div(html.Div(className="bar", style={"width": percent(share)}), className="bar-track"),
        html.Span(words, title=f"{progress.decided:,} nodes decided in all", id="progress-words"),
    ]


def _add_scripts(app: Dash) -> None:
    """What the browser does alone."""
    app.clientside_callback(
        ClientsideFunction("desk", "showPage"),
        *(Output(f"page-{name}", "className") for name in PAGES),
        *(Output(f"nav-{name}", "className") for name in ("queue", "reliability", "monitoring", "model")),
        Input("url", "pathname"),
    )
    app.clientside_callback(
        ClientsideFunction("desk", "askPages"),
        *(Output(f"asked-{name}", "data") for name in ASKED),
        Input("url", "pathname"),
        Input("url", "search"),
        Input("settings", "data"),
        Input("stamp", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("desk", "showMessage"),
        Output("message", "id"),
        Input("message", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "nameWindow"),
        Output("case-head", "title"),
        Input("case", "data"),
        Input("url", "pathname"),
    )
