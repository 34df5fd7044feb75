"""The paired comparison of two models against closed forms and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from calirare.errors import InputError
from calirare.evaluation.paired import PairedLikelihood, compare_likelihood


def test_gain_and_error_are_those_of_a_stratified_mean():
    rng = np.random.default_rng(0)
    rare = rng.random(60) < 0.4
    old, new = rng.random((2, 60))
    found = compare_likelihood(rare, old, new, rare_share=0.1)
    gain = variance = 0.0
    for flag, share in ((True, 0.1), (False, 0.9)):
        rows = [
            np.log((new[i] if flag else 1 - new[i]) / (old[i] if flag else 1 - old[i]))
            for i in range(60)
            if rare[i] == flag
        ]
        gain += share * sum(rows) / len(rows)
        variance += share**2 * np.var(rows, ddof=1) / len(rows)
    assert found.gain == pytest.approx(gain) and found.error == pytest.approx(variance**0.5)


def test_on_one_class_it_is_scipys_paired_test():
    old, new = np.random.default_rng(3).random((2, 30))
    found = compare_likelihood(np.ones(30, dtype=bool), old, new, rare_share=1.0)
    assert found.gain / found.error == pytest.approx(ttest_rel(np.log(new), np.log(old)).statistic)


def test_equal_models_are_called_worse_one_time_in_six():
    rng = np.random.default_rng(1)
    worse = 0
    for _ in range(600):
        rare = rng.random(400) < 0.2
        old, new = (1 / (1 + np.exp(-rng.normal(np.where(rare, 0.0, -2.0), 0.3))) for _ in range(2))
        worse += compare_likelihood(rare, old, new, 0.2).is_worse
    assert 0.11 < worse / 600 < 0.21


def test_a_model_that_lost_the_rare_class_is_worse_and_the_same_model_is_not():
    rare = np.arange(200) < 40
    good = np.where(rare, 0.7, 0.1)
    assert compare_likelihood(rare, good, np.full(200, 0.2), 0.2).is_worse
    same = compare_likelihood(rare, good, good, 0.2)
    assert (same.gain, same.error, same.is_worse) == (0.0, 0.0, False)


def test_certain_answers_give_finite_numbers_and_other_labels_are_refused():
    assert np.isfinite(compare_likelihood([1, 0], [0.0, 1.0], [1.0, 0.0], 0.5).gain)
    with pytest.raises(InputError, match="same labels"):
        compare_likelihood([1, 0], [0.5], [0.5, 0.5], 0.5)


def test_what_rounding_makes_is_no_difference():
    for gain in (-2e-7, 2e-7):
        found = PairedLikelihood(gain, 1e-8, 300)
        assert not found.is_worse and found.say().startswith("as good as the old one")
    assert PairedLikelihood(-2e-3, 1e-8, 300).is_worse
