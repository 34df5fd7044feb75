"""Folds of the labels for detectors that are refitted to leave labels out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calirare.detectors.base import LabelledNodes

NUM_FOLDS = 5


def spread_over_folds(labels: LabelledNodes, seed: int, num_folds: int = NUM_FOLDS) -> np.ndarray:
    """`(n,)` the fold that leaves each label out: classes spread evenly, groups kept together.

    A group counts as of its rarest class. There are as many folds as the rarest class has groups, at most `num_folds`
    and at least two, so that a class with a single group is missing where that is left out.

    >>> y = np.array([0, 0, 0, 0, 1, 1, 1])
    >>> folds = spread_over_folds(LabelledNodes(np.arange(7), y, np.full(7, 1 / 7), 2, np.arange(7)), seed=0)
    >>> np.unique(folds).tolist(), np.sort(folds[4:]).tolist()
    ([0, 1, 2], [0, 1, 2])
    """
    group = np.unique(labels.groups, return_inverse=True)[1]
    of_group = rarest_of_groups(labels.y, group)
    fewest = int(np.bincount(of_group)[np.unique(of_group)].min())
    count = min(num_folds, max(2, fewest))
    order = np.random.default_rng(seed).permutation(len(of_group))
    order = order[np.argsort(of_group[order], kind="stable")]
    fold = np.empty(len(of_group), dtype=np.int64)
    fold[order] = np.arange(len(of_group)) % count
    return fold[group]


def rarest_of_groups(y: np.ndarray, group: np.ndarray) -> np.ndarray:
    """`(G,)` the rarest class among the labels `(n,)` of each group 0…G-1: what the group counts as.

    >>> rarest_of_groups(np.array([0, 0, 1, 0]), np.array([0, 1, 1, 2])).tolist()
    [0, 1, 0]
    """
    rarest = np.lexsort((np.bincount(y)[y], group))
    return y[rarest[np.unique(group[rarest], return_index=True)[1]]]


def fold_numbers(labels: LabelledNodes, seed: int, num_folds: int = NUM_FOLDS) -> np.ndarray | None:
    """The same, or None where some fold leaves no label of a class to learn from."""
    numbers = spread_over_folds(labels, seed, num_folds)
    every = len(np.unique(labels.y))
    complete = all(len(np.unique(labels.y[kept])) == every for _, kept, _ in folds(numbers))
    return numbers if complete and numbers.max() > 0 else None


def folds(numbers: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(number, rows kept, rows left out) of each fold."""
    for number in range(int(numbers.max()) + 1):
        yield number, np.flatnonzero(numbers != number), np.flatnonzero(numbers == number)
