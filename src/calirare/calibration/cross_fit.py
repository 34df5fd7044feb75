"""Evidence for calibration from cross-fitting: the alternative that retrains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import StratifiedKFold

from calirare.errors import LabelError

Retrain = Callable[[np.ndarray, int], np.ndarray]
"""From the rows to train on and a fold number to the logits `(N, C)` of the model retrained on them."""


def out_of_fold_evidence(
    retrain: Retrain, nodes: np.ndarray, y: np.ndarray, *, num_folds: int = 5, seed: int = 0
) -> np.ndarray:
    """Logits `(n, C)` of each labelled node by a model retrained without its fold."""
    smallest = int(np.bincount(y)[np.bincount(y) > 0].min())
    folds = min(num_folds, smallest)
    if folds < 2:
        raise LabelError("cross_fit needs at least two labels of every class; use method='jackknife' or add labels.")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    result: np.ndarray | None = None
    for fold, (kept, left) in enumerate(splitter.split(np.zeros(len(y)), y)):
        logits = retrain(kept, fold)
        if result is None:
            result = np.empty((len(y), logits.shape[1]))
        result[left] = logits[nodes[left]]
    return np.asarray(result)
