"""Label errors against the chance of an error by Bayes' rule, and against labels that were flipped."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.uncertainty.label_errors import doubtful_labels


def test_the_order_is_that_of_the_chance_of_an_error():
    rng = np.random.default_rng(0)
    p, y = rng.beta(0.5, 3, 200), rng.integers(0, 2, 200)
    right = np.where(y == 1, p, 1 - p)
    chance = 0.05 * (1 - right) / (0.05 * (1 - right) + 0.95 * right)
    found = doubtful_labels(np.column_stack([1 - p, p]), y)
    np.testing.assert_array_equal(found.row, np.argsort(-chance, kind="stable"))
    np.testing.assert_allclose(np.exp(-found.surprise), found.probability)
    assert len(doubtful_labels(np.column_stack([1 - p, p]), y, most=7)) == 7


def test_no_other_order_finds_more_flipped_labels():
    """With true probabilities: more than by surprise at equal shares, and far more than by luck."""
    rng, ours, even = np.random.default_rng(1), [], []
    for _ in range(50):
        p = rng.beta(0.3, 5, 1000)
        y = rng.random(1000) < p
        flipped = rng.permutation(1000)[:50]
        y[flipped] = ~y[flipped]
        order = doubtful_labels(np.column_stack([1 - p, p]), y.astype(int), most=100).row
        ours.append(np.isin(flipped, order).mean())
        balanced = p / p.mean() / (p / p.mean() + (1 - p) / (1 - p.mean()))
        right = np.where(y, balanced, 1 - balanced)
        even.append(np.isin(flipped, np.argsort(right)[:100]).mean())
    assert np.mean(ours) > np.mean(even) and np.mean(ours) > 0.5


def test_three_classes():
    table = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2]])
    found = doubtful_labels(table, [2, 0, 0])
    assert found.row.tolist() == [1, 0, 2] and found.likelier.tolist() == [2, 2, 0]
    assert found.surprise[0] == pytest.approx(np.log(10))
