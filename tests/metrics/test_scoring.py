import math

import numpy as np
import pytest
import slow_metrics
from hypothesis import given
from hypothesis import strategies as st
from metric_cases import cases
from sklearn.metrics import brier_score_loss, log_loss

from calirare.metrics import brier_score, negative_log_likelihood

CASES = cases()


@pytest.mark.parametrize("case", CASES)
def test_scores_equal_loops_overall_and_per_class(case):
    y, probabilities = CASES[case]
    for of_class in (None, *range(probabilities.shape[1])):
        for fast, slow in (
            (negative_log_likelihood, slow_metrics.negative_log_likelihood),
            (brier_score, slow_metrics.brier_score),
        ):
            expected = slow(y, probabilities, of_class=of_class)
            assert fast(y, probabilities, of_class=of_class) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("case", CASES)
def test_scores_agree_with_scikit_learn(case):
    y, probabilities = CASES[case]
    labels = list(range(probabilities.shape[1]))
    # log_loss clips at the type's own epsilon, 2e-16, so nodes with p = 0 are left to the loops above.
    possible = probabilities[np.arange(y.size), y] > 0
    if possible.any():
        judge = log_loss(y[possible], probabilities[possible], labels=labels)
        assert negative_log_likelihood(y[possible], probabilities[possible]) == pytest.approx(judge)
    judge = brier_score_loss(y, probabilities, labels=labels)
    assert brier_score(y, probabilities) == pytest.approx(judge)


def test_the_impossible_costs_much_but_not_everything():
    assert negative_log_likelihood([1], np.array([[1.0, 0.0]])) == pytest.approx(-math.log(1e-15))
    assert brier_score([1], np.array([[1.0, 0.0]])) == 1.0
    assert brier_score([1], np.array([[1.0, 0.0, 0.0]])) == 2.0
    assert negative_log_likelihood([0, 1], np.eye(2)) == brier_score([0, 1], np.eye(2)) == 0.0


@pytest.mark.parametrize("score", [negative_log_likelihood, brier_score])
def test_overall_is_the_mean_of_the_classes_weighted_by_share(score):
    y, probabilities = CASES["random-61x4"]
    parts = [score(y, probabilities, of_class=c) * (y == c).mean() for c in range(4)]
    assert score(y, probabilities) == pytest.approx(sum(parts))


@given(truth=st.floats(0.02, 0.98), other=st.floats(0.02, 0.98))
def test_the_honest_answer_wins_in_expectation(truth, other):
    for score in (negative_log_likelihood, brier_score):

        def expected(answer, score=score):
            row = np.array([[1 - answer, answer]])
            return truth * score([1], row) + (1 - truth) * score([0], row)

        assert expected(truth) <= expected(other) + 1e-12
