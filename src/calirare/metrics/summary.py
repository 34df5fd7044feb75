"""Every metric of one model on one set of nodes, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.data.checks import check_count
from calirare.errors import InputError, nearest
from calirare.metrics.bootstrap import Estimate, bootstrap_intervals
from calirare.metrics.inputs import check_class, check_classes, check_probabilities
from calirare.metrics.registry import METRICS, Answers, Metric


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Mapping[str, Estimate]):
    """Estimates by the name of their metric, in the order of the registry.

    Args:
        estimates: Value and interval of each metric.
        num_nodes: How many nodes judged.
        num_rare: How many of them are rare.
        coverage: Of the intervals.
    """

    estimates: dict[str, Estimate]
    num_nodes: int
    num_rare: int
    coverage: float

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.estimates:
            raise KeyError(f"no metric {name!r} here; {nearest(name, self.estimates)}")
        return self.estimates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        rows = [f"{METRICS[name].title}: {say(estimate)}" for name, estimate in self.items()]
        return "\n".join([f"{self.num_nodes:,} nodes, {self.num_rare:,} of them rare", *rows])

    def frame(self) -> dict[str, np.ndarray]:
        """As columns: `metric`, `title`, `value`, `lower`, `upper`, `better` ("higher is better" or "lower …")."""
        found = list(self.estimates.values())
        return {
            "metric": np.array(list(self)),
            "title": np.array([METRICS[name].title for name in self]),
            "value": np.array([one.value for one in found]),
            "lower": np.array([one.lower for one in found]),
            "upper": np.array([one.upper for one in found]),
            "better": np.array([METRICS[name].better for name in self]),
        }

    def to_json(self) -> dict[str, Any]:
        """As plain numbers and texts."""
        return {
            "nodes": self.num_nodes,
            "rare": self.num_rare,
            "coverage": self.coverage,
            "metrics": {
                name: {"value": one.value, "lower": one.lower, "upper": one.upper} for name, one in self.items()
            },
        }


def say(estimate: Estimate, digits: int = 3, interval: bool = True) -> str:
    """An estimate in words.

    >>> say(Estimate(0.912, 0.88, 0.94)), say(Estimate(0.5, float("nan"), float("nan"))), say(Estimate(float("nan"), 0, 0))
    ('0.912 (0.880 to 0.940)', '0.500', '–')
    """
    if not np.isfinite(estimate.value):
        return "–"
    text = f"{estimate.value:,.{digits}f}"
    if interval and np.isfinite(estimate.lower):
        text += f" ({estimate.lower:,.{digits}f} to {estimate.upper:,.{digits}f})"
    return text


def summary(
    y: Any,
    probabilities: Any,
    rare_class: int,
    *,
    predicted: Any = None,
    budget: int | None = None,
    coverage: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
    stratified: bool = False,
    only: Iterable[str] | None = None,
) -> Summary:
    """Every metric by name, with bootstrap intervals from the same resamples.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`, rows summing to one.
        rare_class: The class looked for.
        predicted: `(n,)` the decisions; default: the most probable class.
        budget: With it, `recall_at_budget` is among the metrics. In a resample it counts the same number of nodes.
        coverage: Of the intervals.
        num_resamples: 0 gives the values alone, with NaN bounds.
        seed: Of the resamples.
        stratified: See `bootstrap_interval`.
        only: Names of metrics, where not all are wanted.

    Note:
        Metrics whose `conditional` is true look at nodes picked by their true class: even perfect probabilities do not
        score 0. Never rank by them alone.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> found = summary([0, 0, 1, 1], p, rare_class=1, num_resamples=20)
    >>> found["recall"].value, found["average_precision"].value
    (0.5, 1.0)
    """
    y, probabilities = check_probabilities(y, probabilities)
    rare_class = check_class(rare_class, probabilities.shape[1], "rare_class")
    decisions = probabilities.argmax(axis=1) if predicted is None else check_classes(predicted, "predicted")
    if decisions.shape != y.shape:
        raise InputError(f"predicted must hold one class per node, shape {y.shape}; got {decisions.shape}.")
    size = None if budget is None else check_count(budget, "budget", least=0)
    wanted = [METRICS[name] for name in (METRICS if only is None else _known(only))]
    wanted = [metric for metric in wanted if size is not None or "budget" not in metric.reads]

    def computes(metric: Metric) -> Callable[..., float]:
        return lambda y, p, d: metric(Answers(y, p, d, rare_class, size))

    num_rare, num_called = int((y == rare_class).sum()), int((decisions == rare_class).sum())
    counts = {"rare": num_rare, "called": num_called, "all": int(y.size)}
    found = bootstrap_intervals(
        {metric.name: computes(metric) for metric in wanted},
        y,
        probabilities,
        decisions,
        coverage=coverage,
        num_resamples=num_resamples,
        seed=seed,
        stratified=stratified,
        bounds={metric.name: (0.0, np.inf) for metric in wanted if metric.unbounded},
        counts={metric.name: counts[metric.over] for metric in wanted if metric.family == "finding"},
    )
    return Summary(found, int(y.size), num_rare, coverage)


def _known(names: Iterable[str]) -> list[str]:
    asked = list(names)
    for name in asked:
        if name not in METRICS:
            raise InputError(f"there is no metric {name!r}: {nearest(name, METRICS)}")
    return asked
