"""The columns, against scikit-learn and the metrics' own tests."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, f1_score, log_loss, recall_score, roc_auc_score

from calirare.benchmark.measures import MEASURES, measure


@pytest.fixture(scope="module")
def case():
    generator = np.random.default_rng(0)
    rare = generator.beta(1, 4, 500)
    y = (generator.random(500) < rare).astype(int)
    return y, np.column_stack([1 - rare, rare]), (rare > 0.3).astype(int)


def test_every_column_is_measured(case):
    assert list(measure(*case, rare_class=1)) == list(MEASURES)


def test_the_numbers_are_scikit_learns(case):
    y, probabilities, predicted = case
    found = measure(y, probabilities, predicted, 1)
    expected = {
        "recall": recall_score(y, predicted),
        "macro_f1": f1_score(y, predicted, average="macro"),
        "rare_f1": f1_score(y, predicted),
        "negative_log_likelihood": log_loss(y, probabilities),
        "brier_score": brier_score_loss(y, probabilities[:, 1]),
        "average_precision": average_precision_score(y, probabilities[:, 1]),
        "roc_auc": roc_auc_score(y, probabilities[:, 1]),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_without_a_hit_the_rare_f1_is_zero(case):
    y, probabilities, _ = case
    assert measure(y, probabilities, np.zeros_like(y), 1)["rare_f1"] == 0.0
