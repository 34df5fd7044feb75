"""The map by groups: it mends what is broken, and leaves alone what is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from calirare.calibration.by_group import _features, _fit, degree_groups, fit_group_map
from calirare.errors import InputError, LabelError


def world(rng, size, wider=1.0):
    """P(rare) of nodes in two groups; in group 1 the scores are `wider` times too sure of themselves."""
    u, group = rng.normal(-3, 1.2, size), (rng.random(size) < 0.05).astype(int)
    y = rng.random(size) < expit(u)
    said = np.where(group == 1, -3 + wider * (u + 3), u)
    return expit(said), y, group


def loss(y, p):
    return -np.where(y, np.log(p), np.log1p(-p)).mean()


def test_the_fit_is_the_optimum_of_its_penalised_likelihood():
    rng = np.random.default_rng(0)
    x, group = rng.normal(size=80), rng.integers(0, 3, 80)
    y = rng.random(80) < expit(x - 1)
    features, count = _features(x, group, 3), rng.uniform(0.5, 2, 80)
    penalty = np.array([1e-6, 1e-2, *[0.25] * 3, *[1.0] * 3])

    def value(theta):
        line = features @ theta
        return count @ np.logaddexp(0, np.where(y, -line, line)) + 0.5 * penalty @ theta**2

    best = minimize(value, np.zeros(8), options={"gtol": 1e-8}).x
    np.testing.assert_allclose(_fit(features, y, count, 2.0, np.ones(3, dtype=bool)), best, atol=1e-4)


@pytest.mark.parametrize("num_labels", [100, 600])
def test_a_group_whose_scores_scatter_wider_is_mended(num_labels):
    rng, before, after = np.random.default_rng(1), [], []
    for _ in range(5):
        p, y, group = world(rng, 10_000, wider=4.0)
        own = np.arange(num_labels)
        if not y[own].any():
            continue
        found = fit_group_map(p[own], y[own], group[own], p, group, num_groups=2)
        rest = (np.arange(p.size) >= num_labels) & (group == 1)
        before.append(loss(y[rest], p[rest].clip(1e-9, 1 - 1e-9)))
        after.append(loss(y[rest], found.probabilities(p, group)[rest]))
    assert np.mean(after) < 0.6 * np.mean(before)


def test_groups_that_need_nothing_are_left_alone():
    rng, harm = np.random.default_rng(2), []
    for _ in range(5):
        p, y, group = world(rng, 5_000)
        own = np.arange(600)
        found = fit_group_map(p[own], y[own], group[own], p, group, num_groups=2)
        one = fit_group_map(p[own], y[own], np.zeros(600, dtype=int), p, np.zeros(p.size, dtype=int), num_groups=2)
        rest = slice(600, None)
        harm.append(
            loss(y[rest], found.probabilities(p, group)[rest])
            - loss(y[rest], one.probabilities(p, np.zeros(p.size, dtype=int))[rest])
        )
    assert np.mean(harm) < 0.0015


def test_labels_decide_where_they_say_otherwise():
    """Scores of equal spread, but in group 1 one rare node in three is meant to be one in twenty."""
    rng = np.random.default_rng(3)
    u, group = rng.normal(-3, 1, 6_000), np.arange(6_000) % 2
    y = rng.random(6_000) < expit(u + 2.0 * group)
    found = fit_group_map(expit(u), y, group, expit(u), group, num_groups=2)
    p = found.probabilities(expit(u), group)
    for g in (0, 1):
        assert p[group == g].mean() == pytest.approx(y[group == g].mean(), rel=0.05)


def test_a_group_without_labels_is_called_unlike():
    p, y, group = world(np.random.default_rng(4), 2_000)
    found = fit_group_map(p[:500], y[:500], np.zeros(500, dtype=int), p, group, num_groups=3)
    np.testing.assert_array_equal(found.unlike([0, 1, 2]), [False, True, True])


def test_degrees_fall_into_five_groups():
    assert degree_groups([0, 1, 4, 5, 9, 10]).tolist() == [0, 1, 2, 3, 3, 4]


def test_nonsense_is_refused():
    p, y, group = world(np.random.default_rng(5), 100)
    with pytest.raises(InputError, match="same nodes"):
        fit_group_map(p, y, group[:5], p, group)
    with pytest.raises(LabelError, match="rare class and of another"):
        fit_group_map(p, np.zeros(100), group, p, group)
    with pytest.raises(InputError, match="group must hold"):
        fit_group_map(p, np.arange(100) < 9, group, p, group).probabilities(p, group + 9)
