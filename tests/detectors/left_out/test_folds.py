"""Folds of the labels: groups together, classes spread, None where a fold would leave nothing to learn from."""

import numpy as np
import pytest

from calirare.detectors.base import LabelledNodes
from calirare.detectors.left_out.folds import fold_numbers, folds, spread_over_folds


def labels_of(y, groups=None):
    y = np.asarray(y)
    groups = np.arange(len(y)) if groups is None else np.asarray(groups)
    return LabelledNodes(np.arange(len(y)), y, np.full(len(y), 1 / len(y)), int(y.max()) + 1, groups)


@pytest.mark.parametrize("seed", range(5))
def test_classes_are_spread_evenly(seed):
    y = np.repeat([0, 1, 2], [60, 25, 11])
    numbers = fold_numbers(labels_of(y), seed)
    for c in range(3):
        counts = np.bincount(numbers[y == c], minlength=5)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("seed", range(5))
def test_groups_stay_together(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 40, 100)
    y = (groups % 4 == 0).astype(int)
    numbers = fold_numbers(labels_of(y, groups), seed)
    assert all(len(np.unique(numbers[groups == group])) == 1 for group in np.unique(groups))
    assert set(numbers) == set(range(5))


def test_every_label_is_left_out_once_by_a_fold_that_keeps_all_classes():
    y = np.repeat([0, 1], [30, 3])
    numbers = fold_numbers(labels_of(y), seed=0)
    assert numbers.max() == 2, "as many folds as the rarest class has labels"
    left_out = np.concatenate([left for _, _, left in folds(numbers)])
    assert sorted(left_out) == list(range(33))
    for _, kept, left in folds(numbers):
        assert set(y[kept]) == {0, 1} and not set(kept) & set(left) and len(kept) + len(left) == 33


@pytest.mark.parametrize(
    ("y", "groups"),
    [([0, 0, 0, 1], None), ([0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 3, 3])],
    ids=["a single label", "a single group"],
)
def test_none_where_a_class_cannot_be_split(y, groups):
    assert fold_numbers(labels_of(y, groups), seed=0) is None


def test_a_single_label_is_in_one_of_two_folds_for_those_who_can_do_without_a_class():
    assert set(spread_over_folds(labels_of([0, 0, 0, 1]), seed=0)) == {0, 1}


def test_same_seed_same_folds():
    labels = labels_of(np.arange(50) % 2)
    first, second, other = (fold_numbers(labels, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
