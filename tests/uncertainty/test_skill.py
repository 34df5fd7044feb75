"""Skill against scikit-learn's area, against random labels, and against scores that know something."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from calirare.errors import InputError, LabelError
from calirare.uncertainty.skill import LEVEL, Skill, few_labels, measure_skill


def scores(rng, num_rare, num_others, lift):
    return rng.normal(np.repeat([lift, 0.0], [num_rare, num_others])), np.repeat([True, False], [num_rare, num_others])


@pytest.mark.parametrize("decimals", [1, 8])
def test_the_area_is_that_of_scikit_learn_ties_included(decimals):
    z, y = scores(np.random.default_rng(0), 12, 90, 0.8)
    z = z.round(decimals)
    found = measure_skill(z, y)
    assert found.roc_auc == pytest.approx(roc_auc_score(y, z))
    # Half the variance would be the test of Mann and Whitney.
    assert found.luck > mannwhitneyu(z[y], z[~y], alternative="greater").pvalue


def test_pairs_that_lift_each_other_pass_no_more_often_than_said():
    """Scores of a kernel machine on noise: the left-out score of i is Σ_j k(i, j) (2 y_j − 1), with k symmetric."""
    rng, shown = np.random.default_rng(1), []
    for _ in range(300):
        likeness = rng.normal(size=(150, 150))
        likeness = np.triu(likeness, 1) + np.triu(likeness, 1).T
        y = np.arange(150) < 20
        weight = np.where(y, 1 / 20, -1 / 130)
        shown.append(measure_skill(likeness @ weight, y).shown)
    assert np.mean(shown) < LEVEL + 0.035


def test_scores_that_know_something_are_seen():
    rng = np.random.default_rng(2)
    lift = 0.8  # ROC-AUC 0.71
    assert np.mean([measure_skill(*scores(rng, 60, 600, lift)).shown for _ in range(200)]) > 0.97


@pytest.mark.parametrize("num_rare", [1, 2, 3])
def test_one_to_three_rare_labels_show_nothing(num_rare):
    found = measure_skill(np.linspace(1, 0, 400), np.arange(400) < num_rare)
    assert found.roc_auc == 1 and not found.shown
    assert found.sentence("fraud").startswith("Nothing is shown yet")


def test_the_sentence_holds_the_numbers_it_is_made_of():
    said = Skill(0.537, 0.31, 20, 180).sentence("fraud")
    assert all(part in said for part in ("No skill", "ROC-AUC 0.54", "20 labels", "31% of cases", "base rate, 0.1."))
    assert "reaches it in 1.3% of cases" in Skill(0.75, 0.0132, 14, 180).sentence(
        "fraud"
    )  # skill is shown from 1% down
    assert Skill(0.9, 1e-4, 20, 180).sentence("fraud") == ""
    assert Skill(0.9, 1e-4, 5, 180).sentence("fraud") == few_labels(5, "fraud")


def test_constant_scores_show_nothing():
    assert not measure_skill(np.full(50, 0.1), np.arange(50) < 5).shown


def test_what_is_kept_falls_with_luck():
    chances = [Skill(0.7, luck, 20, 180).chance for luck in (0.0, 1e-9, LEVEL, 0.2, 1 / np.e, 0.45, 0.5, 1.0)]
    assert chances[0] == pytest.approx(1) and chances[-2:] == [0.25, 0.25] and chances[4] == pytest.approx(0.5)
    assert chances == sorted(chances, reverse=True) and chances[1] > chances[2] > chances[3]
    for r in (5, 10, 20, 200):
        for luck in (0.0, LEVEL / 2, LEVEL, 0.3):
            skill = Skill(0.7, luck, r, 180)
            assert skill.keep == pytest.approx(skill.chance * (1 if luck < LEVEL or r <= 10 else 10 / r))


def test_the_odds_are_the_most_that_evidence_can_speak_for_skill():
    """The largest likelihood ratio over all Beta(a, 1), a < 1, that evidence may follow where there is skill."""
    for luck in (0.001, 0.02, 0.2):
        a = np.linspace(0.01, 1, 5_000)
        best = (a * luck ** (a - 1)).max()
        chance = Skill(0.7, luck, 20, 180).chance
        assert chance / (1 - chance) == pytest.approx(best, rel=1e-3)


def test_nonsense_is_refused():
    with pytest.raises(LabelError, match="of another are needed"):
        measure_skill([0.1, 0.2], [0, 0])
    with pytest.raises(InputError, match="one value per label"):
        measure_skill([0.1, 0.2], [0])
