"""Every metric of one model on one set of nodes, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calirare.errors import InputError
from calirare.metrics.bootstrap import Estimate, bootstrap_intervals
from calirare.metrics.calibration import (
    adaptive_calibration_error,
    classwise_ace,
    expected_calibration_error,
    macro_true_class_ace,
    true_class_ace,
)
from calirare.metrics.detection import (
    accuracy,
    average_precision,
    macro_f1,
    precision,
    recall,
    recall_at_budget,
    roc_auc,
)
from calirare.metrics.inputs import check_class, check_classes, check_count, check_probabilities
from calirare.metrics.scoring import brier_score, negative_log_likelihood
from calirare.metrics.smooth import smooth_ece

_UNBOUNDED = ("negative_log_likelihood", "negative_log_likelihood_rare")

_Metric = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


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
        `true_class_ace` and `macro_true_class_ace` condition on the true label: even perfect probabilities do not
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
    return bootstrap_intervals(
        _metrics(rare_class, budget),
        y,
        probabilities,
        decisions,
        coverage=coverage,
        num_resamples=num_resamples,
        seed=seed,
        stratified=stratified,
        bounds={name: (0.0, np.inf) for name in _UNBOUNDED},
    )


def _metrics(rare_class: int, budget: int | None) -> dict[str, _Metric]:
    """Each as `metric(y, probabilities, predicted)`."""
    metrics: dict[str, _Metric] = {
        "recall": lambda y, p, d: recall(y, d, rare_class),
        "precision": lambda y, p, d: precision(y, d, rare_class),
        "macro_f1": lambda y, p, d: macro_f1(y, d),
        "accuracy": lambda y, p, d: accuracy(y, d),
        "average_precision": lambda y, p, d: average_precision(y == rare_class, p[:, rare_class]),
        "roc_auc": lambda y, p, d: roc_auc(y == rare_class, p[:, rare_class]),
        "negative_log_likelihood": lambda y, p, d: negative_log_likelihood(y, p),
        "negative_log_likelihood_rare": lambda y, p, d: negative_log_likelihood(y, p, of_class=rare_class),
        "brier_score": lambda y, p, d: brier_score(y, p),
        "brier_score_rare": lambda y, p, d: brier_score(y, p, of_class=rare_class),
        "expected_calibration_error": lambda y, p, d: expected_calibration_error(y, p),
        "adaptive_calibration_error": lambda y, p, d: adaptive_calibration_error(y, p),
        "classwise_ace": lambda y, p, d: classwise_ace(y, p),
        "smooth_ece": lambda y, p, d: smooth_ece(y == rare_class, p[:, rare_class]),
        "true_class_ace": lambda y, p, d: true_class_ace(y, p, rare_class),
        "macro_true_class_ace": lambda y, p, d: macro_true_class_ace(y, p),
    }
    if budget is not None:
        size = check_count(budget, "budget", least=0)
        metrics["recall_at_budget"] = lambda y, p, d: recall_at_budget(y == rare_class, p[:, rare_class], size)
    return metrics
