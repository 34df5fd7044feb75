"""Every metric of one model on one set of nodes, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calirare.data.checks import check_count
from calirare.errors import InputError
from calirare.metrics.bootstrap import Estimate, bootstrap_intervals
from calirare.metrics.inputs import check_class, check_classes, check_probabilities
from calirare.metrics.registry import METRICS, Answers, Metric


def summary(
    y: Any,
    probabilities: Any,
    rare_class: int,
    *,
    predicted: Any = None,
    budget: int | None = None,
    coverage: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
    stratified: bool = False,
) -> dict[str, Estimate]:
    """Every metric by name, with bootstrap intervals from the same resamples.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`, rows summing to one.
        rare_class: The class looked for.
        predicted: `(n,)` the decisions; default: the most probable class.
        budget: With it, `recall_at_budget` is among the metrics. In a resample it counts the same number of nodes.
        coverage: Of the intervals.
        num_resamples: 0 gives the values alone, with NaN bounds.
        seed: Of the resamples.
        stratified: See `bootstrap_interval`.

    Note:
        Metrics whose `conditional` is true look at nodes picked by their true class: even perfect probabilities do not
        score 0. Never rank by them alone.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> found = summary([0, 0, 1, 1], p, rare_class=1, num_resamples=100)
    >>> found["recall"].value, found["average_precision"].value
    (0.5, 1.0)
    """
    y, probabilities = check_probabilities(y, probabilities)
    rare_class = check_class(rare_class, probabilities.shape[1], "rare_class")
    decisions = probabilities.argmax(axis=1) if predicted is None else check_classes(predicted, "predicted")
    if decisions.shape != y.shape:
        raise InputError(f"predicted must hold one class per node, shape {y.shape}; got {decisions.shape}.")
    size = None if budget is None else check_count(budget, "budget", least=0)
    wanted = {name: METRICS[name] for name in METRICS if size is not None or "budget" not in METRICS[name].reads}

    def computes(metric: Metric) -> Callable[..., float]:
        return lambda y, p, d: metric(Answers(y, p, d, rare_class, size))

    return bootstrap_intervals(
        {name: computes(metric) for name, metric in wanted.items()},
        y,
        probabilities,
        decisions,
        coverage=coverage,
        num_resamples=num_resamples,
        seed=seed,
        stratified=stratified,
        bounds={name: (0.0, np.inf) for name, metric in wanted.items() if metric.unbounded},
    )
