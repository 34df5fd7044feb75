"""How good the probabilities and the decisions are.

Inputs everywhere: `y` `(n,)` true classes and `probabilities` `(n, C)`; for finding rare nodes `y_rare` (1: rare)
and `scores` (P(rare)), or `predicted` classes. The answer is a plain float; `bootstrap_interval` puts an interval
around any of them and `summary` around all. `METRICS` says what each is called and which end is good.
"""

from typing import Any

from calirare.metrics.binning import Bins, equal_count_bins, equal_width_bins, reliability_bins
from calirare.metrics.bootstrap import Estimate, bootstrap_interval, bootstrap_intervals
from calirare.metrics.calibration import (
    adaptive_calibration_error,
    classwise_ace,
    expected_calibration_error,
    macro_true_class_ace,
    true_class_ace,
)
from calirare.metrics.detection import (
    accuracy,
    average_precision,
    macro_f1,
    precision,
    rare_f1,
    recall,
    recall_at_budget,
    roc_auc,
)
from calirare.metrics.individual import expected_individual_calibration_error, individual_calibration_error
from calirare.metrics.registry import METRICS, Metric
from calirare.metrics.scoring import (
    brier_score,
    brier_score_rare,
    negative_log_likelihood,
    negative_log_likelihood_rare,
)
from calirare.metrics.smooth import smooth_ece
from calirare.metrics.summary import Summary, summary

__all__ = [
    "Bins",
    "Estimate",
    "METRICS",
    "Metric",
    "Summary",
    "accuracy",
    "adaptive_calibration_error",
    "average_precision",
    "bootstrap_interval",
    "bootstrap_intervals",
    "brier_score",
    "brier_score_rare",
    "classwise_ace",
    "equal_count_bins",
    "equal_width_bins",
    "expected_calibration_error",
    "expected_individual_calibration_error",
    "individual_calibration_error",
    "macro_f1",
    "macro_true_class_ace",
    "negative_log_likelihood",
    "negative_log_likelihood_rare",
    "precision",
    "rare_f1",
    "recall",
    "recall_at_budget",
    "reliability_bins",
    "roc_auc",
    "smooth_ece",
    "summary",
    "true_class_ace",
]


def __getattr__(name: str) -> Any:
    """A metric that the registry knows and this file does not name."""
    if name in METRICS:
        return METRICS[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
