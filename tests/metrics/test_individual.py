"""Jackknife bounds, ICE and EICE against loops with NumPy's quantile, and their gradients against differences."""

import numpy as np
import pytest
import torch

from calirare.errors import InputError
from calirare.metrics import individual
from calirare.metrics.individual import (
    expected_individual_calibration_error,
    individual_calibration_error,
    jackknife_bounds,
)


def _case(num_nodes=9, num_labels=14, num_classes=3, seed=0):
    """Logits of nodes, of nodes by left-out models, of labelled nodes by their left-out models, and classes."""
    generator = np.random.default_rng([seed, num_classes])
    logits = generator.normal(size=(num_nodes, num_classes))
    left_out = logits[:, None] + 0.4 * generator.normal(size=(num_nodes, num_labels, num_classes))
    own = generator.normal(size=(num_labels, num_classes))
    y = generator.integers(0, num_classes, num_labels)
    return *(torch.from_numpy(array) for array in (logits, left_out, own)), torch.from_numpy(y)


def _probabilities(*args, **kwargs):
    logits, left_out, own, y = _case(*args, **kwargs)
    return logits.softmax(-1), left_out.softmax(-1), own.softmax(-1), y


def _ice_by_loop(probabilities, left_out, own, y, coverage, clip):
    result = []
    for v, p in enumerate(probabilities):
        c = int(np.argmax(p))
        lows, highs = [], []
        for i in range(len(y)):
            residual = abs((1.0 if y[i] == c else 0.0) - own[i, c])
            lows.append(left_out[v, i, c] - residual)
            highs.append(left_out[v, i, c] + residual)
        lower, upper = np.quantile(lows, (1 - coverage) / 2), np.quantile(highs, 1 - (1 - coverage) / 2)
        if clip:
            lower, upper = np.clip([lower, upper], 0, 1)
        result.append(abs((lower + upper) / 2 - p[c]))
    return np.array(result)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_bounds_are_quantiles(coverage, clip):
    generator = np.random.default_rng(0)
    left_out, residuals = generator.random((6, 21)), generator.random(21)
    found = jackknife_bounds(torch.from_numpy(left_out), torch.from_numpy(residuals), coverage=coverage, clip=clip)
    tail = (1 - coverage) / 2
    expected = [np.quantile(left_out - residuals, tail, axis=1), np.quantile(left_out + residuals, 1 - tail, axis=1)]
    for bound, truth in zip(found, expected, strict=True):
        np.testing.assert_allclose(bound.numpy(), truth.clip(0, 1) if clip else truth, atol=1e-12)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_ice_and_eice_equal_the_loop(num_classes, coverage, clip):
    case = _probabilities(num_classes=num_classes)
    expected = _ice_by_loop(*(tensor.numpy() for tensor in case), coverage, clip)
    ice = individual_calibration_error(*case, coverage=coverage, clip=clip)
    np.testing.assert_allclose(ice.numpy(), expected, atol=1e-12)
    eice = expected_individual_calibration_error(*case, coverage=coverage, clip=clip)
    assert float(eice) == pytest.approx(expected.mean(), abs=1e-12)


def test_chunks_do_not_change_the_quantile(monkeypatch):
    case = _probabilities(num_nodes=23)
    whole = individual_calibration_error(*case)
    for values in (1, 14, 60):
        monkeypatch.setattr(individual, "_BLOCK", values)
        assert torch.equal(individual_calibration_error(*case), whole)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 671])
def test_selection_equals_the_sorted_quantile(count):
    values = torch.randn(40, count, dtype=torch.float64, generator=torch.Generator().manual_seed(count))
    for level in (0.0, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0):
        torch.testing.assert_close(individual._quantile(values, level), torch.quantile(values, level, dim=1))


def test_more_values_than_torch_takes_at_once():
    """torch.quantile refuses more than 16 million values."""
    left_out = torch.linspace(0, 1, 4_001).repeat(4_200, 1)
    lower, upper = jackknife_bounds(left_out, torch.zeros(4_001), coverage=0.8)
    torch.testing.assert_close(lower, torch.full((4_200,), 0.1))
    torch.testing.assert_close(upper, torch.full((4_200,), 0.9))


@pytest.mark.parametrize(("num_classes", "clip"), [(2, True), (3, False)])
def test_gradient_of_eice_agrees_with_finite_differences(num_classes, clip):
    *logits, y = _case(num_nodes=5, num_labels=7, num_classes=num_classes)

    def eice(*values):
        return expected_individual_calibration_error(*(value.softmax(-1) for value in values), y, clip=clip)

    inputs = tuple(value.requires_grad_() for value in logits)
    assert torch.autograd.gradcheck(eice, inputs, eps=1e-7, atol=1e-6)
    gradients = torch.autograd.grad(eice(*inputs), inputs)
    assert all(float(gradient.abs().max()) > 1e-4 for gradient in gradients)


def test_interval_and_confidence_speak_of_the_same_class():
    """A class-1 interval against the confidence of class 0, as in the published code, would give 0.6 here."""
    p = torch.tensor([[0.8, 0.2]])
    own = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    ice = individual_calibration_error(p, p[None].expand(1, 2, 2), own, torch.tensor([0, 1]))
    assert float(ice) == pytest.approx(0.0, abs=1e-6)


def test_ice_vanishes_when_left_out_models_agree_whatever_the_error():
    """The limit that the module warns of: wrong for every label, and still no error by this measure."""
    p = torch.tensor([[0.3, 0.7]], dtype=torch.float64)
    left_out = p[:, None].expand(1, 40, 2)
    own = torch.tensor([[0.1, 0.9]], dtype=torch.float64).expand(40, 2)
    y = torch.zeros(40, dtype=torch.int64)
    assert float(individual_calibration_error(p, left_out, own, y)) == pytest.approx(0.0, abs=1e-12)
    assert float(individual_calibration_error(p, left_out, own, y, clip=True)) == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 90])
def test_coverage_outside_zero_and_one_is_refused(coverage):
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        jackknife_bounds(torch.zeros(1, 2), torch.zeros(2), coverage=coverage)
