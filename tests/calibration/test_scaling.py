"""The scaling maps find a known answer, agree with an independent solver, and never leave the range of numbers."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from slow_calibrators import sample_classes

from calirare.calibration import (
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    logits_from_probabilities,
    share_weights,
    target_shares,
)
from calirare.calibration.conditional_logit import fit_conditional_logit
from calirare.calibration.scaling import SoftPlattScaling
from calirare.detectors.logistic.platt import soft_targets
from calirare.errors import InputError, LabelError

SCALINGS = [TemperatureScaling, PlattScaling, VectorScaling, MatrixScaling]


def _case(num_nodes, num_classes, true_map, seed=0):
    """Logits, classes drawn from softmax(true_map(logits)), and those probabilities.

    Each row has mean zero: the maps see only what softmax sees.
    """
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 1.5, (num_nodes, num_classes))
    logits -= logits.mean(axis=1, keepdims=True)
    truth = softmax(true_map(logits), axis=1)
    return logits, sample_classes(generator, truth), truth


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("num_classes", [2, 5])
def test_temperature_is_found(temperature, num_classes):
    logits, y, _ = _case(40_000, num_classes, lambda z: z)
    fitted = TemperatureScaling().fit(logits * temperature, y)
    assert fitted.temperature_ == pytest.approx(temperature, rel=0.03)


def test_temperature_is_the_minimum_of_the_likelihood():
    logits, y, _ = _case(300, 3, lambda z: 0.6 * z)
    weights = np.random.default_rng(1).uniform(0.1, 1, 300)

    def loss(sharpness):
        return -(weights * log_softmax(sharpness * logits, axis=1)[np.arange(300), y]).sum()

    best = minimize_scalar(loss, bounds=(0.01, 10), method="bounded", options={"xatol": 1e-10}).x
    assert 1 / TemperatureScaling().fit(logits, y, weights=weights).temperature_ == pytest.approx(best, rel=1e-4)


KNOWN_MAPS = {
    PlattScaling: lambda z: 0.4 * z + np.array([1.0, -0.5, 0.0]),
    VectorScaling: lambda z: z * np.array([0.3, 1.5, 0.8]) + np.array([0.5, 0.0, -1.0]),
    MatrixScaling: lambda z: z @ np.array([[0.8, -0.4, 0.1], [0.0, 0.5, 0.9], [0.3, 0.0, -0.2]]) + [0.2, -0.7, 0.5],
}


@pytest.mark.parametrize("scaling", KNOWN_MAPS)
def test_a_known_map_is_found(scaling):
    logits, y, _ = _case(20_000, 3, KNOWN_MAPS[scaling])
    fresh, _, truth = _case(500, 3, KNOWN_MAPS[scaling], seed=1)
    np.testing.assert_allclose(scaling().fit(logits, y).predict_proba(fresh), truth, atol=0.04)


def test_two_class_platt_is_logistic_regression_on_the_difference():
    logits, y, _ = _case(400, 2, lambda z: 0.5 * z + [0.0, 1.0])
    difference = (logits[:, 1] - logits[:, 0])[:, None]
    weights = np.where(y == 1, 3.0, 1.0)
    judge = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(difference, y, sample_weight=weights)
    ours = PlattScaling().fit(logits, y, weights=weights).predict_proba(logits)
    np.testing.assert_allclose(ours, judge.predict_proba(difference), atol=1e-5)


def test_soft_platt_is_logistic_regression_on_every_label_twice():
    """Once as it is said to be and once as the other class, with weights that are the targets."""
    logits, y, _ = _case(60, 2, lambda z: 0.5 * z + [0.0, -2.0])
    difference = (logits[:, 1] - logits[:, 0])[:, None]
    weights = np.where(y == 1, 3.0, 1.0)
    share, taken = weights[y == 1].sum() / weights.sum(), 1 / (2 * min(y.sum(), (1 - y).sum()) + 2)
    of_rare = (1 - taken) * y + taken * share
    judge = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.concatenate([difference, difference]),
        np.repeat([1, 0], len(y)),
        sample_weight=np.concatenate([weights * of_rare, weights * (1 - of_rare)]),
    )
    ours = SoftPlattScaling().fit(logits, y, weights=weights).predict_proba(logits)
    np.testing.assert_allclose(ours, judge.predict_proba(difference), atol=1e-5)


@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.02, 0.9, 0.08)])
def test_soft_targets_leave_the_shares_as_they_are(shares):
    y = np.repeat([0, 1, 2], [40, 7, 12])
    weights = share_weights(y, np.array(shares))
    target = soft_targets(y, weights, 3)
    np.testing.assert_allclose(weights @ target, shares)
    np.testing.assert_allclose(target.sum(axis=1), 1)
    assert target[40, 1] == pytest.approx(15 / 16 + shares[1] / 16)


def test_few_separable_labels_are_not_called_certain():
    """Maximum likelihood calls three rare labels that score above the rest certain; soft targets say about 7/8."""
    y = np.arange(60) < 3
    logits = np.stack([np.zeros(60), np.where(y, 2.0, -2.0)], axis=1)
    sure = PlattScaling().fit(logits, y.astype(int)).predict_proba(logits)[0, 1]
    soft = SoftPlattScaling().fit(logits, y.astype(int)).predict_proba(logits)[0, 1]
    assert sure > 0.999 and soft == pytest.approx(7 / 8 + 3 / 60 / 8, abs=1e-3)


def test_matrix_is_multinomial_regression_on_the_logits():
    logits, y, _ = _case(400, 4, lambda z: 0.5 * z)
    judge = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(logits, y)
    ours = MatrixScaling().fit(logits, y).predict_proba(logits)
    np.testing.assert_allclose(ours, judge.predict_proba(logits), atol=1e-4)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("factor", [1e-12, 1e-5, 1e8])
def test_the_size_of_the_logits_does_not_matter(scaling, factor):
    """Strong weight decay makes logits tiny; an optimiser on raw logits diverged there."""
    logits, y, _ = _case(200, 2, lambda z: z)
    expected = scaling().fit(logits, y).predict_proba(logits)
    np.testing.assert_allclose(scaling().fit(logits * factor, y).predict_proba(logits * factor), expected, atol=1e-9)


@pytest.mark.parametrize("scaling", [PlattScaling, VectorScaling, MatrixScaling])
def test_logits_that_say_nothing_give_the_base_rate(scaling):
    generator = np.random.default_rng(0)
    y = (generator.random(5_000) < 0.1).astype(int)
    near_chance = scaling().fit(generator.normal(size=(5_000, 2)), y)
    assert near_chance.predict_proba(generator.normal(size=(200, 2)))[:, 1] == pytest.approx(y.mean(), abs=0.03)
    constant = scaling().fit(np.zeros((5_000, 2)), y)
    assert constant.predict_proba(np.zeros((1, 2)))[0, 1] == pytest.approx(y.mean(), abs=1e-5)


def test_temperature_on_logits_that_say_nothing_is_undecided():
    y = np.array([0, 0, 0, 1])
    fitted = TemperatureScaling().fit(np.zeros((4, 2)), y)
    assert fitted.temperature_ == np.inf
    np.testing.assert_array_equal(fitted.predict_proba(np.zeros((1, 2))), [[0.5, 0.5]])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_separable_labels_give_finite_answers(scaling):
    logits = np.array([[3.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 5.0]])
    fitted = scaling().fit(logits, np.array([0, 0, 1, 1]))
    assert np.isfinite(fitted.parameters_).all()
    probabilities = fitted.predict_proba(logits)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), [0, 0, 1, 1])
    assert probabilities.max(axis=1).min() > 0.95


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_constant_added_to_all_logits_of_a_node_changes_nothing(scaling):
    logits, y, _ = _case(200, 3, lambda z: z)
    shift = np.random.default_rng(3).normal(0, 5, (200, 1))
    expected = scaling().fit(logits, y).predict_proba(logits)
    np.testing.assert_allclose(scaling().fit(logits + shift, y).predict_proba(logits + shift), expected, atol=1e-9)


def test_logits_from_probabilities_undo_softmax():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    np.testing.assert_allclose(softmax(logits_from_probabilities(probabilities), axis=1), probabilities, atol=1e-12)
    certain = logits_from_probabilities(np.array([[0.0, 1.0]]))
    assert np.isfinite(certain).all()
    for bad in ([[0.5, 0.6]], [[-0.1, 1.1]], [[np.nan, 1.0]], [0.5, 0.5]):
        with pytest.raises(InputError, match="probabilities must"):
            logits_from_probabilities(np.array(bad))


def test_a_class_without_labels_takes_no_weight():
    weights = share_weights(np.array([0, 1, 1]), np.array([0.5, 0.3, 0.2]))
    np.testing.assert_allclose(weights, np.array([0.5, 0.15, 0.15]) / 0.8)


def test_share_weights_give_the_classes_the_wanted_shares():
    y = np.array([0, 0, 0, 1, 2, 2])
    shares = np.array([0.7, 0.1, 0.2])
    weights = share_weights(y, shares)
    np.testing.assert_allclose(np.bincount(y, weights=weights), shares)
    np.testing.assert_allclose(share_weights(y, target_shares(y, 3)), np.full(6, 1 / 6))
    with pytest.raises(LabelError, match="weight zero"):
        share_weights(np.array([0, 0]), np.array([0.0, 1.0]))


@pytest.mark.parametrize("calibrator", [TemperatureScaling(), PlattScaling()])
def test_logits_that_rank_the_wrong_way_are_ignored(calibrator):
    """A negative scale would turn every ranking over; the honest answer is the base rate (or one half)."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.2).astype(int)
    wrong = np.column_stack([np.zeros(400), -3.0 * y + rng.normal(size=400)])
    probabilities = calibrator.fit(wrong, y).predict_proba(wrong)[:, 1]
    expected = 0.5 if isinstance(calibrator, TemperatureScaling) else y.mean()
    np.testing.assert_allclose(probabilities, expected, atol=1e-4)


def test_a_newton_step_that_goes_too_far_is_shortened():
    # Found by search: one light label against four heavy ones, where whole Newton steps raise the loss.
    z = np.array([0.45, -0.35, 1.21, -0.17, -1.92])
    y, rows = np.array([0, 0, 1, 0, 0]), np.arange(5)
    weights = np.array([0.8841, 0.0477, 0.0001, 0.0598, 0.0083])
    logits = np.column_stack([-z, z])
    logits /= np.sqrt(weights @ (logits**2).mean(axis=1))
    features = np.concatenate([logits[:, :, None], np.broadcast_to(np.eye(2), (5, 2, 2))], axis=2)

    def loss(theta):
        return -(weights * log_softmax(features @ theta, axis=1)[rows, y]).sum() + 0.5e-6 * theta @ theta

    found = fit_conditional_logit(features, np.eye(2)[y], weights, ridge=1e-6)
    best = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"maxfev": 20_000, "xatol": 1e-8, "fatol": 1e-16})
    assert loss(found) <= best.fun + 1e-12
    np.testing.assert_allclose(found, best.x, rtol=0.01)


def test_drawing_to_the_base_rate_keeps_order_and_the_same_answer_for_one_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    logits = np.stack([np.zeros(200), y + rng.normal(size=200)], axis=1)
    plain = PlattScaling().fit(logits, y)
    before, shares = plain.predict_proba(logits), np.array([0.6, 0.4])
    after = plain.draw_to(shares, 0.25).predict_proba(logits)
    np.testing.assert_allclose(after, shares + 0.25 * (before - shares))
    one = plain.predict_class(torch.from_numpy(logits)[:, None], 1)[:, 0]
    np.testing.assert_allclose(one.numpy(), after[:, 1])


@pytest.mark.parametrize("middle", [0.0, 1e-8, 3.0])
def test_logits_that_do_not_differ_are_no_evidence(middle):
    """A network on a constant attribute says 1e-8 ± 1e-18; scaled up, the map could not be stored and read again."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    z = middle + 5e-18 * (y + rng.normal(size=200))
    matrix, _ = PlattScaling().fit(np.stack([-z, z], axis=1), y)._affine()
    assert np.abs(matrix).max() < 10
