"""What is apart by degree, against textbook conditioning and worlds in which the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal

from calirare.uncertainty import by_degree
from calirare.uncertainty.by_degree import STEPS, degree_group, draw_effects
from calirare.uncertainty.intervals import calibration_draws

INFORMATION = np.array([0.5, 2.0, 30.0, 8.0, 100.0])
EXCESS = np.array([1.0, -0.5, 6.0, -4.0, -2.5])
DEGREES = (0, 1, 3, 7, 20)


def covariance_of_walk(step):
    """By its definition: a walk less its weighted mean."""
    walk = np.tril(np.ones((5, 5)), -1)[:, :4]  # group g has made the first g steps
    walk = step * (walk - INFORMATION @ walk / INFORMATION.sum())
    return walk @ walk.T


@pytest.mark.parametrize("step", [0.1, 0.7])
def test_the_posterior_is_that_of_numbers_seen_with_noise(step):
    """r/h of a group is its e, seen with variance 1/h: conditioning of a normal, as in any textbook."""
    prior = covariance_of_walk(step)
    gain = prior @ np.linalg.inv(prior + np.diag(1 / INFORMATION))
    mean, root, _ = by_degree.posterior(step**2 * by_degree.centred_walk(INFORMATION), INFORMATION, EXCESS)
    np.testing.assert_allclose(mean, gain @ (EXCESS / INFORMATION), atol=1e-12)
    np.testing.assert_allclose(root @ root.T, prior - gain @ prior, atol=1e-12)
    assert abs(INFORMATION @ mean) < 1e-9  # it moves groups against each other, not all of them


def step_likelihood(excess):
    walk = by_degree.centred_walk(INFORMATION)
    return by_degree.posterior(STEPS[:, None, None] ** 2 * walk, INFORMATION, excess)[2]


def test_steps_are_as_likely_as_the_normal_density_says():
    seen = [
        multivariate_normal(cov=covariance_of_walk(step) + np.diag(1 / INFORMATION)).logpdf(EXCESS / INFORMATION)
        for step in STEPS
    ]
    found = step_likelihood(EXCESS)
    np.testing.assert_allclose(found - found[0], np.array(seen) - seen[0], atol=1e-9)


def test_a_common_excess_says_nothing_of_groups():
    """The level is the map's affair."""
    np.testing.assert_allclose(step_likelihood(EXCESS), step_likelihood(EXCESS + 0.3 * INFORMATION), atol=1e-9)


def effects(num_labels, num_draws=2_000, apart=(0.0,) * 5):
    """Draws for so many labels in each group, of which the map calls a tenth rare, and which are so far apart."""
    group = np.repeat(np.arange(5), num_labels)
    logits = np.full(group.size, np.log(1 / 9))
    place = np.concatenate([np.arange(count) / max(count, 1) for count in num_labels])
    rare = place < expit(logits + np.array(apart)[group])
    return draw_effects(group, logits, rare, 1.0, num_draws, np.random.default_rng(0))


def test_labels_narrow_their_own_group():
    few, many = effects((0, 5, 50, 400, 400)).std(axis=0), effects((4_000,) * 5).std(axis=0)
    assert (np.diff(few)[:3] < 0).all() and few[0] > 3 * few[3]  # farther from the labels, less known
    assert (many < 0.12).all()


def test_labels_show_how_far_groups_are_apart():
    apart = np.array([0.8, 0.3, -0.2, -0.4, -0.5])
    found = effects((4_000,) * 5, apart=apart).mean(axis=0)
    np.testing.assert_allclose(found - found[2], apart - apart[2], atol=0.05)


def test_one_rare_label_leaves_the_walk():
    """Evidence of nothing: the prior of the steps, whose mean square is 0.4²."""
    group = np.repeat([3, 4], 20)
    found = draw_effects(group, np.full(40, -2.0), np.arange(40) == 0, 0.0, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.diff(found, axis=1).std(axis=0), 0.4, rtol=0.06)


def test_the_maps_are_the_same_with_degrees_and_only_intervals_of_known_degree_differ():
    rng = np.random.default_rng(1)
    score = rng.normal(-2.5, 1.5, size=1_500)
    y, degree = rng.random(1_500) < expit(score), rng.choice([3, 7, 20], size=1_500)
    options = {"rare_share": float(y.mean()), "num_share_labels": 1_500}
    plain, told = (calibration_draws(expit(score), y, **options, degree=known) for known in (None, degree))
    np.testing.assert_array_equal(plain.parameters, told.parameters)
    p = np.full(5, 0.1)
    np.testing.assert_array_equal(plain.interval(p).upper, told.interval(p).upper)
    np.testing.assert_array_equal(plain.interval(p, degree=DEGREES).upper, plain.interval(p).upper)
    width = told.interval(p, degree=DEGREES).width / plain.interval(p).width
    assert (np.diff(width[:3]) < 0).all() and width[1] > 1.5 and (width[2:] < 1.35).all(), width
    inside = told.probabilities(told.scores(p), DEGREES)
    lower, upper = np.quantile(inside, [0.05, 0.95], axis=0)  # no grid in between
    found = told.interval(p, degree=DEGREES)
    np.testing.assert_allclose(found.lower, np.minimum(lower, p), rtol=5e-3)
    np.testing.assert_allclose(found.upper, np.maximum(upper, p), rtol=5e-3)


@pytest.mark.slow
def test_nine_of_ten_intervals_hold_the_share_of_each_group():
    """Worlds whose groups walk as the prior has it; hardly any label at degree 0 and 1. Three standard errors below 90%."""
    inside = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        walk = np.cumsum(0.4 * abs(rng.standard_normal()) * rng.standard_normal(5))
        degree = rng.choice(DEGREES, size=1_000, p=(0.005, 0.005, 0.14, 0.42, 0.43))
        score = rng.normal(-3.0, 1.5, size=1_000)
        truth = walk - 0.5 * (walk[3] + walk[4])
        y = rng.random(1_000) < expit(score + truth[degree_group(degree)])
        draws = calibration_draws(
            expit(score), y, rare_share=float(y.mean()), num_share_labels=1_000, num_draws=400, degree=degree
        )
        found = draws.interval(np.full(5, 0.05), degree=DEGREES)
        share = expit(np.log(1 / 19) + truth)
        inside.append((found.lower <= share) & (share <= found.upper))
    assert (np.mean(inside, axis=0) > 0.83).all(), np.mean(inside, axis=0)
