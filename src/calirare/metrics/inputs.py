"""What every metric asks of its input, checked once and refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.data.arrays import as_array, as_doubles, as_indices
from calirare.data.checks import is_whole
from calirare.errors import InputError

SUM_TOLERANCE = 1e-3
"""How far a row of probabilities may sum from one: wide enough for softmax in half precision, too narrow for logits."""


def check_classes(y: Any, name: str = "y") -> np.ndarray:
    """`y` as int64, `(n,)`, non-negative and not empty."""
    classes = as_array(y, name)
    if classes.ndim != 1 or classes.dtype.kind not in "biu":
        raise InputError(
            f"{name} must be a one-dimensional array of integer classes; got {classes.dtype} of shape {classes.shape}."
        )
    if classes.size == 0:
        raise InputError(f"{name} must hold at least one node; got none.")
    classes = classes.astype(np.int64) if classes.dtype == bool else as_indices(classes, name)
    if classes.min() < 0:
        raise InputError(
            f"{name} must hold known classes, 0 or more; got {int(classes.min())}. Drop nodes whose label is unknown first."
        )
    return classes


def check_probabilities(y: Any, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    """`y` as int64 `(n,)` and `probabilities` as float64 `(n, C)`, in [0, 1], rows summing to one."""
    classes = check_classes(y)
    table = as_doubles(probabilities, "probabilities")
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(
            f"probabilities must have one row per node and a column for each of two or more classes; got shape {table.shape}."
        )
    if table.shape[0] != classes.size:
        raise InputError(
            f"y and probabilities must speak of the same nodes; got {classes.size} labels and {table.shape[0]} rows."
        )
    if classes.max() >= table.shape[1]:
        raise InputError(
            f"y must lie in 0…{table.shape[1] - 1}, the columns of probabilities; got {int(classes.max())}."
        )
    table = _in_unit_interval(table, "probabilities")
    worst = float(np.abs(table.sum(axis=1) - 1.0).max())
    if worst > SUM_TOLERANCE:
        raise InputError(
            f"Rows of probabilities must sum to one; the worst is off by {worst:.3g}. Apply softmax to logits first."
        )
    return classes, table


def check_rare_scores(y_rare: Any, scores: Any, *, unit_interval: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """`y_rare` as bool `(n,)` (is the node rare?) and `scores` as float64 `(n,)`; with `unit_interval` in [0, 1]."""
    classes = check_classes(y_rare, "y_rare")
    if classes.max() > 1:
        raise InputError(
            f"y_rare must be 1 for rare nodes and 0 for others; got {int(classes.max())}. Pass y == rare_class."
        )
    values = as_doubles(scores, "scores")
    if values.shape != classes.shape:
        raise InputError(f"scores must hold one number per node, shape {classes.shape}; got {values.shape}.")
    if unit_interval:
        values = _in_unit_interval(values, "scores")
    return classes.astype(bool), values


def check_class(of_class: Any, num_classes: int, name: str = "of_class") -> int:
    """`of_class` as an int that names one of the classes."""
    if not is_whole(of_class) or not 0 <= of_class < num_classes:
        raise InputError(f"{name} must be one of the classes 0…{num_classes - 1}; got {of_class!r}.")
    return int(of_class)


def _in_unit_interval(values: np.ndarray, name: str) -> np.ndarray:
    if values.size and (values.min() < -SUM_TOLERANCE or values.max() > 1 + SUM_TOLERANCE):
        raise InputError(
            f"{name} must lie in [0, 1]; got {values.min():.3g} to {values.max():.3g}. Apply softmax to logits first."
        )
    return np.clip(values, 0.0, 1.0)
