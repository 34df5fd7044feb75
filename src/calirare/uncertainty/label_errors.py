"""Labels to look at again: those that surprise the model most when it has not seen them.

The surprise of a label is −log P(its class) by the model without it, P at equal shares of the classes: else every rare label
would look like an error, and no wrong "normal" ever would. A wrong label that the model has learned by heart does not
surprise it; left out, it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.errors import InputError
from calirare.metrics.inputs import check_probabilities

_SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True, eq=False)
class DoubtfulLabels:
    """The labels, the most surprising first.

    Args:
        row: `(m,)` rows of the labelled nodes.
        surprise: `(m,)` in nats.
        probability: `(m,)` of the given class, left out, at the population's shares.
        likelier: `(m,)` the class that the model would have called the likeliest.
    """

    row: np.ndarray
    surprise: np.ndarray
    probability: np.ndarray
    likelier: np.ndarray

    def __len__(self) -> int:
        return len(self.row)


def doubtful_labels(
    left_out_probabilities: Any, y: Any, *, shares: Any = None, most: int | None = None
) -> DoubtfulLabels:
    """The labels ranked by left-out surprise.

    Args:
        left_out_probabilities: `(n, C)` of the labelled nodes by the models that never saw their labels.
        y: `(n,)` their classes.
        shares: `(C,)` the class shares that the probabilities were calibrated to; default: the labels' own.
        most: How many to give; default: all.

    >>> p = np.array([0.02, 0.9, 0.6, 0.01])
    >>> found = doubtful_labels(np.column_stack([1 - p, p]), [0, 0, 1, 1], shares=[0.9, 0.1])
    >>> found.row.tolist(), found.likelier.tolist()
    ([1, 3, 0, 2], [1, 0, 0, 1])
    """
    classes, table = check_probabilities(y, left_out_probabilities)
    share = (
        np.bincount(classes, minlength=table.shape[1]) / max(1, classes.size) if shares is None else np.asarray(shares)
    )
    if share.shape != (table.shape[1],) or (share < 0).any():
        raise InputError(f"shares must hold one share per class, {table.shape[1]} in all; got {share}.")
    even = table / np.where(share > 0, share, 1.0)
    even = even / even.sum(axis=1, keepdims=True)
    rows = np.arange(classes.size)
    surprise = -np.log(np.maximum(even[rows, classes], _SMALLEST_PROBABILITY))
    order = np.argsort(-surprise, kind="stable")[:most]
    return DoubtfulLabels(order, surprise[order], table[order, classes[order]], table[order].argmax(axis=1))
