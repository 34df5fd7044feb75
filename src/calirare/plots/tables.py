"""Tables of runs as NumPy columns, and means over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from calirare.data.checks import check_coverage
from calirare.errors import ColumnError, InputError, nearest
from calirare.metrics.registry import METRICS

Frame = dict[str, np.ndarray]
"""Columns of equal length, by name."""

Rows = Mapping[str, Sequence[Any] | np.ndarray] | Iterable[Mapping[str, Any]]
"""A table as columns, or as one dict for each row."""


def columns(rows: Rows, names: Sequence[str]) -> Frame:
    """The named columns of a table given as columns or as rows.

    >>> columns([{"a": 1, "b": 2}, {"a": 3, "b": 4}], ["b"])
    {'b': array([2, 4])}
    """
    if isinstance(rows, Mapping):
        table: Mapping[str, Any] = rows
    else:
        listed = list(rows)
        shared = set(listed[0]).intersection(*listed[1:]) if listed else set()
        table = {name: [row[name] for row in listed] for name in shared}
    for name in names:
        if name not in table:
            raise ColumnError(f"The table must have a column {name!r}; {nearest(name, sorted(table))}")
    frame = {name: np.asarray(table[name]) for name in names}
    if len({column.shape for column in frame.values()}) != 1 or not frame[names[0]].size:
        sizes = {name: column.shape for name, column in frame.items()}
        raise InputError(f"The table must have one value in each column for each of one or more rows; got {sizes}.")
    return frame


def name_metric(name: str) -> str:
    """What to call the column of a metric.

    >>> name_metric("brier_score"), name_metric("my_own_score")
    ('Brier', 'my_own_score')
    """
    return METRICS[name].short if name in METRICS else name


def mean_over_runs(runs: Rows, keys: Sequence[str], value: str, coverage: float) -> Frame:
    """Mean of `value` for each combination of `keys`, in sorted order, with Student's t interval of the mean.

    Columns: the keys, `mean`, `lower`, `upper`, `num_runs`. A single run has no interval: NaN.

    >>> runs = {"k": np.array([1, 1, 2]), "v": np.array([0.0, 2.0, 5.0])}
    >>> means = mean_over_runs(runs, ["k"], "v", 0.95)
    >>> means["mean"], means["num_runs"]
    (array([1., 5.]), array([2, 1]))
    """
    check_coverage(coverage)
    frame = columns(runs, [*keys, value])
    codes = [np.unique(frame[key], return_inverse=True) for key in keys]
    groups, inverse = np.unique(np.column_stack([code[1] for code in codes]), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    values = frame[value].astype(np.float64)
    count = np.bincount(inverse)
    mean = np.bincount(inverse, values) / count
    deviation = np.bincount(inverse, (values - mean[inverse]) ** 2)
    half = np.full(count.size, np.nan)
    many = count > 1
    spread = np.sqrt(deviation[many] / (count[many] - 1) / count[many])
    half[many] = student_t.ppf((1 + coverage) / 2, count[many] - 1) * spread
    result = {key: code[0][groups[:, i]] for i, (key, code) in enumerate(zip(keys, codes, strict=True))}
    return result | {"mean": mean, "lower": mean - half, "upper": mean + half, "num_runs": count}
