"""The threshold against scikit-learn's F1 and against the best cut on the whole population."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from calirare.decisions.threshold import macro_f1_at_cuts, macro_f1_threshold
from calirare.errors import InputError


def test_every_cut_scores_as_scikit_learn_says():
    rng = np.random.default_rng(1)
    p = rng.random(60).round(1)  # with ties
    rare, weights = rng.random(60) < p, rng.random(60)
    for cut, score in zip(*macro_f1_at_cuts(p, rare, weights), strict=True):
        expected = f1_score(rare, p >= cut, average="macro", sample_weight=weights, zero_division=0)
        assert score == pytest.approx(expected)


def test_nearly_as_good_as_the_best_cut_of_the_population_also_where_labels_are_no_random_sample():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 3, 60_000)
    rare = rng.random(p.size) < p
    best = macro_f1_at_cuts(p, rare, np.ones(p.size))[1].max()
    rares, rest = np.flatnonzero(rare), np.flatnonzero(~rare)
    drawn = np.concatenate([rng.choice(rares, 150), rng.choice(rest, 150)])
    share = np.where(rare[drawn], rare.mean(), 1 - rare.mean())
    chosen = macro_f1_threshold(p[drawn], rare[drawn], share)
    wrong = macro_f1_threshold(p[drawn], rare[drawn])
    score = f1_score(rare, p >= chosen, average="macro")
    assert score > best - 0.01 and score > f1_score(rare, p >= wrong, average="macro")


def test_one_class_or_other_lengths_are_refused():
    with pytest.raises(InputError, match="all 2 are not rare"):
        macro_f1_threshold([0.1, 0.2], [False, False])
    with pytest.raises(InputError, match="one value per label"):
        macro_f1_threshold([0.1, 0.2], [False])


def test_below_the_lowest_score_there_is_nothing_but_zero():
    """The rare label scores lowest: everything must be called rare to catch it, and the next lower cut is 0."""
    assert macro_f1_threshold([0.2, 0.8], [True, False]) == pytest.approx(0.1)


def test_labels_as_ones_and_zeros_count_as_yes_and_no():
    rng = np.random.default_rng(3)
    p = rng.random(40)
    rare = rng.random(40) < p
    assert macro_f1_threshold(p, rare.astype(np.int64)) == macro_f1_threshold(p, rare)
