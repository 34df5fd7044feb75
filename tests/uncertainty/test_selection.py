"""Labels chosen by score are noticed, random ones are not, and the area is that of Mann and Whitney."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import mannwhitneyu

from calirare.calibration.base import share_weights
from calirare.errors import InputError
from calirare.uncertainty.selection import Selection, label_selection


def scores(rng, size, share=0.05, lift=2.0):
    rare = rng.random(size) < share
    score = rng.normal(np.where(rare, lift, 0.0))
    return expit(lift * score - lift**2 / 2 + np.log(share / (1 - share))), rare


def test_the_area_and_its_deviation_are_mann_and_whitney_s():
    rng = np.random.default_rng(0)
    own, others = rng.random(40).round(1), (rng.random(70) ** 2).round(1)
    found = label_selection(own, others)
    assert found.area == pytest.approx(mannwhitneyu(own, others).statistic / (40 * 70))
    areas = [label_selection(rng.random(40), rng.random(70)).area for _ in range(400)]
    assert found.deviation == pytest.approx(np.std(areas), rel=0.15)


def test_labels_chosen_by_score_are_noticed():
    rng = np.random.default_rng(2)
    p, _ = scores(rng, 5_000)
    random = rng.permutation(5_000)[:500]
    chosen = rng.choice(5_000, 500, replace=False, p=p / p.sum())
    for labelled, expected in ((random, False), (chosen, True)):
        rest = np.setdiff1d(np.arange(5_000), labelled)
        assert label_selection(p[labelled], p[rest]).noticed == expected


def test_a_model_that_says_the_same_of_every_node_was_not_chosen_by():
    rng = np.random.default_rng(3)
    assert not label_selection(0.2 + 1e-3 * rng.random(200), 0.2 - 1e-3 * rng.random(2000)).noticed
    assert label_selection(0.3 + 1e-3 * rng.random(200), 0.2 - 1e-3 * rng.random(2000)).noticed


def test_labels_drawn_by_class_are_a_random_sample_once_they_are_weighed():
    rng = np.random.default_rng(3)
    p, rare = scores(rng, 20_000)
    nodes = np.concatenate([np.flatnonzero(rare)[:200], np.flatnonzero(~rare)[:200]])
    rest = np.setdiff1d(np.arange(20_000), nodes)
    weights = share_weights(rare[nodes].astype(int), np.array([0.95, 0.05]))
    assert label_selection(p[nodes], p[rest]).noticed
    assert not label_selection(p[nodes], p[rest], weights).noticed


def test_the_numbers_of_the_sentence_are_those_found():
    own, others = np.full(50, 0.9), np.array([0.1] * 60 + [0.95] * 20)
    found = label_selection(own, others)
    said = found.sentence(0.4, given=False)
    assert found.area == pytest.approx(0.75) and "in 75% of pairs" in said
    assert "40.0% of the labels are rare" in said and f"{(60 * 0.1 + 20 * 0.95) / 80:.1%} of the others" in said
    assert "not for labels chosen by score" in found.sentence(0.4, given=True)
    assert Selection(0.5, 0.01, 0.1).sentence(0.4, given=False) == ""


def test_both_kinds_of_nodes_are_needed():
    with pytest.raises(InputError, match="both labelled and unlabelled"):
        label_selection([0.1], [])
