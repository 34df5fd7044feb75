"""The columns of the result tables: how each is computed, shown and read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare import metrics


@dataclass(frozen=True)
class Measure:
    """One column.

    Args:
        name: Column of the rows.
        title: Head of the column in tables.
        higher_is_better: Which end is good.
        percent: Shown times 100, as the paper does.
        ranks: Whether the best is marked. False for numbers that a worse model can win.
    """

    name: str
    title: str
    higher_is_better: bool
    percent: bool = False
    ranks: bool = True

    @property
    def scale(self) -> float:
        return 100.0 if self.percent else 1.0

    @property
    def decimals(self) -> int:
        return 1 if self.percent else 3


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("recall", "Recall", True, percent=True),
        Measure("macro_f1", "Macro-F1", True, percent=True),
        Measure("ace", "ACE†", False, ranks=False),
        Measure("macro_ace", "Macro-ACE†", False, ranks=False),
        Measure("accuracy", "Accuracy", True, percent=True),
        Measure("negative_log_likelihood", "NLL", False),
        Measure("brier_score", "Brier", False),
        Measure("classwise_ace", "Class-wise ACE", False),
        Measure("expected_calibration_error", "ECE", False),
        Measure("average_precision", "AP", True),
        Measure("roc_auc", "ROC-AUC", True),
        Measure("negative_log_likelihood_rare", "NLL of the rare†", False, ranks=False),
        Measure("precision", "Precision", True, percent=True),
        Measure("rare_f1", "F1 of the rare", True, percent=True),
    )
}
"""Every measure by name, in the order of the tables."""

CONDITIONAL_NOTE = (
    "† conditions on the true label: even perfect probabilities do not score 0, and a worse model can score lower. "
    "Read these columns beside the proper scores (NLL, Brier), never alone; no best is marked in them."
)

SHORT_NOTE = "† conditions on the true label; read it beside the proper scores, never alone."


def measure(y: np.ndarray, probabilities: np.ndarray, predicted: np.ndarray, rare_class: int) -> dict[str, float]:
    """Every measure of one model on one set of nodes.

    Args:
        y: `(n,)` true classes.
        probabilities: `(n, C)`.
        predicted: `(n,)` the decisions.
        rare_class: The class looked for.
    """
    rare, scores = y == rare_class, probabilities[:, rare_class]
    recall, precision = metrics.recall(y, predicted, rare_class), metrics.precision(y, predicted, rare_class)
    return {
        "recall": recall,
        "macro_f1": metrics.macro_f1(y, predicted),
        "ace": metrics.true_class_ace(y, probabilities, rare_class),
        "macro_ace": metrics.macro_true_class_ace(y, probabilities),
        "accuracy": metrics.accuracy(y, predicted),
        "negative_log_likelihood": metrics.negative_log_likelihood(y, probabilities),
        "brier_score": metrics.brier_score(y, probabilities),
        "classwise_ace": metrics.classwise_ace(y, probabilities),
        "expected_calibration_error": metrics.expected_calibration_error(y, probabilities),
        "average_precision": metrics.average_precision(rare, scores),
        "roc_auc": metrics.roc_auc(rare, scores),
        "negative_log_likelihood_rare": metrics.negative_log_likelihood(y, probabilities, of_class=rare_class),
        "precision": precision,
        "rare_f1": 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0 * recall,
    }
