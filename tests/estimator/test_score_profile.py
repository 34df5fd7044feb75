"""Scores are compared with those of the fit: none for the same population, loud for another, alike for scoring and monitoring."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.data.tables.shift import Shifts, stability_index
from calirare.estimator.score_profile import (
    UNLABELLED,
    and_scores,
    compare_scores,
    profile_scores,
    score_index,
    scores_have_moved,
)


def test_scores_are_compared_by_their_share_in_each_bin():
    rng = np.random.default_rng(0)
    usual, higher = rng.beta(1, 9, 4_000), rng.beta(2, 9, 1_000)
    then = profile_scores(usual)
    found = [compare_scores(rng.beta(1, 9, size), then) for size in (50, 300, 3_000) for _ in range(20)]
    assert not any(found)
    far, near = compare_scores(rng.beta(4, 4, 1_000), then), compare_scores(higher, then)
    assert far.severity == "large" and "9.9% on average at fit, 50.4% now; the 10% that scored highest" in far.words
    ends = [-1, *(1 / (1 + np.exp(-np.array(then["cuts"])))), 2]
    index = stability_index(*(np.histogram(p, ends)[0] / p.size for p in (usual, higher)), 4_000, 1_000)
    assert score_index(higher, then) == pytest.approx(index, abs=0.02) and near.psi == score_index(higher, then)[0]
    assert near.severity == ("large" if index[1] > 0.25 else "moderate")


def test_scores_join_the_columns_that_were_compared_where_the_fit_is_known():
    rng = np.random.default_rng(0)
    then = profile_scores(rng.beta(1, 9, 4_000))
    both = and_scores(Shifts((), 3), rng.beta(4, 4, 1_000), {UNLABELLED: then})
    assert both.matters and both.compared == 4
    of_earlier_versions = {"scored": then, "left_out": then}
    for scores, seen in ((np.empty(0), {UNLABELLED: then}), (np.ones(9), None), (np.ones(9), of_earlier_versions)):
        assert and_scores(Shifts((), 3), scores, seen) == Shifts((), 3)
    assert not scores_have_moved(np.empty(0), {UNLABELLED: then}) and scores_have_moved(np.ones(9), None)
