"""Logistic regressions without some of their labels, fitted again."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from calirare.detectors.logistic.optimum import LogisticProblem


def refit_without(problem: LogisticProblem, intercept: float, penalty: float, rows: np.ndarray) -> np.ndarray:
    """θ without some labels and with the intercept held, by a general minimiser."""
    kept = np.setdiff1d(np.arange(len(problem.y)), rows)
    columns, y, weights = problem.columns[kept], problem.y[kept], problem.weights[kept]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = columns @ theta + intercept
        value = weights @ (np.logaddexp(0, z) - y * z) + penalty / 2 * theta @ theta
        return value, columns.T @ (weights * (expit(z) - y)) + penalty * theta

    start = np.zeros(columns.shape[1])
    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x)
