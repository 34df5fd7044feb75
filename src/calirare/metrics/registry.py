"""Every metric of labels: what it is called, which end is good, what it reads.

This is the only list. The summary, the report, the desk, the demo, the benchmark's tables and the contract test read
it; a new metric is a function in one of the files beside this one and an entry here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from calirare.metrics import calibration, detection, scoring, smooth

Reads = Literal["y", "y_rare", "probabilities", "scores", "predicted", "rare_class", "budget"]
"""What a metric may ask for: the fields of `Answers`."""

Family = Literal["finding", "trust"]
"""How well rare nodes are found, or how far probabilities can be trusted."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model said of nodes whose labels are known.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`.
        predicted: `(n,)` the decisions.
        rare_class: The class looked for.
        budget: How many nodes a person can look at, or None.
    """

    y: np.ndarray
    probabilities: np.ndarray
    predicted: np.ndarray
    rare_class: int
    budget: int | None = None

    @property
    def y_rare(self) -> np.ndarray:
        """`(n,)` whether each node is rare."""
        return self.y == self.rare_class

    @property
    def scores(self) -> np.ndarray:
        """`(n,)` P(rare)."""
        return self.probabilities[:, self.rare_class]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Args:
        function: Computes it from what it reads, in that order. Its name is the metric's key everywhere: in `summary`,
            in files of results, in `--at-least`.
        title: What a page calls it.
        short: What the head of a column calls it.
        reads: Its arguments, as fields of `Answers`.
        family: `"finding"`, where higher is better, or `"trust"`, where lower is.
        percent: Tables show it times 100, as the paper does.
        conditional: It looks at nodes picked by their true class. Raising every P(rare) improves it, right or wrong:
            no best is marked, and nothing is ranked by it.
        headline: One of the few that stand where there is room for few.
        unbounded: May exceed 1, so that its interval is not cut there.
        over: Of a family where higher is better: the nodes over which it is a mean, or nearly so.
    """

    function: Callable[..., float] = field(repr=False)
    title: str
    short: str
    reads: tuple[Reads, ...]
    family: Family
    percent: bool = False
    conditional: bool = False
    headline: bool = False
    unbounded: bool = False
    over: Literal["rare", "called", "all"] = "rare"

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def sentence(self) -> str:
        """What it says, for a reader who meets it for the first time: the first line of the function's docstring."""
        return (inspect.getdoc(self.function) or self.title).split("\n")[0].replace("`", "").replace("*", "")

    @property
    def higher_is_better(self) -> bool:
        return self.family == "finding"

    def __call__(self, answers: Answers) -> float:
        """Its value.

        >>> y, p = np.array([1, 0]), np.array([[0.1, 0.9], [0.8, 0.2]])
        >>> METRICS["roc_auc"](Answers(y, p, p.argmax(axis=1), rare_class=1))
        1.0
        """
        return self.function(*(getattr(answers, name) for name in self.reads))

    @property
    def head(self) -> str:
        """The head of a column, with a dagger where the metric conditions on the true class."""
        return f"{self.short}†" if self.conditional else self.short

    @property
    def better(self) -> str:
        """`"higher is better"` or `"lower is better"`."""
        return "higher is better" if self.higher_is_better else "lower is better"

    @property
    def scale(self) -> float:
        """What tables multiply it by."""
        return 100.0 if self.percent else 1.0

    @property
    def decimals(self) -> int:
        """How many digits tables show."""
        return 1 if self.percent else 3

    def improves(self, new: float, old: float) -> bool:
        """Whether `new` is better than `old`.

        >>> METRICS["brier_score"].improves(0.1, 0.2), METRICS["recall"].improves(0.1, 0.2)
        (True, False)
        """
        return new > old if self.higher_is_better else new < old

    def show(self, value: float) -> str:
        """The value as tables show it.

        >>> METRICS["recall"].show(0.5), METRICS["brier_score"].show(0.12345)
        ('50.0', '0.123')
        """
        return f"{value * self.scale:.{self.decimals}f}" if math.isfinite(value) else "–"


CHANCES: tuple[Reads, ...] = ("y", "probabilities")
RANKING: tuple[Reads, ...] = ("y_rare", "scores")
DECISIONS: tuple[Reads, ...] = ("y", "predicted")

_ENTRIES = (
    Metric(detection.average_precision, "Average precision", "AP", RANKING, "finding", headline=True),
    Metric(detection.roc_auc, "ROC-AUC", "ROC-AUC", RANKING, "finding"),
    Metric(
        detection.recall,
        "Recall of the rare class (likeliest class called)",
        "Recall",
        (*DECISIONS, "rare_class"),
        "finding",
        percent=True,
    ),
    Metric(
        detection.precision,
        "Precision of the rare class (likeliest class called)",
        "Precision",
        (*DECISIONS, "rare_class"),
        "finding",
        percent=True,
        over="called",
    ),
    Metric(
        detection.rare_f1,
        "F1 of the rare class (likeliest class called)",
        "F1 of the rare",
        (*DECISIONS, "rare_class"),
        "finding",
        percent=True,
    ),
    Metric(detection.macro_f1, "Macro-F1", "Macro-F1", DECISIONS, "finding", percent=True),
    Metric(detection.accuracy, "Accuracy", "Accuracy", DECISIONS, "finding", percent=True, over="all"),
    Metric(
        detection.recall_at_budget,
        "Recall within the budget",
        "Recall in budget",
        (*RANKING, "budget"),
        "finding",
        percent=True,
    ),
    Metric(
        scoring.negative_log_likelihood,
        "Negative log-likelihood",
        "NLL",
        CHANCES,
        "trust",
        headline=True,
        unbounded=True,
    ),
    Metric(scoring.brier_score, "Brier score", "Brier", CHANCES, "trust", headline=True),
    Metric(smooth.smooth_ece, "Smooth calibration error of P(rare)", "Smooth ECE", RANKING, "trust", headline=True),
    Metric(calibration.expected_calibration_error, "Expected calibration error (ECE)", "ECE", CHANCES, "trust"),
    Metric(
        calibration.adaptive_calibration_error, "Adaptive calibration error (ACE)", "Adaptive ECE", CHANCES, "trust"
    ),
    Metric(calibration.classwise_ace, "Class-wise ACE", "Class-wise ACE", CHANCES, "trust"),
    Metric(
        scoring.negative_log_likelihood_rare,
        "Negative log-likelihood, rare nodes",
        "NLL of the rare",
        (*CHANCES, "rare_class"),
        "trust",
        conditional=True,
        unbounded=True,
    ),
    Metric(
        scoring.brier_score_rare,
        "Brier score, rare nodes",
        "Brier of the rare",
        (*CHANCES, "rare_class"),
        "trust",
        conditional=True,
    ),
    Metric(
        calibration.true_class_ace,
        "ACE among truly rare nodes (the paper's table)",
        "ACE",
        (*CHANCES, "rare_class"),
        "trust",
        conditional=True,
    ),
    Metric(
        calibration.macro_true_class_ace,
        "Macro-ACE by true class (the paper's table)",
        "Macro-ACE",
        CHANCES,
        "trust",
        conditional=True,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ENTRIES}
"""Every metric by name, in the order in which pages show them."""

CONDITIONAL_NOTE = (
    "† looks at nodes picked by their true class: even perfect probabilities do not score 0, and raising every P(rare) "
    "improves it, right or wrong. Read it beside the proper scores, never alone; no best is marked."
)


def of_family(family: Family) -> list[Metric]:
    """The metrics of one family, in order.

    >>> [metric.name for metric in of_family("finding")][:2]
    ['average_precision', 'roc_auc']
    """
    return [metric for metric in METRICS.values() if metric.family == family]


def headlines() -> list[str]:
    """The names of the few to show where there is room for few."""
    return [name for name, metric in METRICS.items() if metric.headline]
