import math

import numpy as np
import pytest
import sklearn.metrics as judge
import slow_metrics
from hypothesis import given
from hypothesis import strategies as st
from metric_cases import cases

from calirare import metrics
from calirare.errors import InputError

CASES = cases()
DECIDED = ["recall", "precision", "macro_f1", "accuracy"]
RANKED = ["average_precision", "roc_auc"]


def _decisions(case):
    y, probabilities = CASES[case]
    return y, probabilities.argmax(axis=1)


@pytest.mark.parametrize("name", DECIDED)
def test_decisions_equal_loops(name):
    for case in CASES:
        y, predicted = _decisions(case)
        expected = getattr(slow_metrics, name)(y.tolist(), predicted.tolist())
        assert getattr(metrics, name)(y, predicted) == pytest.approx(expected, nan_ok=True), case


@pytest.mark.parametrize("case", CASES)
def test_decisions_agree_with_scikit_learn(case):
    y, predicted = _decisions(case)
    rare = {"labels": [1], "average": "macro", "zero_division": np.nan}
    assert metrics.recall(y, predicted) == pytest.approx(judge.recall_score(y, predicted, **rare), nan_ok=True)
    rare["zero_division"] = 0
    assert metrics.precision(y, predicted) == pytest.approx(judge.precision_score(y, predicted, **rare))
    expected = judge.f1_score(y, predicted, average="macro", zero_division=0)
    assert metrics.macro_f1(y, predicted) == pytest.approx(expected)
    assert metrics.accuracy(y, predicted) == pytest.approx(judge.accuracy_score(y, predicted))


@pytest.mark.parametrize("name", RANKED)
def test_rankings_equal_loops(name):
    for case, (y, probabilities) in CASES.items():
        expected = getattr(slow_metrics, name)((y == 1).tolist(), probabilities[:, 1].tolist())
        assert getattr(metrics, name)(y == 1, probabilities[:, 1]) == pytest.approx(expected, nan_ok=True), case


@pytest.mark.parametrize("case", [name for name in CASES if 0 < (CASES[name][0] == 1).mean() < 1])
def test_rankings_agree_with_scikit_learn(case):
    rare, scores = CASES[case][0] == 1, CASES[case][1][:, 1]
    assert metrics.average_precision(rare, scores) == pytest.approx(judge.average_precision_score(rare, scores))
    assert metrics.roc_auc(rare, scores) == pytest.approx(judge.roc_auc_score(rare, scores))


@pytest.mark.parametrize(
    ("case", "budget"),
    [
        *((case, budget) for case in ("tied-90x2", "tied-7x2") for budget in (0, 1, 5, 40)),
        *((case, 5) for case in ("random-90x2", "one_class-7x2")),
    ],
)
def test_recall_at_budget_is_the_mean_over_orders_of_ties(case, budget):
    rare, scores = CASES[case][0] == 1, CASES[case][1][:, 1]
    expected = slow_metrics.recall_at_budget(rare, scores, min(budget, rare.size))
    assert metrics.recall_at_budget(rare, scores, budget) == pytest.approx(expected, abs=0.01)


def test_undefined_is_nan_and_no_alarm_is_zero():
    assert math.isnan(metrics.recall([0, 0], [0, 1]))
    assert math.isnan(metrics.average_precision([0, 0], [0.1, 0.2]))
    assert math.isnan(metrics.roc_auc([0, 0], [0.1, 0.2])) and math.isnan(metrics.roc_auc([1, 1], [0.1, 0.2]))
    assert math.isnan(metrics.recall_at_budget([0, 0], [0.1, 0.2], 1))
    assert metrics.precision([1, 0], [0, 0]) == 0.0
    assert metrics.recall([2, 0], [2, 2], rare_class=2) == 1.0


def test_a_budget_beyond_the_nodes_finds_all():
    assert metrics.recall_at_budget([1, 0, 1], [0.1, 0.2, 0.3], 10) == 1.0


@given(
    pairs=st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=1, max_size=30),
    budget=st.integers(0, 35),
    seed=st.integers(0, 5),
)
def test_bounds_order_and_monotone_maps(pairs, budget, seed):
    rare = np.array([pair[0] for pair in pairs])
    scores = np.array([float(pair[1]) for pair in pairs])
    order = np.random.default_rng(seed).permutation(rare.size)
    for metric in (metrics.average_precision, metrics.roc_auc, lambda r, s: metrics.recall_at_budget(r, s, budget)):
        value = metric(rare, scores)
        assert math.isnan(value) or 0 <= value <= 1 + 1e-12
        assert metric(rare[order], scores[order]) == pytest.approx(value, nan_ok=True)
        assert metric(rare, np.exp(scores)) == pytest.approx(value, nan_ok=True)


def test_predictions_and_budgets_are_checked():
    with pytest.raises(InputError, match="predicted must hold one class per node"):
        metrics.accuracy([0, 1], [0])
    with pytest.raises(InputError, match="budget must be a whole number, 0 or more; got -1"):
        metrics.recall_at_budget([1, 0], [0.1, 0.2], -1)
    with pytest.raises(InputError, match="Pass y == rare_class"):
        metrics.roc_auc([0, 2], [0.1, 0.2])


@pytest.mark.parametrize("metric", [metrics.recall, metrics.precision])
def test_a_class_that_is_none_is_named(metric):
    with pytest.raises(InputError, match=r"^rare_class must be a whole number, 0 or more; got -1\.$"):
        metric([0, 1], [0, 1], rare_class=-1)
