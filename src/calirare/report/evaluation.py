"""The nodes that judge a model, and what it says of them before and after calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from calirare.data.arrays import UNKNOWN
from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.estimator.fitting import choose_device
from calirare.influence.model import predict_logits
from calirare.metrics import Estimate, summary

if TYPE_CHECKING:
    from calirare.estimator.classifier import RareCategoryClassifier


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Nodes with a label that did not make the answer for them.

    Args:
        source: `"test"`: labels that nothing has read. `"left_out"`: the labels that trained the model, each judged
            by the model without it.
        y: `(n,)` true classes.
        before: `(n, C)` softmax of the logits.
        after: `(n, C)` calibrated probabilities.
        decided: `(n,)` the cost-sensitive decisions.
    """

    source: str
    y: np.ndarray
    before: np.ndarray
    after: np.ndarray
    decided: np.ndarray

    def summaries(
        self, rare_class: int, *, budget: int | None, coverage: float, num_resamples: int, seed: int
    ) -> dict[str, dict[str, Estimate]]:
        """Every metric, `"before"` alone and `"after"` with bootstrap intervals."""
        return {
            name: summary(
                self.y,
                table,
                rare_class,
                predicted=self.decided,
                budget=budget,
                coverage=coverage,
                num_resamples=draws,
                seed=seed,
            )
            for name, table, draws in (("before", self.before, 0), ("after", self.after, num_resamples))
        }


def evaluation_of(clf: RareCategoryClassifier, graph: RareGraph) -> Evaluation:
    """Test labels where the split has them, of every class; else the left-out predictions of the labelled nodes."""
    test = np.empty(0, dtype=np.int64) if clf.split_ is None else clf.split_.test
    test = test[test < graph.num_nodes]
    test = test[graph.y[test] != UNKNOWN]
    if test.size and len(np.unique(graph.y[test] == graph.rare_class)) == 2:
        logits = predict_logits(clf.model_, GraphInputs(graph, choose_device(clf.device))).double().cpu().numpy()
        return Evaluation(
            "test",
            graph.y[test],
            np.asarray(softmax(logits[test], axis=1)),
            clf.predict_proba(graph)[test],
            clf.predict(graph)[test],
        )
    logits = clf.left_out_.logits
    scores = logits
    if clf.decision_ is not None and not clf.decision_.needs_graph:
        scores = clf.decision_.predict_proba(logits)
    return Evaluation(
        "left_out",
        clf.labelled_y_,
        np.asarray(softmax(logits, axis=1)),
        clf.predict_left_out(),
        np.asarray(scores.argmax(axis=1)),
    )
