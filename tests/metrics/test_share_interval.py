import numpy as np
import pytest
from scipy.stats import binom, binomtest

from calirare.metrics.share_interval import mean_interval, wilson_interval


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (3, 3), (7, 20), (150, 151)])
def test_wilson_s_interval_is_scipy_s(hits, trials):
    judge = binomtest(hits, trials).proportion_ci(0.9, method="wilson")
    lower, upper = wilson_interval(np.array([hits / trials]), np.array([trials]), 0.9)
    assert (lower[0], upper[0]) == (pytest.approx(judge.low, abs=1e-12), pytest.approx(judge.high, abs=1e-12))


@pytest.mark.parametrize("count", [3, 10, 40])
def test_a_share_is_held_as_often_as_asked_for(count):
    """The exact chance, summed over all numbers of hits, with the variance that resamples of these have."""
    hits = np.arange(count + 1)
    ends = [mean_interval(v, v * (1 - v) / count, count, 0.95) for v in hits / count]
    held = [
        sum(binom.pmf(k, count, truth) for k, (low, high) in zip(hits, ends, strict=True) if low <= truth <= high)
        for truth in np.linspace(0.02, 0.98, 25)
    ]
    assert np.mean(held) > 0.94 and min(held) > 0.8
    assert all(0 <= low <= v <= high <= 1 for v, (low, high) in zip(hits / count, ends, strict=True))


def test_many_numbers_tell_their_own_spread():
    lower, upper = mean_interval(0.5, 0.0004, 20_000, 0.95)
    assert (lower, upper) == pytest.approx((0.5 - 1.96 * 0.02, 0.5 + 1.96 * 0.02), abs=2e-4)
