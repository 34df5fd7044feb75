"""Prior shift against Bayes' rule, a numerical optimum, and worlds with a known share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit

from calirare.calibration.base import at_shares
from calirare.errors import InputError
from calirare.uncertainty.calibration_maps import CalibrationDraws
from calirare.uncertainty.intervals import calibration_draws
from calirare.uncertainty.prior_shift import _drawn, estimate_share, mixture_gap, share_of_new_nodes


def world(rng, size, share, lift=2.0, calibrated_to=0.05):
    """P(rare) calibrated to one share, of nodes among which another share is rare."""
    rare = rng.random(size) < share
    score = rng.normal(np.where(rare, lift, 0.0))
    log_odds = lift * score - lift**2 / 2 + np.log(calibrated_to / (1 - calibrated_to))
    return expit(log_odds), rare


def test_shifting_is_bayes_rule_and_can_be_undone():
    density_rare, density_other = np.array([0.1, 0.5, 2.0]), np.array([1.0, 0.5, 0.1])

    def posterior(share):
        return share * density_rare / (share * density_rare + (1 - share) * density_other)

    def both(share):
        return np.column_stack([1 - posterior(share), posterior(share)])

    ratio = np.array([0.7 / 0.95, 0.3 / 0.05])
    np.testing.assert_allclose(at_shares(both(0.05), ratio), both(0.3))
    np.testing.assert_allclose(at_shares(at_shares(both(0.05), ratio), 1 / ratio), both(0.05))


def test_em_ends_at_the_likeliest_share():
    p, _ = world(np.random.default_rng(0), 400, 0.25)

    def loss(share):
        return -np.log(share * p / 0.05 + (1 - share) * (1 - p) / 0.95).sum()

    best = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10}).x
    assert estimate_share(p, 0.05) == pytest.approx(best, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_the_share_is_found_and_the_interval_holds_it(share):
    """Calibrated on 2,000 labels of which 100 are rare, asked of 4,000 nodes."""
    inside, explained = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        own, y = world(rng, 2_000, 0.05)
        p, rare = world(rng, 4_000, share)
        draws = calibration_draws(own, y, rare_share=float(y.mean()), num_share_labels=y.size, num_draws=200)
        found = share_of_new_nodes(p, 0.05, own, y, draws)
        inside.append(found.lower <= rare.mean() <= found.upper)
        explained.append(found.explained)
        assert found.lower <= found.value <= found.upper
    assert np.mean(inside) >= 0.8 and np.mean(explained) >= 0.9


def test_one_map_gives_the_estimate_and_its_sampling_error():
    """Without doubt about the map the interval is that of the likelihood: ± 1.64 standard errors by its curvature."""
    p, _ = world(np.random.default_rng(3), 3_000, 0.2)
    own, y = world(np.random.default_rng(4), 500, 0.05)
    # The map is the truth, so each draw's own share is the mean over a population, here nearly 5%.
    certain = CalibrationDraws(np.tile([0.0, 1.0], (400, 1)))
    found = share_of_new_nodes(p, 0.05, own, y, certain)
    slope = (p / 0.05 - (1 - p) / 0.95) / (found.value * p / 0.05 + (1 - found.value) * (1 - p) / 0.95)
    assert found.upper - found.lower == pytest.approx(2 * 1.645 / np.sqrt((slope**2).sum()), rel=0.35)


@pytest.mark.parametrize("size", [1, 3, 10, 40])
def test_a_handful_of_nodes_is_told_with_the_doubt_that_is_left(size):
    """The interval is about these nodes, of whom a whole number is rare."""
    own, y = world(np.random.default_rng(5), 400, 0.05)
    draws = calibration_draws(own, y, rare_share=float(y.mean()), num_share_labels=y.size, num_draws=100)
    inside, width = [], []
    for seed in range(50):
        p, rare = world(np.random.default_rng([size, seed]), size, 0.2)
        found = share_of_new_nodes(p, 0.05, own, y, draws, seed=seed)
        inside.append(found.lower <= rare.mean() <= found.upper)
        width.append(found.upper - found.lower)
    assert 40 <= np.sum(inside) and np.mean(width) > {1: 0.4, 3: 0.3, 10: 0.2, 40: 0.1}[size]


def test_the_shares_of_one_map_are_drawn_from_their_posterior():
    """Against scipy's quadrature of Jeffreys' prior times the likelihood of the scores."""
    p, _ = world(np.random.default_rng(2), 30, 0.2)
    densities = p[None] / 0.05, (1 - p[None]) / 0.95

    def posterior(share):
        return np.prod(share * densities[0] + (1 - share) * densities[1]) / np.sqrt(share * (1 - share))

    whole = quad(posterior, 0, 1)[0]
    for tick in (0.05, 0.5, 0.95):
        share = float(_drawn(*densities, np.ones(30), np.array([tick]))[0])
        assert quad(posterior, 0, share)[0] / whole == pytest.approx(tick, abs=0.002)


def test_another_change_than_the_share_is_noticed():
    rng = np.random.default_rng(1)
    own, y = world(rng, 1_000, 0.05)
    p, _ = world(rng, 2_000, 0.05)
    moved = expit(np.log(p / (1 - p)) + 1.0)  # every score is higher, rare or not
    found = share_of_new_nodes(moved, 0.05, own, y, CalibrationDraws(np.array([[0.0, 1.0]])))
    assert not found.explained and "cannot be trusted" in found.sentence("fraud", 0.05)


def test_chance_passes_the_allowed_gap_rarely():
    passed = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        own, y = world(rng, 400, 0.1)
        p, rare = world(rng, 1_000, 0.2)
        gap, allowed = mixture_gap(p, own, y, float(rare.mean()))
        passed.append(gap > allowed)
    assert np.mean(passed) <= 0.03


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="one number in"):
        estimate_share([1.2], 0.1)
