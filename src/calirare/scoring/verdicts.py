"""What is written of each node: its probability, the interval, how far detectors disagree, class and set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from calirare.calibration.stack import members_apart
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.uncertainty.calibration_maps import Bounds
from calirare.uncertainty.conformal import conformal_sets, name_sets


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a fitted model needs to speak of nodes whose logits are known.

    Args:
        calibrator: Fitted, or None; one that does not look at the graph, where logits are to be calibrated here.
        class_names: One per class.
        rare_class: The one looked for.
        thresholds: Of the conformal sets.
        bounds: Of the intervals; None: without them.
        coverage: Of both.
        rare_share: That the probabilities are at, where it is another than at the fit; else None.
    """

    calibrator: Any
    class_names: tuple[str, ...]
    rare_class: int
    thresholds: np.ndarray
    bounds: Bounds | None
    coverage: float
    rare_share: float | None = None

    @classmethod
    def of(cls, classifier: RareCategoryClassifier, *, coverage: float = 0.9, intervals: bool = True) -> Verdicts:
        """From a fitted classifier."""
        return cls(
            calibrator=classifier.calibrator_,
            class_names=tuple(classifier.class_names_),
            rare_class=classifier.rare_class_,
            thresholds=classifier.set_thresholds(coverage),
            bounds=classifier.calibration_draws().bounds(coverage) if intervals else None,
            coverage=coverage,
            rare_share=classifier.moved_share,
        )

    def said(self, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities `(n, C)` and disagreement `(n,)` from logits, of a stack from those of its members."""
        disagreement = members_apart(self.calibrator, logits, self.rare_class)
        if self.calibrator is None:
            return np.asarray(softmax(logits, axis=1)), disagreement
        return np.asarray(self.calibrator.predict_proba(logits)), disagreement

    def table(
        self, ids: np.ndarray, probabilities: np.ndarray, disagreement: np.ndarray, degree: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The columns of `score_table`.

        Args:
            ids: `(n,)` of the nodes.
            probabilities: `(n, C)` calibrated.
            disagreement: `(n,)` of the detectors.
            degree: `(n,)` how many neighbours each has.
        """
        names = np.array(self.class_names, dtype=object)
        columns = {"id": ids, "probability": probabilities[:, self.rare_class]}
        if self.bounds is not None:
            interval = self.bounds.of(columns["probability"], degree)
            columns |= {"lower": interval.lower, "upper": interval.upper}
        sets = name_sets(conformal_sets(probabilities, self.thresholds), names)
        columns |= {"disagreement": disagreement, "prediction": names[probabilities.argmax(axis=1)], "set": sets}
        return columns if self.rare_share is None else columns | {"rare_share": np.full(len(sets), self.rare_share)}
