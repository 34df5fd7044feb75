import math

import numpy as np
import pytest

from calirare.errors import InputError
from calirare.metrics import (
    Estimate,
    bootstrap,
    bootstrap_interval,
    bootstrap_intervals,
    classwise_ace,
    expected_calibration_error,
    recall,
)


def _share(y, scores):
    return float(np.mean(scores))


def test_interval_of_a_mean_is_the_normal_one():
    scores = np.random.default_rng(0).normal(5.0, 2.0, size=400)
    found = bootstrap_interval(_share, np.zeros(400, dtype=int), scores, num_resamples=2000)
    half = 1.96 * scores.std() / math.sqrt(400)
    assert found.value == scores.mean()
    assert found.lower == pytest.approx(scores.mean() - half, abs=0.02)
    assert found.upper == pytest.approx(scores.mean() + half, abs=0.02)
    half = 0.674 * scores.std() / math.sqrt(400)
    narrow = bootstrap_interval(_share, np.zeros(400, dtype=int), scores, coverage=0.5, num_resamples=2000)
    assert (narrow.lower, narrow.upper) == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.008)


def test_intervals_hold_the_true_mean_as_often_as_they_say():
    generator = np.random.default_rng(1)
    hits = 0
    for run in range(100):
        scores = generator.random(80)
        found = bootstrap_interval(_share, np.zeros(80, dtype=int), scores, coverage=0.8, num_resamples=100, seed=run)
        hits += found.lower <= 0.5 <= found.upper
    assert 0.68 <= hits / 100 <= 0.92  # three standard errors around 0.8


def _calibrated(generator, sharpen):
    p = generator.beta(0.5, 3.0, size=800)
    y = (generator.random(800) < p).astype(int)
    logit = np.log(p / (1 - p) + 1e-12) * sharpen
    q = 1 / (1 + np.exp(-logit))
    return y, np.column_stack([1 - q, q])


@pytest.mark.slow
def test_resampling_bias_of_a_calibration_error_is_taken_out():
    """Resamples of a binned error lie above it; the percentile interval would miss the truth, nearly 0, every time."""
    generator = np.random.default_rng(2)
    held = percentile_held = 0
    for run in range(20):
        y, probabilities = _calibrated(generator, sharpen=1.0)
        found = bootstrap_interval(classwise_ace, y, probabilities, num_resamples=100, seed=run)
        assert 0 <= found.lower <= found.value <= found.upper
        held += found.lower < 0.004
        drawn = [classwise_ace(y[i], probabilities[i]) for i in generator.integers(800, size=(60, 800))]
        percentile_held += np.quantile(drawn, 0.025) < 0.004
    assert held >= 8 and percentile_held == 0


def test_same_seed_same_interval_and_same_resamples_for_all_metrics():
    y, probabilities = _calibrated(np.random.default_rng(0), sharpen=2.0)
    one = bootstrap_interval(expected_calibration_error, y, probabilities, num_resamples=50, seed=3)
    many = bootstrap_intervals(
        {"a": expected_calibration_error, "b": classwise_ace}, y, probabilities, num_resamples=50, seed=3
    )
    assert (
        one == many["a"] == bootstrap_interval(expected_calibration_error, y, probabilities, num_resamples=50, seed=3)
    )
    assert one != bootstrap_interval(expected_calibration_error, y, probabilities, num_resamples=50, seed=4)


def test_strata_keep_their_counts():
    y = np.array([0] * 9 + [1])
    seen = []
    bootstrap_interval(lambda y, s: float(seen.append(int(y.sum())) or 0.0), y, y, num_resamples=30, stratified=True)
    assert set(seen) == {1}
    seen.clear()
    bootstrap_interval(lambda y, s: float(seen.append(int(y.sum())) or 0.0), y, y, num_resamples=30)
    assert len(set(seen)) > 1


def test_resamples_without_rare_nodes_are_left_out():
    y = np.array([0] * 5 + [1])
    found = bootstrap_interval(recall, y, np.array([0] * 5 + [1]), num_resamples=60)
    assert found == Estimate(1.0, 1.0, 1.0)
    assert math.isnan(bootstrap_interval(recall, [0, 0], [0, 0], num_resamples=20).upper)


def test_no_resamples_gives_the_value_alone():
    found = bootstrap_interval(_share, [0, 0], [1.0, 2.0], num_resamples=0)
    assert found.value == 1.5 and math.isnan(found.lower) and math.isnan(found.upper)


def test_bounds_cut_the_interval():
    scores = np.random.default_rng(0).random(20)
    y = np.zeros(20, dtype=int)
    free = bootstrap_interval(_share, y, scores, num_resamples=200, bounds=(-np.inf, np.inf))
    tight = bootstrap_interval(_share, y, scores, num_resamples=200, bounds=(free.value, np.inf))
    assert tight.lower == free.value and tight.upper == free.upper
    assert bootstrap_interval(_share, y, scores - 0.5, num_resamples=200).lower == pytest.approx(free.lower - 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coverage": 1.0}, "coverage must lie between 0 and 1"),
        ({"coverage": 0.0}, "coverage must lie between 0 and 1"),
        ({"seed": -1}, "seed must be a whole number, 0 or more"),
        ({"num_resamples": -1}, "num_resamples must be a whole number, 0 or more"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        bootstrap_interval(_share, [0, 1], [0.1, 0.2], **changes)


def test_rows_must_match():
    with pytest.raises(InputError, match="every array must be an array whose rows"):
        bootstrap_interval(_share, [0, 1], [[0.1], [0.2, 0.3]])
    with pytest.raises(InputError, match="one row per node, 2; got shape"):
        bootstrap_interval(_share, [0, 1], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("value", "drawn", "bounds", "lower", "upper"),
    [
        (0.95, [0.8, 1.0, 0.9], None, 0.9, 1.0),  # none above 1: cut off there
        (0.95, [0.8, 1.1, 0.9], None, 0.8, 1.1),  # one is: not
        (0.05, [0.0, 0.2, 0.1], None, 0.0, 0.1),
        (0.05, [-0.1, 0.2, 0.1], None, -0.1, 0.2),
        (1.5, [1.0, 2.5, 2.0], (0.0, math.inf), 0.5, 2.0),
        (0.5, [math.nan, 0.4, 0.6], None, 0.4, 0.6),  # a resample without a rare node says nothing
        (0.5, [0.9, 0.9, 0.9], None, 0.1, 0.5),  # the value itself is always inside
        (0.5, [0.1, 0.1, 0.1], None, 0.5, 0.9),
    ],
)
def test_the_basic_interval_and_where_it_ends(value, drawn, bounds, lower, upper):
    found = bootstrap._estimate(value, np.array(drawn), 1.0 - 1e-12, bounds)
    assert (found.value, found.lower, found.upper) == pytest.approx((value, lower, upper))


def test_without_a_value_or_a_resample_there_is_no_interval():
    for value, drawn in ((math.nan, [0.5]), (0.5, [math.nan]), (0.5, [])):
        found = bootstrap._estimate(value, np.array(drawn, dtype=float), 0.9, None)
        assert math.isnan(found.lower) and math.isnan(found.upper)
        assert found.value == value or math.isnan(value)
