"""Groups of nodes with similar confidence: the ground that every binned calibration error stands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calirare.data.checks import check_count
from calirare.errors import InputError
from calirare.metrics.inputs import check_class, check_probabilities

MOST_BINS = 1_000_000
"""More would hold nothing that can be told apart, and take memory."""

Strategy = Literal["equal_width", "equal_count"]


@dataclass(frozen=True)
class Bins:
    """Mean confidence and accuracy of each bin, from low confidence to high.

    Args:
        confidence: `(M,)` mean confidence; NaN where the bin is empty.
        accuracy: `(M,)` share of the bin's nodes for which the event came true; NaN where the bin is empty.
        count: `(M,)` nodes in the bin.
        lower: `(M,)` left end of the bin: its edge (equal width) or its smallest confidence (equal count).
        upper: `(M,)` right end of the bin, likewise.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """accuracy − confidence: negative where the model is over-confident."""
        return self.accuracy - self.confidence

    @property
    def error(self) -> float:
        """Σ_m |B_m|/N · |acc(B_m) − conf(B_m)|; NaN where there is no node at all."""
        filled = self.count > 0
        if not filled.any():
            return float("nan")
        return float(np.abs(self.gap[filled]) @ self.count[filled] / self.count.sum())


def equal_width_bins(confidence: np.ndarray, outcome: np.ndarray, num_bins: int) -> Bins:
    """Bins [k/M, (k+1)/M) of [0, 1]; the last one also holds 1.

    Args:
        confidence: `(n,)` in [0, 1].
        outcome: `(n,)` 1 where the event came true, else 0.
        num_bins: M.

    >>> equal_width_bins(np.array([0.1, 0.5, 1.0]), np.array([0, 1, 1]), 2).count
    array([1, 2])
    """
    edges = np.linspace(0.0, 1.0, check_count(num_bins, "num_bins", most=MOST_BINS) + 1)
    index = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, num_bins - 1)
    mean_confidence, accuracy, count = _bin_means(index, confidence, outcome, num_bins)
    return Bins(mean_confidence, accuracy, count, edges[:-1], edges[1:])


def equal_count_bins(confidence: np.ndarray, outcome: np.ndarray, num_bins: int) -> Bins:
    """Sort by confidence and cut into `num_bins` parts whose sizes differ by one at most, like `numpy.array_split`.

    Nodes of exactly equal confidence share their mean outcome, so that a tie across a cut does not make the
    result depend on the order of the nodes. Isotonic calibration produces such ties by the hundred. Without ties
    this is plain sorting and cutting.

    Args:
        confidence: `(n,)`.
        outcome: `(n,)` 1 where the event came true, else 0.
        num_bins: How many bins; with fewer nodes than bins the last ones stay empty.

    >>> bins = equal_count_bins(np.array([0.9, 0.2, 0.6, 0.7, 0.5]), np.array([1, 0, 0, 1, 1]), 2)
    >>> bins.count, bins.accuracy
    (array([3, 2]), array([0.33333333, 1.        ]))
    """
    num_bins = check_count(num_bins, "num_bins", most=MOST_BINS)
    order = np.argsort(confidence, kind="stable")
    ranked = confidence[order]
    # Group ids of tied values; every group's outcomes become their mean.
    group = np.cumsum(np.append(False, ranked[1:] != ranked[:-1])[: ranked.size])
    shared = (np.bincount(group, weights=outcome[order]) / np.bincount(group))[group]
    size = np.full(num_bins, ranked.size // num_bins)
    size[: ranked.size % num_bins] += 1
    index = np.repeat(np.arange(num_bins), size)
    mean_confidence, accuracy, count = _bin_means(index, ranked, shared, num_bins)
    lower, upper = np.full(num_bins, np.nan), np.full(num_bins, np.nan)
    filled = size > 0
    end = np.cumsum(size)
    lower[filled], upper[filled] = ranked[(end - size)[filled]], ranked[end[filled] - 1]
    return Bins(mean_confidence, accuracy, count, lower, upper)


def reliability_bins(
    y: Any,
    probabilities: Any,
    *,
    num_bins: int = 20,
    of: Literal["all"] | int = "all",
    strategy: Strategy = "equal_width",
    class_probability: bool = False,
) -> Bins:
    """The points of a reliability diagram.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`, rows summing to one.
        num_bins: How many bins.
        of: `"all"`: every node. A class: only the nodes whose *true* class it is, as in the paper's figures.
        strategy: `"equal_width"` or `"equal_count"`.
        class_probability: False: confidence is the largest probability and the event is "the predicted class is
            right". True (needs a class in `of`): every node, confidence is the probability of class `of` and the
            event is "the node is of that class".

    Note:
        Bins of the nodes of one true class are conditioned on the answer: perfect probabilities do not lie on the
        diagonal there. With `class_probability=True` they do.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> bins = reliability_bins([0, 0, 1, 1], p, num_bins=2)
    >>> bins.count, bins.confidence, bins.accuracy
    (array([0, 4]), array([ nan, 0.75]), array([ nan, 0.75]))
    >>> reliability_bins([0, 0, 1, 1], p, num_bins=2, of=1, class_probability=True).accuracy
    array([0.33333333, 1.        ])
    """
    y, probabilities = check_probabilities(y, probabilities)
    if strategy not in ("equal_width", "equal_count"):
        raise InputError(f"strategy must be 'equal_width' or 'equal_count'; got {strategy!r}.")
    cut = equal_width_bins if strategy == "equal_width" else equal_count_bins
    if isinstance(of, str):
        if of != "all":
            raise InputError(f"of must be 'all' or a class 0…{probabilities.shape[1] - 1}; got {of!r}.")
        if class_probability:
            raise InputError("class_probability=True needs the class whose probability is meant; got of='all'.")
        return cut(*top_label(y, probabilities), num_bins)
    of = check_class(of, probabilities.shape[1], "of")
    if class_probability:
        return cut(probabilities[:, of], (y == of).astype(np.float64), num_bins)
    members = y == of
    return cut(*top_label(y[members], probabilities[members]), num_bins)


def top_label(y: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Confidence of the predicted class and whether it is right (1.0 or 0.0); the first class wins ties."""
    predicted = probabilities.argmax(axis=1)
    return probabilities.max(axis=1), (predicted == y).astype(np.float64)


def _bin_means(
    index: np.ndarray, confidence: np.ndarray, outcome: np.ndarray, num_bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count = np.bincount(index, minlength=num_bins)
    divisor = np.where(count > 0, count, 1)
    means = [np.bincount(index, weights=values, minlength=num_bins) / divisor for values in (confidence, outcome)]
    for mean in means:
        mean[count == 0] = np.nan
    return means[0], means[1], count
