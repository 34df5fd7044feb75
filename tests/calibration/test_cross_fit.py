"""Out-of-fold logits: each label by a model that was trained without its fold, folds as scikit-learn makes them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from calirare.calibration.cross_fit import out_of_fold_evidence
from calirare.errors import LabelError

NODES = np.arange(100, 130)


@pytest.mark.parametrize(("num_rare", "num_folds", "count"), [(2, 5, 2), (3, 5, 3), (12, 5, 5), (12, 4, 4)])
def test_every_label_is_told_by_the_model_of_its_fold(num_rare, num_folds, count):
    y = (np.arange(30) < num_rare).astype(int)
    seen = []

    def retrain(kept):
        seen.append(kept)
        return np.column_stack([np.arange(200.0), np.full(200, len(seen) - 1)])

    found = out_of_fold_evidence(retrain, NODES, y, num_folds=num_folds, seed=3)
    wanted = StratifiedKFold(count, shuffle=True, random_state=3).split(np.zeros(30), y)
    for number, (kept, left) in enumerate(wanted):
        np.testing.assert_array_equal(seen[number], kept)
        np.testing.assert_array_equal(found[left], np.column_stack([NODES[left], np.full(len(left), number)]))
    assert len(seen) == count


def test_a_class_of_one_label_is_refused():
    with pytest.raises(LabelError) as caught:
        out_of_fold_evidence(lambda kept: np.zeros((200, 2)), NODES, (np.arange(30) < 1).astype(int))
    assert (
        str(caught.value) == "cross_fit needs at least two labels of every class; use method='jackknife' or add labels."
    )
