"""Labels to look at again: those that surprise the model most when it has not seen them.

The surprise of a label is −log P(its class) by the model without it. A wrong label that the model has memorised does
not surprise it; left out, it does. If a share e of the labels is wrong, whatever their class, the chance that label y_i is
one of them is

    e · (1 − P(y_i)) / (e · (1 − P(y_i)) + (1 − e) · P(y_i)) ,      two classes,

which grows with the surprise: no other order puts more wrong labels first. It puts many rare labels first, and rightly so:
when one label in twenty is wrong and one node in twenty is rare, half of the rare labels are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.metrics.inputs import check_probabilities

_SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True, eq=False)
class DoubtfulLabels:
    """The labels, the most surprising first.

    Args:
        row: `(m,)` rows of the labelled nodes.
        surprise: `(m,)` in nats.
        probability: `(m,)` of the given class, left out.
        likelier: `(m,)` the class that the model would have called the likeliest.
    """

    row: np.ndarray
    surprise: np.ndarray
    probability: np.ndarray
    likelier: np.ndarray

    def __len__(self) -> int:
        return len(self.row)


def doubtful_labels(left_out_probabilities: Any, y: Any, *, most: int | None = None) -> DoubtfulLabels:
    """The labels ranked by left-out surprise.

    Args:
        left_out_probabilities: `(n, C)` of the labelled nodes by the models that never saw their labels, at natural shares.
        y: `(n,)` their classes.
        most: How many to give; default: all.

    >>> p = np.array([0.02, 0.9, 0.6, 0.01])
    >>> found = doubtful_labels(np.column_stack([1 - p, p]), [0, 0, 1, 1])
    >>> found.row.tolist(), found.likelier.tolist()
    ([3, 1, 2, 0], [0, 1, 1, 0])
    """
    classes, table = check_probabilities(y, left_out_probabilities)
    surprise = -np.log(np.maximum(table[np.arange(classes.size), classes], _SMALLEST_PROBABILITY))
    order = np.argsort(-surprise, kind="stable")[:most]
    return DoubtfulLabels(order, surprise[order], table[order, classes[order]], table[order].argmax(axis=1))
