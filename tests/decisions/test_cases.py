"""Single cases: the actions of `decide`, in the order they came in, with their costs in words."""

from __future__ import annotations

import numpy as np
import pytest

import calirare as cr
from calirare.decisions.cases import decide_cases
from calirare.decisions.costs import Costs, decide
from calirare.errors import InputError


@pytest.fixture(scope="module")
def clf():
    graph = cr.make_transactions(num_nodes=80, rare_share=0.3, labelled_share=0.9, seed=0)
    return cr.RareCategoryClassifier(cr.detectors.Linear(penalty=0.1, hops=0)).fit(graph)


@pytest.fixture
def scores():
    p = np.array([0.05, 0.9, 0.3, 0.1, 0.0])
    return {"id": np.array(list("cadbe")), "probability": p, "lower": p / 2, "upper": (1 + p) / 2, "set": p}


def test_they_keep_their_order_and_share_the_budget(clf, scores):
    costs = Costs(miss=np.array([50.0, 50, 50, 50, 1]))
    found = decide_cases(clf, scores, costs, budget=1)
    want = decide(scores["probability"], costs, 1)
    assert list(found) == ["id", "probability", "lower", "upper", "action", "reason", "expected_cost", "review_saves"]
    for name in ("id", "probability", "lower", "upper"):
        np.testing.assert_array_equal(found[name], scores[name])
    assert found["action"].tolist() == want.action.tolist() == ["clear", "alert", "alert", "review", "clear"]
    np.testing.assert_array_equal(found["expected_cost"], want.cost)
    np.testing.assert_array_equal(found["review_saves"], want.gain)
    assert decide_cases(clf, scores, costs)["action"].tolist() == ["review", "alert", "review", "review", "clear"]


def test_each_sentence_names_the_costs_of_its_case(clf, scores):
    found = decide_cases(clf, scores, Costs(), budget=1)
    assert found["reason"].tolist() == [
        "A review would save 1.50, but the budget goes to cases where it saves more; "
        "alone, clearing is expected to cost 2.50, an alert 4.75.",
        "An alert is expected to cost 0.50, clearing 45.00, a review 1.00.",
        "A review would save 2.50, but the budget goes to cases where it saves more; "
        "alone, an alert is expected to cost 3.50, clearing 15.00.",
        "A review costs 1.00; without one the cheaper call, an alert, is expected to cost 4.50.",
        "Clearing is expected to cost 0.00, an alert 5.00, a review 1.00.",
    ]
    last = decide_cases(clf, {name: values[:1] for name, values in scores.items()}, Costs())["reason"][0]
    assert last == "A review costs 1.00; without one the cheaper call, clearing, is expected to cost 2.50."


def test_prices_of_other_cases_and_other_priors_are_refused(clf, scores):
    with pytest.raises(InputError, match="one for each of the 5 nodes; got 2"):
        decide_cases(clf, scores, Costs(alarm=[1.0, 2.0]))
    with pytest.raises(InputError, match="clf must be a fitted RareCategoryClassifier; got str"):
        decide_cases("model", scores, Costs())
