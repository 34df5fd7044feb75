import math

import numpy as np
import pytest
import slow_metrics
from hypothesis import given
from hypothesis import strategies as st
from metric_cases import cases

from calirare import metrics
from calirare.errors import InputError
from calirare.metrics.binning import top_label

CASES = cases()
BINNED = ["expected_calibration_error", "adaptive_calibration_error", "classwise_ace", "macro_true_class_ace"]


@pytest.mark.parametrize("name", BINNED)
@pytest.mark.parametrize("num_bins", [1, 5, 15, 20])
def test_binned_errors_equal_loops(name, num_bins):
    for case, (y, probabilities) in CASES.items():
        fast = getattr(metrics, name)(y, probabilities, num_bins)
        assert fast == pytest.approx(getattr(slow_metrics, name)(y, probabilities, num_bins), abs=1e-12), case


@pytest.mark.parametrize("case", CASES)
def test_true_class_ace_equals_loops(case):
    y, probabilities = CASES[case]
    for of_class in range(probabilities.shape[1]):
        slow = slow_metrics.true_class_ace(y, probabilities, of_class)
        assert metrics.true_class_ace(y, probabilities, of_class) == pytest.approx(slow, abs=1e-12, nan_ok=True)


@pytest.fixture(scope="module")
def netcal_ece():
    from netcal.metrics import ECE  # with a plotting library or two: not for every worker that collects this file

    return ECE


@pytest.mark.parametrize("num_bins", [4, 10, 15])
def test_ece_agrees_with_netcal(num_bins, netcal_ece):
    for case, (y, probabilities) in CASES.items():
        confidence, right = top_label(y, probabilities)
        # netcal reads one-dimensional input as the probability of the event "right"
        judge = netcal_ece(bins=num_bins).measure(confidence, right.astype(int))
        fast = metrics.expected_calibration_error(y, probabilities, num_bins)
        assert fast == pytest.approx(judge, abs=1e-9), case


def test_ace_agrees_with_netcal_where_bins_fill_evenly(netcal_ece):
    generator = np.random.default_rng(3)
    probabilities = generator.dirichlet([1, 1, 1], size=300)
    y = generator.integers(3, size=300)
    confidence, right = top_label(y, probabilities)
    judge = netcal_ece(bins=15, equal_intervals=False).measure(confidence, right.astype(int))
    assert metrics.adaptive_calibration_error(y, probabilities, 15) == pytest.approx(judge, abs=1e-9)


def test_ece_agrees_with_torchmetrics():
    torch = pytest.importorskip("torch")
    try:
        from torchmetrics.functional.classification import multiclass_calibration_error
    except (ImportError, RuntimeError) as reason:  # RuntimeError: a torchvision that does not fit this torch
        pytest.skip(f"torchmetrics does not load: {reason}")
    for case, (y, probabilities) in CASES.items():
        if case.startswith(("certain", "tied")):
            continue  # torchmetrics gives p = 1 a bin of its own, and its edges are in single precision
        judge = multiclass_calibration_error(
            torch.tensor(probabilities), torch.tensor(y), num_classes=probabilities.shape[1], n_bins=15, norm="l1"
        )
        assert metrics.expected_calibration_error(y, probabilities) == pytest.approx(float(judge), abs=1e-6), case


def test_smooth_ece_agrees_with_relplot():
    import relplot  # two plotting libraries: not for every worker that collects this file

    for case, (y, probabilities) in CASES.items():
        rare, scores = (y == 1).astype(float), probabilities[:, 1]
        judge = float(relplot.smECE(scores, rare))
        assert metrics.smooth_ece(y == 1, scores) == pytest.approx(judge, abs=1e-9), case


def test_smooth_ece_solves_its_own_definition():
    generator = np.random.default_rng(0)
    scores = generator.random(200)
    y = generator.random(200) < scores**2
    found = metrics.smooth_ece(y, scores)
    # The answer is the width at which the smoothed error equals the width.
    assert slow_metrics.smooth_ece_at(y, scores, width=found) == pytest.approx(found, rel=0.03)


def test_perfect_probabilities_score_zero_in_the_limit_but_not_within_a_true_class():
    generator = np.random.default_rng(0)
    p = generator.beta(0.5, 2.0, size=200_000)
    y = (generator.random(p.size) < p).astype(int)
    probabilities = np.column_stack([1 - p, p])
    assert metrics.expected_calibration_error(y, probabilities) < 0.005
    assert metrics.adaptive_calibration_error(y, probabilities) < 0.005
    assert metrics.classwise_ace(y, probabilities) < 0.005
    assert metrics.smooth_ece(y, p) < 0.005
    assert metrics.true_class_ace(y, probabilities, 1) > 0.2  # the note in its docstring, held to


def test_closed_form_of_a_constant_answer():
    probabilities = np.tile([0.7, 0.3], (10, 1))
    y = np.array([0] * 4 + [1] * 6)
    for name in ("expected_calibration_error", "adaptive_calibration_error", "classwise_ace"):
        assert getattr(metrics, name)(y, probabilities) == pytest.approx(0.3)
    assert metrics.true_class_ace(y, probabilities, 0) == pytest.approx(0.3)
    assert metrics.true_class_ace(y, probabilities, 1) == pytest.approx(0.7)
    assert metrics.macro_true_class_ace(y, probabilities) == pytest.approx(0.5)


def test_a_missing_class_has_no_true_class_ace():
    probabilities = np.tile([0.2, 0.3, 0.5], (4, 1))
    assert math.isnan(metrics.true_class_ace([0, 0, 2, 2], probabilities, 1))
    assert metrics.macro_true_class_ace([0, 0, 2, 2], probabilities) == pytest.approx(0.5)


@given(data=st.data(), n=st.integers(1, 40), num_classes=st.integers(2, 4), num_bins=st.integers(1, 25))
def test_bounds_and_order_of_nodes(data, n, num_classes, num_bins):
    # Multiples of 1/6 make ties everywhere.
    parts = st.lists(st.integers(0, 6), min_size=num_classes, max_size=num_classes).filter(any)
    raw = np.array(data.draw(st.lists(parts, min_size=n, max_size=n)), dtype=float)
    probabilities = raw / raw.sum(axis=1, keepdims=True)
    y = np.array(data.draw(st.lists(st.integers(0, num_classes - 1), min_size=n, max_size=n)))
    order = np.array(data.draw(st.permutations(range(n))))
    for name in BINNED:
        metric = getattr(metrics, name)
        value = metric(y, probabilities, num_bins)
        assert 0 <= value <= 1 + 1e-12
        assert metric(y[order], probabilities[order], num_bins) == pytest.approx(value, abs=1e-12)
    rare, scores = y == 1, probabilities[:, 1]
    value = metrics.smooth_ece(rare, scores)
    assert 0 <= value <= 1.05
    assert metrics.smooth_ece(rare[order], scores[order]) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("num_bins", [0, -1, 2.5, True])
def test_num_bins_is_a_positive_whole_number(num_bins):
    with pytest.raises(InputError, match="num_bins must be a whole number"):
        metrics.expected_calibration_error([0, 1], np.eye(2), num_bins)
