"""Folds of the labels for detectors that are refitted to leave labels out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from calirare.detectors.base import LabelledNodes

NUM_FOLDS = 5


def fold_numbers(labels: LabelledNodes, seed: int, num_folds: int = NUM_FOLDS) -> np.ndarray | None:
    """`(n,)` the fold that leaves each label out: classes spread evenly, groups kept together.

    None where a class has a single label, or a single group: without it there is nothing to learn the class from.
    """
    alone = len(np.unique(labels.groups)) == len(labels)
    counts = [len(np.unique(labels.groups[labels.y == c])) for c in range(labels.num_classes) if (labels.y == c).any()]
    count = min(num_folds, *counts)
    if count < 2:
        return None
    kind = StratifiedKFold if alone else StratifiedGroupKFold
    numbers = np.empty(len(labels), dtype=np.int64)
    groups = None if alone else labels.groups
    splits = kind(count, shuffle=True, random_state=seed).split(np.zeros(len(labels)), labels.y, groups)
    for number, (_, left) in enumerate(splits):
        numbers[left] = number
    return numbers if all(_holds_all(labels.y, kept) for _, kept, _ in folds(numbers)) else None


def folds(numbers: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(number, rows kept, rows left out) of each fold."""
    for number in range(int(numbers.max()) + 1):
        yield number, np.flatnonzero(numbers != number), np.flatnonzero(numbers == number)


def _holds_all(y: np.ndarray, kept: np.ndarray) -> bool:
    return len(np.unique(y[kept])) == len(np.unique(y))
