"""The figures of report and desk as plotly's own JSON: `{"data": …, "layout": …}`.

They are drawn from the same frames as the static ones, and plotly itself is not needed to make them.

Names come from users, and plotly reads some HTML in text, so every name is escaped on its way in.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from calirare.decisions.costs import Thresholds
from calirare.plots.style import BLUE, FAINT, GUIDE, NORMAL, ORANGE, RARE
from calirare.plots.tables import Frame

Figure = dict[str, Any]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
BEFORE, AFTER = "#8A8F98", BLUE
AXIS = {
    "gridcolor": FAINT,
    "linecolor": GUIDE,
    "zeroline": False,
    "ticks": "outside",
    "tickcolor": FAINT,
    "automargin": True,
}


def reliability_figure(table: Frame, rare: str, calibrates: bool) -> Figure:
    """Before and after over each other; below, the number of nodes in every bin.

    P(not rare) is 1 - P(rare), and its picture the same turned round: it is not drawn.

    Args:
        table: From `calirare.plots.reliability.frame` for the models "before" and "after", with `class_probability`.
        rare: What to call the rare class.
        calibrates: Whether before and after differ.
    """
    models = (("before", BEFORE, "diamond"), ("after", AFTER, "circle"))[0 if calibrates else 1 :]
    layout = layout_of(height=500, top=50)
    layout["xaxis"] = AXIS | {"range": [-0.02, 1.02], "anchor": "y2", "title": title_of(f"predicted P({escape(rare)})")}
    layout["yaxis"] = AXIS | {
        "domain": [0.28, 1.0],
        "range": [-0.03, 1.03],
        "anchor": "x",
        "title": title_of("share that came true"),
    }
    layout["yaxis2"] = AXIS | {
        "domain": [0.0, 0.19],
        "type": "log",
        "anchor": "x",
        "title": title_of("nodes"),
        "dtick": 1,
        "exponentformat": "none",
    }
    data = [line_of([0, 1], [0, 1], "perfect", GUIDE, dash="dot", width=1) | {"hoverinfo": "skip", "showlegend": False}]  # fmt: skip
    for model, colour, symbol in models:
        picked = (table["model"] == model) & (table["group"] == "rare") & (table["count"] > 0)
        part = {name: column[picked] for name, column in table.items()}
        data += _reliability_traces(part, model, colour, symbol)
    return {"data": data, "layout": layout | {"barmode": "group", "bargap": 0.15}}


def _reliability_traces(part: Frame, model: str, colour: str, symbol: str) -> list[Figure]:
    named = {"before": "before calibration (softmax)", "after": "after calibration"}[model]
    shared = {"legendgroup": model, "name": named, "xaxis": "x"}
    return [shared | _reliability_points(part, named, colour, symbol), shared | _reliability_bars(part, named, colour)]


def _reliability_points(part: Frame, named: str, colour: str, symbol: str) -> Figure:
    """What was predicted and what came true, with whiskers."""
    lower, upper, count = rounded(part["lower"]), rounded(part["upper"]), part["count"].tolist()
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": rounded(part["confidence"]),
        "y": rounded(part["accuracy"]),
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": rounded(part["upper"] - part["accuracy"]),
            "arrayminus": rounded(part["accuracy"] - part["lower"]),
            "color": colour,
            "thickness": 1.2,
            "width": 3,
        },
        "customdata": [list(row) for row in zip(lower, upper, count, strict=True)],
        "hovertemplate": "predicted %{x:.3f}<br>came true %{y:.3f} (95% interval %{customdata[0]:.3f} to %{customdata[1]:.3f})<br>%{customdata[2]:,} nodes<extra>"
        + named
        + "</extra>",
        "marker": {"color": colour, "size": 8, "symbol": symbol},
        "line": {"color": colour, "width": 1.4},
        "yaxis": "y",
    }


def _reliability_bars(part: Frame, named: str, colour: str) -> Figure:
    """How many nodes each point stands for."""
    return {
        "type": "bar",
        "showlegend": False,
        "x": rounded((part["left"] + part["right"]) / 2),
        "y": part["count"].tolist(),
        "marker": {"color": colour, "opacity": 0.75},
        "hovertemplate": "%{y:,} nodes<extra>" + named + "</extra>",
        "yaxis": "y2",
    }


def score_figure(table: Frame, rare: str, other: str, limits: Thresholds | None = None) -> Figure:
    """How P(rare) is spread over rare and other nodes, each as shares of its own class.

    Args:
        table: From `calirare.plots.scores.frame`.
        rare, other: What to call the classes.
        limits: Thresholds to mark.
    """
    data = []
    for kind, colour, name in (("normal", NORMAL, other), ("rare", RARE, rare)):
        part = {key: column[table["kind"] == kind] for key, column in table.items()}
        share = np.nan_to_num(part["share"])
        bounds = zip(rounded(part["left"]), rounded(part["right"]), part["count"].tolist(), strict=True)
        data.append(
            {
                "type": "bar",
                "name": f"{escape(name)} ({int(part['count'].sum()):,} nodes)",
                "x": rounded((part["left"] + part["right"]) / 2),
                "y": rounded(share),
                "customdata": [list(row) for row in bounds],
                "hovertemplate": "P from %{customdata[0]:.3f} to %{customdata[1]:.3f}"
                "<br>%{customdata[2]:,} nodes, %{y:.1%} of the class<extra></extra>",
                "marker": {"color": colour, "opacity": 0.85},
            }
        )
    layout = layout_of(height=374, top=98) | {"barmode": "group", "bargap": 0.12, "bargroupgap": 0}
    layout["xaxis"] = AXIS | {"range": [0, 1], "title": title_of("P(rare)")}
    layout["yaxis"] = AXIS | {
        "type": "log",
        "tickformat": ".1~%",
        "dtick": 1,
        "title": title_of("share of the class (log scale)"),
    }
    _mark_thresholds(layout, limits)
    return {"data": data, "layout": layout}


def cost_figure(table: Frame, limits: Thresholds | None = None) -> Figure:
    """Cost per node of alerting above a threshold: observed with its interval, and predicted by the probabilities.

    Args:
        table: From `calirare.plots.cost_curve.frame`.
        limits: Thresholds to mark.
    """
    x = rounded(table["threshold"])
    band = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "x": x}
    data = [
        band | {"y": rounded(table["upper"])},
        band | {"y": rounded(table["lower"]), "fill": "tonexty", "fillcolor": "rgba(0,114,178,0.14)"},
        line_of(x, rounded(table["observed"]), "observed, with 95% interval", BLUE),
        line_of(x, rounded(table["expected"]), "predicted by the probabilities", ORANGE, dash="dash"),
    ]
    for trace in data[2:]:
        trace["hovertemplate"] = "alert from %{x:.3f} on: %{y:.3f} per node<extra></extra>"
    layout = layout_of(height=374, top=98) | {"hovermode": "x"}
    layout["xaxis"] = AXIS | {"range": [0, 1], "title": title_of("alert when P(rare) is at least")}
    layout["yaxis"] = AXIS | {"rangemode": "tozero", "title": title_of("cost per node")}
    _mark_thresholds(layout, limits)
    return {"data": data, "layout": layout}


def _mark_thresholds(layout: Figure, limits: Thresholds | None) -> None:
    if limits is None:  # where prices differ, every node has thresholds of its own
        return
    marks = [("alert without a review", limits.alone)]
    if limits.review_pays:
        marks = [("review", limits.review), *marks, ("alert", limits.alert)]
    layout["shapes"] = [
        {
            "type": "line",
            "x0": at,
            "x1": at,
            "xref": "x",
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"color": GUIDE, "width": 1.2, "dash": "dot"},
        }
        for _, at in marks
    ]
    # Each on a level of its own: thresholds may lie side by side, and on a telephone they do.
    layout["annotations"] = [
        _note(f"{words} from {at:.2g}", at, 2 + 14 * level) for level, (words, at) in enumerate(reversed(marks))
    ]


def _note(text: str, x: float, above: int) -> Figure:
    """Words above the plot, so many pixels from its edge."""
    return {
        "x": x,
        "xref": "x",
        "y": 1,
        "yref": "paper",
        "yshift": above,
        "yanchor": "bottom",
        "xanchor": "left" if x < 0.5 else "right",
        "showarrow": False,
        "text": text,
        "font": {"size": 12, "color": GUIDE},
    }


def layout_of(*, height: int, top: int = 40) -> Figure:
    """`top`: pixels above the plot, for the legend and what else stands there."""
    return {
        "height": height,
        "autosize": True,
        "margin": {"l": 62, "r": 16, "t": top, "b": 56},
        "font": {"family": FONT, "size": 13, "color": "#22262B"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top", "traceorder": "normal"},
        "hoverlabel": {"font": {"family": FONT}},
    }


def title_of(text: str) -> Figure:
    return {"text": text, "font": {"size": 13}, "standoff": 10}


def line_of(
    x: Sequence[float] | Sequence[str],
    y: Sequence[float],
    name: str,
    colour: str,
    yaxis: str = "y",
    dash: str = "solid",
    width: float = 2,
) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": colour, "dash": dash, "width": width},
        "yaxis": yaxis,
    }


def rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 5) for value in values]
