"""Expected costs against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.decisions.costs import ACTIONS, Costs, decide
from calirare.errors import InputError

prices = st.floats(0.01, 1e4)
made_costs = st.builds(Costs, prices, prices, st.floats(0, 1e4), st.floats(0, 0.49))
shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(made_costs, shares)
def test_without_a_budget_no_action_is_cheaper_than_the_chosen(costs, p):
    found = decide(p, costs)
    expected = costs.expected(p)
    cheapest = np.min([expected[name] for name in ACTIONS], axis=0)
    np.testing.assert_allclose(found.cost, cheapest, rtol=1e-12)
    chosen = np.array([expected[name][i] for i, name in enumerate(found.action)])
    np.testing.assert_array_equal(chosen, found.cost)


@given(made_costs)
def test_costs_cross_at_the_thresholds(costs):
    limits = costs.thresholds()
    pairs = ((limits.review, "review", "clear"), (limits.alert, "review", "alert"), (limits.alone, "alert", "clear"))
    for p, one, other in pairs:
        expected = costs.expected(p)
        assert expected[one] == pytest.approx(expected[other], rel=1e-9, abs=1e-9)


@given(made_costs, shares)
def test_thresholds_say_what_decide_does(costs, p):
    limits = costs.thresholds()
    for value, action in zip(p, decide(p, costs).action, strict=True):
        if min(abs(value - limit) for limit in (limits.review, limits.alert, limits.alone)) < 1e-9:
            continue
        if limits.review_pays:
            said = "clear" if value < limits.review else "review" if value < limits.alert else "alert"
        else:
            said = "alert" if value > limits.alone else "clear"
        assert action == said


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 9])
def test_a_budget_is_spent_as_the_best_of_all_subsets(budget):
    rng = np.random.default_rng(budget)
    costs = Costs(50, 5, 1)
    for _ in range(20):
        p = rng.beta(0.5, 2, size=6)
        expected = costs.expected(p)
        alone = np.minimum(expected["alert"], expected["clear"])
        best = min(
            alone.sum() + sum(expected["review"][i] - alone[i] for i in subset)
            for size in range(min(budget, 6) + 1)
            for subset in combinations(range(6), size)
        )
        found = decide(p, costs, budget)
        assert (found.action == "review").sum() <= budget
        assert found.cost.sum() == pytest.approx(best)


def test_the_realised_cost_is_the_expected_one_on_average():
    rng = np.random.default_rng(0)
    p, costs = rng.random(200_000), Costs(7, 3, 1, review_error=0.1)
    found = decide(p, costs)
    realised = costs.realised(found.action, rng.random(p.size) < p)
    assert realised.mean() == pytest.approx(found.cost.mean(), rel=0.01)


def test_nodes_left_waiting_are_those_where_a_look_would_pay():
    found = decide([0.01, 0.05, 0.1, 0.3, 0.9], Costs(50, 5, 1), budget=1)
    assert found.action.tolist() == ["clear", "clear", "review", "alert", "alert"]
    assert found.waiting.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"miss": 0}, "cost_miss must be a positive number"),
        ({"alarm": -1}, "cost_alarm must be a positive number"),
        ({"review": -0.1}, "cost_review must be a number of at least 0"),
        ({"miss": float("nan")}, "cost_miss"),
        ({"alarm": True}, "cost_alarm"),
        ({"review": "1"}, "cost_review"),
        ({"review_error": 0.5}, "review_error must lie in"),
    ],
)
def test_nonsense_prices_are_refused(arguments, says):
    with pytest.raises(InputError, match=says):
        Costs(**arguments)


def test_nonsense_input_is_refused():
    with pytest.raises(InputError, match="in \\[0, 1\\]"):
        decide([1.2], Costs())
    with pytest.raises(InputError, match="budget"):
        decide([0.1], Costs(), -1)
    with pytest.raises(InputError, match="one of \\['alert', 'review', 'clear'\\]"):
        Costs().realised(["ignore"], [1])
