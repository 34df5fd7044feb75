"""The queue: every node with its action, sorted, filtered and searched on the server, and the costs that set the actions."""

from __future__ import annotations

from typing import Any

import dash_ag_grid
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html

from calirare.decisions.costs import ACTIONS, Costs
from calirare.review.desk import Desk
from calirare.review.pages.forecast import draw_forecast
from calirare.review.pages.widgets import aria, pill
from calirare.review.view import View

PRICES = (
    0.1,
    0.2,
    0.3,
    0.5,
    0.7,
    1,
    1.5,
    2,
    3,
    4,
    5,
    7,
    10,
    15,
    20,
    30,
    40,
    50,
    70,
    100,
    150,
    200,
    300,
    500,
    700,
    1000,
)
"""Stops of the sliders."""
_COSTS = {
    "miss": "A missed rare case",
    "alarm": "A false alarm",
    "review": "A human look",
}
_STATUSES = {"": "All", "open": "Open", "decided": "Decided"}
_NUMBER: dict[str, Any] = {"filter": "agNumberColumnFilter", "type": "rightAligned"}
_FILTER_OPTIONS = {"buttons": ["reset"], "maxNumConditions": 2}
COLUMNS: list[dict[str, Any]] = [
    {"field": "id", "headerName": "Node", "cellRenderer": "NodeLink", "minWidth": 112, "flex": 2},
    {"field": "probability", "headerName": "P(rare)", "cellRenderer": "Probability", "width": 120, **_NUMBER},
    {"field": "lower", "headerName": "Interval", "cellRenderer": "IntervalBar", "width": 148, **_NUMBER, "type": None},
    {"field": "action", "headerName": "Action", "cellRenderer": "Pill", "width": 94},
    {
        "field": "saves",
        "headerName": "Saves",
        "headerTooltip": "What a human look is expected to save",
        "cellRenderer": "Amount",
        "width": 104,
        **_NUMBER,
    },
    {
        "field": "reason",
        "headerName": "Reason",
        "sortable": False,
        "cellRenderer": "Reason",
        "flex": 7,
        "minWidth": 160,
    },
    {"field": "decision", "headerName": "Decision", "cellRenderer": "DecisionCell", "width": 126},
]


def layout(desk: Desk) -> Any:
    return html.Div(
        [
            html.Aside([_costs(), html.Div(id="forecast")], className="side"),
            html.Div([_controls(desk), _grid()], className="queue-main"),
        ],
        className="queue-grid-layout",
    )


def _costs() -> Any:
    rows = []
    for name, words in _COSTS.items():
        default = getattr(Costs, name)
        rows.append(
            html.Div(
                [
                    html.Div(
                        [html.Span(words), html.Output(say_price(default), id=f"price-{name}")], className="slider-head"
                    ),
                    dcc.Slider(
                        id=f"cost-{name}",
                        min=0,
                        max=len(PRICES) - 1,
                        step=1,
                        value=PRICES.index(default),
                        marks=None,
                        updatemode="drag",
                        included=True,
                        allow_direct_input=False,
                        persistence=True,
                        persistence_type="session",
                    ),
                ],
                className="slider-row",
            )
        )
    budget = html.Label(
        [
            "Most looks",
            dcc.Input(
                id="budget",
                type="number",
                min=0,
                step=1,
                placeholder="any number",
                debounce=0.4,
                persistence=True,
                persistence_type="session",
            ),
        ],
        className="budget",
    )
    return html.Section([html.H2("What things cost"), *rows, budget], className="card costs")


def say_price(price: float) -> str:
    return f"{price:g}"


def _controls(desk: Desk) -> Any:
    return html.Div(
        [
            dcc.Input(
                id="search",
                type="search",
                placeholder="Search by node id",
                debounce=0.3,
                className="search",
                autoComplete="off",
                persistence=True,
                persistence_type="session",
            ),
            html.Div(
                [
                    html.Button("All", id="only-all", className="chip"),
                    *(
                        html.Button([pill(name), html.Span(id=f"count-{name}")], id=f"only-{name}", className="chip")
                        for name in ACTIONS
                    ),
                ],
                className="chips",
                role="group",
                **aria("Only this action"),
            ),
            html.Div(
                [
                    html.Button(words, id=f"status-{status or 'all'}", className="chip")
                    for status, words in _STATUSES.items()
                ],
                className="chips",
                role="group",
                **aria("Only open or decided nodes"),
            ),
            html.Details(
                [
                    html.Summary("Export"),
                    html.Div(
                        [
                            html.A(
                                "Queue as CSV", id="export-queue-csv", href="/export/queue.csv", download="queue.csv"
                            ),
                            html.A(
                                "Queue as Parquet",
                                id="export-queue-parquet",
                                href="/export/queue.parquet",
                                download="queue.parquet",
                            ),
                            html.A("Decisions as CSV", href="/export/decisions.csv", download="decisions.csv"),
                            html.A(
                                "Decisions as Parquet", href="/export/decisions.parquet", download="decisions.parquet"
                            ),
                        ],
                        className="menu",
                    ),
                ],
                className="export",
            ),
        ],
        className="controls",
    )


def _grid() -> Any:
    return html.Div(
        dash_ag_grid.AgGrid(
            id="queue-grid",
            columnDefs=[{name: value for name, value in column.items() if value is not None} for column in COLUMNS],
            defaultColDef={
                "resizable": True,
                "sortable": True,
                "sortingOrder": ["desc", "asc", None],
                "filterParams": _FILTER_OPTIONS,
            },
            rowModelType="infinite",
            dashGridOptions={
                "cacheBlockSize": 100,
                "maxBlocksInCache": 20,
                "maxConcurrentDatasourceRequests": 1,
                "infiniteInitialRowCount": 100,
                "rowHeight": 42,
                "headerHeight": 38,
                "enableBrowserTooltips": True,
            },
            className="queue-grid",
            style={"height": "100%", "width": "100%"},
        ),
        className="grid-box",
    )


def add_callbacks(app: Dash, desk: Desk) -> None:
    app.clientside_callback(
        ClientsideFunction("desk", "readControls"),
        Output("view", "data"),
        *(Output(f"price-{name}", "children") for name in _COSTS),
        *(Output(f"only-{name}", "className") for name in ("all", *ACTIONS)),
        *(Output(f"status-{status or 'all'}", "className") for status in _STATUSES),
        *(Input(f"cost-{name}", "value") for name in _COSTS),
        Input("budget", "value"),
        Input("search", "value"),
        *(Input(f"only-{name}", "n_clicks") for name in ("all", *ACTIONS)),
        *(Input(f"status-{status or 'all'}", "n_clicks") for status in _STATUSES),
        State("view", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("desk", "reloadGrid"),
        Output("queue-grid", "id"),
        Input("view", "data"),
        Input("stamp", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("desk", "rememberGrid"),
        Output("grid-model", "data"),
        Output("export-queue-csv", "href"),
        Output("export-queue-parquet", "href"),
        Input("queue-grid", "getRowsRequest"),
        Input("view", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("desk", "openClicked"),
        Output("page-queue", "id"),
        Input("queue-grid", "cellClicked"),
        prevent_initial_call=True,
    )

    @app.callback(Output("queue-grid", "getRowsResponse"), Input("queue-grid", "getRowsRequest"), State("view", "data"))
    def fill_grid(asked: Any, data: Any) -> Any:
        if not isinstance(asked, dict):
            return {"rowData": [], "rowCount": 0}
        view = View.parse(data, asked.get("sortModel"), asked.get("filterModel"))
        rows, count = desk.queue.rows(view, int(asked.get("startRow") or 0), int(asked.get("endRow") or 0))
        return {"rowData": rows, "rowCount": count}

    @app.callback(
        Output("forecast", "children"),
        *(Output(f"count-{name}", "children") for name in ACTIONS),
        Input("view", "data"),
        Input("stamp", "data"),
    )
    def show_forecast(data: Any, stamp: Any) -> Any:
        view = View.parse(data)
        groups = desk.queue.judge(view.costs, view.budget).groups
        return draw_forecast(view, groups), *(f"{groups[name].num_nodes:,}" for name in ACTIONS)
