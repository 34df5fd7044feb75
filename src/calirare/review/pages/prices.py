"""What things cost, set once for the whole desk: typed, or slid; with who set it."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html

from calirare.decisions.costs import PRICES
from calirare.review.desk import Desk
from calirare.review.pages.painted import painted
from calirare.review.pages.widgets import aria, chip, tick
from calirare.review.settings import ORDERS, Setting
from calirare.review.view import say_conditions

STOPS = (
    *(0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70),
    *(100, 150, 200, 300, 500, 700, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
)
"""Where the sliders stop."""
WORDS = {"miss": "A missed rare case", "alarm": "A false alarm", "review": "A review"}


def store(change: Setting) -> dict[str, Any]:
    """The settings as the page keeps them."""
    said = "" if change.time is None else f"Set by {change.by}, {change.time:%Y-%m-%d %H:%M} UTC."
    filters = say_conditions(change.settings.conditions)
    return {"number": change.number, "said": said, "filters_said": filters, **change.settings.as_dict()}


def layout(desk: Desk) -> Any:
    names = [name for name, column in desk.station.records.columns.items() if column.is_number]
    return html.Section(
        [
            html.H2("What things cost"),
            *(_price(name, words) for name, words in WORDS.items()),
            html.Datalist(id="price-columns", **painted([html.Option(value=name) for name in names[:200]])),
            html.Div(
                [
                    html.Label("Most reviews", htmlFor="budget"),
                    dcc.Input(id="budget", type="number", min=0, step=1, placeholder="any", debounce=True),
                ],
                className="budget",
            ),
            html.Div(
                [
                    html.Span("Order by", id="order-words"),
                    html.Div(
                        [chip(words, f"order-{name}") for name, words in ORDERS.items()],
                        className="chips wrap",
                        role="group",
                        **aria(labelledby="order-words"),
                    ),
                ],
                className="order",
            ),
            tick("Blind: decide before seeing the score", id="blind-tick"),
            html.P("", id="settings-said", className="hint", role="status"),
        ],
        className="card costs",
    )


def _price(name: str, words: str) -> Any:
    return html.Div(
        [
            html.Label(words, htmlFor=f"price-{name}"),
            dcc.Input(id=f"price-{name}", type="text", debounce=True, list="price-columns", autoComplete="off"),
            html.Label(
                [
                    html.Span(f"{words}, slider", className="unseen"),
                    dcc.Input(id=f"cost-{name}", type="range", min=0, max=len(STOPS) - 1, step=1, debounce=0.15),
                ],
                className="slide",
            ),
        ],
        className="slider-row",
        **aria(words),
        role="group",
    )


def add_callbacks(app: Dash) -> None:
    """One script keeps fields, sliders and the desk's settings the same, and sends what a person changes."""
    app.clientside_callback(
        ClientsideFunction("desk", "syncSettings"),
        Output("settings", "data", allow_duplicate=True),
        *(Output(f"price-{name}", "value") for name in PRICES),
        *(Output(f"cost-{name}", "value") for name in PRICES),
        Output("budget", "value"),
        Output("blind", "data"),
        Output("columns", "data"),
        *(Output(f"order-{name}", "className") for name in ORDERS),
        Output("settings-said", "children"),
        Input("settings", "data"),
        *(Input(f"price-{name}", "value") for name in PRICES),
        *(Input(f"cost-{name}", "value") for name in PRICES),
        Input("budget", "value"),
        Input("blind", "data"),
        Input("columns", "data"),
        *(Input(f"order-{name}", "n_clicks") for name in ORDERS),
        State("stops", "data"),
        prevent_initial_call=True,
    )
