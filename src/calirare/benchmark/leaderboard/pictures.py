"""Two pictures: found × believed × seconds, and mean ranks with the critical difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calirare.benchmark.competitors import competitors
from calirare.benchmark.leaderboard.measures import MEASURES
from calirare.benchmark.leaderboard.tables import CHAMPION
from calirare.benchmark.standings import Ranks, Standings, mean_ranks
from calirare.plots.style import BLACK, BLUE, FAINT, GREEN, GUIDE, ORANGE, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILIES = {
    "ours": ("ours", VERMILION), "tables": ("scikit-learn and LightGBM", BLUE), "networks": ("networks as trained", GREEN),
    "calibrators": ("a GCN, calibrated", ORANGE),
}  # fmt: skip


def found_believed_seconds(standings: Standings, names: Sequence[str], title: str) -> Figure:
    """Each competitor a disc: to the right finds more, higher is believed more, larger takes longer.

    Both axes are mean ranks over graphs, so that no graph outweighs the others.
    """
    found = mean_ranks(standings, "average_precision", names).ranks
    believed = mean_ranks(standings, "nll", names).ranks
    shared = [name for name in names if name in found and name in believed]
    with styled():
        figure = new_figure(7.2, 5.4)
        ax = figure.add_subplot()
        ax.grid(True)
        sizes = {name: _area(standings.overall("seconds", name)) for name in shared}
        for name in shared:
            colour = FAMILIES[competitors()[name].family][1]
            ax.scatter(found[name], believed[name], s=sizes[name], color=colour, alpha=0.75, linewidths=0)
        ax.margins(x=0.14, y=0.08)
        ax.invert_xaxis()
        ax.invert_yaxis()
        ax.set_xlabel("found: mean rank by average precision  →  better")
        ax.set_ylabel("believed: mean rank by NLL  →  better")
        ax.set_title(title)
        for family, (words, colour) in FAMILIES.items():
            if any(competitors()[name].family == family for name in shared):
                ax.scatter([], [], s=40, color=colour, label=words)
        for seconds in (1, 10, 100):
            ax.scatter([], [], s=_area(seconds), color=GUIDE, alpha=0.4, linewidths=0, label=f"{seconds} s")
        figure.legend(loc="outside lower center", ncols=4, columnspacing=1.5, handletextpad=0.6)
        _label(ax, shared, found, believed, sizes)
    return figure


def _area(seconds: float) -> float:
    """The area of a disc: ten times the seconds, one step larger."""
    return 20.0 + 60.0 * max(0.0, math.log10(max(seconds, 0.1)) + 1) if math.isfinite(seconds) else 20.0


def _label(ax: Axes, names: Sequence[str], x: dict[str, float], y: dict[str, float], sizes: dict[str, float]) -> None:
    """Each name beside its disc, where it covers no other name and no disc; the axes are final."""
    from matplotlib.transforms import Bbox

    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # only then is it known where everything lies
    dot = figure.dpi / 72
    radius = {name: math.sqrt(sizes[name]) / 2 for name in names}
    taken = [
        Bbox.from_extents(*(centre - radius[name] * dot), *(centre + radius[name] * dot))
        for name in names
        for centre in [ax.transData.transform((x[name], y[name]))]
    ]
    for name in sorted(names, key=lambda one: (y[one], x[one])):
        text = ax.annotate(
            name, (x[name], y[name]), xytext=(0, 0), textcoords="offset points", fontsize=6.5, va="center",
            weight="bold" if name == CHAMPION else "normal",
        )  # fmt: skip
        for across, down, side in _places(radius[name] + 2):
            text.set(position=(across, -down), horizontalalignment=side)
            if not any(text.get_window_extent().overlaps(other) for other in taken):
                break
        taken.append(text.get_window_extent())


def _places(away: float) -> Iterator[tuple[float, float, str]]:
    """Where a name may stand, in points from its disc, the best first."""
    for lower in (0.0, 7.0, 12.0, 17.0, 22.0):
        for down in dict.fromkeys((lower, -lower)):
            yield away, down, "left"
            yield -away, down, "right"


def critical_difference_picture(ranks: Ranks, title: str) -> Figure:
    """The first 20 names on a line of ranks; a bar joins those that the test cannot tell apart."""
    shown = dict(list(ranks.ranks.items())[:20])
    names, values = list(shown), np.array(list(shown.values()))
    with styled():
        figure = new_figure(7.2, 1.2 + 0.19 * len(names))
        ax = figure.add_subplot()
        low, high = 1.0, math.ceil(float(values.max(initial=2.0)))
        ax.set_xlim(low - 0.2, high + 0.2)
        ax.set_ylim(len(names) + 0.5, -2.4)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.xaxis.tick_top()
        ax.set_yticks([])
        for place, (name, value) in enumerate(shown.items()):
            ax.plot([value, value], [-0.6, place], color=FAINT, linewidth=0.8, zorder=1)
            ax.scatter(value, place, s=16, color=VERMILION if name == CHAMPION else BLACK, zorder=3)
            side = "left" if value < (low + high) / 2 else "right"
            ax.annotate(
                f"{name}  {value:.1f}" if side == "left" else f"{value:.1f}  {name}", (value, place),
                xytext=(6 if side == "left" else -6, 0), textcoords="offset points", ha=side, va="center", fontsize=7.5,
                weight="bold" if name == CHAMPION else "normal",
            )  # fmt: skip
        if math.isfinite(ranks.critical) and len(values):
            end = min(values[0] + ranks.critical, high)
            ax.plot([values[0], end], [-0.9, -0.9], color=GUIDE, linewidth=2.5, solid_capstyle="butt")
            ax.annotate(
                f"within {ranks.critical:.1f} of the first: not told apart", (values[0], -1.25), fontsize=7, va="bottom"
            )
        head = MEASURES[ranks.column].head
        ax.set_title(f"{title}: mean rank by {head} over {ranks.num_graphs} graph{'s' * (ranks.num_graphs != 1)}")
    return figure
