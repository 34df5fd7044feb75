"""A model of scikit-learn's kind as several competitors: three sets of columns, raw or calibrated in five folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from calirare.benchmark.competitors.base import Answer, Competitor, Problem
from calirare.benchmark.competitors.columns import COLUMNS

CALIBRATIONS = ("raw", "sigmoid", "isotonic")
Make = Callable[[int], Any]
"""From a seed to an unfitted classifier."""


def tabular(
    name: str, make: Make, source: str, *, calibrations: tuple[str, ...] = CALIBRATIONS, core: tuple[str, ...] = ()
) -> tuple[Competitor, ...]:
    """One model on three sets of columns; calibrated ones share fold models, as `CalibratedClassifierCV` fits them.

    Args:
        name: Of the model.
        make: Makes it.
        source: Where it is described.
        calibrations: Some of `CALIBRATIONS`.
        core: Which take part in every protocol, as "columns, calibration".
    """
    return tuple(
        Competitor(
            f"{name}, {columns}, {calibration}",
            "tables",
            lambda problem, columns=columns, calibration=calibration: Answer(  # type: ignore[misc]
                problem.to_population(_fit(problem, name, make, columns, calibration))
            ),
            group=f"{name}, {columns}",
            core=f"{columns}, {calibration}" in core,
            source=source,
            reads="all labels" if calibration == "raw" else "all labels, in five folds",
        )
        for columns in COLUMNS
        for calibration in calibrations
    )


def _fit(problem: Problem, name: str, make: Make, columns: str, calibration: str) -> np.ndarray:
    x, y = COLUMNS[columns](problem), problem.y
    rows = x[problem.nodes]
    if calibration == "raw":
        return _rare(make(problem.seed).fit(rows, y), x)
    folds = problem.once((name, columns, "folds"), lambda: _fold_models(make(problem.seed), rows, y, problem.seed))
    calibrated = (
        CalibratedClassifierCV(FrozenEstimator(model), method=calibration).fit(rows[inside], y[inside])
        for model, inside in folds
    )
    return np.asarray(np.mean([_rare(model, x) for model in calibrated], axis=0))


def _fold_models(model: Any, rows: np.ndarray, y: np.ndarray, seed: int) -> list[tuple[Any, np.ndarray]]:
    count = max(2, min(5, int(np.bincount(y, minlength=2).min())))
    folds = StratifiedKFold(count, shuffle=True, random_state=seed)
    return [(clone(model).fit(rows[kept], y[kept]), inside) for kept, inside in folds.split(rows, y)]


def _rare(model: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_proba(x)[:, list(model.classes_).index(1)], dtype=np.float64)
