"""Reliability diagrams: does "90% sure" come true nine times in ten? (the paper's figures 1c, 1d and 2)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calirare.errors import InputError
from calirare.metrics import Bins, Estimate, bootstrap_interval, reliability_bins
from calirare.metrics.binning import Strategy
from calirare.metrics.inputs import check_class, check_probabilities
from calirare.metrics.share_interval import wilson_interval
from calirare.plots.style import FAINT, GREEN, GUIDE, VERMILION, figure_of, new_figure, styled
from calirare.plots.tables import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Group = Literal["all", "majority", "rare"]
GROUPS: tuple[Group, ...] = ("all", "majority", "rare")
BAR, OVER, UNDER = "#7FB8D8", ("#FBE3D5", VERMILION), ("#D3EDE4", GREEN)
_TITLES = {"all": "All nodes", "majority": "Majority", "rare": "Rare"}


def frame(
    y: Any,
    probabilities: Any,
    *,
    rare_class: int = 1,
    groups: Sequence[Group] = GROUPS,
    num_bins: int = 20,
    strategy: Strategy = "equal_width",
    class_probability: bool = False,
    coverage: float = 0.95,
) -> Frame:
    """One row for each model, group and bin.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`, or a dict of them by model, such as `{"before": …, "after": …}`.
        rare_class: The class looked for; the majority is every other one.
        groups: Of `"all"`, `"majority"`, `"rare"`: which nodes, by their *true* class.
        num_bins: Bins of each diagram.
        strategy: `"equal_width"` or `"equal_count"`.
        class_probability: False: confidence in the predicted class, the paper's way. True: the probability of the
            group (rare, or majority) over all nodes; only there do perfect probabilities lie on the diagonal.
        coverage: Of the interval around each bin's accuracy. It is Wilson's, for a bin often holds so few nodes that
            resampling them would give no width at all.

    Returns:
        Columns `model`, `group`, `bin`, `left`, `right`, `confidence`, `accuracy`, `lower`, `upper`, `count`;
        NaN in an empty bin.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> table = frame([0, 0, 1, 1], p, groups=["all"], num_bins=2)
    >>> table["count"], table["accuracy"]
    (array([0, 4]), array([ nan, 0.75]))
    """
    parts: list[Frame] = []
    for model, table in _models(probabilities).items():
        for group in groups:
            bins = _bins(y, table, rare_class, group, num_bins, strategy, class_probability)
            lower, upper = wilson_interval(bins.accuracy, bins.count, coverage)
            parts.append(
                {
                    "model": np.full(bins.count.size, model),
                    "group": np.full(bins.count.size, group),
                    "bin": np.arange(bins.count.size),
                    "left": bins.lower,
                    "right": bins.upper,
                    "confidence": bins.confidence,
                    "accuracy": bins.accuracy,
                    "lower": lower,
                    "upper": upper,
                    "count": bins.count,
                }
            )
    if not parts:
        raise InputError(f"groups must name one or more of {list(GROUPS)}; got none.")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def plot(
    y: Any,
    probabilities: Any,
    *,
    rare_class: int = 1,
    groups: Sequence[Group] = GROUPS,
    num_bins: int = 20,
    strategy: Strategy = "equal_width",
    class_probability: bool = False,
    coverage: float = 0.95,
    num_resamples: int = 200,
    seed: int = 0,
    ax: Axes | None = None,
) -> Figure:
    """One diagram for each model (row) and group (column), with the number of nodes below each; one group: one row.

    Bars are accuracy, the hatched part reaches to the confidence, whiskers are the interval of the accuracy. Each
    diagram gives its calibration error, Σ_m |B_m|/n · |acc(B_m) − conf(B_m)|, with a bootstrap interval.

    Args:
        y, probabilities, rare_class, groups, num_bins, strategy, class_probability, coverage: See `frame`.
        num_resamples: Of the interval around the calibration error; 0 leaves it out.
        seed: Of the resamples.
        ax: Draw here; needs one model and one group, and leaves the strip of counts out.

    Note:
        The groups "majority" and "rare" take nodes by their true class, as the paper does. That conditions on the
        answer: even perfect probabilities leave the diagonal there, below it for the rare class. To judge the
        probabilities of the rare class, use `class_probability=True`.
    """
    models = _models(probabilities)
    options: dict[str, Any] = {"num_bins": num_bins, "strategy": strategy, "class_probability": class_probability}
    table = frame(y, models, rare_class=rare_class, groups=groups, coverage=coverage, **options)
    if ax is not None and len(models) * len(groups) != 1:
        raise InputError(f"ax holds one diagram; got {len(models)} models and {len(groups)} groups. Leave ax out.")
    pairs = [(model, group) for model in models for group in groups]
    num_columns = len(groups) if len(groups) > 1 else len(models)
    with styled():
        if ax is None:
            figure, panels = _grid(len(pairs) // num_columns, num_columns)
        else:
            figure, panels = figure_of(ax, 0, 0)[0], [(ax, None)]
        for panel, ((model, group), (diagram, strip)) in enumerate(zip(pairs, panels, strict=True)):
            error = _error(y, models[model], rare_class, group, options, coverage, num_resamples, seed)
            picked = (table["model"] == model) & (table["group"] == group)
            part = {name: column[picked] for name, column in table.items()}
            title = f"{_TITLES[group]}, {model}" if model else _TITLES[group]
            of_class = group if class_probability and group != "all" else None
            _draw_panel(diagram, strip, part, title, error, of_class, first=panel % num_columns == 0)
        handles = _legend_handles()
        if ax is None:
            figure.align_ylabels()
            columns = 3 if num_columns > 1 else 2
            figure.legend(handles=handles, loc="outside lower center", ncols=columns, columnspacing=1.2)
        else:
            ax.legend(handles=handles, loc="best")
    return figure


def _draw_panel(
    diagram: Axes, strip: Axes | None, part: Frame, title: str, error: Estimate, of_class: Group | None, first: bool
) -> None:
    """A diagram and its strip of counts; the vertical axes have names where it is the first of its row."""
    _draw_diagram(diagram, part, title, error)
    share = "accuracy" if of_class is None else "observed share"
    diagram.set(ylabel=share if first else "")
    if strip is not None:
        _draw_counts(strip, part)
        strip.set(xlabel="confidence" if of_class is None else f"P({of_class})", ylabel="nodes" if first else "")


def _models(probabilities: Any) -> dict[str, Any]:
    if isinstance(probabilities, Mapping):
        if not probabilities:
            raise InputError("probabilities must hold at least one model; got an empty dict.")
        return {str(model): table for model, table in probabilities.items()}
    return {"": probabilities}


def _bins(
    y: Any, probabilities: Any, rare_class: int, group: str, num_bins: int, strategy: Strategy, class_probability: bool
) -> Bins:
    """Bins of rare against rest: with more than two classes the rest is one class."""
    y, probabilities = check_probabilities(y, probabilities)
    rare_class = check_class(rare_class, probabilities.shape[1], "rare_class")
    if group not in GROUPS:
        raise InputError(f"groups must name one or more of {list(GROUPS)}; got {group!r}.")
    options: dict[str, Any] = {"num_bins": num_bins, "strategy": strategy}
    if group == "all":
        return reliability_bins(y, probabilities, **options)
    if class_probability:
        rare = probabilities[:, rare_class]
        merged = np.column_stack([1 - rare, rare])
        return reliability_bins(
            (y == rare_class).astype(int), merged, of=int(group == "rare"), class_probability=True, **options
        )
    members = (y == rare_class) == (group == "rare")
    if not members.any():
        raise InputError(
            f"groups has {group!r}, but no node of y is {'of' if group == 'rare' else 'outside'} class {rare_class}."
        )
    return reliability_bins(y[members], probabilities[members], **options)


def _error(
    y: Any,
    probabilities: Any,
    rare_class: int,
    group: str,
    options: dict[str, Any],
    coverage: float,
    num_resamples: int,
    seed: int,
) -> Estimate:
    # Each class is drawn on its own, so that no resample lacks the group.
    def error(y: np.ndarray, probabilities: np.ndarray) -> float:
        return _bins(y, probabilities, rare_class, group, **options).error

    return bootstrap_interval(
        error, y, probabilities, coverage=coverage, num_resamples=num_resamples, seed=seed, stratified=True
    )


def _grid(num_rows: int, num_columns: int) -> tuple[Figure, list[tuple[Axes, Axes | None]]]:
    """A diagram above a strip in each cell, row by row."""
    figure = new_figure(2.75 * num_columns + 0.3, 3.2 * num_rows + 0.3)
    cells = figure.add_gridspec(2 * num_rows, num_columns, height_ratios=[3.4, 1] * num_rows)
    panels: list[tuple[Axes, Axes | None]] = []
    for row in range(num_rows):
        for column in range(num_columns):
            diagram = figure.add_subplot(cells[2 * row, column])
            diagram.tick_params(labelbottom=False)
            panels.append((diagram, figure.add_subplot(cells[2 * row + 1, column], sharex=diagram)))
    return figure, panels


def _draw_diagram(ax: Axes, part: Frame, title: str, error: Estimate) -> None:
    filled = part["count"] > 0
    left, right, accuracy, confidence = (part[name][filled] for name in ("left", "right", "accuracy", "confidence"))
    # A bin of equal count may hold one single confidence; it still needs a body.
    width = np.maximum(right - left, 0.008)
    ax.bar(left, accuracy, width, align="edge", color=BAR, edgecolor="white", linewidth=0.5, label="came true")
    for name, picked, (face, edge) in (
        ("over-confident", confidence > accuracy, OVER),
        ("under-confident", confidence <= accuracy, UNDER),
    ):
        ax.bar(
            left[picked],
            (confidence - accuracy)[picked],
            width[picked],
            bottom=accuracy[picked],
            align="edge",
            facecolor=face,
            edgecolor=edge,
            linewidth=0.6,
            hatch="////",
            label=name,
        )
    ax.plot([0, 1], [0, 1], color=GUIDE, linewidth=1, linestyle="--", label="_diagonal")
    centre = left + width / 2
    ax.vlines(centre, part["lower"][filled], part["upper"][filled], color="#222222", linewidth=0.9, label="_interval")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    text = f"error {error.value:.3f}"
    if np.isfinite(error.lower):
        text += f" ({error.lower:.3f}–{error.upper:.3f})"
    ax.set_title(f"{title}\n{text}", loc="left", linespacing=1.35)


def _legend_handles() -> list[Any]:
    """One patch for each kind of bar, made by hand: a diagram without one of the kinds has no bar to show for it."""
    from matplotlib.patches import Patch

    kinds = (("over-confident", OVER), ("under-confident", UNDER))
    hatched = [
        Patch(facecolor=face, edgecolor=edge, linewidth=0.6, hatch="////", label=name) for name, (face, edge) in kinds
    ]
    return [Patch(facecolor=BAR, edgecolor="white", label="came true"), *hatched]


def _draw_counts(ax: Axes, part: Frame) -> None:
    filled = part["count"] > 0
    left, right, count = (part[name][filled] for name in ("left", "right", "count"))
    ax.bar(left, count, np.maximum(right - left, 0.008), align="edge", color=GUIDE, edgecolor="white", linewidth=0.5)
    ax.set_xlim(0, 1)
    ax.locator_params(axis="y", nbins=2, integer=True)
    ax.grid(axis="y", color=FAINT)
