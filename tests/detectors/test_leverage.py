"""Left-out logits by leverages alone are those of the directions, one step, at a common level."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.detectors.leverage import own_left_out
from calirare.detectors.logistic import Optimum, Problem, WithoutGroups, fit_logistic


@pytest.mark.parametrize("penalty", [1e-1, 1e-3])
@pytest.mark.parametrize("tied", [False, True])
def test_equals_one_step_of_the_directions(penalty: float, tied: bool) -> None:
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((60, 9)) / 3
    columns -= columns.mean(axis=0)
    problem = Problem(
        columns, (columns[:, 0] + 0.2 * rng.standard_normal(60) > 0.2).astype(np.float64), np.full(60, 1 / 60)
    )
    ties = (rng.standard_normal((9, 2)), np.array([4, 31])) if tied else None
    found = fit_logistic(problem, penalty)
    gram = problem.gram(columns @ found.theta + found.intercept)
    optimum = Optimum(found.theta, found.intercept, gram)
    without = WithoutGroups(problem, optimum, penalty, np.arange(60), ties)
    directions = without.directions(refine=False)
    wanted = without.left_out(directions) - without.level_changes(directions)
    np.testing.assert_allclose(own_left_out(problem, optimum, penalty, ties), wanted, atol=2e-3)
