"""Whatever arrays come: a number in the metric's range, NaN where it is not defined, or one of our errors."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import anything, few_or_many, run_property

from calirare import metrics
from calirare.errors import CalirareError
from calirare.metrics.individual import jackknife_bounds

few_or_thousands = few_or_many(10, 150)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
counts = st.one_of(
    st.integers(-2, 40), st.sampled_from([2**31, 2**62, 10**30]), st.floats(), st.none(), st.text(max_size=2)
)
TAKE_PROBABILITIES = {
    "expected_calibration_error": 1.0,
    "adaptive_calibration_error": 1.0,
    "classwise_ace": 1.0,
    "macro_true_class_ace": 1.0,
    "negative_log_likelihood": math.inf,
    "brier_score": 2.0,
}
WELL_TYPED = {name: ("?", "f8") for name in ("smooth_ece", "average_precision", "roc_auc")} | {
    name: ("i8", "u8") for name in ("recall", "precision", "macro_f1", "accuracy")
}


def number_or_our_error(function, *arguments, most=1.0, **options):
    try:
        value = function(*arguments, **options)
    except CalirareError as error:
        assert str(error)
        return
    assert type(value) is float
    assert math.isnan(value) or 0.0 <= value <= most + 1e-9


@st.composite
def probabilities(draw):
    """(y, probabilities): certain, tied, tiny, with classes nobody is of."""
    size, width = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    raw = draw(
        hnp.arrays(
            "f8", (size, width), elements=st.one_of(st.just(0.0), st.floats(0, 1), st.sampled_from([1e-300, 1.0]))
        )
    )
    raw[:, draw(st.integers(0, width - 1))] += 1e-12
    y = draw(hnp.arrays("i8", size, elements=st.integers(0, width - 1)))
    return y, raw / raw.sum(axis=1, keepdims=True)


@few_or_thousands
@pytest.mark.parametrize("name", TAKE_PROBABILITIES)
def test_probabilities(examples, name):
    function, most = getattr(metrics, name), TAKE_PROBABILITIES[name]

    def good(case):
        value = function(*case)
        assert 0.0 <= value <= most + 1e-9

    def wild(y, p):
        number_or_our_error(function, y, p, most=most)

    run_property(examples, good, case=probabilities())
    run_property(examples, wild, y=anything, p=anything)


@few_or_thousands
@pytest.mark.parametrize("name", WELL_TYPED)
def test_scores_and_decisions(examples, name):
    function = getattr(metrics, name)
    run_property(examples, lambda y, s: number_or_our_error(function, y, s), y=anything, s=anything)
    pairs = st.integers(1, 9).flatmap(lambda n: st.tuples(*(hnp.arrays(kind, n) for kind in WELL_TYPED[name])))
    run_property(examples, lambda case: number_or_our_error(function, *case), case=pairs)


@few_or_thousands
def test_counts_and_classes(examples):
    def wild(case, count, of_class):
        y, p = case
        for name in ("expected_calibration_error", "adaptive_calibration_error", "classwise_ace"):
            number_or_our_error(getattr(metrics, name), y, p, count)
        number_or_our_error(metrics.true_class_ace, y, p, of_class, count)
        number_or_our_error(metrics.brier_score, y, p, of_class=of_class, most=2.0)
        number_or_our_error(metrics.negative_log_likelihood, y, p, of_class=of_class, most=math.inf)
        number_or_our_error(metrics.recall, y, p.argmax(axis=1), of_class)
        number_or_our_error(metrics.precision, y, p.argmax(axis=1), of_class)
        number_or_our_error(metrics.recall_at_budget, y == 1, p[:, 1], count)

    run_property(examples, wild, case=probabilities(), count=counts, of_class=counts)


@few_or_thousands
def test_intervals_hold_the_value(examples):
    options = st.fixed_dictionaries(
        {},
        optional={
            "coverage": st.floats(0, 1) | st.floats(),
            "num_resamples": st.integers(-1, 5),
            "seed": st.integers(-1, 5) | st.just(2**70),
            "stratified": st.booleans(),
            "budget": st.none() | st.integers(-1, 20),
        },
    )

    def wild(case, rare_class, options):
        y, p = case
        try:
            found = metrics.summary(y, p, rare_class, **({"num_resamples": 3} | options))
        except CalirareError as error:
            assert str(error)
            return
        for one in found.values():
            assert math.isnan(one.lower) or one.lower <= one.value <= one.upper

    run_property(examples, wild, case=probabilities(), rare_class=st.integers(-1, 4), options=options)


@few_or_thousands
def test_jackknife_bounds_stay_in_order(examples):
    def ordered(table, coverage):
        left_out = torch.from_numpy(table)
        lower, upper = jackknife_bounds(left_out, left_out[0].abs(), coverage=coverage, clip=True)
        assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()

    shapes = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)
    run_property(
        examples,
        ordered,
        table=hnp.arrays("f8", shapes, elements=st.floats(0, 1)),
        coverage=st.floats(0.01, 0.999),
    )
