"""Proper scores: the honest probability is the one that minimises them in expectation."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.metrics.inputs import check_class, check_probabilities

SMALLEST_PROBABILITY = 1e-15
"""Probabilities are lifted to this before the logarithm, so one impossible event costs 34.5, not infinity."""


def negative_log_likelihood(y: Any, probabilities: Any, *, of_class: int | None = None) -> float:
    """Mean of −log p[true class].

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`, rows summing to one; lifted to 1e-15 before the logarithm.
        of_class: Average only over the nodes whose true class this is; NaN where there is none. The overall score is
            the mean of these, weighted by the classes' shares; one of them alone is not a proper score (always
            answering that class would win it).

    >>> round(negative_log_likelihood([0, 1], np.array([[0.5, 0.5], [0.0, 1.0]])), 4)
    0.3466
    """
    y, probabilities = check_probabilities(y, probabilities)
    return _mean_over(label_losses(y, probabilities), y, of_class, probabilities.shape[1])


def label_losses(y: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """−log of the probability that each label was given, `(n,)`."""
    return -np.log(np.maximum(probabilities[np.arange(y.size), y], SMALLEST_PROBABILITY))


def negative_log_likelihood_rare(y: Any, probabilities: Any, rare_class: int) -> float:
    """Mean of −log p[rare] over the rare nodes alone.

    >>> round(negative_log_likelihood_rare([0, 1], np.array([[0.5, 0.5], [0.5, 0.5]]), rare_class=1), 4)
    0.6931
    """
    return negative_log_likelihood(y, probabilities, of_class=rare_class)


def brier_score(y: Any, probabilities: Any, *, of_class: int | None = None) -> float:
    """Mean squared distance between probabilities and what happened.

    Two classes: mean (p[1] − y)², from 0 to 1. More classes: mean Σ_c (p[c] − 1[y = c])², from 0 to 2. The same
    convention as scikit-learn's `brier_score_loss`.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`, rows summing to one.
        of_class: Average only over the nodes whose true class this is; NaN where there is none. One class alone is
            not a proper score.

    >>> round(brier_score([0, 1], np.array([[0.5, 0.5], [0.0, 1.0]])), 4)
    0.125
    """
    y, probabilities = check_probabilities(y, probabilities)
    if probabilities.shape[1] == 2:
        loss = (probabilities[:, 1] - y) ** 2
    else:
        loss = ((probabilities - np.eye(probabilities.shape[1])[y]) ** 2).sum(axis=1)
    return _mean_over(loss, y, of_class, probabilities.shape[1])


def brier_score_rare(y: Any, probabilities: Any, rare_class: int) -> float:
    """Mean squared distance between probabilities and what happened, over the rare nodes alone.

    >>> brier_score_rare([0, 1], np.array([[0.5, 0.5], [0.5, 0.5]]), rare_class=1)
    0.25
    """
    return brier_score(y, probabilities, of_class=rare_class)


def _mean_over(loss: np.ndarray, y: np.ndarray, of_class: int | None, num_classes: int) -> float:
    if of_class is not None:
        loss = loss[y == check_class(of_class, num_classes)]
    return float(loss.mean()) if loss.size else float("nan")
