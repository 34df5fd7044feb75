"""Means, the best, and ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from calirare.benchmark.grid import GridTask
from calirare.benchmark.standings import Cell, Standings, paired_p_value
from calirare.metrics.registry import METRICS

NLL = "negative_log_likelihood"
CELL = Cell("a", "default", 20)


def rows(values, metric=NLL, labels=20):
    return [
        {"dataset": "a", "protocol": "default", "labels_per_class": labels, "entry": entry, "seed": seed, metric: value}
        for entry, series in values.items()
        for seed, value in enumerate(series)
    ]


def standings(values, metric=NLL):
    return Standings.of(rows(values, metric), GridTask.COLUMNS, METRICS, values)


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
    found = standings({"good": [0.1, 0.2, 0.3], "close": [0.12, 0.19, 0.32], "far": [0.5, 0.61, 0.7]})
    scores = found.scores(CELL, NLL)
    marks = {entry: (score.best, score.tied) for entry, score in scores.items()}
    assert marks == {"good": (True, False), "close": (False, True), "far": (False, False)}
    score = scores["good"]
    assert (score.mean, score.spread, score.num_seeds) == (pytest.approx(0.2), pytest.approx(0.1), 3)


def test_where_high_is_good_the_highest_is_best():
    scores = standings({"low": [0.1], "high": [0.9]}, "recall").scores(CELL, "recall")
    assert scores["high"].best and not scores["low"].best


@pytest.mark.parametrize("metric", ["true_class_ace", "macro_true_class_ace", "negative_log_likelihood_rare"])
def test_what_conditions_on_the_true_label_is_not_ranked(metric):
    scores = standings({"one": [0.1, 0.2], "two": [0.3, 0.5]}, metric).scores(CELL, metric)
    assert len(scores) == 2 and not any(score.best or score.tied for score in scores.values())


def test_an_entry_that_lacks_seeds_does_not_compete():
    scores = standings({"whole": [0.5, 0.5], "part": [0.1]}).scores(CELL, NLL)
    assert scores["whole"].best and not scores["part"].best


def test_over_the_cells():
    both = rows({"x": [0.1, 0.1], "y": [0.2, 0.3], "other": [0.0, 0.0]}) + rows(
        {"x": [0.5, 0.6], "y": [0.2, 0.2]}, labels=30
    )
    found = Standings.of(both, GridTask.COLUMNS, METRICS, ["x", "y", "z"])
    assert found.overall(NLL, "x") == pytest.approx((0.1 + 0.55) / 2)
    # Two seeds: 0.1 against 0.25 ± 0.07 is a tie by a t-test of one degree of freedom, and so is 0.2 against 0.55 ± 0.07.
    assert found.wins(NLL, found.names) == {"x": (1, 1), "y": (1, 1), "z": (0, 0)}
    assert np.isnan(found.overall(NLL, "z"))
