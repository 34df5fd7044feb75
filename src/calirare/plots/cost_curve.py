"""What a threshold on P(rare) costs, and which one is cheapest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from calirare.data.checks import check_count
from calirare.errors import InputError
from calirare.metrics.inputs import check_rare_scores
from calirare.plots.style import BLUE, GUIDE, ORANGE, VERMILION, figure_of, styled
from calirare.plots.tables import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def frame(
    y_rare: Any,
    scores: Any,
    *,
    cost_miss: float,
    cost_alarm: float,
    num_thresholds: int = 201,
    coverage: float = 0.95,
) -> Frame:
    """Cost per node if every node with P(rare) ≥ threshold is alerted, for thresholds from 0 to 1.

    Columns: `threshold`; `observed`, the cost on the labels, with `lower` and `upper` (normal interval of the mean);
    `expected`, the cost the probabilities foretell: Σ p·cost_miss below the threshold and Σ (1−p)·cost_alarm above,
    per node. Where the probabilities are right the two agree.

    Args:
        y_rare: `(n,)` 1 where the node is rare, else 0; None where labels are missing: `observed` is then NaN.
        scores: `(n,)` P(rare).
        cost_miss: Of a rare node that is not alerted.
        cost_alarm: Of an alert on a node that is not rare.
        num_thresholds: How many, evenly spaced from 0 to 1.
        coverage: Of the interval.

    >>> table = frame([1, 0], [0.8, 0.3], cost_miss=10, cost_alarm=1, num_thresholds=3)
    >>> table["threshold"], table["observed"], table["expected"]
    (array([0. , 0.5, 1. ]), array([0.5, 0. , 5. ]), array([0.45, 1.6 , 5.5 ]))
    """
    for name, cost in (("cost_miss", cost_miss), ("cost_alarm", cost_alarm)):
        if not np.isfinite(cost) or cost <= 0:
            raise InputError(f"{name} must be a positive number; got {cost!r}.")
    if not 0 < coverage < 1:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
    labelled = y_rare is not None
    rare, scores = check_rare_scores(
        y_rare if labelled else np.zeros(np.shape(scores), int), scores, unit_interval=True
    )
    thresholds = np.linspace(0, 1, check_count(num_thresholds, "num_thresholds", least=2))
    n = scores.size
    misses, alarms = _below(scores, rare, thresholds), (~rare).sum() - _below(scores, ~rare, thresholds)
    observed = (cost_miss * misses + cost_alarm * alarms) / n if labelled else np.full(thresholds.size, np.nan)
    second_moment = (cost_miss**2 * misses + cost_alarm**2 * alarms) / n
    half = norm.ppf((1 + coverage) / 2) * np.sqrt(np.maximum(second_moment - observed**2, 0) / n)
    foretold_alarms = (1 - scores).sum() - _below(scores, 1 - scores, thresholds)
    expected = (cost_miss * _below(scores, scores, thresholds) + cost_alarm * foretold_alarms) / n
    return {
        "threshold": thresholds,
        "observed": observed,
        "lower": np.maximum(observed - half, 0),
        "upper": observed + half,
        "expected": expected,
    }


def best_threshold(cost_miss: float, cost_alarm: float) -> float:
    """The cheapest threshold where the probabilities are right: alert when p·cost_miss ≥ (1−p)·cost_alarm.

    >>> best_threshold(cost_miss=9, cost_alarm=1)
    0.1
    """
    return cost_alarm / (cost_alarm + cost_miss)


def plot(
    y_rare: Any,
    scores: Any,
    *,
    cost_miss: float,
    cost_alarm: float,
    thresholds: Mapping[str, float] | None = None,
    num_thresholds: int = 201,
    coverage: float = 0.95,
    ax: Axes | None = None,
) -> Figure:
    """Observed and foretold cost by threshold. See `frame`.

    `thresholds` are marked by name; default: the best one where the probabilities are right, c_a / (c_a + c_m).
    """
    table = frame(
        y_rare, scores, cost_miss=cost_miss, cost_alarm=cost_alarm, num_thresholds=num_thresholds, coverage=coverage
    )
    if thresholds is None:
        thresholds = {"cheapest by the probabilities": best_threshold(cost_miss, cost_alarm)}
    with styled():
        figure, ax = figure_of(ax, 4.6, 3.1)
        x = table["threshold"]
        if np.isfinite(table["observed"]).all():
            ax.plot(x, table["observed"], color=BLUE, label="observed")
            ax.fill_between(x, table["lower"], table["upper"], color=BLUE, alpha=0.15, linewidth=0)
        ax.plot(x, table["expected"], color=ORANGE, linestyle="--", label="foretold by the probabilities")
        for i, (name, threshold) in enumerate(thresholds.items()):
            colour = (VERMILION, GUIDE)[min(i, 1)]
            ax.axvline(
                threshold,
                color=colour,
                linewidth=1,
                linestyle=("-", ":", "-.", "--")[i % 4],
                label=f"{name}: {threshold:.3g}",
            )
        ax.set(xlabel="threshold on P(rare)", ylabel="cost per node", xlim=(0, 1))
        ax.set_ylim(bottom=0)
        ax.grid(axis="y")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, columnspacing=1.2)
    return figure


def _below(scores: np.ndarray, weight: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Sum of the weights of the nodes that score below each threshold."""
    order = np.argsort(scores, kind="stable")
    running = np.append(0.0, np.cumsum(weight[order], dtype=np.float64))
    below: np.ndarray = running[np.searchsorted(scores[order], thresholds, side="left")]
    return below
