"""Means and spreads over neighbours agree with loops; the plan keeps the number of columns in bounds."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from edge_cases import typed_graph
from slow_columns import slow_propagation

from calirare.data.graph import RareGraph
from calirare.features.propagation import MOST_COLUMNS, Aggregate, plan_aggregates, propagate
from calirare.features.relations import NUMBER_OF_EDGES, RELATIONS

STATISTICS = ("mean", "spread", "two steps")


def neighbour_counts(graph, relation, type, weight):
    """What each neighbour counts, by loops over the table."""
    counts = [{} for _ in range(graph.num_nodes)]
    table = graph.edges
    amounts = table.column(weight, "number").values if weight == "value" else np.ones(len(table))
    for k in range(len(table)):
        a, b = int(table.source[k]), int(table.target[k])
        if a == b or (type and table.type_names[int(table.type[k])] != type) or not amounts[k] > 0:
            continue
        ways = {"incoming neighbours": [(b, a)], "outgoing neighbours": [(a, b)], "neighbours": [(a, b), (b, a)]}
        for node, other in ways[relation]:
            counts[node][other] = counts[node].get(other, 0.0) + amounts[k] if weight else 1.0
    return counts


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("type", "weight"), [("", ""), ("wire", ""), ("", "value"), ("", NUMBER_OF_EDGES)])
def test_every_statistic_agrees_with_loops(relation, type, weight):
    graph = typed_graph(num_edges=60)  # some of its values are missing, many below 0
    values = np.random.default_rng(1).normal(100.0, 3.0, (30, 20)).astype(np.float32)
    names, whose = [f"c{k}" for k in range(20)], ["own"] * 7 + ["main"] * 3 + ["detail"] * 10
    middle = values.mean(axis=0, dtype=np.float64)
    aggregates = [
        Aggregate(relation, type, statistic, mine, weight)
        for statistic in STATISTICS
        for mine in ("own", "main", "detail")
    ]
    found = {}
    for some in propagate(graph, values, names, whose, middle, aggregates):
        assert some.values.dtype == np.float32 and not some.values[some.alone].any()
        found |= dict(zip(some.names, np.where(some.alone, np.nan, some.values.T), strict=True))
    counts = neighbour_counts(graph, relation, type, weight)
    assert len(found) == 60 and any(not mine for mine in counts)
    assert (weight != "") == any(len(set(mine.values())) > 1 for mine in counts)
    for aggregate in aggregates[::3]:
        for k, name in enumerate(names):
            slow = slow_propagation(counts, values[:, k], middle[k], aggregate.statistic)
            np.testing.assert_allclose(
                found[aggregate.name(name)], slow, rtol=1e-5, atol=1e-4, err_msg=aggregate.name(name)
            )


def test_neighbours_that_are_alike_have_exactly_no_spread():
    values = np.array([[0.0], [1e6 + 0.1], [1e6 + 0.1], [1e6 + 0.1]], dtype=np.float32)
    graph = RareGraph(x=values, edge_index=np.array([[0, 0, 0], [1, 2, 3]]), y=np.zeros(4, int))
    aggregate = Aggregate("neighbours", "", "spread", "own")
    (found,) = propagate(graph, values, ["c"], ["own"], values.mean(axis=0, dtype=np.float64), [aggregate])
    assert found.values[:, 0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("statistic", ["mean", "two steps"])
def test_neighbours_that_have_nothing_give_exactly_zero(statistic):
    rng = np.random.default_rng(0)
    values = (rng.random((400, 8)) < 0.05).astype(np.float32)  # categories that few nodes have
    graph = RareGraph(x=values, edge_index=rng.integers(0, 400, (2, 600)), y=np.zeros(400, int))
    aggregate = Aggregate("neighbours", "", statistic, "own")
    middle = values.mean(axis=0, dtype=np.float64)
    names = [f"c{k}" for k in range(8)]
    (found,) = propagate(graph, values, names, ["own"] * 8, middle, [aggregate])
    near = graph.adjacency().toarray() > 0
    np.fill_diagonal(near, False)
    two = near @ near if statistic == "two steps" else near
    nothing = (two @ values == 0) & near.any(axis=1)[:, None]
    assert nothing.sum() > 500 and not found.values[nothing].any()


def test_a_graph_without_a_table_has_no_incoming_neighbours():
    graph = replace(typed_graph(), edges=None)
    aggregate = Aggregate("incoming neighbours", "", "mean", "own")
    (found,) = propagate(graph, graph.x, ["a", "b"], ["own", "own"], np.zeros(2), [aggregate])
    assert found.alone.all()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("types", [(), ("a", "b"), tuple("abcdefgh")])
def test_the_plan_stays_in_bounds(directed, types):
    for own, (main, detail) in product([0, 1, 10, 64, 128], [(6, 0), (20, 30), (30, 90), (100, 400)]):
        whose, case = ["own"] * own + ["main"] * main + ["detail"] * detail + [None] * 10, (own, main, detail)
        aggregates = plan_aggregates(whose, directed, types)
        always = RELATIONS[1:] if directed else RELATIONS[:1]
        needed = {Aggregate(one, "", "mean", mine) for one in always for mine in ("own", "main") if mine in whose}
        assert needed <= set(aggregates) and len(set(aggregates)) == len(aggregates), case
        extra = sum(whose.count(aggregate.whose) for aggregate in aggregates if aggregate not in needed)
        room = MOST_COLUMNS - len(whose) - sum(whose.count(aggregate.whose) for aggregate in needed)
        assert extra <= max(0, room), case
        assert {aggregate.type for aggregate in aggregates} <= {"", *(types if len(types) <= 4 else ())}, case


def test_few_columns_are_all_propagated():
    assert plan_aggregates(["own", "main"], False, ()) == tuple(
        Aggregate("neighbours", "", statistic, mine) for statistic in STATISTICS for mine in ("own", "main")
    )
    assert plan_aggregates([], True, ()) == ()


def test_weights_are_told_of_own_columns_over_incoming_and_outgoing_neighbours():
    weighted = {one for one in plan_aggregates(["own", "main"], True, ("a", "b"), ("amount",)) if one.weight}
    ways = product(RELATIONS[1:], ("mean", "two steps"))
    assert weighted == {Aggregate(way, "", statistic, "own", "amount") for way, statistic in ways}
    assert [one.relation for one in plan_aggregates(["own"], False, (), ("amount",)) if one.weight] == [
        RELATIONS[0]
    ] * 2
    assert not any(one.weight for one in plan_aggregates(["own"] * 150, True, (), ("amount",)))  # there is no room


def test_spread_of_details_goes_first():
    aggregates = plan_aggregates(["own"] + ["main"] * 20 + ["detail"] * 25, True, ())
    assert {aggregate.statistic for aggregate in aggregates if aggregate.whose == "detail"} == {"mean", "two steps"}
    aggregates = plan_aggregates(["own"] + ["main"] * 30 + ["detail"] * 90, True, ())
    assert {aggregate.statistic for aggregate in aggregates if aggregate.whose == "detail"} <= {"mean"}
