"""Evidence for calibration from the jackknife: every label, seen by the model that never had it.

Labels of a rare class are too few to set some aside. The left-out logits are honest predictions for the labelled
nodes, so the model trains on all labels and the calibration map is fitted on the left-out logits of those same labels.
"""

from __future__ import annotations

import numpy as np

from calirare.influence.leave_one_out import LeaveOneOut

_LARGEST_LOGIT = 30.0


def left_out_evidence(engine: LeaveOneOut) -> np.ndarray:
    """Left-out logits `(n, C)` float64, centred, and bounded where a Newton step overshoots.

    A node that alone holds up a direction of the parameters has leverage near one, and its Newton step leaves the
    range in which one step means anything. Its logits are cut at ±30: still as wrong as a prediction can be.
    """
    logits = engine.left_out_logits.cpu().numpy()
    centred = logits - logits.mean(axis=1, keepdims=True)
    return np.asarray(np.clip(centred, -_LARGEST_LOGIT, _LARGEST_LOGIT))
