"""What holds for every metric: a plain float, inputs left alone, bad inputs refused in one line."""

import inspect

import numpy as np
import pytest
from metric_cases import cases

from calirare import metrics
from calirare.errors import InputError
from calirare.metrics.registry import METRICS, Answers

CASES = cases()
TAKE_PROBABILITIES = [name for name, metric in METRICS.items() if metric.reads[1] == "probabilities"]
TAKE_SCORES = [name for name, metric in METRICS.items() if metric.reads[1] == "scores"]
TAKE_DECISIONS = [name for name, metric in METRICS.items() if metric.reads[1] == "predicted"]
NOT_METRICS = {
    "bootstrap_interval",
    "bootstrap_intervals",
    "equal_count_bins",
    "equal_width_bins",
    "reliability_bins",
    "summary",
    # These speak of jackknife intervals, not of labels; their own tests hold them.
    "individual_calibration_error",
    "expected_individual_calibration_error",
}


def test_every_public_function_is_covered():
    public = {name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))}
    assert public - NOT_METRICS <= set(METRICS)
    assert all(getattr(metrics, name) is metric.function for name, metric in METRICS.items())


def test_titles_and_heads_tell_metrics_apart():
    for told in ("title", "head", "sentence"):
        words = [getattr(metric, told) for metric in METRICS.values()]
        assert all(words) and len(set(words)) == len(words)


@pytest.mark.parametrize("name", METRICS)
def test_the_good_end_is_where_the_registry_says(name):
    """Honest probabilities against the same ones turned around; those that condition on the label promise nothing."""
    generator = np.random.default_rng(0)
    p = generator.beta(0.2, 0.4, 4_000)
    y = (generator.random(p.size) < p).astype(np.int64)
    honest, turned = (METRICS[name](answers(y, np.column_stack([1 - q, q]))) for q in (p, 1 - p))
    assert METRICS[name].improves(honest, turned) or METRICS[name].conditional


def answers(y, probabilities):
    return Answers(y, probabilities, probabilities.argmax(axis=1), rare_class=1, budget=5)


@pytest.mark.parametrize("name", METRICS)
def test_a_plain_float_and_untouched_inputs(name):
    for case in CASES.values():
        y, probabilities = (array.copy() for array in case)
        value = METRICS[name](answers(y, probabilities))
        assert type(value) is float
        np.testing.assert_array_equal(y, case[0])
        np.testing.assert_array_equal(probabilities, case[1])


@pytest.mark.parametrize("name", METRICS)
def test_lower_precision_gives_nearly_the_same(name):
    y, probabilities = CASES["random-90x2"]
    exact = METRICS[name](answers(y, probabilities))
    rough = METRICS[name](answers(y.astype(np.int32), probabilities.astype(np.float32)))
    assert rough == pytest.approx(exact, abs=1e-5)


def _rest(name):
    return (1,) * (len(METRICS[name].reads) - 2)


def _refusal(name, y, second):
    with pytest.raises(InputError) as caught:
        getattr(metrics, name)(y, second, *_rest(name))
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".")
    return message


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([], "integer classes; got float64 of shape (0,)"),
        (np.empty(0, dtype=int), "at least one node"),
        ([0, -1], "Drop nodes whose label is unknown"),
        ([0.0, 1.0], "integer classes"),
        ([[0, 1]], "one-dimensional"),
        ([0, 1, 1], "got"),
    ],
)
def test_bad_labels(y, words):
    for name in METRICS:
        second = np.eye(2) if name in TAKE_PROBABILITIES else [0, 1]
        assert words in _refusal(name, y, second), name


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], "must sum to one; the worst is off by 0.1"),
        ([[2.0, -1.0], [0.5, 0.5]], "must lie in [0, 1]; got -1 to 2. Apply softmax"),
        ([[np.nan, 0.5], [0.5, 0.5]], "must be finite; 1 values"),
        ([0.5, 0.5], "two or more classes; got shape (2,)"),
        ([[1.0], [1.0]], "two or more classes; got shape (2, 1)"),
        ([["a", "b"], ["c", "d"]], "array of numbers; got list"),
        ([[1.0, 0.0]], "2 labels and 1 rows"),
    ],
)
def test_bad_probabilities(probabilities, words):
    for name in TAKE_PROBABILITIES:
        assert words in _refusal(name, [0, 1], probabilities), name


def test_labels_beyond_the_columns():
    for name in TAKE_PROBABILITIES:
        assert "y must lie in 0…1, the columns of probabilities; got 2" in _refusal(name, [0, 2], np.eye(2)), name


@pytest.mark.parametrize(
    ("scores", "words"),
    [([0.1], "one number per node"), ([np.inf, 0.1], "must be finite"), ([[0.1], [0.2]], "one number per node")],
)
def test_bad_scores(scores, words):
    for name in TAKE_SCORES:
        assert words in _refusal(name, [0, 1], scores), name


def test_smooth_ece_wants_probabilities_where_rankings_take_any_score():
    assert "scores must lie in [0, 1]" in _refusal("smooth_ece", [0, 1], [-3.0, 3.0])
    assert metrics.roc_auc([0, 1], [-3.0, 3.0]) == 1.0


def test_bad_decisions():
    for name in TAKE_DECISIONS:
        assert "predicted must be a one-dimensional array of integer classes" in _refusal(name, [0, 1], [0.2, 0.8]), (
            name
        )
