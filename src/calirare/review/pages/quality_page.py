"""How far the probabilities can be trusted: the verdict, and reliability diagrams before and after calibration."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, dcc, html

from calirare.decisions.numbers import say_interval
from calirare.decisions.wording import Wording
from calirare.evaluation import Evaluation
from calirare.metrics import METRICS
from calirare.metrics.summary import say
from calirare.plots.interactive import reliability_figure, score_figure
from calirare.review.desk import Desk
from calirare.review.pages.widgets import card, pill, plot

_PILLS = {"good": "clear", "caution": "review", "no skill": "alert"}


def layout() -> Any:
    return html.Div(dcc.Loading(html.Div(id="quality"), delay_show=300), className="narrow")


def add_callbacks(app: Dash, desk: Desk) -> None:
    @app.callback(Output("quality", "children"), Input("asked-reliability", "data"), prevent_initial_call=True)
    def show_quality(asked: Any) -> Any:
        snapshot = desk.snapshot
        return draw_quality(desk.station.quality, snapshot.version, snapshot.wording)


def draw_quality(found: Evaluation, version: str, wording: Wording) -> Any:
    """The page: verdict, headline metrics, diagrams."""
    return [
        html.H1("Does 20% sure come true one time in five?"),
        html.P(f"Model {version}, on {found.evidence.say()}.", className="hint", id="quality-said"),
        _verdict(found),
        html.Div([_metric(name, found) for name in found.after], className="metrics"),
        card(
            "Reliability",
            plot(
                reliability_figure(found.reliability, wording.rare, found.evidence.calibrates), id="reliability-graph"
            ),
            html.P(
                "Each dot is a tenth of the scale: how often its nodes were rare against what the model said. Lines are "
                "95% intervals. On the dotted line the probabilities are right. Below: how many nodes each dot stands "
                "for, on a log scale.",
                className="hint",
            ),
        ),
        card(
            "Where the probabilities lie",
            plot(score_figure(found.scores, wording.rare, wording.other)),
            html.P("Share of each class by calibrated P(rare).", className="hint"),
        ),
    ]


def _verdict(found: Evaluation) -> Any:
    verdict = found.verdict
    return card(
        "Verdict",
        html.P(
            [pill(_PILLS[verdict.level], verdict.level), f" {verdict.words}"],
            id="verdict",
        ),
        html.Ul([html.Li(warning) for warning in verdict.warnings]),
    )


def _metric(name: str, found: Evaluation) -> Any:
    metric, before, after = METRICS[name], found.before[name], found.after[name]
    return html.Div(
        [
            html.Div(metric.title, className="metric-name", title=metric.sentence),
            html.Div(
                [
                    html.Span(say(before, interval=False), className="was"),
                    " → ",
                    html.Strong(
                        say(after, interval=False),
                        className="better" if metric.improves(after.value, before.value) else "",
                    ),
                ],
                className="metric-value",
            ),
            html.Div(say_interval(after.lower, after.upper), className="hint"),
            html.Div(metric.better, className="hint"),
        ],
        className="card metric",
    )
