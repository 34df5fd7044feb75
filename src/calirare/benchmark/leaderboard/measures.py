"""The columns of the leaderboard."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calirare.benchmark.competitors.base import Answer
from calirare.decisions.costs import Costs, decide
from calirare.metrics.calibration import classwise_ace
from calirare.metrics.detection import average_precision, recall_at_budget, roc_auc
from calirare.metrics.scoring import brier_score, negative_log_likelihood
from calirare.metrics.smooth import smooth_ece

PRICES = {"cost_cheap": Costs(10, 5, 1), "cost_usual": Costs(50, 5, 1), "cost_dear": Costs(500, 5, 2)}
"""Three price lists: a miss, an alarm, a review."""
REVIEWED = {"recall_1": 0.01, "recall_5": 0.05}


@dataclass(frozen=True)
class Measure:
    """A column: its key in the rows, its head, which end is good, and how it is shown."""

    name: str
    head: str
    higher: bool = False
    decimals: int = 3
    scale: float = 1.0

    def show(self, value: float) -> str:
        """As tables show it; a dash where there is no number.

        >>> MEASURES["average_precision"].show(0.5), MEASURES["nll"].show(float("nan"))
        ('50.0', '–')
        """
        return f"{value * self.scale:.{self.decimals}f}" if math.isfinite(value) else "–"


MEASURES: dict[str, Measure] = {
    one.name: one
    for one in (
        Measure("average_precision", "AP", True, 1, 100),
        Measure("roc_auc", "ROC-AUC", True),
        Measure("recall_1", "found at 1%", True, 1, 100),
        Measure("recall_5", "found at 5%", True, 1, 100),
        Measure("nll", "NLL"),
        Measure("brier", "Brier"),
        Measure("smooth_ece", "smooth ECE"),
        Measure("classwise_ace", "class-wise ACE"),
        Measure("truth_error", "distance to truth"),
        Measure("cost_cheap", "cost 10/5/1", decimals=2),
        Measure("cost_usual", "cost 50/5/1", decimals=2),
        Measure("cost_dear", "cost 500/5/2", decimals=2),
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
        found["average_precision"], found["roc_auc"] = average_precision(y, p), roc_auc(y, p)
        found |= {name: recall_at_budget(y, p, max(1, round(share * y.size))) for name, share in REVIEWED.items()}
        found["nll"], found["brier"] = negative_log_likelihood(y, table), brier_score(y, table)
        found["smooth_ece"], found["classwise_ace"] = smooth_ece(y, p), classwise_ace(y, table)
        for name, costs in PRICES.items():
            found[name] = float(costs.realised(decide(p, costs).action, y).mean())
        if truth is not None:
            found["truth_error"] = float(np.abs(p - truth).mean())
    if answer.sets is not None:
        sets = np.asarray(answer.sets)[nodes]
        found["coverage_rare"], found["coverage_normal"] = sets[y == 1, 1].mean(), sets[y == 0, 0].mean()
        found["set_size"], found["one_class"] = sets.sum(axis=1).mean(), (sets.sum(axis=1) == 1).mean()
    return {name: float(value) for name, value in found.items()}
