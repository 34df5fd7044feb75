"""What metrics refuse, and how they name it; and what they forgive."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calirare import metrics
from calirare.errors import InputError
from calirare.metrics.inputs import SUM_TOLERANCE, check_probabilities, check_rare_scores

Y, P, SCORES = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]), np.array([0.1, 0.8, 0.6])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_probabilities([0.5, 1, 1], P), "^y must be a one-dimensional array of integer classes"),
        (lambda: check_probabilities(Y[:0], P), "^y must hold at least one node"),
        (lambda: check_probabilities([0, -1, 1], P), "^y must hold known classes, 0 or more; got -1"),
        (lambda: check_probabilities(Y, "high"), "^probabilities must be an array of numbers; got str"),
        (lambda: check_probabilities(Y, P * np.nan), "^probabilities must be finite; 6 values"),
        (lambda: check_probabilities(Y, SCORES), "^probabilities must have one row per node"),
        (lambda: check_probabilities(Y, P[:2]), "same nodes; got 3 labels and 2 rows"),
        (lambda: check_probabilities([0, 1, 2], P), r"^y must lie in 0…1, .* got 2"),
        (lambda: check_probabilities(Y, P + 0.002), r"^Rows of probabilities must sum to one; .* off by 0.004"),
        (lambda: check_probabilities(Y, [[1.002, -0.002], *P[1:]]), r"^probabilities must lie in \[0, 1\]; got -0.002"),
        (lambda: check_probabilities(Y, [[1.5, 0.0], *P[1:]]), r"^probabilities must lie in \[0, 1\]; got 0 to 1.5"),
        (lambda: check_rare_scores([0, 2, 1], SCORES), "^y_rare must be 1 for rare nodes and 0 for others; got 2"),
        (lambda: check_rare_scores("no", SCORES), "^y_rare must be a one-dimensional array"),
        (lambda: check_rare_scores(Y, [None, "a", 1]), "^scores must be an array of numbers"),
        (lambda: check_rare_scores(Y, SCORES[:2]), r"^scores must hold one number per node, shape \(3,\); got \(2,\)"),
        (lambda: check_rare_scores(Y, SCORES + 1, unit_interval=True), r"^scores must lie in \[0, 1\]; got 1.1 to 1.8"),
        (lambda: metrics.true_class_ace(Y, P, of_class=1, num_bins=10**9), "^num_bins must be at most"),
        (lambda: metrics.macro_true_class_ace(Y, P, num_bins=0), "^num_bins must be a whole number, 1 or more"),
    ],
)
def test_refusals_name_the_argument(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_rounding_is_forgiven_and_cut_off():
    off = SUM_TOLERANCE / 2
    _, table = check_probabilities(Y, [[1 + off, -off], *P[1:]])
    np.testing.assert_array_equal(table, [[1.0, 0.0], *P[1:]])
    _, scores = check_rare_scores(Y, [-off, 1 + off, 0.5], unit_interval=True)
    np.testing.assert_array_equal(scores, [0.0, 1.0, 0.5])
    _, free = check_rare_scores(Y, [-3.0, 7.0, 0.5])
    np.testing.assert_array_equal(free, [-3.0, 7.0, 0.5])


def test_defaults_are_those_of_the_paper():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], size=300)
    y = (rng.random(300) < p[:, 1]).astype(int)
    for metric in (partial(metrics.true_class_ace, of_class=1), metrics.macro_true_class_ace):
        assert metric(y, p) == metric(y, p, num_bins=20) != metric(y, p, num_bins=21)


WHOLE = {
    "rare_class must be a whole number, 0 or more; got -1.": [
        lambda: metrics.recall(Y, Y, rare_class=-1),
        lambda: metrics.precision(Y, Y, rare_class=-1),
        lambda: metrics.rare_f1(Y, Y, rare_class=-1),
    ],
    "predicted must hold one class per node, shape (3,); got (2,).": [
        lambda: metrics.recall(Y, Y[:2]),
        lambda: metrics.accuracy(Y, Y[:2]),
        lambda: metrics.macro_f1(Y, Y[:2]),
        lambda: metrics.summary(Y, P, 1, predicted=Y[:2]),
    ],
    "predicted must hold known classes, 0 or more; got -1. Drop nodes whose label is unknown first.": [
        lambda: metrics.precision(Y, -Y),
        lambda: metrics.summary(Y, P, 1, predicted=-Y),
    ],
    "y must hold known classes, 0 or more; got -1. Drop nodes whose label is unknown first.": [
        lambda: metrics.recall(-Y, Y),
        lambda: metrics.brier_score(-Y, P),
    ],
    "y must be an array whose rows are of equal length; got list.": [lambda: metrics.accuracy([[1], [2, 3]], Y)],
    "y must be a one-dimensional array of integer classes; got int64 of shape (1, 3).": [
        lambda: metrics.accuracy(Y[None], Y)
    ],
    "of must be 'all' or a class 0…1; got 'ALL'.": [lambda: metrics.reliability_bins(Y, P, of="ALL")],
    "of must be one of the classes 0…1; got 2.": [lambda: metrics.reliability_bins(Y, P, of=2)],
    "of_class must be one of the classes 0…1; got True.": [lambda: metrics.true_class_ace(Y, P, of_class=True)],
    "of_class must be one of the classes 0…1; got -1.": [lambda: metrics.brier_score(Y, P, of_class=-1)],
    "class_probability=True needs the class whose probability is meant; got of='all'.": [
        lambda: metrics.reliability_bins(Y, P, class_probability=True)
    ],
    "strategy must be 'equal_width' or 'equal_count'; got 'even'.": [
        lambda: metrics.reliability_bins(Y, P, strategy="even")
    ],
    "num_bins must be at most 1,000,000; got 1000001.": [
        lambda: metrics.expected_calibration_error(Y, P, num_bins=1_000_001),
        lambda: metrics.adaptive_calibration_error(Y, P, num_bins=1_000_001),
    ],
    "num_resamples must be a whole number, 0 or more; got -1.": [lambda: metrics.summary(Y, P, 1, num_resamples=-1)],
    "seed must be a whole number, 0 or more; got -1.": [lambda: metrics.summary(Y, P, 1, num_resamples=1, seed=-1)],
    "coverage must lie between 0 and 1; got 1.0.": [lambda: metrics.summary(Y, P, 1, coverage=1.0)],
    "every array must be an array whose rows are of equal length; got list.": [
        lambda: metrics.bootstrap_intervals({}, Y, [[1], [2, 3]])
    ],
    "Every array must have one row per node, 3; got shape (2,).": [lambda: metrics.bootstrap_intervals({}, Y, Y[:2])],
    "rare_class must be one of the classes 0…1; got 'rare'.": [lambda: metrics.summary(Y, P, "rare")],
    "budget must be a whole number, 0 or more; got 1.5.": [lambda: metrics.recall_at_budget(Y, SCORES, 1.5)],
    "probabilities must have one row per node and a column for each of two or more classes; got shape (3, 1).": [
        lambda: metrics.brier_score(Y, P[:, :1])
    ],
}


@pytest.mark.parametrize(("call", "message"), [(call, message) for message, calls in WHOLE.items() for call in calls])
def test_whole_messages(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message
