"""What more labels buy: a score against labels per class, for every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calirare.errors import InputError
from calirare.plots.style import figure_of, line_styles, new_figure, styled
from calirare.plots.tables import Frame, Rows, mean_over_runs, name_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3


def frame(runs: Rows, *, metric: str = "negative_log_likelihood", coverage: float = 0.95) -> Frame:
    """Mean of the metric over runs for each dataset, method and number of labels, with the interval of the mean.

    Args:
        runs: A table with columns `dataset`, `method`, `labels_per_class` and the metric, one row for each run.
        metric: The column to average.
        coverage: Of the interval (Student's t over the runs).

    Returns:
        Columns `dataset`, `method`, `labels_per_class`, `mean`, `lower`, `upper`, `num_runs`; NaN bounds for a single
        run.

    >>> row = {"dataset": "cora", "method": "jackknife", "labels_per_class": 20}
    >>> frame([row | {"negative_log_likelihood": value} for value in (0.1, 0.2)])["mean"].round(3)
    array([0.15])
    """
    return mean_over_runs(runs, ["dataset", "method", "labels_per_class"], metric, coverage)


def plot(
    runs: Rows,
    *,
    metric: str = "negative_log_likelihood",
    coverage: float = 0.95,
    label: str | None = None,
    highlight: Sequence[str] = (),
    ax: Axes | None = None,
) -> Figure:
    """A panel for each dataset, a line with a band for each method. See `frame`.

    Args:
        runs, metric, coverage: See `frame`.
        label: Name of the vertical axis; default: that of the metric.
        highlight: Methods drawn thick, above the others.
        ax: Draw here; needs a single dataset.
    """
    table = frame(runs, metric=metric, coverage=coverage)
    datasets, methods = np.unique(table["dataset"]), [str(method) for method in np.unique(table["method"])]
    if ax is not None and datasets.size != 1:
        raise InputError(f"ax holds one dataset; got {datasets.size}: {datasets.tolist()}. Leave ax out.")
    for method in highlight:
        if method not in methods:
            raise InputError(f"highlight must name methods of the table, {methods}; got {method!r}.")
    with styled():
        if ax is not None or datasets.size == 1:
            figure, only = figure_of(ax, 5.4, 3.3)
            panels = [only]
        else:
            figure, panels = _grid(datasets.size)
        for panel, dataset in zip(panels, datasets, strict=True):
            picked = table["dataset"] == dataset
            _draw(panel, {name: values[picked] for name, values in table.items()}, methods, highlight)
            panel.set_title(str(dataset), loc="left")
        for panel in panels[::_COLUMNS]:
            panel.set_ylabel(label or name_metric(metric))
        if len(panels) == 1:
            panels[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def _grid(num_panels: int) -> tuple[Figure, list[Axes]]:
    num_columns = min(num_panels, _COLUMNS)
    num_rows = -(-num_panels // num_columns)
    figure = new_figure(2.7 * num_columns, 2.4 * num_rows + 0.5)
    return figure, [figure.add_subplot(num_rows, num_columns, i + 1) for i in range(num_panels)]


def _draw(ax: Axes, table: Frame, methods: Sequence[str], highlight: Sequence[str]) -> None:
    styles = line_styles(methods)
    for method in methods:
        picked = table["method"] == method
        x, front = table["labels_per_class"][picked], method in highlight
        width = 2.6 if front else 1.2
        ax.plot(x, table["mean"][picked], label=method, linewidth=width, zorder=3 if front else 2, **styles[method])
        color = styles[method]["color"]
        ax.fill_between(x, table["lower"][picked], table["upper"][picked], color=color, alpha=0.1, linewidth=0)
    ax.set(xlabel="labels per class", xticks=np.unique(table["labels_per_class"]))
    ax.grid(axis="y")
