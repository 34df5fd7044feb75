"""What holds of every detector that reads columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from column_cases import dense_graph, inputs_of, labels_of, word_graph
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from calirare.data.graph import RareGraph
from calirare.detectors.base import Detector, LabelledNodes
from calirare.detectors.boosting import Boosting
from calirare.detectors.forest import Forest
from calirare.detectors.linear import Linear
from calirare.detectors.registry import make_detector
from calirare.detectors.sparse import Sparse

MEMBERS = [Linear(), Forest(trees=40, jobs=1), Boosting(rounds=20, jobs=1), Sparse(), Sparse(steps=30)]


def name(value: Any) -> str:
    return value.name if isinstance(value, Detector) else getattr(value, "__name__", str(value))


@pytest.mark.refits
@pytest.mark.parametrize(
    ("detector", "columns", "count"),
    [
        (Linear(), 50, 200),
        (Linear(), 200, 300),
        (Forest(trees=20, jobs=1), 60, 200),
        (Boosting(rounds=10, jobs=1), 60, 200),
        (Sparse(), 60, 200),
        (Sparse(steps=50), 60, 200),
    ],
    ids=name,
)
def test_random_labels_stay_unexplained(detector: Detector, columns: int, count: int) -> None:
    graph = dense_graph(num_nodes=400, num_columns=columns)
    inputs, found = inputs_of(graph), []
    for seed in range(3):
        y = (np.random.default_rng(seed).random(count) < 0.3).astype(np.int64)
        logits = make_detector(detector).fit(inputs, labels_of(graph, count, y=y), seed=seed).left_out_logits()
        found.append(roc_auc_score(y, logits[:, 1] - logits[:, 0]))
    assert 0.4 < np.mean(found) < 0.6


@pytest.mark.refits
@pytest.mark.parametrize(
    "detector", [Forest(trees=40, jobs=1), Boosting(rounds=60, jobs=1), Sparse(steps=300)], ids=name
)
def test_copies_do_not_tell_on_each_other(detector: Detector) -> None:
    graph = dense_graph(num_nodes=120, num_columns=12)
    once = labels_of(graph, 120, y=np.random.default_rng(5).permutation(graph.y))
    four = np.repeat(np.arange(120), 4)
    copies = LabelledNodes(once.nodes[four], once.y[four], once.weights[four] / 4, 2, once.groups[four])
    apart = LabelledNodes(copies.nodes, copies.y, copies.weights, 2, np.arange(480))
    inputs = inputs_of(graph)

    def auc(labels: LabelledNodes) -> float:
        logits = make_detector(detector).fit(inputs, labels).left_out_logits()
        return float(roc_auc_score(labels.y, logits[:, 1] - logits[:, 0]))

    assert auc(copies) < 0.65
    assert auc(apart) > 0.85


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("detector", MEMBERS, ids=name)
def test_contributions_add_up(detector: Detector, num_classes: int) -> None:
    graph = dense_graph(num_classes=num_classes)
    inputs = inputs_of(graph)
    fitted = make_detector(detector).fit(inputs, labels_of(graph, 80))
    logits = fitted.logits(inputs)
    for node in (0, 5, 17):
        for rare in range(num_classes):
            others = logsumexp(np.delete(logits[node], rare))
            found = fitted.contributions(inputs, node, rare)
            assert found.logit == pytest.approx(logits[node, rare] - others, abs=1e-9)


@pytest.mark.refits
@pytest.mark.parametrize(
    ("detector", "make"),
    [(Linear(), dense_graph), (Linear(), word_graph), *((one, dense_graph) for one in MEMBERS[1:])],
    ids=name,
)
def test_same_seed_same_bytes_whatever_the_threads_stored_and_restored(
    detector: Detector, make: Callable[[], RareGraph]
) -> None:
    graph = make()
    inputs, labels = inputs_of(graph), labels_of(graph, 80)
    one, two = (make_detector(detector) for _ in range(2))
    if "jobs" in two.get_params():
        two.set_params(jobs=2)
    state = one.fit(inputs, labels, seed=3).state()
    for key, value in two.fit(inputs, labels, seed=3).state().items():
        np.testing.assert_array_equal(value, state[key])
    again = make_detector(detector).restore(state)
    np.testing.assert_array_equal(again.logits(inputs), one.logits(inputs))
    np.testing.assert_array_equal(again.left_out_logits(), one.left_out_logits())
    first, second = (next(some.logits_without(inputs, np.array([1, 5])))[1] for some in (one, again))
    np.testing.assert_array_equal(first, second)
