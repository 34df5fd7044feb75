"""Bounded Newton steps against every choice of bounds, and the optimum against its own conditions."""

from itertools import product

import numpy as np
import pytest

from calirare.calibration.conditional_logit import _step, fit_conditional_logit


@pytest.mark.parametrize("seed", range(20))
def test_a_bounded_step_is_the_best_of_all_choices_of_bounds(seed):
    rng = np.random.default_rng(seed)
    root, gradient, most = rng.normal(size=(6, 5)), rng.normal(size=5), rng.exponential(0.1, 4)
    hessian, best = root.T @ root, np.inf
    for held in product([False, True], repeat=4):
        at = np.array([*held, False])
        step = np.zeros(5)
        step[:4] = np.where(at[:4], most, 0.0)
        step[~at] = np.linalg.solve(hessian[np.ix_(~at, ~at)], (gradient - hessian @ step)[~at])
        if (step[:4] <= most + 1e-12).all():
            best = min(best, step @ hessian @ step / 2 - gradient @ step)
    found = _step(hessian, gradient, most)
    assert (found[:4] <= most).all()
    assert found @ hessian @ found / 2 - gradient @ found == pytest.approx(best)


@pytest.mark.parametrize("bounded", [0, 3])
def test_the_optimum_meets_its_conditions(bounded):
    rng = np.random.default_rng(1)
    features, y = rng.normal(size=(80, 3, 4)), rng.integers(0, 3, 80)
    target, weights, ridge = np.eye(3)[y], np.full(80, 1 / 80), np.array([0.1, 0.2, 0.3, 1e-6])
    drawn_to = np.array([0.0, 0.2, 0.0, -0.5])
    theta = fit_conditional_logit(features, target, weights, ridge, drawn_to, bounded)
    p = np.exp(features @ theta)
    p /= p.sum(axis=1, keepdims=True)
    slope = np.einsum("n,nc,ncp->p", weights, p - target, features) + ridge * (theta - drawn_to)
    at_bound = (np.arange(4) < bounded) & (theta == 0)
    assert at_bound.sum() == (1 if bounded else 0) and (theta[:bounded] >= 0).all()
    assert np.abs(slope[~at_bound]).max() < 1e-7 and (slope[at_bound] > 0).all()
