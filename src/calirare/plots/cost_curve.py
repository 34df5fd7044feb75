"""What a threshold on P(rare) costs, and which one is cheapest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from calirare.data.checks import check_count, check_coverage
from calirare.decisions.costs import Costs
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
    costs: Costs,
    num_thresholds: int = 201,
    coverage: float = 0.95,
) -> Frame:
    """Cost per node if every node with P(rare) ≥ threshold is alerted, for thresholds from 0 to 1.

    Columns: `threshold`; `observed`, the cost on the labels, with `lower` and `upper` (normal interval of the mean);
    `expected`, the cost that the probabilities predict: Σ p·miss below the threshold and Σ (1−p)·alarm above, per node.
    Where the probabilities are right the two agree.

    Args:
        y_rare: `(n,)` 1 where the node is rare, else 0; None where labels are missing: `observed` is then NaN.
        scores: `(n,)` P(rare).
        costs: The prices of a miss and of a false alarm; nobody reviews here.
        num_thresholds: How many, evenly spaced from 0 to 1.
        coverage: Of the interval.

    >>> table = frame([1, 0], [0.8, 0.3], costs=Costs(miss=10, alarm=1), num_thresholds=3)
    >>> table["threshold"], table["observed"], table["expected"]
    (array([0. , 0.5, 1. ]), array([0.5, 0. , 5. ]), array([0.45, 1.6 , 5.5 ]))
    """
    check_coverage(coverage)
    labelled = y_rare is not None
    rare, scores = check_rare_scores(
        y_rare if labelled else np.zeros(np.shape(scores), int), scores, unit_interval=True
    )
    thresholds = np.linspace(0, 1, check_count(num_thresholds, "num_thresholds", least=2))
    missed, alarmed = costs.expected(rare)["clear"], costs.expected(rare)["alert"]
    observed = _if_alerted_from(scores, missed, alarmed, thresholds) if labelled else np.full(thresholds.size, np.nan)
    second_moment = _if_alerted_from(scores, missed**2, alarmed**2, thresholds)
    half = norm.ppf((1 + coverage) / 2) * np.sqrt(np.maximum(second_moment - observed**2, 0) / scores.size)
    predicted = costs.expected(scores)
    return {
        "threshold": thresholds,
        "observed": observed,
        "lower": np.maximum(observed - half, 0),
        "upper": observed + half,
        "expected": _if_alerted_from(scores, predicted["clear"], predicted["alert"], thresholds),
    }


def plot(
    y_rare: Any,
    scores: Any,
    *,
    costs: Costs,
    thresholds: Mapping[str, float] | None = None,
    num_thresholds: int = 201,
    coverage: float = 0.95,
    ax: Axes | None = None,
) -> Figure:
    """Observed and predicted cost by threshold. See `frame`.

    `thresholds` are marked by name; default: the best one where the probabilities are right, alarm / (alarm + miss),
    or none where each node has prices of its own.
    """
    table = frame(y_rare, scores, costs=costs, num_thresholds=num_thresholds, coverage=coverage)
    if thresholds is None:
        thresholds = {} if costs.per_node else {"cheapest by the probabilities": costs.thresholds().alone}
    with styled():
        figure, ax = figure_of(ax, 4.6, 3.1)
        x = table["threshold"]
        if np.isfinite(table["observed"]).all():
            ax.plot(x, table["observed"], color=BLUE, label="observed")
            ax.fill_between(x, table["lower"], table["upper"], color=BLUE, alpha=0.15, linewidth=0)
        ax.plot(x, table["expected"], color=ORANGE, linestyle="--", label="predicted by the probabilities")
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


def _if_alerted_from(
    scores: np.ndarray, cleared: np.ndarray, alerted: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """Mean over the nodes of `cleared` below each threshold and `alerted` from it on."""
    order = np.argsort(scores, kind="stable")
    running = np.append(0.0, np.cumsum((cleared - alerted)[order], dtype=np.float64))
    below = running[np.searchsorted(scores[order], thresholds, side="left")]
    return (alerted.sum() + below) / scores.size
