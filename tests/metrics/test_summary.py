import math

import numpy as np
import pytest
from metric_cases import cases

from calirare import metrics
from calirare.errors import InputError
from calirare.metrics.bootstrap import bootstrap_interval, bootstrap_intervals

CASES = cases()
Y, PROBABILITIES = CASES["random-90x2"]


def test_values_are_those_of_the_metrics():
    found = metrics.summary(Y, PROBABILITIES, 1, num_resamples=0, budget=10)
    values = {name: estimate.value for name, estimate in found.items()}
    predicted, rare, scores = PROBABILITIES.argmax(axis=1), Y == 1, PROBABILITIES[:, 1]
    assert values == {
        "recall": metrics.recall(Y, predicted),
        "precision": metrics.precision(Y, predicted),
        "rare_f1": metrics.rare_f1(Y, predicted),
        "macro_f1": metrics.macro_f1(Y, predicted),
        "accuracy": metrics.accuracy(Y, predicted),
        "average_precision": metrics.average_precision(rare, scores),
        "roc_auc": metrics.roc_auc(rare, scores),
        "negative_log_likelihood": metrics.negative_log_likelihood(Y, PROBABILITIES),
        "negative_log_likelihood_rare": metrics.negative_log_likelihood(Y, PROBABILITIES, of_class=1),
        "brier_score": metrics.brier_score(Y, PROBABILITIES),
        "brier_score_rare": metrics.brier_score(Y, PROBABILITIES, of_class=1),
        "expected_calibration_error": metrics.expected_calibration_error(Y, PROBABILITIES),
        "adaptive_calibration_error": metrics.adaptive_calibration_error(Y, PROBABILITIES),
        "classwise_ace": metrics.classwise_ace(Y, PROBABILITIES),
        "smooth_ece": metrics.smooth_ece(rare, scores),
        "true_class_ace": metrics.true_class_ace(Y, PROBABILITIES, 1),
        "macro_true_class_ace": metrics.macro_true_class_ace(Y, PROBABILITIES),
        "recall_at_budget": metrics.recall_at_budget(rare, scores, 10),
    }


def test_decisions_may_differ_from_the_largest_probability():
    found = metrics.summary(Y, PROBABILITIES, 1, predicted=np.ones_like(Y), num_resamples=0)
    assert found["recall"].value == 1.0
    assert found["precision"].value == (Y == 1).mean()


@pytest.mark.parametrize("case", CASES)
def test_every_interval_holds_its_value(case):
    for estimate in metrics.summary(*CASES[case], 1, num_resamples=5).values():
        assert math.isnan(estimate.lower) or estimate.lower <= estimate.value <= estimate.upper


def test_four_rare_nodes_ranked_first_do_not_prove_a_perfect_order():
    y, p = np.arange(150) < 4, np.linspace(0.9, 0.1, 150)
    asked = {"num_resamples": 30, "only": ["average_precision", "roc_auc", "recall", "precision", "accuracy"]}
    found = metrics.summary(y.astype(int), np.column_stack([1 - p, p]), 1, **asked)
    for name in ("average_precision", "roc_auc", "recall"):
        assert found[name].value == found[name].upper == 1.0 and 0.4 < found[name].lower < 0.8, name
    weak = metrics.summary(y[::-1].astype(int), np.column_stack([p, 1 - p])[::-1], 1, **asked)
    assert 0 < weak["average_precision"].lower < weak["average_precision"].value
    # Precision and accuracy are means over the called and over all: 2 called, or 150, say more or less than 4 rare do.
    few = metrics.summary(y.astype(int), np.column_stack([1 - p, p]), 1, **asked, predicted=np.arange(150) < 2)
    assert few["precision"].value == 1.0 and few["precision"].lower < 0.6
    assert few["accuracy"].upper - few["accuracy"].lower < 0.05
    none = metrics.summary(y.astype(int), np.column_stack([1 - p, p]), 1, **asked, predicted=np.zeros(150, dtype=int))
    assert none["precision"].value == 0.0 and math.isnan(none["precision"].upper)  # nobody was called


def test_strata_reach_the_intervals():
    alone = {"num_resamples": 50, "only": ["brier_score"]}
    kept = metrics.summary(Y, PROBABILITIES, 1, **alone, stratified=True)["brier_score"]
    assert kept == bootstrap_interval(metrics.brier_score, Y, PROBABILITIES, num_resamples=50, stratified=True)
    assert kept != metrics.summary(Y, PROBABILITIES, 1, **alone)["brier_score"]


def test_the_rare_class_and_the_decisions_are_checked():
    with pytest.raises(InputError, match="rare_class must be one of the classes 0…1; got 2"):
        metrics.summary(Y, PROBABILITIES, 2)
    with pytest.raises(InputError, match="predicted must hold one class per node"):
        metrics.summary(Y, PROBABILITIES, 1, predicted=[0, 1])


def test_a_budget_that_is_no_number_of_nodes_is_named():
    with pytest.raises(InputError, match=r"^budget must be a whole number, 0 or more; got -2\.$"):
        metrics.summary([0, 1], [[0.9, 0.1], [0.2, 0.8]], rare_class=1, budget=-2)


def test_what_a_summary_says_of_itself():
    found = metrics.summary(
        [0, 0, 1, 1],
        [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]],
        1,
        num_resamples=0,
        only=["recall", "brier_score"],
    )
    assert (found.num_nodes, found.num_rare, found.coverage, list(found), len(found)) == (
        4,
        2,
        0.95,
        ["recall", "brier_score"],
        2,
    )
    table = found.frame()
    assert list(table) == ["metric", "title", "value", "lower", "upper", "better"]
    assert table["metric"].tolist() == ["recall", "brier_score"] and table["value"].tolist() == pytest.approx(
        [0.5, 0.125]
    )
    assert np.isnan(table["lower"]).all() and np.isnan(table["upper"]).all()
    assert table["better"].tolist() == ["higher is better", "lower is better"]
    assert repr(found).splitlines()[0] == "4 nodes, 2 of them rare" and repr(found).splitlines()[1].endswith(": 0.500")
    told = found.to_json()
    assert {**told, "metrics": None} == {"nodes": 4, "rare": 2, "coverage": 0.95, "metrics": None}
    assert list(told["metrics"]["recall"]) == ["value", "lower", "upper"] and told["metrics"]["recall"]["value"] == 0.5
    with pytest.raises(KeyError, match="no metric 'recal' here; .*recall"):
        found["recal"]
    with pytest.raises(InputError, match="there is no metric 'recal': .*recall"):
        metrics.summary(Y, PROBABILITIES, 1, only=["recal"])


def test_a_budget_adds_its_metric_and_a_resample_keeps_it():
    found = metrics.summary(
        Y, PROBABILITIES, 1, budget=5, num_resamples=20, seed=3, coverage=0.8, only=["recall_at_budget"]
    )
    alone = bootstrap_intervals(
        {"it": lambda y, p: metrics.recall_at_budget(y == 1, p[:, 1], 5)},
        Y,
        PROBABILITIES,
        num_resamples=20,
        seed=3,
        coverage=0.8,
        counts={"it": int((Y == 1).sum())},
    )
    assert found["recall_at_budget"] == alone["it"] and found.coverage == 0.8
    assert "recall_at_budget" not in metrics.summary(Y, PROBABILITIES, 1, num_resamples=0)
