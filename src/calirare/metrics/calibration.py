"""How far confidence and accuracy part, in bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.data.checks import check_count
from calirare.metrics.binning import MOST_BINS, equal_count_bins, equal_width_bins, top_label
from calirare.metrics.inputs import check_class, check_probabilities


def expected_calibration_error(y: Any, probabilities: Any, num_bins: int = 15) -> float:
    """ECE of the predicted class over bins of equal width.

    ECE = Σ_m |B_m|/N · |acc(B_m) − conf(B_m)|, where B_m holds the nodes whose largest probability lies in
    [m/M, (m+1)/M), M = `num_bins`, and N is the number of nodes.

    >>> p = np.array([[0.75, 0.25]] * 4)
    >>> expected_calibration_error([0, 0, 0, 1], p), expected_calibration_error([0, 0, 0, 0], p)
    (0.0, 0.25)
    """
    y, probabilities = check_probabilities(y, probabilities)
    return equal_width_bins(*top_label(y, probabilities), num_bins).error


def adaptive_calibration_error(y: Any, probabilities: Any, num_bins: int = 15) -> float:
    """ECE of the predicted class over bins of equal count.

    Σ_m |B_m|/N · |acc(B_m) − conf(B_m)|, where the B_m cut the nodes, sorted by their largest probability, into
    `num_bins` parts whose sizes differ by one at most.

    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]])
    >>> round(adaptive_calibration_error([0, 1, 0, 0], p, num_bins=2), 4)
    0.15
    """
    y, probabilities = check_probabilities(y, probabilities)
    return equal_count_bins(*top_label(y, probabilities), num_bins).error


def classwise_ace(y: Any, probabilities: Any, num_bins: int = 15) -> float:
    """ACE over the probabilities of every class, the paper's formula.

    (1/C) Σ_c Σ_m |B_m|/N · |acc(B_m, c) − conf(B_m, c)|. For each class c all nodes are sorted by p[c] and cut into
    `num_bins` bins of equal count; conf is the bin's mean p[c] and acc the share of its nodes whose class is c.
    Perfect probabilities score 0 in the limit of many nodes. A class without nodes still counts: any probability
    given to it is an error.

    Note:
        The paper writes 1/(C·M) and |B_m|/N together. Both normalise over the bins, so its value is ours divided by
        M: the same ranking, on a scale that would depend on the number of bins.

    >>> classwise_ace([0, 0, 0, 1], np.array([[0.75, 0.25]] * 4), num_bins=1)
    0.0
    """
    y, probabilities = check_probabilities(y, probabilities)
    errors = [
        equal_count_bins(probabilities[:, c], (y == c).astype(np.float64), num_bins).error
        for c in range(probabilities.shape[1])
    ]
    return float(np.mean(errors))


def true_class_ace(y: Any, probabilities: Any, of_class: int, num_bins: int = 20) -> float:
    """ACE among the nodes whose true class is `of_class`, as the paper's *tables* report it.

    Only nodes with y = `of_class`; confidence is that of the predicted class, whichever it is; accuracy is
    "predicted = true"; `num_bins` bins of equal count; Σ_m |B_m|/n · |acc(B_m) − conf(B_m)|.
    NaN where no node is of that class.

    Note:
        This conditions on the true label, so even perfect probabilities do not score 0: a model that says 0.5 of
        nodes that are rare half of the time scores 0.5. Never rank methods by it alone; see `classwise_ace` and
        `negative_log_likelihood`.

    >>> p = np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]])
    >>> round(true_class_ace([1, 1, 0], p, of_class=1, num_bins=1), 4)
    0.3
    """
    y, probabilities = check_probabilities(y, probabilities)
    members = y == check_class(of_class, probabilities.shape[1])
    num_bins = check_count(num_bins, "num_bins", most=MOST_BINS)
    return equal_count_bins(*top_label(y[members], probabilities[members]), num_bins).error


def macro_true_class_ace(y: Any, probabilities: Any, num_bins: int = 20) -> float:
    """Unweighted mean of `true_class_ace` over the classes that have nodes: the paper's Macro-ACE.

    Note:
        Like `true_class_ace` it conditions on the true label, so even perfect probabilities do not score 0.
        Never rank methods by it alone.

    >>> round(macro_true_class_ace([1, 1, 0], np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]]), num_bins=1), 4)
    0.2
    """
    y, probabilities = check_probabilities(y, probabilities)
    return float(np.mean([true_class_ace(y, probabilities, int(c), num_bins) for c in np.unique(y)]))
