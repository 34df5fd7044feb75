"""Normal scores are those of the ranks, and what differs by rounding alone has one."""

import numpy as np
from scipy.stats import norm, rankdata

from calirare.detectors.regression.squash import Squash


def test_scores_are_those_of_the_ranks():
    values = np.random.default_rng(0).integers(0, 40, 60).astype(np.float32)[:, None] ** 3
    ranks = rankdata(values[:, 0])  # ties in the middle
    np.testing.assert_allclose(Squash.learn(values, 0)(values)[:, 0], norm.ppf((ranks - 0.5) / 60), atol=1e-12)


def test_a_value_that_was_added_up_in_another_order_is_the_same_value():
    shared = np.float32(0.1)
    values = np.concatenate(
        [np.full(30, shared), np.full(30, np.nextafter(shared, np.float32(1))), np.linspace(-1, 1, 40)]
    )
    squash = Squash.learn(values.astype(np.float32)[:, None], 0)
    one, other = squash(np.array([[values[0]], [values[30]]]))[:, 0]
    assert one == other and abs(one - norm.ppf((22 + 30) / 100)) < 0.02


def test_an_outlier_does_not_make_small_values_one():
    values = np.append(np.linspace(0, 1, 63), 1e12)[:, None]
    assert (np.diff(Squash.learn(values, 0)(values)[:, 0]) > 0.01).all()
