"""Calibration and choice of detector at once, against Platt's map, an independent optimiser and the formula."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calirare.calibration import share_weights
from calirare.calibration.scaling import SoftPlattScaling
from calirare.calibration.stack import StackScaling, left_out_probabilities
from calirare.detectors.logistic.platt import soft_targets
from calirare.errors import InputError, NotFittedError


def case(num_detectors=3, num_classes=2, n=150, seed=0):
    """(logits `(n, K, C)`, y): the first detector knows much, each next one less, the last one nothing."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(num_classes), rng.integers(0, num_classes, n - num_classes)])
    strength = np.linspace(1.5, 0.0, num_detectors)[:, None]
    noise = rng.normal(size=(n, num_detectors, num_classes))
    return noise + strength * np.eye(num_classes)[y][:, None, :], y


def objective(z, y, weights, theta, shrinkage):
    """The formula of the module, for logits that are on the common scale already."""
    n, k, c = z.shape
    w, a = theta[:k], theta[k:]
    log_p = log_softmax(np.einsum("k,nkc->nc", w, z) + a, axis=1)
    target = soft_targets(y, weights, c)
    return -(n * weights[:, None] * target * log_p).sum() + shrinkage * k * ((w - drawn_to(z, y, weights)) ** 2).sum()


def drawn_to(z, y, weights):
    """u of the module, one member after the other."""
    target, rarest = soft_targets(y, weights, z.shape[2]), min(np.bincount(y))
    losses = [-(weights[:, None] * target * log_softmax(member, axis=1)).sum() for member in z.swapaxes(0, 1)]
    u = np.array([(1 / loss) ** (4 * rarest / (rarest + 10)) for loss in losses])
    return u / u.sum()


def common_scale(logits, y, weights):
    """Each member through its own Platt map, centred."""
    mapped = [SoftPlattScaling().fit(z, y, weights=weights).predict_proba(z) for z in logits.swapaxes(0, 1)]
    logs = np.log(np.stack(mapped, axis=1))
    return logs - logs.mean(axis=2, keepdims=True)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_one_detector_is_platt(num_classes):
    logits, y = case(1, num_classes)
    weights = share_weights(y, np.full(num_classes, 1 / num_classes))
    stack, platt = (
        StackScaling().fit(logits, y, weights=weights),
        SoftPlattScaling().fit(logits[:, 0], y, weights=weights),
    )
    np.testing.assert_allclose(stack.predict_proba(logits), platt.predict_proba(logits[:, 0]), atol=1e-12)
    assert stack.weights_.tolist() == [1.0]


@pytest.mark.parametrize(
    ("num_classes", "shrinkage", "prior"),
    [
        (2, 0.1, "natural"), (2, 1.0, "balanced"), (2, 10.0, "natural"),
        (3, 0.1, "balanced"), (3, 1.0, "natural"), (3, 10.0, "balanced"),
    ],
)  # fmt: skip
def test_weights_are_the_optimum_that_another_solver_finds_from_anywhere(num_classes, shrinkage, prior):
    logits, y = case(3, num_classes)
    shares = np.bincount(y) / len(y) if prior == "natural" else np.full(num_classes, 1 / num_classes)
    weights = share_weights(y, shares)
    stack = StackScaling(shrinkage=shrinkage).fit(logits, y, weights=weights)
    z = common_scale(logits, y, weights)
    rng = np.random.default_rng(1)
    for start in (np.zeros(3 + num_classes), 3 * rng.random(3 + num_classes)):
        found = minimize(
            lambda theta: objective(z, y, weights, theta, shrinkage), start, method="SLSQP",
            bounds=[(0, None)] * 3 + [(None, None)] * num_classes, options={"ftol": 1e-12, "maxiter": 1000},
        )  # fmt: skip
        assert found.success
        np.testing.assert_allclose(stack.weights_, found.x[:3], atol=1e-4)
        theirs = softmax(np.einsum("k,nkc->nc", found.x[:3], z) + found.x[3:], axis=1)
        np.testing.assert_allclose(stack.predict_proba(logits), theirs, atol=1e-4)


def test_no_step_in_any_direction_is_better():
    """Convex: a point that no small step improves is the optimum."""
    logits, y = case(4, 3)
    weights = np.full(len(y), 1 / len(y))
    stack = StackScaling().fit(logits, y, weights=weights)
    z, best = common_scale(logits, y, weights), np.concatenate([stack.weights_, stack.shift_])
    value, rng = objective(z, y, weights, best, 1.0), np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(50):
            moved = best + size * rng.normal(size=best.size)
            moved[:4] = moved[:4].clip(0)
            assert objective(z, y, weights, moved, 1.0) > value - 1e-7


def test_the_penalty_draws_weights_to_members_by_how_well_they_do():
    logits, y = case()
    weights = np.full(len(y), 1 / len(y))
    u = drawn_to(common_scale(logits, y, weights), y, weights)
    assert u[0] > u[1] > u[2] and u.sum() == pytest.approx(1)
    far = [np.abs(StackScaling(shrinkage=tau).fit(logits, y).weights_ - u).sum() for tau in (0.01, 1.0, 100.0, 1e6)]
    assert far == sorted(far, reverse=True) and far[-1] < 1e-3


def test_few_labels_do_not_say_who_is_better():
    logits, y = case(n=2_000)
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:2]])
    some, many = (StackScaling(shrinkage=1e6).fit(logits[rows], y[rows]).weights_ for rows in (few, slice(None)))
    assert np.ptp(some) < 0.25 and np.ptp(many) > 0.5


def test_who_is_right_is_heard_and_nobody_is_turned_over():
    logits, y = case(3, n=2_000)
    logits[:, 1] = -logits[:, 0]  # the wrong way round: no weight below zero makes use of it
    weights = StackScaling().fit(logits, y).weights_
    assert (weights >= 0).all() and weights[0] > 0.8


def test_one_class_of_many_models_is_what_each_model_gives_alone():
    logits, y = case(2, 3)
    stack = StackScaling().fit(logits, y)
    models = np.stack([logits, 0.5 * logits, logits[:, ::-1]], axis=1)
    for of_class in range(3):
        together = stack.predict_class(torch.from_numpy(models.copy()), of_class)
        alone = np.column_stack([stack.predict_proba(models[:, m])[:, of_class] for m in range(3)])
        np.testing.assert_allclose(together.numpy(), alone, atol=1e-12)


@pytest.mark.parametrize("rare", [0, 1])
def test_slopes_say_how_far_a_members_margin_moves_the_answer(rare):
    logits, y = case()
    stack = StackScaling().fit(logits, y)
    for k, slope in enumerate(stack.slopes(rare)):
        moved = logits.copy()
        moved[:, k, rare] += 0.01
        change = stack.scores(moved) - stack.scores(logits)
        np.testing.assert_allclose((change[:, rare] - change[:, 1 - rare]) / 0.01, slope, atol=1e-9)


def test_left_out_probabilities_come_from_maps_without_the_fold():
    logits, y = case()
    shares, fold = np.bincount(y) / len(y), np.arange(len(y)) % 3
    found = left_out_probabilities(StackScaling, logits, y, shares, fold)
    for number in range(3):
        kept = fold != number
        by_hand = StackScaling().fit(logits[kept], y[kept], weights=share_weights(y[kept], shares))
        np.testing.assert_array_equal(found[~kept], by_hand.predict_proba(logits[~kept]))
    everyone = StackScaling().fit(logits, y, weights=share_weights(y, shares)).predict_proba(logits)
    np.testing.assert_array_equal(left_out_probabilities(StackScaling, logits, y, shares, None), everyone)


def test_state_restores_the_same_answers():
    logits, y = case()
    stack = StackScaling().fit(logits, y)
    again = StackScaling().restore(stack.state())
    assert again.predict_proba(logits).tobytes() == stack.predict_proba(logits).tobytes()
    for name in ("scales_", "offsets_", "shift_"):
        with pytest.raises(InputError, match="of 3 detectors and 2 classes"):
            StackScaling().restore(stack.state() | {name: stack.state()[name][:1]})


def test_mistakes():
    logits, y = case()
    with pytest.raises(NotFittedError):
        StackScaling().predict_proba(logits)
    for wrong in (logits[:, 0], logits[:, :0], np.where(logits > 2, np.nan, logits)):
        with pytest.raises(InputError, match="logits must"):
            StackScaling().fit(wrong, y)
    with pytest.raises(InputError, match="3 detectors and 2 classes"):
        StackScaling().fit(logits, y).predict_proba(logits[:, :2])
