"""The forecast against exact sums and against repeated worlds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calirare.decisions import forecast as module
from calirare.decisions.costs import Costs, decide
from calirare.decisions.forecast import Group, forecast, groups_frame
from calirare.errors import InputError, LabelError
from calirare.metrics.bootstrap import Estimate
from calirare.uncertainty.calibration_maps import CalibrationDraws
from calirare.uncertainty.intervals import calibration_draws

COSTS = Costs(50, 5, 1)


def poisson_binomial(p):
    """Exact distribution of the number of successes, by convolution."""
    chances = np.ones(1)
    for share in p:
        chances = np.convolve(chances, [1 - share, share])
    return chances


def test_with_a_known_calibration_the_count_is_poisson_binomial():
    p = np.random.default_rng(0).beta(1, 6, size=120)
    certain = CalibrationDraws(np.tile([0.0, 1.0], (20_000, 1)))
    found = forecast(p, np.full(p.size, "clear"), COSTS, certain)["clear"].rare
    cumulative = np.cumsum(poisson_binomial(p))
    assert found.value == pytest.approx(p.sum())
    assert found.lower == pytest.approx(np.searchsorted(cumulative, 0.05), abs=1)
    assert found.upper == pytest.approx(np.searchsorted(cumulative, 0.95), abs=1)


def test_costs_of_the_groups_add_up():
    p = np.random.default_rng(1).beta(0.4, 3, size=500)
    action = decide(p, COSTS, 40).action
    groups = forecast(p, action, COSTS, CalibrationDraws(np.tile([0.0, 1.0], (500, 1))))
    expected = COSTS.expected(p)
    for name in ("alert", "review", "clear"):
        assert groups[name].cost.value == pytest.approx(expected[name][action == name].sum())
        assert groups[name].num_nodes == (action == name).sum()
    assert groups["all"].cost.value == pytest.approx(
        sum(groups[name].cost.value for name in ("alert", "review", "clear"))
    )
    assert groups["review"].cost.lower == groups["review"].cost.upper == 40


def one_world(rng, num_labels=400, num_nodes=2_000):
    """Labels and new nodes from one population, calibrated by a logistic fit on the labels, as the method does."""
    score = rng.normal(-3.4, 1.6, size=num_labels + num_nodes)
    y = rng.random(score.size) < expit(score)
    labels = np.arange(num_labels)
    share = y[labels].mean()
    # A slope and a shift by maximum likelihood; the draws are then centred on the identity.
    theta = np.array([0.0, 1.0])
    for _ in range(50):
        p = expit(theta[0] + theta[1] * score[labels])
        x = np.column_stack([np.ones(num_labels), score[labels]])
        theta = theta - np.linalg.solve((x.T * (p * (1 - p))) @ x + 1e-6 * np.eye(2), x.T @ (p - y[labels]))
    p = expit(theta[0] + theta[1] * score)
    return p[labels], y[labels], p[num_labels:], y[num_labels:], share


@pytest.mark.slow
def test_nine_of_ten_worlds_lie_in_the_interval():
    rng = np.random.default_rng(0)
    inside = {"cost": [], "alert": [], "clear": []}
    for seed in range(100):
        left_out, labels, p, y, share = one_world(rng)
        draws = calibration_draws(
            left_out, labels, rare_share=share, num_share_labels=labels.size, num_draws=150, seed=seed
        )
        action = decide(p, COSTS, 0).action
        groups = forecast(p, action, COSTS, draws, seed=seed)
        total, cost = groups["all"].cost, COSTS.realised(action, y).sum()
        inside["cost"].append(total.lower <= cost <= total.upper)
        for name in ("alert", "clear"):
            count = y[action == name].sum()
            inside[name].append(groups[name].rare.lower <= count <= groups[name].rare.upper)
    for name, hits in inside.items():
        assert 0.83 <= np.mean(hits) <= 0.98, name


def test_a_given_share_is_not_in_doubt():
    left_out, labels, p, _, share = one_world(np.random.default_rng(3))
    widths = []
    for num in (None, labels.size):
        draws = calibration_draws(left_out, labels, rare_share=share, num_share_labels=num, seed=0)
        rare = forecast(p, np.full(p.size, "clear"), COSTS, draws)["all"].rare
        widths.append(rare.upper - rare.lower)
    assert widths[0] < 0.8 * widths[1]


def test_where_the_labels_contradict_the_probabilities_the_draws_follow_the_labels():
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 5, size=4_000)
    truth = expit(logit(p) - 1.0)  # every probability is too high
    y = rng.random(p.size) < truth
    draws = calibration_draws(p, y, rare_share=float(y.mean()), num_share_labels=p.size)
    assert draws.probabilities(logit(p)).sum(axis=1).mean() == pytest.approx(truth.sum(), rel=0.1)
    rare = forecast(p, np.full(p.size, "clear"), COSTS, draws)["all"].rare
    assert rare.lower < truth.sum() < rare.value == rare.upper == pytest.approx(p.sum())


def test_separable_labels_have_a_finite_forecast():
    draws = calibration_draws([0.9, 0.95, 0.01, 0.02], [1, 1, 0, 0], rare_share=0.5, num_share_labels=4)
    assert np.isfinite(draws.parameters).all()


def test_the_same_seed_gives_the_same_forecast():
    left_out, labels, p, _, share = one_world(np.random.default_rng(5))
    found = [
        forecast(
            p,
            decide(p, COSTS).action,
            COSTS,
            calibration_draws(left_out, labels, rare_share=share, num_share_labels=400),
        )
        for _ in range(2)
    ]
    assert found[0] == found[1]


def test_nonsense_is_refused():
    with pytest.raises(LabelError, match="rare class and of another"):
        calibration_draws([0.1, 0.2], [0, 0], rare_share=0.1, num_share_labels=2)
    with pytest.raises(InputError, match="rare_share"):
        calibration_draws([0.1, 0.2], [0, 1], rare_share=0.0, num_share_labels=2)
    with pytest.raises(InputError, match="one value per label"):
        calibration_draws([0.1, 0.2], [0], rare_share=0.1, num_share_labels=2)
    with pytest.raises(InputError, match="coverage"):
        forecast([0.1], ["clear"], COSTS, CalibrationDraws(np.array([[0.0, 1.0]])), coverage=1.0)


@pytest.mark.parametrize("single", [0, 30, 2_000])
def test_with_prices_per_node_the_cost_has_its_exact_mean_and_spread(single, monkeypatch):
    """Coins of one's own: mean Σ p·s, variance Σ p(1 − p)·s², whether drawn one by one or by bins."""
    monkeypatch.setattr(module, "_MOST_SINGLE", single)
    rng = np.random.default_rng(0)
    p, stake = rng.beta(1, 4, size=600), rng.uniform(1, 9, size=600)
    draws = CalibrationDraws(np.tile([0.0, 1.0], (6_000, 1)))
    rare, cost = module._draw_coins(p, stake, draws, np.random.default_rng(1))
    for drawn, size in ((rare, np.ones(600)), (cost, stake)):
        assert drawn.shape == (6_000,) and drawn.dtype == np.float64
        assert drawn.mean() == pytest.approx((p * size).sum(), rel=0.005)
        assert drawn.std() == pytest.approx(np.sqrt((p * (1 - p) * size**2).sum()), rel=0.04)
    assert np.corrcoef(rare, cost)[0, 1] > 0.8


def test_the_nodes_that_matter_most_are_drawn_one_by_one(monkeypatch):
    """Of a hundred stakes of 1 and one of 1,000 the large one is an own coin, also where its probability is small."""
    monkeypatch.setattr(module, "_MOST_SINGLE", 1)
    p, stake = np.r_[np.full(100, 0.999), 0.01], np.r_[np.ones(99), 2.0, 1_000.0]
    draws = CalibrationDraws(np.tile([0.0, 1.0], (500, 1)))
    cost = module._draw_coins(p, stake, draws, np.random.default_rng(1))[1]
    assert ((cost < 200) | (cost > 1_000)).all() and 1 <= (cost > 1_000).sum() <= 15


def test_an_interval_ends_on_drawn_values_and_holds_the_value():
    drawn = np.array([4.0, 1.0, 2.0, 3.0])
    assert module._estimate(2.5, drawn, 0.5) == Estimate(2.5, 1.0, 4.0)
    assert module._estimate(2.5, drawn, 0.1) == Estimate(2.5, 2.0, 3.0)
    assert module._estimate(9.0, drawn, 0.5).upper == 9.0 and module._estimate(0.0, drawn, 0.5).lower == 0.0


def test_an_empty_group_and_a_graph_of_other_nodes():
    certain = CalibrationDraws(np.tile([0.0, 1.0], (50, 1)))
    groups = forecast([0.2, 0.4], ["clear", "clear"], COSTS, certain)
    assert groups["alert"] == Group("alert", 0, Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0))
    assert groups["all"].num_nodes == 2 and groups["all"].cost.value == pytest.approx(30)
    table = groups_frame(groups)
    assert list(table) == ["group", "nodes", "rare", "rare_lower", "rare_upper", "cost", "cost_lower", "cost_upper"]
    assert table["nodes"].tolist() == [0, 0, 2, 2] and table["rare"].tolist() == pytest.approx([0, 0, 0.6, 0.6])
    assert table["cost_upper"].tolist() == [group.cost.upper for group in groups.values()]
    with pytest.raises(InputError, match=r"same nodes; got \(1,\) and \(2,\)"):
        forecast([0.2], ["clear", "clear"], COSTS, certain)
