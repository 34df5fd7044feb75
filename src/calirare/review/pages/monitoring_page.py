"""Whether the world has moved since the fit: signals, runs over time, decisions against what was said of them."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, dcc, html

from calirare.data.tables.shift import MODERATE
from calirare.evaluation.monitoring.alarms import OWN, Watch
from calirare.plots.over_time import decisions_figure, runs_figure
from calirare.review.desk import Desk
from calirare.review.pages.widgets import card, number, pill, plot, table

DAYS = 7.0
_PILLS = {"quiet": "clear", "watch": "review", "alarm": "alert", "unknown": "open"}
_MOST_COLUMNS = 15


def layout() -> Any:
    return html.Div(dcc.Loading(html.Div(id="monitoring"), delay_show=300), className="narrow")


def add_callbacks(app: Dash, desk: Desk) -> None:
    @app.callback(Output("monitoring", "children"), Input("asked-monitoring", "data"), prevent_initial_call=True)
    def show_monitoring(asked: Any) -> Any:
        return draw_monitoring(desk.watch(DAYS))


def draw_monitoring(found: Watch) -> list[Any]:
    """The page."""
    return [
        html.H1("Has the world moved since the fit?"),
        html.P(
            [
                f"Model {found.version}, the last {DAYS:g} days. Every scoring run and every decision adds to this page; ",
                html.Code("calirare monitor"),
                " says the same and exits with 1 on an alarm.",
            ],
            className="hint",
        ),
        _signals(found),
        _runs(found),
        _columns(found),
        _decisions(found),
    ]


def _signals(found: Watch) -> Any:
    rows = [(pill(_PILLS[one.state], one.state), one.name, one.words) for one in found.signals]
    return card("Signals", table(rows, class_name="figures words", id="signals"))


def _runs(found: Watch) -> Any:
    if all(command == OWN for _, command, _ in found.runs):
        return card("Scoring runs", html.P("No run has been scored with this model yet.", className="hint"))
    times, _, runs = zip(*(one for one in found.runs if one[1] != OWN), strict=True)
    index, alerted = [run.score_shift[1] for run in runs], [run.alerted for run in runs]
    return card(
        f"Scoring runs ({len(runs):,})",
        plot(runs_figure(times, index, alerted, MODERATE), id="runs-graph"),
        html.P(
            "Above: how far the scores lie from those of the fit, beyond chance; alarm at the dotted line. Below: share of "
            "nodes that would be alerted at the default prices if nobody reviewed.",
            className="hint",
        ),
    )


def _columns(found: Watch) -> Any:
    compared = [run for _, _, run in found.runs if run.columns]
    if not compared:
        return None
    last = compared[-1]
    words = {column: (severity, said) for severity, column, said in last.shifted}
    ranked = sorted(last.columns, key=lambda name: (name not in words, -last.columns[name][1]))[:_MOST_COLUMNS]
    rows = [(name, number(f"{last.columns[name][0]:.3f}"), _said(words, name)) for name in ranked]
    return card(
        f"Columns in the newest run (the farthest {len(rows)} of {len(last.columns)})",
        table(rows, ("column", "stability index", "since the fit"), class_name="figures words"),
    )


def _said(words: dict[str, tuple[str, str]], name: str) -> Any:
    if name not in words:
        return "as at the fit"
    severity, said = words[name]
    return [pill(_PILLS["alarm" if severity == "large" else "watch"], severity), f" {said}"]


def _decisions(found: Watch) -> Any:
    if found.observed is None:
        return card("Decisions", html.P("No case has been decided under this model yet.", className="hint"))
    bins = found.observed.bins
    figure = decisions_figure(
        [one.said for one in bins],
        [one.observed.value for one in bins],
        [one.observed.lower for one in bins],
        [one.observed.upper for one in bins],
        [one.decided for one in bins],
    )
    return card(
        "Decisions against what was said",
        plot(figure, id="decisions-graph"),
        html.P(found.observed.say(), id="observed-said"),
        html.P(
            "Each dot: decided cases of like score, with a 90% interval. The number of rare nodes is corrected for which "
            "cases were looked at: each decision stands for the nodes of its score."
            + (f" Unsure, and not counted: {found.unsure:,}." if found.unsure else ""),
            className="hint",
        ),
    )
