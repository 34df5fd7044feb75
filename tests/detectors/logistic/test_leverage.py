"""Left-out logits by leverages alone are those of one Newton step, written out, at a common level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from calirare.detectors.logistic.leverage import own_left_out
from calirare.detectors.logistic.optimum import LogisticProblem, Optimum, fit_logistic


def newton_without(
    problem: LogisticProblem, optimum: Optimum, penalty: float, gone: np.ndarray, tie: np.ndarray
) -> np.ndarray:
    """How all logits move by a Newton step without some labels, to where tieᵀθ = 0; no tie: an empty one."""
    kept, size = np.setdiff1d(np.arange(len(problem.y)), gone), len(optimum.theta)
    columns = problem.columns[kept]
    z = columns @ optimum.theta + optimum.intercept
    gradient = columns.T @ (problem.weights[kept] * (expit(z) - problem.y[kept])) + penalty * optimum.theta
    hessian = columns.T @ (columns * problem.curvature(problem.columns @ optimum.theta + optimum.intercept)[kept, None])
    bordered = np.block([[hessian + penalty * np.eye(size), tie], [tie.T, np.zeros((tie.shape[1],) * 2)]])
    step = np.linalg.solve(bordered, np.append(-gradient, -tie.T @ optimum.theta))[:size]
    return np.asarray(problem.columns @ step)


@pytest.mark.parametrize("penalty", [1e-1, 1e-3])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_equals_one_step_written_out(penalty: float, tied: bool, several: bool) -> None:
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((60, 9)) / 3
    columns -= columns.mean(axis=0)
    y = (columns[:, 0] + 0.2 * rng.standard_normal(60) > 0.2).astype(np.float64)
    problem = LogisticProblem(columns, y, np.full(60, 1 / 60))
    groups = np.repeat(np.arange(58), [3] + 57 * [1]) if several else np.arange(60)
    vectors, of = rng.standard_normal((9, 2)), np.array([0, 31])
    found = fit_logistic(problem, penalty)
    z = columns @ found.theta + found.intercept
    optimum, wanted = Optimum(found.theta, found.intercept, problem.gram(z)), z.copy()
    for group in range(groups.max() + 1):
        gone = groups == group
        moves = newton_without(
            problem, optimum, penalty, np.flatnonzero(gone), vectors[:, (of == group) & tied].reshape(9, -1)
        )
        wanted[gone] += moves[gone] - moves[~gone].mean()
    ties = (vectors, of) if tied else None
    np.testing.assert_allclose(own_left_out(problem, optimum, penalty, groups, ties), wanted, atol=1e-4)
