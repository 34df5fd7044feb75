"""A slope and a shift agree with a general minimiser, also where whole Newton steps go too far."""

import numpy as np
import pytest
from scipy.optimize import minimize

from calirare.calibration.conditional_logit import fit_conditional_logit
from calirare.calibration.scaling import PlattScaling, SoftPlattScaling
from calirare.detectors.logistic.platt import slope_and_shift

PENALTY = 1e-6, 5e-7


def problem(kind):
    rng = np.random.default_rng(0)
    if kind == "one light label":
        # Found by search: whole Newton steps raise the loss three times.
        scores = np.array([-0.8, -1.32, -0.25, 0.42, 1.14])
        return scores, np.array([0.0, 0.0, 1.0, 0.0, 0.0]), np.array([0.0096, 0.0013, 0.0007, 0.0646, 0.9238])
    scores, weights = rng.normal(size=60), rng.random(60)
    target = {"noisy": scores + rng.normal(size=60) > 1, "separable": scores > 1, "upside down": scores < -1}[kind]
    return scores, target.astype(float), weights / weights.sum()


@pytest.mark.parametrize("kind", ["noisy", "separable", "upside down", "one light label"])
def test_it_is_the_minimum(kind):
    scores, target, weights = problem(kind)

    def loss(at):
        z = at[0] * scores + at[1]
        return weights @ (np.logaddexp(0, z) - target * z)

    def whole(at):
        return loss(at) + 0.5 * (PENALTY[0] * at[0] ** 2 + PENALTY[1] * at[1] ** 2)

    slope, shift, found = slope_and_shift(scores, target, weights, PENALTY)
    options = {"maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-17}
    best = minimize(whole, np.zeros(2), method="Nelder-Mead", options=options)
    assert whole((slope, shift)) <= best.fun + 1e-12
    np.testing.assert_allclose((slope, shift), best.x, rtol=0.01, atol=1e-4)
    assert found == pytest.approx(loss((slope, shift)), abs=1e-14)


@pytest.mark.parametrize("kind", [PlattScaling, SoftPlattScaling])
def test_of_two_classes_it_is_the_map_of_all_classes(kind):
    rng = np.random.default_rng(1)
    y, weights = (rng.random(80) < 0.3).astype(int), rng.random(80)
    logits = np.stack([rng.normal(size=80), 20 + y + rng.normal(size=80)], axis=1)
    found = kind().fit(logits, y, weights=weights)
    features, target = found._features(found._standardise(logits)), found._targets(y, weights / weights.sum())
    wanted = fit_conditional_logit(features, target, weights / weights.sum(), found.ridge)
    np.testing.assert_allclose(found.parameters_, wanted, atol=1e-6)
