"""The queue against loops, and against `calirare.decisions.triage`."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import calirare as cr
from calirare.decisions.costs import ACTIONS, Costs
from calirare.errors import InputError
from calirare.review.queue import Workload
from calirare.review.view import View


@pytest.fixture
def desk(shown_desk):
    return shown_desk


def columns(desk, view):
    return desk.queue.columns(desk.queue.order(view), view)


def test_actions_are_those_of_triage(desk):
    snapshot = desk.snapshot
    table = cr.triage(snapshot.clf, snapshot.graph, 30, 4, 1.5, budget=40)
    view = View(Costs(30, 4, 1.5), budget=40, order="urgency")
    order = desk.queue.order(view)
    assert np.array_equal(order, table.node)
    found = desk.queue.columns(order, view)
    assert found["action"] == table.action.tolist()
    assert desk.queue.reasons(order, view) == table.reason.tolist()
    np.testing.assert_allclose(found["probability"], table.probability, atol=1e-12)
    np.testing.assert_allclose(found["upper"], table.upper, atol=2e-3)  # interpolated between scores of the nodes asked
    groups = desk.queue.judge(view.costs, view.budget).groups
    assert groups["all"].cost == table.groups["all"].cost


def test_labelled_nodes_are_not_in_the_queue(desk):
    known = set(desk.snapshot.graph.known.tolist())
    assert not known & set(desk.queue.order(View()).tolist())
    assert len(desk.queue.order(View())) == desk.snapshot.graph.num_nodes - len(known)
    assert desk.queue.action_of(View(), next(iter(known))) is None


@pytest.mark.parametrize("action", ACTIONS)
def test_only_one_action(desk, action):
    every, some = columns(desk, View()), columns(desk, View(action=action))
    assert some["id"] == [name for name, kind in zip(every["id"], every["action"], strict=True) if kind == action]


def test_search_finds_names_in_any_case_and_nothing_else(desk):
    wanted = "a00000"
    expected = [name for name in columns(desk, View())["id"] if wanted in name.casefold()]
    assert columns(desk, View(search=wanted.upper()))["id"] == expected and len(expected) > 3
    assert columns(desk, View(search="<script>"))["id"] == ["<script>window.hacked=1</script>"]
    assert columns(desk, View(search="no such node"))["id"] == []


@pytest.mark.parametrize("column", ["id", "probability", "lower", "upper", "saves", "action", "decision"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(desk, column, descending):
    values = columns(desk, View(sort=((column, descending),)))[column]
    key = {"action": ACTIONS.index, "decision": ["open", "rare", "normal", "unsure"].index}.get(column, lambda x: x)
    assert [key(v) for v in values] == sorted((key(v) for v in values), reverse=descending)


@pytest.mark.parametrize(
    ("rule", "keeps"),
    [
        ({"type": "greaterThan", "filter": 0.2}, lambda p: p > 0.2),
        ({"type": "lessThanOrEqual", "filter": 0.05}, lambda p: p <= 0.05),
        ({"type": "inRange", "filter": 0.1, "filterTo": 0.3}, lambda p: 0.1 <= p <= 0.3),
        (
            {
                "operator": "OR",
                "conditions": [{"type": "lessThan", "filter": 0.02}, {"type": "greaterThan", "filter": 0.5}],
            },
            lambda p: p < 0.02 or p > 0.5,
        ),
        (
            {
                "operator": "AND",
                "conditions": [{"type": "lessThan", "filter": 0.4}, {"type": "greaterThan", "filter": 0.1}],
            },
            lambda p: 0.1 < p < 0.4,
        ),
        ({"type": "no such test", "filter": 3}, lambda p: True),
    ],
)
def test_filters_of_the_grid(desk, rule, keeps):
    view = View.parse({}, None, {"probability": rule})
    assert columns(desk, view)["probability"] == [p for p in columns(desk, View())["probability"] if keeps(p)]


def test_decisions_filter_and_count(own_desk):
    first, second = (own_desk.snapshot.ids[node] for node in own_desk.queue.order(View(action="review"))[:2])
    own_desk.decide(first, "rare", note="", reviewer="ada", seen=0, action_key="1")
    own_desk.decide(second, "unsure", note="", reviewer="bob", seen=0, action_key="2")
    assert set(columns(own_desk, View(status="decided"))["id"]) == {first, second}
    assert columns(own_desk, View(status="rare"))["id"] == [first]
    assert columns(own_desk, View(status="unsure"))["reviewer"] == ["bob"]
    assert len(own_desk.queue.order(View(status="open"))) == len(own_desk.queue.order(View())) - 2
    progress = own_desk.queue.progress(View())
    assert (progress.done, progress.decided) == (2, 2)
    assert progress.total == len(own_desk.queue.order(View(action="review")))


def test_what_was_decided_stays_done_when_prices_change(own_desk):
    queue, dear = own_desk.queue, Costs(review=1e6)
    for number, node in enumerate(queue.order(View(action="review", budget=20))[:4]):
        own_desk.decide(queue.snapshot.ids[node], "normal", note="", reviewer="ada", seen=0, action_key=str(number))
    assert queue.progress(View(budget=20)) == Workload(done=4, total=20, decided=4)
    assert queue.progress(View(dear)) == Workload(done=4, total=4, decided=4)  # nothing is worth a review any more


def test_pages_put_together_are_the_queue(desk):
    view = View(sort=(("id", False),))
    rows, count = [], None
    for start in range(0, 400, 60):
        page, count = desk.queue.rows(view, start, start + 60)
        rows += page
    assert [row["id"] for row in rows] == columns(desk, view)["id"] and count == len(rows)
    assert desk.queue.rows(view, 0, 10**9)[1] == count


def test_neighbours_in_the_queue(desk):
    view = View(action="review")
    order = desk.queue.order(view).tolist()
    assert desk.queue.position(view, order[0]) == (0, None, order[1], len(order))
    assert desk.queue.position(view, order[3]) == (3, order[2], order[4], len(order))
    assert desk.queue.position(view, order[-1])[2] is None
    elsewhere = int(desk.snapshot.graph.known[0])
    assert desk.queue.position(view, elsewhere) == (None, None, order[0], len(order))


def test_costs_move_the_thresholds(desk):
    cheap = len(desk.queue.order(View(Costs(50, 5, 0.1), action="review")))
    dear = len(desk.queue.order(View(Costs(50, 5, 3), action="review")))
    assert cheap > dear


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable, max_size=20),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["miss", "alarm", "review", "budget", "action", "status", "search", "colId", "sort",
                                       "probability", "conditions", "operator", "type", "filter", "x"]), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@given(anything, anything, anything)
@example(None, None, {"probability": {"type": []}})
@example(None, None, {"record:city": {"filterType": "text", "type": {}}})
def test_whatever_a_page_sends_is_a_view_or_a_clear_refusal(data, sort, conditions):
    try:
        view = View.parse(data, sort, conditions)
    except InputError:
        return
    hash(view)
    assert view.action in (None, *ACTIONS)
