"""How P(rare) is spread within each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.checks import check_count
from calirare.metrics.inputs import check_rare_scores
from calirare.plots.style import GUIDE, NORMAL, RARE, figure_of, styled
from calirare.plots.tables import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"normal": NORMAL, "rare": RARE}


def frame(y_rare: Any, scores: Any, *, num_bins: int = 40) -> Frame:
    """One row for each class and bin: `kind` ("normal" or "rare"), `left`, `right`, `count`, `share`.

    `share` is of the class's own nodes: the rare class is small and would vanish beside the other. NaN for a class
    without nodes.

    Args:
        y_rare: `(n,)` 1 where the node is rare, else 0.
        scores: `(n,)` P(rare).
        num_bins: Bins over [0, 1].

    >>> frame([0, 0, 1], [0.1, 0.2, 0.9], num_bins=2)["share"]
    array([1., 0., 0., 1.])
    """
    rare, scores = check_rare_scores(y_rare, scores, unit_interval=True)
    edges = np.linspace(0, 1, check_count(num_bins, "num_bins") + 1)
    counts = [np.histogram(scores[rare == flag], edges)[0] for flag in (False, True)]
    shares = [count / count.sum() if count.sum() else np.full(count.size, np.nan) for count in counts]
    return {
        "kind": np.repeat(["normal", "rare"], num_bins),
        "left": np.tile(edges[:-1], 2),
        "right": np.tile(edges[1:], 2),
        "count": np.concatenate(counts),
        "share": np.concatenate(shares),
    }


def plot(
    y_rare: Any,
    scores: Any,
    *,
    num_bins: int = 40,
    thresholds: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Both classes' distributions over one another, each as shares of its own nodes. See `frame`.

    `thresholds` are marked by name, such as `{"alert": 0.4, "clear": 0.05}`.
    """
    table = frame(y_rare, scores, num_bins=num_bins)
    with styled():
        figure, ax = figure_of(ax, 4.6, 2.9)
        for kind, colour in _COLOURS.items():
            picked = table["kind"] == kind
            total = int(table["count"][picked].sum())
            if total:
                edges = np.append(table["left"][picked], 1.0)
                ax.stairs(table["share"][picked], edges, fill=True, color=colour, alpha=0.3)
                ax.stairs(table["share"][picked], edges, color=colour, linewidth=1.3, label=f"{kind} ({total:,} nodes)")
        for name, threshold in (thresholds or {}).items():
            ax.axvline(threshold, color=GUIDE, linewidth=1, linestyle="--")
            ax.annotate(
                name,
                (threshold, 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, -2),
                rotation=90,
                textcoords="offset points",
                va="top",
                fontsize=8,
                color=GUIDE,
            )
        ax.set(xlabel="P(rare)", ylabel="share of the class", xlim=(0, 1))
        ax.set_ylim(bottom=0)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure
