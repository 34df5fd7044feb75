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
costs_at_a_node = st.builds(  # where columns may hold 0
    lambda miss, alarm, review, wrong: Costs([miss, 1.0], [alarm, 1.0], [review, 1.0], wrong).at(0),
    *(st.just(0.0) | prices,) * 3,
    st.just(0.0) | st.floats(0.01, 0.49),
)
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


@given(made_costs | costs_at_a_node, shares)
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


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1e4), st.floats(0, 100), st.floats(0, 20)), min_size=1, max_size=12
    ),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.1]),
)
def test_prices_per_node_are_those_of_each_node_alone(cases, budget, review_error):
    p, miss, alarm, review = np.array(cases).T
    together = Costs(miss, alarm, review, review_error)
    found = decide(p, together, budget)
    gains = []
    for node, (chance, *prices) in enumerate(cases):
        m, a, r = prices
        look = r + review_error * (a * (1 - chance) + m * chance)
        alone = min(m * chance, a * (1 - chance))
        gains.append(alone - look)
        assert found.gain[node] == pytest.approx(alone - look, abs=1e-9)
        assert found.cost[node] == pytest.approx(look if found.action[node] == "review" else alone, abs=1e-9)
        if m > 0 and a > 0:
            assert together.at(node) == Costs(m, a, r, review_error)
    worth = sorted((gain for gain in gains if gain > 0), reverse=True)[:budget]
    assert sorted(found.gain[found.action == "review"], reverse=True) == pytest.approx(worth)


def test_the_budget_goes_to_the_most_valuable_reviews():
    amounts = np.array([10.0, 5_000.0, 100.0, 800.0])
    found = decide(np.full(4, 0.05), Costs(miss=amounts, alarm=50, review=1), budget=2)
    assert found.action.tolist() == ["clear", "review", "clear", "review"]
    assert found.waiting.tolist() == [False, False, True, False]


def test_prices_per_node_are_checked_compared_and_kept():
    amounts = np.array([1.0, 2.0])
    costs = Costs(miss=amounts)
    amounts[0] = 9.0
    assert costs.miss.tolist() == [1.0, 2.0] and not costs.miss.flags.writeable
    assert costs == Costs(miss=[1.0, 2.0]) != Costs(miss=[1.0, 3.0]) and hash(costs) == hash(Costs(miss=[1.0, 2.0]))
    assert costs.per_node and not Costs().per_node and costs.take([True, False]).miss.tolist() == [1.0]
    with pytest.raises(InputError, match="cost_miss must hold one number of at least 0 per node; 2 of 3 are missing"):
        Costs(miss=[1.0, np.nan, -1.0])
    with pytest.raises(InputError, match="cost_alarm must hold numbers; got list"):
        Costs(alarm=["a", "b"])
    with pytest.raises(InputError, match="must speak of the same nodes; got \\[2, 3\\]"):
        Costs(miss=[1.0, 2.0], alarm=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="no common thresholds"):
        costs.thresholds()
    with pytest.raises(InputError, match="one for each of the 3 nodes; got 2"):
        decide([0.1, 0.2, 0.3], costs)


def test_single_precision_does_not_reach_the_costs():
    p = np.array([0.1, 0.7], dtype=np.float32)
    for cost in Costs(50, 5, 1, 0.1).expected(p).values():
        assert cost.dtype == np.float64
    assert decide(p, Costs()).cost.dtype == np.float64
