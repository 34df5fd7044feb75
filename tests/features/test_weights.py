"""By which numbers of the edges neighbours count: found by loops too, and only where it makes a difference."""

import numpy as np
import pytest

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.relations import NUMBER_OF_EDGES
from calirare.features.weights import plan_weights


def table_of(rng, num_edges=400, num_nodes=50, **columns):
    ends = rng.integers(0, num_nodes, (2, num_edges))
    return EdgeTable(*ends, tuple(EdgeColumn(name, "number", values) for name, values in columns.items()))


def slow_evenness(table, values):
    """The mean share of a node's neighbours that count, by loops over both ends of every edge."""
    weights = {}
    for a, b, value in zip(table.source.tolist(), table.target.tolist(), values.tolist(), strict=True):
        if a != b and value > 0:
            for node, other in ((a, b), (b, a)):
                mine = weights.setdefault(node, {})
                mine[other] = mine.get(other, 0.0) + value
    found = []
    for mine in weights.values():
        if len(mine) > 1:
            shares = [one / sum(mine.values()) for one in mine.values()]
            found.append(1 / (len(shares) * sum(share**2 for share in shares)))
    return np.mean(found)


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_told_where_loops_find_them_uneven(seed):
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.2, 0.9)
    amount = np.where(rng.random(400) < 0.1, np.nan, np.exp(rng.normal(0, spread, 400)))
    table = table_of(rng, amount=amount)
    assert (plan_weights(table) == ("amount",)) == (slow_evenness(table, amount) < 0.8)
    assert slow_evenness(table, np.ones(400)) > 0.8


def test_the_most_uneven_come_first_and_those_that_say_the_same_once():
    rng = np.random.default_rng(0)
    first, second, third = (np.exp(rng.normal(0, spread, 400)) for spread in (2.0, 1.5, 1.2))
    fee = 0.03 * first * rng.uniform(0.99, 1.01, 400)
    table = table_of(rng, third=third, first=first, fee=fee, second=second)
    found = plan_weights(table)
    assert len(found) == 2 and found[0] in ("first", "fee") and found[1] == "second"


def test_what_can_be_below_zero_or_is_even_is_no_weight():
    rng = np.random.default_rng(1)
    rating = np.where(rng.random(400) < 0.02, -5.0, np.exp(rng.normal(0, 2.0, 400)))
    nothing = np.full(400, np.nan)
    assert plan_weights(table_of(rng, rating=rating, age=rng.normal(40.0, 5.0, 400), nothing=nothing)) == ()
    assert plan_weights(table_of(rng, num_edges=0, amount=np.empty(0))) == () == plan_weights(None)


def test_many_edges_to_the_same_neighbour_are_a_weight():
    rng = np.random.default_rng(2)
    table = table_of(rng, num_edges=200)
    again = np.repeat(np.arange(200), np.where(rng.random(200) < 0.2, 12, 1))
    assert plan_weights(table) == ()
    assert plan_weights(EdgeTable(table.source[again], table.target[again])) == (NUMBER_OF_EDGES,)


def test_some_nodes_of_a_large_table_tell_the_same():
    rng = np.random.default_rng(3)
    amount = np.exp(rng.normal(0, 1.5, 200_000))
    assert plan_weights(table_of(rng, 200_000, 20_000, amount=amount)) == ("amount",)
