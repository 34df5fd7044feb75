"""Left-out models at a common level: labels that mean nothing are not told apart, and nothing is said where nothing is seen."""

from __future__ import annotations

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of
from sklearn.metrics import roc_auc_score

from calirare.detectors import GCN, Boosting, Forest, Linear, Sparse
from calirare.detectors.base import Detector
from calirare.detectors.logistic.optimum import LogisticProblem, fit_logistic
from calirare.detectors.logistic.without_groups import WithoutGroups, turned_back


def test_the_level_of_a_regression_is_the_mean_change_of_the_others() -> None:
    rng = np.random.default_rng(0)
    problem = LogisticProblem(rng.standard_normal((30, 4)), (np.arange(30) < 9).astype(np.float64), np.full(30, 1 / 30))
    groups = np.arange(30) // 2
    without = WithoutGroups(problem, fit_logistic(problem, 0.01), 0.01, groups)
    steps = without.steps()
    directions = turned_back(without.root, steps)
    for group in range(15):
        wanted = (problem.columns[groups != group] @ directions[:, group]).mean()
        assert without.level_changes(steps)[group] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.refits
def test_a_network_that_has_collapsed_says_the_same_of_every_label() -> None:
    """So strong a decay that only the bias is left: without its level, the label taken away would tell."""
    graph = dense_graph(num_nodes=100, num_columns=3)
    labels = labels_of(graph, 40, y=(np.arange(40) < 10).astype(np.int64))
    engine_logits = GCN(epochs=60, weight_decay=0.5).fit(inputs_of(graph), labels)._engine()
    raw = engine_logits.left_out_logits.numpy()
    level = engine_logits.level_changes.numpy()
    spread = np.ptp((raw - level)[:, 1] - (raw - level)[:, 0])
    assert spread < 0.02 * np.ptp(raw[:, 1] - raw[:, 0])


@pytest.mark.refits
@pytest.mark.parametrize(
    ("detector", "columns", "count", "draws"),
    [
        (Linear(penalty=0.1, hops=1), 5, 50, 20),
        (Linear(penalty=0.01, hops=1), 60, 50, 12),
        (Forest(trees=30, jobs=1), 5, 50, 6),
        (Boosting(rounds=10, jobs=1), 5, 50, 8),
        (Sparse(steps=30), 5, 50, 20),
    ],
    ids=lambda value: value.name if isinstance(value, Detector) else str(value),
)
def test_random_labels_are_not_told_apart(detector: Detector, columns: int, count: int, draws: int) -> None:
    inputs, found = inputs_of(dense_graph(num_nodes=200, num_columns=columns)), []
    for seed in range(draws):
        y = (np.random.default_rng(seed).permutation(count) < 0.3 * count).astype(np.int64)
        logits = detector.fit(inputs, labels_of(inputs.graph, count, y=y), seed=seed).left_out_logits()
        found.append(roc_auc_score(y, logits[:, 1] - logits[:, 0]))
    assert 0.43 < np.mean(found) < 0.57
