"""Isotonic calibration against pooling by hand and against scikit-learn's own predictions."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression
from slow_calibrators import isotonic_by_pooling, nll, sample_classes

from calirare.calibration import IsotonicCalibration


@pytest.mark.parametrize("tied", [False, True])
def test_equals_pooling_adjacent_violators(tied):
    generator = np.random.default_rng(0)
    scores = generator.random(80)
    if tied:
        scores = scores.round(1).clip(0.05, 0.95)
    y = (generator.random(80) < scores).astype(int)
    weights = generator.uniform(1, 3, 80)
    logits = np.log(np.column_stack([1 - scores, scores]))
    fitted = IsotonicCalibration().fit(logits, y, weights=weights)
    by_hand = isotonic_by_pooling(scores, y.astype(float), weights).clip(fitted.margin_, 1 - fitted.margin_)
    np.testing.assert_allclose(fitted.predict_proba(logits)[:, 1], by_hand, atol=1e-12)


def test_restored_thresholds_predict_as_scikit_learn_does():
    generator = np.random.default_rng(1)
    logits = generator.normal(size=(200, 3))
    y = sample_classes(generator, softmax(2 * logits, axis=1))
    fresh = generator.normal(0, 3, (100, 3))
    columns = []
    for c in range(3):
        judge = IsotonicRegression(out_of_bounds="clip").fit(softmax(logits, axis=1)[:, c], y == c)
        columns.append(judge.predict(softmax(fresh, axis=1)[:, c]).clip(1 / 202, 201 / 202))
    expected = np.column_stack(columns) / np.sum(columns, axis=0)[:, None]
    np.testing.assert_allclose(IsotonicCalibration().fit(logits, y).predict_proba(fresh), expected, atol=1e-12)


def test_a_pure_block_stays_off_zero_and_one():
    logits = np.array([[5.0, 0.0]] * 9 + [[0.0, 5.0]] * 9)
    probabilities = IsotonicCalibration().fit(logits, np.repeat([0, 1], 9)).predict_proba(logits)
    np.testing.assert_allclose(np.unique(probabilities.round(12)), [1 / 20, 19 / 20])
    assert np.isfinite(nll(probabilities, np.repeat([1, 0], 9)))


def test_labels_without_weight_say_nothing():
    rng = np.random.default_rng(1)
    logits, y, weights = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.random(60)
    weights[::3] = 0.0
    kept = weights > 0
    some = IsotonicCalibration().fit(logits[kept], y[kept], weights=weights[kept])
    whole = IsotonicCalibration().fit(logits, y, weights=weights)
    assert whole.margin_ == pytest.approx(some.margin_)
    np.testing.assert_allclose(whole.predict_proba(logits[kept]), some.predict_proba(logits[kept]), atol=1e-12)


def test_a_class_without_calibration_labels_keeps_a_small_probability():
    logits = np.random.default_rng(2).normal(size=(30, 3))
    probabilities = IsotonicCalibration().fit(logits, np.repeat([0, 1], 15)).predict_proba(logits)
    assert (probabilities[:, 2] > 0).all() and (probabilities[:, 2] < 0.1).all()


def test_a_distorted_probability_is_mended():
    generator = np.random.default_rng(3)
    truth = generator.random(8_000)
    y = (generator.random(8_000) < truth).astype(int)
    distorted = truth**3  # monotone, far from any scale and shift of the logit
    fitted = IsotonicCalibration().fit(np.log(np.column_stack([1 - distorted, distorted])), y)
    grid = np.linspace(0.1, 0.9, 9)
    found = fitted.predict_proba(np.log(np.column_stack([1 - grid**3, grid**3])))[:, 1]
    np.testing.assert_allclose(found, grid, atol=0.06)
