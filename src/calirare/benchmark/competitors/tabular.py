"""A model of scikit-learn's kind as several competitors: three sets of columns, raw or calibrated in five folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.benchmark.competitors.columns import COLUMNS

CALIBRATIONS = ("raw", "sigmoid", "isotonic")
Make = Callable[[int], Any]
"""From a seed to an unfitted classifier."""


def tabular(
    name: str,
    make: Make,
    source: str,
    *,
    calibrations: tuple[str, ...] = CALIBRATIONS,
    core: tuple[str, ...] = (),
    slow: tuple[str, ...] = (),
    spelled: bool = False,
) -> tuple[Competitor, ...]:
    """One model on three sets of columns; calibrated ones share the five models of `CalibratedClassifierCV`.

    Args:
        name: Of the model.
        make: Makes it.
        source: Where it is described.
        calibrations: Some of `CALIBRATIONS`.
        core: Which take part in every protocol, as "columns, calibration".
        slow: On which columns it is slow; see `Competitor`.
        spelled: Whether it reads words as they are; see `columns.attributes`.
    """
    return tuple(
        Competitor(
            f"{name}, {columns}, {calibration}",
            "tables",
            lambda problem, columns=columns, calibration=calibration: Answer(  # type: ignore[misc]
                problem.to_population(_fit(problem, name, make, columns, calibration, spelled))
            ),
            group=f"{name}, {columns}",
            core=f"{columns}, {calibration}" in core,
            slow=columns in slow,
            source=source,
            reads="all labels" if calibration == "raw" else "all labels, in five folds",
        )
        for columns in COLUMNS
        for calibration in calibrations
    )


def _fit(problem: Problem, name: str, make: Make, columns: str, calibration: str, spelled: bool) -> np.ndarray:
    x, y = COLUMNS[columns](problem, spelled), problem.y
    if calibration == "raw":
        return _rare(make(problem.seed).fit(x[problem.nodes], y), x)
    said = problem.once(
        (name, columns, "folds"), lambda: _by_fold(make(problem.seed), x, problem.nodes, y, problem.seed)
    )
    found = [
        _MAPS[calibration](everywhere[problem.nodes[inside]], y[inside], everywhere) for everywhere, inside in said
    ]
    return np.asarray(np.mean(found, axis=0))


def sigmoid(said: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Platt's map of `new`, fitted on a fold: σ(a s + b) with his targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2)."""
    rare = int(y.sum())
    target = np.where(y == 1, (rare + 1) / (rare + 2), 1 / (len(y) - rare + 2))
    scale = max(1.0, float(np.abs(said).max()))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        u = theta[0] * said / scale + theta[1]
        error = expit(u) - target
        return float((np.logaddexp(0, u) - target * u).sum()), np.array([error @ said / scale, error.sum()])

    start = np.array([0.0, np.log((rare + 1) / (len(y) - rare + 1))])
    slope, shift = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return expit(slope * new / scale + shift)


def isotonic(said: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The monotone step function of a fold, applied to `new`."""
    return IsotonicRegression(out_of_bounds="clip").fit(said, y).predict(new)


_MAPS = {"sigmoid": sigmoid, "isotonic": isotonic}


def _by_fold(
    model: Any, x: np.ndarray, nodes: np.ndarray, y: np.ndarray, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What a model fitted without a fold says of every node, and which labels the fold holds."""
    count = max(2, min(5, int(np.bincount(y, minlength=2).min())))
    folds = StratifiedKFold(count, shuffle=True, random_state=seed).split(nodes, y)
    return [(_rare(clone(model).fit(x[nodes[kept]], y[kept]), x), inside) for kept, inside in folds]


def _rare(model: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_proba(x)[:, list(model.classes_).index(1)], dtype=np.float64)
