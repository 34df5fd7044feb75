"""What each detector of a stack says of left-out labels on its own, beside its weight in the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.calibration.base import share_weights
from calirare.calibration.scaling import SoftPlattScaling
from calirare.calibration.stack import left_out_probabilities
from calirare.detectors.left_out.folds import fold_numbers
from calirare.detectors.stack import Stack
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.metrics.scoring import label_losses

MEMBERS_TITLE = "Detectors: what was chosen, by what each says of labels that it did not see"
"""Above a table of them."""


@dataclass(frozen=True)
class Member:
    """One detector of a stack.

    Args:
        name: Of the detector.
        weight: In the calibrated logit; None: it was left out.
        loss: Negative log-likelihood of the left-out labels by this detector alone, calibrated, at the class shares of the
            prior; None where it was left out.
        reason: Why it was left out, or empty.
    """

    name: str
    weight: float | None
    loss: float | None
    reason: str = ""


def judge_members(clf: RareCategoryClassifier) -> list[Member]:
    """The members of a stack, the heaviest first, then those that were left out; empty for a single detector.

    Each is judged by a Platt map of its own that has not seen the label either, so that the losses compare with that of
    `clf.predict_left_out()`.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=400, labelled_share=0.5, rare_share=0.2, seed=0)
    >>> clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", cr.detectors.Forest(trees=50)])).fit(graph)
    >>> found = judge_members(clf)
    >>> {one.name: one.weight for one in found} == clf.weights_, all(one.loss < 0.69 for one in found)
    (True, True)
    """
    state = clf.state_
    detector, labels = state.detector, state.labels
    if not isinstance(detector, Stack):
        return []
    logits, fold = detector.left_out_logits(), fold_numbers(labels, int(clf.seed), num_folds=10)
    kept, keep = [], 1.0 if state.calibrator is None else state.calibrator.keep_
    for k, (name, weight) in enumerate(clf.weights_.items()):
        alone = left_out_probabilities(SoftPlattScaling, logits[:, k], labels.y, state.shares, fold)
        alone = state.shares + keep * (alone - state.shares)  # as the whole is drawn to the base rate
        kept.append(Member(name, weight, loss_at_shares(alone, labels.y, state.shares)))
    kept.sort(key=lambda one: -(one.weight or 0.0))
    return kept + [Member(name, None, None, reason) for name, reason in detector.left_out_reasons_.items()]


def loss_at_shares(probabilities: np.ndarray, y: np.ndarray, shares: np.ndarray) -> float:
    """Negative log-likelihood of labels, weighted to these class shares.

    >>> round(loss_at_shares(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1]), np.array([0.9, 0.1])), 3)
    0.693
    """
    return float(share_weights(y, shares) @ label_losses(y, probabilities))
