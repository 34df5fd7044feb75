"""Decisions about cases that the model picked: the correction finds the truth where plain counting does not."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.evaluation.monitoring.observed import Cases, compare_outcome, observe
from calirare.evaluation.monitoring.runs import Reference, measure_run
from calirare.evaluation.monitoring.series import Row
from calirare.uncertainty.calibration_maps import CalibrationDraws

CERTAIN = CalibrationDraws(np.tile([0.0, 1.0], (400, 1)))
ROUGH = CalibrationDraws(np.tile([0.0, 1.0], (5, 1)))  # where the forecast of a run does not matter
PRICES = [50.0, 5.0, 1.0, 0.0]


def population(seed, n=5_000, too_high=1.0):
    """(P(rare) as the model says, whether rare): the truth is the model's odds divided by `too_high`."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2.5, 1.5, n)
    truth = 1 / (1 + np.exp(-(z - np.log(too_high))))
    return 1 / (1 + np.exp(-z)), rng.random(n) < truth


def decided(p, rare, chosen):
    return Cases(
        np.zeros(chosen.size),
        p[chosen],
        rare[chosen],
        np.full(chosen.size, "alert", dtype=object),
        np.tile(PRICES, (chosen.size, 1)),
        0,
    )


def picked(p, rng, n=400):
    """As reviewers do: mostly high scores, a few of all."""
    weight = p + 0.02
    return rng.choice(p.size, n, replace=False, p=weight / weight.sum())


@pytest.mark.parametrize(("too_high", "draws"), [pytest.param(1.0, 100, marks=pytest.mark.slow), (2.0, 20)])
def test_the_corrected_number_of_rare_nodes_is_right_and_its_interval_holds_it(too_high, draws):
    inside, errors, naive = 0, [], []
    for seed in range(draws):
        p, rare = population(seed, too_high=too_high)
        reference = Reference.of(p)
        chosen = picked(p, np.random.default_rng(seed + 1_000))
        found = observe(decided(p, rare, chosen), measure_run(p, reference, ROUGH), reference, coverage=0.9)
        reached = np.isin(reference.bins(p), np.unique(reference.bins(p[chosen])))
        truth = rare[reached].sum()
        inside += found.rare.lower <= truth <= found.rare.upper
        errors.append(found.rare.value / truth - 1)
        naive.append(rare[chosen].mean() * p.size / rare.sum() - 1)
        assert found.can_be_corrected
    assert abs(np.mean(errors)) < 0.03 and np.mean(naive) > 0.5  # plain counting is off by more than half
    assert 0.8 <= inside / draws <= 1.0


def test_the_weights_are_those_of_a_loop():
    p, rare = population(3, 800)
    reference = Reference.of(p)
    run, chosen = measure_run(p, reference, ROUGH), picked(p, np.random.default_rng(0), 60)
    found = observe(decided(p, rare, chosen), run, reference)
    bins = reference.bins(p)
    total = 0.0
    for b in set(bins[chosen].tolist()):
        mine = [i for i in chosen if bins[i] == b]
        size = int((bins == b).sum())
        total += p[bins == b].sum() + size / len(mine) * sum(float(rare[i]) - p[i] for i in mine)
    assert found.rare.value == pytest.approx(np.clip(total, found.rare.lower, found.rare.upper))


def test_where_nobody_looked_it_says_so():
    p, rare = population(0)
    reference = Reference.of(p)
    found = observe(decided(p, rare, np.argsort(-p)[:100]), measure_run(p, reference, ROUGH), reference)
    assert not found.can_be_corrected and found.covered < 0.6
    assert "cannot be said of the whole network" in found.say()
    assert found.bins[-1].upper == 1.0 and found.bins[-1].decided <= found.bins[-1].nodes


def test_right_probabilities_agree_with_decisions_and_wrong_ones_do_not():
    agree = disagree = 0
    for seed in range(15):
        for too_high in (1.0, 4.0):
            p, rare = population(seed, too_high=too_high)
            chosen = picked(p, np.random.default_rng(seed), 80)
            found = compare_outcome(decided(p, rare, chosen), CERTAIN, coverage=0.995)
            agree += too_high == 1.0 and found.rare_agrees and found.cost_agrees
            disagree += too_high == 4.0 and not found.rare_agrees
    assert agree >= 14 and disagree >= 13


def test_cost_observed_is_what_the_actions_did_cost():
    cases = Cases(np.zeros(3), np.array([0.5, 0.5, 0.5]), np.array([True, False, False]),
                  np.array(["clear", "alert", "review"], dtype=object), np.tile(PRICES, (3, 1)), 0)  # fmt: skip
    assert compare_outcome(cases, CERTAIN, coverage=0.9).observed_cost == 50 + 5 + 1


def test_the_last_word_about_a_case_counts():
    def row(k, subject, decision):
        value = {"decision": decision, "probability": 0.3, "action": "review", "prices": PRICES}
        return Row(k, "decision", "m", float(k), subject, value)

    rows = [row(1, "a", "rare"), row(2, "b", "rare"), row(3, "a", "open"), row(4, "c", "unsure"), row(5, "b", "normal")]
    cases = Cases.of(rows)
    assert len(cases) == 1 and not cases.rare[0] and cases.unsure == 1
    assert len(Cases.of([])) == 0
