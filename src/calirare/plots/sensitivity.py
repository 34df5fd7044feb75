"""How the result depends on coverage and trade-off (the paper's figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calirare.plots.style import figure_of, line_styles, styled
from calirare.plots.tables import Frame, Rows, mean_over_runs, name_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def frame(runs: Rows, *, metric: str = "macro_true_class_ace", coverage: float = 0.95) -> Frame:
    """Mean of the metric over runs for each `trade_off` and `coverage`, with the interval of the mean.

    Args:
        runs: A table with columns `coverage`, `trade_off` and the metric, one row for each run.
        metric: The column to average.
        coverage: Of the interval (Student's t over the runs).

    Returns:
        Columns `trade_off`, `coverage`, `mean`, `lower`, `upper`, `num_runs`; NaN bounds for a single run.

    >>> runs = [{"coverage": 0.9, "trade_off": 0.1, "macro_true_class_ace": value} for value in (0.1, 0.2, 0.3)]
    >>> table = frame(runs)
    >>> table["mean"].round(2), table["num_runs"]
    (array([0.2]), array([3]))
    """
    return mean_over_runs(runs, ["trade_off", "coverage"], metric, coverage)


def plot(
    runs: Rows,
    *,
    metric: str = "macro_true_class_ace",
    coverage: float = 0.95,
    label: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line over coverage for each trade-off, with a band. See `frame`; `label` names the vertical axis; default: the metric."""
    table = frame(runs, metric=metric, coverage=coverage)
    trade_offs = np.unique(table["trade_off"])
    styles = line_styles([f"{trade_off:g}" for trade_off in trade_offs])
    with styled():
        figure, ax = figure_of(ax, 4.6, 3.1)
        for trade_off in trade_offs:
            picked = table["trade_off"] == trade_off
            x, name = table["coverage"][picked], f"{trade_off:g}"
            ax.plot(x, table["mean"][picked], label=name, **styles[name])
            color = styles[name]["color"]
            ax.fill_between(x, table["lower"][picked], table["upper"][picked], color=color, alpha=0.13, linewidth=0)
        ax.set(xlabel="coverage", ylabel=label or name_metric(metric), xticks=np.unique(table["coverage"]))
        ax.grid(axis="y")
        ax.legend(title="trade-off", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
