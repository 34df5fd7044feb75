"""Evidence for calibration from cross-fitting: the alternative that retrains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from calirare.errors import LabelError

Retrain = Callable[[np.ndarray], np.ndarray]
"""From the rows to train on to the logits `(N, C)` of the model retrained on them."""


def out_of_fold_evidence(
    retrain: Retrain, nodes: np.ndarray, y: np.ndarray, *, num_folds: int = 5, seed: int = 0
) -> np.ndarray:
    """Logits `(n, C)` of each labelled node by a model retrained without its fold.

    Folds run one after the other, or wherever `joblib.parallel_config` sends them: processes, or a Ray cluster. The
    logits are the same.
    """
    smallest = int(np.bincount(y)[np.bincount(y) > 0].min())
    count = min(num_folds, smallest)
    if count < 2:
        raise LabelError("cross_fit needs at least two labels of every class; use method='jackknife' or add labels.")
    folds = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    parts = Parallel()(delayed(_logits_without)(retrain, kept, nodes[left]) for kept, left in folds)
    result = np.empty((len(y), parts[0].shape[1]))
    for (_, left), logits in zip(folds, parts, strict=True):
        result[left] = logits
    return result


def _logits_without(retrain: Retrain, kept: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Logits of the nodes that a fold leaves out; only these travel back."""
    return retrain(kept)[nodes]
