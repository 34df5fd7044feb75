"""How far the probabilities can be trusted: reliability diagrams before and after calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import Dash, Input, Output, dcc, html, no_update
from plotly.subplots import make_subplots

from calirare.metrics import METRICS, Estimate
from calirare.plots import reliability
from calirare.plots.style import GUIDE, NORMAL, RARE
from calirare.review.desk import Desk
from calirare.review.pages.widgets import card
from calirare.review.quality import Quality

_NUM_BINS = 10
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


def layout() -> Any:
    return html.Div(dcc.Loading(html.Div(id="quality"), delay_show=300), className="narrow")


def add_callbacks(app: Dash, desk: Desk) -> None:
    @app.callback(Output("quality", "children"), Input("url", "pathname"), Input("stamp", "data"))
    def show_quality(path: str, stamp: Any) -> Any:
        return _page(desk.station.quality, desk.snapshot.version) if path == "/reliability" else no_update


def _page(quality: Quality, version: str) -> Any:
    options: Any = {"displayModeBar": False, "responsive": True}
    return [
        html.H1("Does 20% sure come true one time in five?"),
        html.P(f"Model {version}, on {quality.said}.", className="hint", id="quality-said"),
        html.Div([_metric(name, *pair) for name, pair in quality.metrics.items()], className="metrics"),
        card(
            "Reliability of P(rare)",
            dcc.Graph(figure=reliability_figure(quality), config=options, id="reliability-graph"),
            html.P(
                "Each dot is a tenth of the scale: how often its nodes were rare against what the model said; larger dots "
                "hold more nodes. Lines are 95% intervals. On the dashed line the probabilities are right.",
                className="hint",
            ),
        ),
        card(
            "Where the probabilities lie",
            dcc.Graph(figure=score_figure(quality), config=options),
            html.P("Share of each class by calibrated P(rare).", className="hint"),
        ),
    ]


def _metric(name: str, before: Estimate, after: Estimate) -> Any:
    metric = METRICS[name]
    return html.Div(
        [
            html.Div(metric.title, className="metric-name", title=metric.sentence),
            html.Div(
                [
                    html.Span(f"{before.value:.3f}", className="was"),
                    " → ",
                    html.Strong(
                        f"{after.value:.3f}", className="better" if metric.improves(after.value, before.value) else ""
                    ),
                ],
                className="metric-value",
            ),
            html.Div(f"{after.lower:.3f} to {after.upper:.3f}", className="hint"),
            html.Div(metric.better, className="hint"),
        ],
        className="card metric",
    )


def reliability_figure(quality: Quality) -> go.Figure:
    """Observed share of rare nodes against P(rare), before and after calibration, side by side."""
    models = {"before": quality.before, "after": quality.after}
    table = reliability.frame(
        quality.y_rare,
        {name: np.column_stack([1 - p, p]) for name, p in models.items()},
        groups=["rare"],
        num_bins=_NUM_BINS,
        strategy="equal_width",
        class_probability=True,
    )
    figure = make_subplots(
        1, 2, subplot_titles=("Before calibration", "After calibration"), shared_yaxes=True, horizontal_spacing=0.04
    )
    for column, (name, shade) in enumerate((("before", GUIDE), ("after", RARE)), start=1):
        part = {key: values[(table["model"] == name) & (table["count"] > 0)] for key, values in table.items()}
        figure.add_trace(
            go.Scatter(
                x=[0, 1], y=[0, 1], mode="lines", line={"color": GUIDE, "dash": "dash", "width": 1}, hoverinfo="skip"
            ),
            1,
            column,
        )
        figure.add_trace(
            go.Scatter(
                x=part["confidence"],
                y=part["accuracy"],
                mode="markers",
                marker={
                    "size": 6 + 10 * np.sqrt(part["count"] / part["count"].max()),
                    "color": shade,
                    "line": {"width": 0},
                },
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": part["upper"] - part["accuracy"],
                    "arrayminus": part["accuracy"] - part["lower"],
                    "thickness": 1.2,
                    "width": 3,
                    "color": shade,
                },
                customdata=part["count"],
                hovertemplate="said %{x:.3f}, came true %{y:.3f}, %{customdata} nodes<extra></extra>",
            ),
            1,
            column,
        )
    figure.update_xaxes(range=[-0.02, 1.02], title="P(rare)")
    figure.update_yaxes(range=[-0.02, 1.02])
    figure.update_yaxes(title="share that was rare", col=1)
    return _styled(figure, 380)


def score_figure(quality: Quality) -> go.Figure:
    """How P(rare) is spread in each class."""
    figure = go.Figure()
    edges = np.linspace(0, 1, 41)
    for name, wanted, shade in (("normal", 0, NORMAL), ("rare", 1, RARE)):
        picked = quality.after[quality.y_rare == wanted]
        counts, _ = np.histogram(picked, edges)
        figure.add_trace(
            go.Bar(
                x=(edges[:-1] + edges[1:]) / 2,
                y=counts / max(picked.size, 1),
                name=f"{name} ({picked.size:,})",
                marker={"color": shade, "opacity": 0.75},
                hovertemplate="P(rare) near %{x:.2f}: %{y:.1%}<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="overlay", showlegend=True, legend={"orientation": "h", "y": 1.12, "x": 0}, bargap=0.05
    )
    figure.update_xaxes(title="P(rare)", range=[0, 1])
    figure.update_yaxes(title="share of the class", tickformat=".0%")
    return _styled(figure, 260, legend=True)


def _styled(figure: go.Figure, height: int, legend: bool = False) -> go.Figure:
    figure.update_layout(
        template="simple_white",
        height=height,
        showlegend=legend,
        margin={"l": 56, "r": 12, "t": 34, "b": 46},
        font={"family": _FONT, "size": 13, "color": "#3a3a3c"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    figure.update_xaxes(gridcolor="#ececea", showgrid=True, linecolor="#c9c9c6")
    figure.update_yaxes(gridcolor="#ececea", showgrid=True, linecolor="#c9c9c6")
    return figure
