"""Thresholds between normal scores and between values part the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import norm, rankdata

from calirare.detectors.trees.arrays import LEAF
from calirare.detectors.trees.normal_scores import NormalScores

FINITE = st.floats(-(2.0**127), 2.0**127, width=32)


def test_scores_are_those_of_scipys_ranks() -> None:
    rows = np.random.default_rng(0).integers(0, 6, (40, 3)).astype(np.float32) ** 5
    expected = norm.ppf((rankdata(rows, axis=0) - 0.5) / 40)
    assert NormalScores(rows).scores == pytest.approx(expected, abs=1e-6)


@given(st.data())
def test_the_same_rows_lie_on_either_side(data: st.DataObject) -> None:
    rows = data.draw(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12), elements=FINITE))
    table = NormalScores(rows)
    least, most = table.scores.min(axis=0).astype(float), table.scores.max(axis=0).astype(float)
    varied = np.flatnonzero(least < most)
    columns = np.append(data.draw(arrays(np.int64, 5, elements=st.sampled_from([LEAF, *varied.tolist()]))), LEAF)
    share = data.draw(arrays(np.float64, 6, elements=st.floats(0, 1, exclude_max=True)))
    drawn = np.where(columns == LEAF, share, least[columns] + share * (most - least)[columns])
    drawn = np.where((columns != LEAF) & (drawn >= most[columns]), least[columns], drawn)  # as scikit-learn does
    found = table.values_at(columns, drawn)
    for column, score, value in zip(columns, drawn, found, strict=True):
        if column == LEAF:
            assert value == score
        else:
            np.testing.assert_array_equal(table.scores[:, column] <= score, rows[:, column] <= value)
