"""A model in use, run by run, as plotly's own JSON; see `calirare.plots.interactive`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from calirare.plots.interactive import AXIS, Figure, layout_of, line_of, rounded, title_of
from calirare.plots.style import BLUE, GUIDE, ORANGE


def runs_figure(time: Sequence[float], score_index: Sequence[float], alerted: Sequence[float], alarm: float) -> Figure:
    """Stability index of the scores and share of nodes alerted, run by run.

    Args:
        time: Of each run, seconds since 1970.
        score_index: What of the index is above chance.
        alerted: Share of the nodes above the threshold of an alert.
        alarm: Index above chance from which there is an alarm.
    """
    x = [datetime.fromtimestamp(one, UTC).isoformat(timespec="seconds") for one in time]
    data = [
        line_of(x, rounded(np.maximum(score_index, 0.0)), "score shift above chance", BLUE),
        line_of(x, rounded(np.asarray(alerted)), "share alerted", ORANGE, "y2"),
    ]
    for trace, words in zip(data, ("%{y:.3f}", "%{y:.2%}"), strict=True):
        trace |= {
            "mode": "lines+markers",
            "cliponaxis": False,
            "hovertemplate": f"%{{x|%Y-%m-%d %H:%M}}: {words}<extra></extra>",
        }
    layout = layout_of(height=400, top=60)
    layout["xaxis"] = AXIS | {"type": "date", "anchor": "y2", "title": title_of("time of the run (UTC)")}
    top = max(alarm * 1.3, 1.1 * float(np.max(score_index, initial=0.0)))
    layout["yaxis"] = AXIS | {"domain": [0.56, 1.0], "range": [0, top], "title": title_of("score shift")}
    layout["yaxis2"] = AXIS | {
        "domain": [0.0, 0.44],
        "rangemode": "tozero",
        "tickformat": ".1~%",
        "title": title_of("alerted"),
    }
    layout["shapes"] = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": alarm,
            "y1": alarm,
            "line": {"color": GUIDE, "dash": "dot", "width": 1.2},
        }
    ]
    return {"data": data, "layout": layout}


def decisions_figure(
    said: Sequence[float],
    observed: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    count: Sequence[int],
) -> Figure:
    """What the model said of decided cases against how often it came true, by score, with intervals."""
    came = np.asarray(observed, dtype=np.float64)
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "decided cases of like score",
        "x": rounded(np.asarray(said)),
        "y": rounded(came),
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": rounded(np.asarray(upper) - came),
            "arrayminus": rounded(came - np.asarray(lower)),
            "color": BLUE,
            "thickness": 1.2,
            "width": 3,
        },
        "customdata": [int(one) for one in count],
        "hovertemplate": "said %{x:.1%}, came true %{y:.1%}<br>%{customdata:,} decisions<extra></extra>",
        "marker": {"color": BLUE, "size": 9},
    }
    perfect = line_of([0, 1], [0, 1], "perfect", GUIDE, dash="dot", width=1)
    layout = layout_of(height=380, top=40) | {"showlegend": False}
    layout["xaxis"] = AXIS | {
        "range": [-0.02, 1.02],
        "tickformat": ".0%",
        "title": title_of("P(rare) before the decision"),
    }
    layout["yaxis"] = AXIS | {"range": [-0.03, 1.03], "tickformat": ".0%", "title": title_of("share decided rare")}
    return {"data": [perfect | {"hoverinfo": "skip"}, points], "layout": layout}
