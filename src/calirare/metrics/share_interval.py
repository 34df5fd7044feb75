"""Intervals of shares, and of metrics that are means of shares, which stay sensible with few nodes and near 0 and 1.

Recall, average precision and ROC-AUC are means over the m rare nodes of a number between 0 and 1 (found or not, the precision
at its rank, the share of others below it). The basic bootstrap interval of such a metric is too short where m is small: with all
rare nodes ranked first every resample says 1, and a weak order's lower end falls to 0. A mean v of m such numbers has at
most the variance v (1 − v) / m. Few nodes cannot tell their own spread, so the variance that counts is the bootstrap's and this
bound, weighed as m nodes against four, and the interval is Wilson's for as many trials as would have that variance.
`benchmarks/metric_intervals.py` prints how often it holds the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from calirare.data.checks import check_coverage

_BOUND_WEIGHS = 4
"""As much as so many nodes the largest possible variance weighs."""


def wilson_interval(share: Any, count: Any, coverage: float) -> tuple[Any, Any]:
    """Wilson's interval of a share seen in `count` trials; NaN where there is none.

    SciPy's `binomtest(…).proportion_ci` takes one share at a time and whole numbers of hits. The tests compare the two.

    >>> lower, upper = wilson_interval(np.array([1.0]), np.array([3]), 0.95)
    >>> lower.round(3), upper.round(3)
    (array([0.439]), array([1.]))
    """
    check_coverage(coverage)
    z = float(norm.ppf((1 + coverage) / 2))
    trials = np.where(np.asarray(count) > 0, count, np.nan)
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return centre - half, centre + half


def mean_interval(value: float, variance: float, count: int, coverage: float) -> tuple[float, float]:
    """The interval of a mean of `count` numbers between 0 and 1 of which resamples have this variance.

    Where the numbers are 0 or 1 their variance is the bound, and this is Wilson's interval:

    >>> bool(np.allclose(mean_interval(0.75, 0.75 * 0.25 / 40, 40, 0.95), wilson_interval(0.75, 40, 0.95)))
    True
    """
    if not count:
        return np.nan, np.nan
    bound = value * (1 - value) / count
    seen = variance / bound if bound > 0 else 1.0  # at 0 and 1 no resample can tell
    trials = count * (count + _BOUND_WEIGHS) / (count * seen + _BOUND_WEIGHS)
    lower, upper = wilson_interval(value, trials, coverage)
    return max(0.0, min(float(lower), value)), min(1.0, max(float(upper), value))  # but for rounding they are
