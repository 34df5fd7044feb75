"""The columns of the leaderboard."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calirare.benchmark.competitors.base import Answer
from calirare.decisions.costs import Costs, decide
from calirare.metrics.detection import recall_at_budget
from calirare.metrics.registry import METRICS, Answers

PRICES = {"cost_cheap": Costs(10, 5, 1), "cost_usual": Costs(), "cost_dear": Costs(500, 5, 2)}
"""Three price lists: a miss, an alarm, a review; the second is the default one."""
REVIEWED = {"recall_1": 0.01, "recall_5": 0.05}
KNOWN = {
    "average_precision": "average_precision",
    "roc_auc": "roc_auc",
    "nll": "negative_log_likelihood",
    "brier": "brier_score",
    "smooth_ece": "smooth_ece",
    "classwise_ace": "classwise_ace",
}
"""The columns that are metrics of the registry, by their key in the rows."""


@dataclass(frozen=True)
class Measure:
    """A column: its key in the rows, its head, which end is good, and how it is shown."""

    name: str
    head: str
    higher_is_better: bool = False
    decimals: int = 3
    scale: float = 1.0
    conditional: bool = False

    def show(self, value: float) -> str:
        """As tables show it; a dash where there is no number.

        >>> MEASURES["average_precision"].show(0.5), MEASURES["nll"].show(float("nan"))
        ('50.0', '–')
        """
        return f"{value * self.scale:.{self.decimals}f}" if math.isfinite(value) else "–"


def _known(name: str, decimals: int = 3, scale: float = 1.0) -> Measure:
    metric = METRICS[KNOWN[name]]
    return Measure(name, metric.short, metric.higher_is_better, decimals, scale)


def _cost(name: str, costs: Costs) -> Measure:
    return Measure(name, f"cost {costs.miss:g}/{costs.alarm:g}/{costs.review:g}", decimals=2)


MEASURES: dict[str, Measure] = {
    one.name: one
    for one in (
        _known("average_precision", 1, 100),
        _known("roc_auc"),
        Measure("recall_1", "found at 1%", True, 1, 100),
        Measure("recall_5", "found at 5%", True, 1, 100),
        _known("nll"),
        _known("brier"),
        _known("smooth_ece"),
        _known("classwise_ace"),
        Measure("truth_error", "distance to truth"),
        *(_cost(name, costs) for name, costs in PRICES.items()),
        Measure("coverage_rare", "coverage, rare", True, 1, 100),
        Measure("coverage_normal", "coverage, normal", True, 1, 100),
        Measure("set_size", "set size"),
        Measure("one_class", "sets of one class", True, 1, 100),
        Measure("seconds", "seconds", decimals=1),
        Measure("memory_mb", "MB", decimals=0),
    )
}
"""The columns by name. A cost is the mean over the test nodes at the cheapest action by P(rare)."""


def measure(answer: Answer, y: np.ndarray, nodes: np.ndarray, truth: np.ndarray | None) -> dict[str, float]:
    """Every number of one answer on the test nodes; `y` `(n,)` is 1 for rare.

    `truth` `(n,)`: P(rare) where a generator knows it.
    """
    found: dict[str, float] = {}
    if answer.probability is not None:
        p = np.clip(np.asarray(answer.probability, dtype=np.float64)[nodes], 0.0, 1.0)
        table = np.column_stack([1 - p, p])
        answers = Answers(y, table, table.argmax(axis=1), rare_class=1)
        found |= {name: METRICS[metric](answers) for name, metric in KNOWN.items()}
        found |= {name: recall_at_budget(y, p, max(1, round(share * y.size))) for name, share in REVIEWED.items()}
        for name, costs in PRICES.items():
            found[name] = float(costs.realised(decide(p, costs).action, y).mean())
        if truth is not None:
            found["truth_error"] = float(np.abs(p - truth).mean())
    if answer.sets is not None:
        sets = np.asarray(answer.sets)[nodes]
        found["coverage_rare"], found["coverage_normal"] = sets[y == 1, 1].mean(), sets[y == 0, 0].mean()
        found["set_size"], found["one_class"] = sets.sum(axis=1).mean(), (sets.sum(axis=1) == 1).mean()
    return {name: float(value) for name, value in found.items()}
