"""Means, the best, and ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from calirare.benchmark.ranking import collect, mean_over_cells, paired_p_value, times_best


def rows(values, metric="negative_log_likelihood", dataset="a", labels=20):
    return [
        {"dataset": dataset, "labels_per_class": labels, "entry": entry, "seed": seed, metric: value}
        for entry, series in values.items()
        for seed, value in enumerate(series)
    ]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=3, max_size=8))
def test_the_paired_test_is_scipys(pairs):
    first, second = np.array(pairs).T
    differences = first - second
    if differences.std() < 1e-6:
        return  # SciPy warns there; the next test says what we do
    ours = paired_p_value(dict(enumerate(first)), dict(enumerate(second)))
    assert ours == pytest.approx(ttest_rel(first, second).pvalue, rel=1e-6, abs=1e-12)


def test_the_paired_test_at_its_edges():
    assert paired_p_value({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}) == 1.0
    assert paired_p_value({0: 1.0, 1: 2.0}, {0: 0.5, 1: 1.5}) == 0.0
    assert paired_p_value({0: 1.0}, {0: 0.5}) == 0.0
    assert paired_p_value({0: 1.0, 5: 9.0}, {0: 1.0, 7: 3.0}) == 1.0


def test_best_and_ties_of_a_score_where_low_is_good():
    book = collect(
        rows({"good": [0.1, 0.2, 0.3], "close": [0.12, 0.19, 0.32], "far": [0.5, 0.61, 0.7]}),
        ["good", "close", "far"],
        ["negative_log_likelihood"],
    )
    marks = {
        entry: (score.best, score.tied)
        for entry in book.entries
        if (score := book.get(("a", 20), entry, "negative_log_likelihood"))
    }
    assert marks == {"good": (True, False), "close": (False, True), "far": (False, False)}
    score = book.get(("a", 20), "good", "negative_log_likelihood")
    assert (score.mean, score.spread, score.num_seeds) == (pytest.approx(0.2), pytest.approx(0.1), 3)


def test_where_high_is_good_the_highest_is_best():
    book = collect(rows({"low": [0.1], "high": [0.9]}, "recall"), ["low", "high"], ["recall"])
    assert book.get(("a", 20), "high", "recall").best and not book.get(("a", 20), "low", "recall").best


@pytest.mark.parametrize("metric", ["true_class_ace", "macro_true_class_ace", "negative_log_likelihood_rare"])
def test_what_conditions_on_the_true_label_is_not_ranked(metric):
    book = collect(rows({"one": [0.1, 0.2], "two": [0.3, 0.5]}, metric), ["one", "two"], [metric])
    assert not any(score.best or score.tied for score in book.scores.values())


def test_an_entry_that_lacks_seeds_does_not_compete():
    book = collect(rows({"whole": [0.5, 0.5], "part": [0.1]}), ["whole", "part"], ["negative_log_likelihood"])
    assert book.get(("a", 20), "whole", "negative_log_likelihood").best
    assert not book.get(("a", 20), "part", "negative_log_likelihood").best


def test_over_the_cells():
    both = rows({"x": [0.1, 0.1], "y": [0.2, 0.3]}) + rows({"x": [0.5, 0.6], "y": [0.2, 0.2]}, labels=30)
    book = collect(both, ["x", "y"], ["negative_log_likelihood"])
    assert mean_over_cells(book, "x", "negative_log_likelihood") == pytest.approx((0.1 + 0.55) / 2)
    assert times_best(book, "x", "negative_log_likelihood") + times_best(book, "y", "negative_log_likelihood") >= 2
    assert np.isnan(mean_over_cells(book, "z", "negative_log_likelihood"))
