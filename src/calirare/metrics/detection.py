"""How well the rare nodes are found.

Decisions (`predicted`) and scores are kept apart: the cost-sensitive decision is not always the largest probability.
The tests hold every function here to scikit-learn's; they are written out because the bootstrap calls each of them a
thousand times, and most of scikit-learn's time goes into checking arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from calirare.data.checks import check_count
from calirare.errors import InputError
from calirare.metrics.inputs import check_classes, check_rare_scores


def recall(y: Any, predicted: Any, rare_class: int = 1) -> float:
    """Share of the rare nodes that are predicted rare; NaN where no node is rare.

    >>> recall([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    y, predicted = _decisions(y, predicted)
    rare = y == check_count(rare_class, "rare_class", least=0)
    return float((predicted[rare] == rare_class).mean()) if rare.any() else float("nan")


def precision(y: Any, predicted: Any, rare_class: int = 1) -> float:
    """Share of the nodes predicted rare that are rare; 0 where none is predicted rare, as in scikit-learn.

    >>> precision([1, 1, 0, 0], [1, 0, 1, 1], rare_class=1)
    0.3333333333333333
    """
    y, predicted = _decisions(y, predicted)
    alarms = predicted == check_count(rare_class, "rare_class", least=0)
    return float((y[alarms] == rare_class).mean()) if alarms.any() else 0.0


def rare_f1(y: Any, predicted: Any, rare_class: int = 1) -> float:
    """F1 of the rare class, 2·hits / (rare nodes + nodes predicted rare); 0 without a hit, NaN where no node is rare.

    >>> rare_f1([1, 1, 0, 0], [1, 0, 0, 0])
    0.6666666666666666
    """
    y, predicted = _decisions(y, predicted)
    rare, alarms = y == check_count(rare_class, "rare_class", least=0), predicted == rare_class
    return float(2 * (rare & alarms).sum() / (rare.sum() + alarms.sum())) if rare.any() else float("nan")


def macro_f1(y: Any, predicted: Any) -> float:
    """Unweighted mean over the classes of F1 = 2·precision·recall / (precision + recall).

    Classes that occur neither in `y` nor in `predicted` are left out; a class with no hit counts as 0.

    >>> macro_f1([1, 1, 0, 0], [1, 0, 0, 0])
    0.7333333333333334
    """
    y, predicted = _decisions(y, predicted)
    classes, code = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    named = np.bincount(code, minlength=classes.size)
    hits = np.bincount(code[: y.size][y == predicted], minlength=classes.size)
    return float((2 * hits / named).mean())


def accuracy(y: Any, predicted: Any) -> float:
    """Share of the nodes whose predicted class is right.

    >>> accuracy([1, 1, 0, 0], [1, 0, 0, 0])
    0.75
    """
    y, predicted = _decisions(y, predicted)
    return float((y == predicted).mean())


def average_precision(y_rare: Any, scores: Any) -> float:
    """Mean precision over the ranks of the rare nodes; the rare share for a random order, 1 for a perfect one.

    NaN where no node is rare.

    Args:
        y_rare: `(n,)` 1 where the node is rare, else 0 (bool welcome).
        scores: `(n,)` higher means more likely rare; P(rare) or any monotone function of it.

    >>> average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.8333333333333333
    """
    rare, scores = check_rare_scores(y_rare, scores)
    if not rare.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    # Nodes with equal scores enter together: only the last of them is a point of the curve.
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    found = np.cumsum(rare[order])[last]
    return float(np.diff(found, prepend=0) @ (found / (last + 1)) / found[-1])


def roc_auc(y_rare: Any, scores: Any) -> float:
    """Chance that a random rare node scores above a random other one, ties counting half.

    NaN where no node is rare or all are.

    >>> roc_auc([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.75
    """
    rare, scores = check_rare_scores(y_rare, scores)
    num_rare, num_other = int(rare.sum()), int((~rare).sum())
    if num_rare == 0 or num_other == 0:
        return float("nan")
    rank_sum = float(rankdata(scores)[rare].sum())
    return (rank_sum - num_rare * (num_rare + 1) / 2) / (num_rare * num_other)


def recall_at_budget(y_rare: Any, scores: Any, budget: int) -> float:
    """Share of the rare nodes among the `budget` highest scores: what a team with that much time will find.

    Nodes tied at the cut are taken at random, so the expected recall is returned. A budget above the number of
    nodes looks at all of them. NaN where no node is rare.

    >>> recall_at_budget([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], budget=2)
    0.5
    >>> recall_at_budget([1, 0, 1, 0], [0.9, 0.8, 0.8, 0.1], budget=2)
    0.75
    """
    rare, scores = check_rare_scores(y_rare, scores)
    budget = min(check_count(budget, "budget", least=0), scores.size)
    if not rare.any():
        return float("nan")
    if budget == 0:
        return 0.0
    cut = np.partition(scores, scores.size - budget)[scores.size - budget]
    above, tied = scores > cut, scores == cut
    found = rare[above].sum() + rare[tied].sum() * (budget - above.sum()) / tied.sum()
    return float(found / rare.sum())


def _decisions(y: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    classes, decided = check_classes(y), check_classes(predicted, "predicted")
    if classes.shape != decided.shape:
        raise InputError(f"predicted must hold one class per node, shape {classes.shape}; got {decided.shape}.")
    return classes, decided
