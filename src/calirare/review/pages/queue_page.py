"""The queue: every node with its action, sorted, filtered and searched on the server, and the prices that set the actions."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from calirare.decisions.costs import ACTIONS
from calirare.review.desk import Desk
from calirare.review.pages import prices
from calirare.review.pages.forecast import draw_forecast
from calirare.review.pages.painted import PAINTED, paint, painted
from calirare.review.pages.queue_grid import columns, grid
from calirare.review.pages.widgets import aria, chip, draw_beware, give_to, pill, tick
from calirare.review.store.decisions import CHOICES

_STATUSES = {"": "All", "open": "Open", "decided": "Decided", "second": "Second opinion"}
_MOST_OFFERED = 300


def layout(desk: Desk) -> Any:
    return html.Div(
        [
            html.H1("Queue", className="unseen"),
            html.Details(
                [
                    html.Summary("Prices, budget and forecast", className="side-summary"),
                    html.Div([prices.layout(desk), html.Div(id="forecast")], className="side-inner"),
                ],
                className="side",
                id="side",
                open=True,
            ),
            html.Div(
                [html.Div(id="queue-beware", role="status"), _controls(desk), _filters(), _bulk(), grid(desk)],
                className="queue-main",
            ),
        ],
        className="queue-grid-layout",
    )


def _group(children: list[Any], said: str) -> Any:
    return html.Div(children, className="chips", role="group", **aria(said))


def _controls(desk: Desk) -> Any:
    names = list(desk.station.records.columns)[:_MOST_OFFERED]
    actions = (
        chip([pill(name), html.Span(id=f"count-{name}", title="not decided yet")], f"only-{name}") for name in ACTIONS
    )
    statuses = [chip(words, f"status-{status or 'all'}") for status, words in _STATUSES.items()]
    ticks = [tick(name, **{"data-column": name}) for name in names]
    columns = html.Div(**painted(ticks), className="menu many", role="group", **aria("Columns of the records to show"))
    drops = [
        html.Details([html.Summary(words), menu], className="drop")
        for words, menu in (("Columns", columns), ("Export", _exports()))
    ]
    return html.Div(
        [
            _search(),
            _group([chip("All", "only-all"), *actions], "Only this action"),
            _group(statuses, "Only open or decided nodes"),
            _group([chip("Mine", "mine")], "Only cases given to me"),
            html.Div(drops, className="drops"),
        ],
        className="controls",
    )


def _search() -> Any:
    words = "Search by node id"
    field = dcc.Input(
        id="search",
        type="search",
        placeholder=words,
        debounce=0.3,
        autoComplete="off",
        persistence=True,
        persistence_type="session",
    )
    return html.Label([html.Span(words, className="unseen"), field], className="search")


def _exports() -> Any:
    files = (("queue", "csv"), ("queue", "parquet"), ("decisions", "csv"), ("decisions", "parquet"))
    links = [
        html.A(
            f"{what.capitalize()} as {'CSV' if kind == 'csv' else 'Parquet'}",
            id=f"export-{what}-{kind}",
            href=f"/export/{what}.{kind}",
            download=f"{what}.{kind}",
        )
        for what, kind in files
    ]
    return html.Div(**painted(links), className="menu")


def _filters() -> Any:
    """The filters that hold for everybody, and what makes this window's filters such."""
    return html.Div(
        [
            html.Span(id="filters-said", role="status"),
            html.Button("Drop it for everybody", id="filters-drop", className="button small hidden"),
            html.Button("Keep this filter for everybody", id="filters-keep", className="button small hidden"),
        ],
        className="filters",
    )


def _bulk() -> Any:
    """What can be done with the rows that are ticked."""
    return html.Div(
        [
            html.Span(id="bulk-count", role="status"),
            *(html.Button(f"All {name}", id=f"bulk-{name}", className="button small") for name in CHOICES),
            give_to("bulk-to"),
            html.Button("Give", id="bulk-give", className="button small"),
            html.Button("Untick", id="bulk-none", className="button small quiet"),
        ],
        id="bulk",
        className="bulk hidden",
        role="group",
        **aria("Ticked cases"),
    )


def add_callbacks(app: Dash, desk: Desk) -> None:
    prices.add_callbacks(app)
    _add_scripts(app)
    _add_bulk_scripts(app)

    @app.callback(
        Output("forecast", PAINTED),
        Output("queue-grid", "columnDefs"),
        *(Output(f"count-{name}", "children") for name in ACTIONS),
        Input("settings", "data"),
        Input("stamp", "data"),
        State("queue-grid", "columnDefs"),
        prevent_initial_call=True,
    )
    def show_forecast(settings: Any, stamp: Any, shown: Any) -> Any:
        """The forecast, the columns that the desk shows, and how many cases each action has."""
        view, queue, wanted = desk.view({}), desk.queue, columns(desk)
        counts = queue.open_counts(view)
        drawn = draw_forecast(view, queue)
        same = [(one.get("field"), one.get("sortable")) for one in shown or ()] == [
            (one["field"], one.get("sortable")) for one in wanted
        ]
        return paint(drawn), no_update if same else wanted, *(f"{counts[name]:,}" for name in ACTIONS)

    @app.callback(Output("queue-beware", "children"), Input("stamp", "data"), prevent_initial_call=True)
    def show_beware(stamp: Any) -> Any:
        """Apart from the forecast, which does not wait until the model is judged."""
        return draw_beware(desk.station.beware)


def _add_scripts(app: Dash) -> None:
    chips = (
        [f"only-{name}" for name in ("all", *ACTIONS)] + [f"status-{name or 'all'}" for name in _STATUSES] + ["mine"]
    )
    app.clientside_callback(
        ClientsideFunction("desk", "readControls"),
        Output("view", "data"),
        *(Output(name, "className") for name in chips),
        Input("search", "value"),
        *(Input(name, "n_clicks") for name in chips),
        State("view", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("desk", "reloadGrid"),
        Output("queue-grid", "id"),
        Input("view", "data"),
        Input("settings", "data"),
        Input("stamp", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "setFilters"),
        Output("settings", "data", allow_duplicate=True),
        Input("filters-keep", "n_clicks"),
        Input("filters-drop", "n_clicks"),
        State("settings", "data"),
        State("grid-model", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "openClicked"),
        Output("page-queue", "id"),
        Input("queue-grid", "cellClicked"),
        prevent_initial_call=True,
    )


def _add_bulk_scripts(app: Dash) -> None:
    """What the bar does that comes up over ticked rows."""
    app.clientside_callback(
        ClientsideFunction("desk", "showTicked"),
        Output("bulk", "className"),
        Output("bulk-count", "children"),
        Input("queue-grid", "selectedRows"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "actOnTicked"),
        Output("acted", "data", allow_duplicate=True),
        Output("undo-stack", "data", allow_duplicate=True),
        *(Input(f"bulk-{name}", "n_clicks") for name in (*CHOICES, "give", "none")),
        State("queue-grid", "selectedRows"),
        State("bulk-to", "value"),
        State("undo-stack", "data"),
        prevent_initial_call=True,
    )
