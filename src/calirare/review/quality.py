"""How far the desk's model can be trusted: the one judgement of `calirare.evaluation`, on labels before any decision."""

from __future__ import annotations

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.evaluation import Evaluation, evaluate
from calirare.metrics import Summary, summary
from calirare.metrics.bootstrap import NUM_RESAMPLES
from calirare.metrics.registry import headlines
from calirare.review.snapshot import Snapshot


def measure(snapshot: Snapshot) -> Evaluation:
    """The judgement that the report gives too, but never by what reviewers decided.

    They decide cases that the model picked; on these it would be judged by its hardest nodes alone.
    """
    return evaluate(
        snapshot.clf,
        snapshot.graph,
        among=np.flatnonzero(snapshot.base.y != UNKNOWN),
        only=headlines(),
    )


def headline_metrics(y_rare: np.ndarray, probability: np.ndarray) -> Summary:
    """The headline metrics of P(rare) with 95% intervals.

    >>> found = headline_metrics(np.array([0, 0, 1, 0]), np.array([0.1, 0.2, 0.9, 0.1]))
    >>> round(found["brier_score"].value, 4)
    0.0175
    """
    return summary(
        y_rare,
        np.column_stack([1 - probability, probability]),
        rare_class=1,
        num_resamples=NUM_RESAMPLES,
        only=headlines(),
    )
