"""How far the model's probabilities can be trusted: before and after calibration, on nodes it has not learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from calirare.data.arrays import UNKNOWN
from calirare.data.inputs import GraphInputs
from calirare.influence.model import predict_logits
from calirare.metrics import Estimate, bootstrap_intervals
from calirare.metrics.registry import Answers, Metric, headlines
from calirare.review.snapshot import Snapshot

NUM_RESAMPLES = 100
_FEWEST_TEST = 50


@dataclass(frozen=True, eq=False)
class Quality:
    """Predictions to judge a model by.

    Args:
        y_rare: `(n,)` 1 for rare.
        before: `(n,)` P(rare) as the backbone says it.
        after: `(n,)` P(rare) as calibrated.
        said: Which nodes these are, in words.
        metrics: By name: (before, after).
    """

    y_rare: np.ndarray
    before: np.ndarray
    after: np.ndarray
    said: str
    metrics: dict[str, tuple[Estimate, Estimate]]


def measure(snapshot: Snapshot) -> Quality:
    """On the test nodes of the split where there are enough, else on the labelled nodes, each without its label."""
    clf, graph = snapshot.clf, snapshot.graph
    rare = clf.rare_class_
    test = np.empty(0, dtype=np.int64) if clf.split_ is None else clf.split_.test
    test = test[graph.y[test] != UNKNOWN] if test.size else test
    if test.size >= _FEWEST_TEST and len(np.unique(graph.y[test] == rare)) == 2:
        inputs = GraphInputs(graph, next(clf.model_.parameters()).device)
        logits = predict_logits(clf.model_, inputs).double().cpu().numpy()[test]
        after, y = snapshot.scores.probability[test], graph.y[test]
        said = f"{test.size:,} test nodes, whose labels the model has never read"
    else:
        # Reviewers decide cases that the model picked; on these it would be judged by its hardest nodes alone.
        drawn = snapshot.base.y[clf.labelled_nodes_] != UNKNOWN
        logits, y = clf.left_out_.logits[drawn], clf.labelled_y_[drawn]
        after = clf.predict_left_out()[drawn, rare]
        said = f"{y.size:,} nodes labelled before any decision, each judged by the model that never saw its label"
    before = softmax(logits, axis=1)[:, rare]
    y_rare = (y == rare).astype(np.int64)
    population, share = float(clf.shares_[rare]), float(y_rare.mean())
    if not 0.67 < share / population < 1.5:
        said += f"; {share:.1%} of them are rare, of the population {population:.1%}, so dots lie off the line"
    both = [judge(y_rare, p) for p in (before, after)]
    return Quality(y_rare, before, after, said, {name: (both[0][name], both[1][name]) for name in both[0]})


def judge(y_rare: np.ndarray, probability: np.ndarray) -> dict[str, Estimate]:
    """The metrics of P(rare) with 95% intervals.

    >>> found = judge(np.array([0, 0, 1, 0]), np.array([0.1, 0.2, 0.9, 0.1]))
    >>> round(found["brier_score"].value, 4)
    0.0175
    """
    return bootstrap_intervals(
        {metric.name: _of_scores(metric) for metric in headlines()},
        y_rare,
        probability,
        num_resamples=NUM_RESAMPLES,
        bounds={metric.name: (0.0, np.inf) for metric in headlines() if metric.unbounded},
    )


def _of_scores(metric: Metric) -> Callable[[np.ndarray, np.ndarray], float]:
    return lambda y, p: metric(Answers(y, np.column_stack([1 - p, p]), (p > 0.5).astype(np.int64), 1))
