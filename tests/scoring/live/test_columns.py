"""Columns of new and changed nodes, against those of the whole graph."""

from __future__ import annotations

import numpy as np
import pytest
from growth import join, split

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.features.edges.again import AGAIN
from calirare.features.edges.by_category import NEIGHBOURS_WITH
from calirare.features.edges.dates import BESIDE
from calirare.features.edges.directions import directions_of
from calirare.features.edges.meeting import MEETING
from calirare.features.edges.multiples import OF_ENDS
from calirare.features.edges.trend import TREND
from calirare.features.edges.usual import AGAINST_USUAL
from calirare.features.edges.within import SAME_CATEGORY, SAME_EDGE
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.live.base import GrownBase, Standing, _by_time
from calirare.scoring.live.columns import columns_of
from calirare.scoring.live.update import NodeNames, read_update


@pytest.fixture(scope="module")
def network():
    return cr.make_transactions(200, seed=1, average_degree=6)


@pytest.fixture(autouse=True)
def nodes_change(monkeypatch):
    """As if it showed that nodes change, and that some have an even neighbour; too few here have edges enough. With room for all."""
    monkeypatch.setattr("calirare.features.propagation.MOST_COLUMNS", 2_000)
    monkeypatch.setattr(
        "calirare.features.edges.planning.plan_trend", lambda values, size, table: directions_of(table.directed)
    )
    monkeypatch.setattr("calirare.features.edges.again._FEWEST", 2)
    monkeypatch.setattr(
        "calirare.features.edges.planning.plan_again",
        lambda table: {column.name: directions_of(table.directed) for column in table.columns},
    )


def split_dated(graph, num_new):
    """`split`, and two dates of each node, one with gaps, among the times of its edges, and a limit for what it pays, with gaps.

    What is paid is taxed by channel, and settled later.
    """
    before, since = split(graph, num_new)
    ids = [*before[0]["id"], *since[0]["id"]]
    limits = dict(zip(ids, np.exp(np.random.default_rng(2).normal(0, 2, len(ids))).tolist(), strict=True))
    for (nodes, edges), seed in ((before, 0), (since, 1)):
        rng = np.random.default_rng(seed)
        days = np.datetime64("2024-01-01") + rng.integers(0, 300, (2, len(nodes["id"])))
        nodes["opened"] = [str(day) for day in days[0]]
        nodes["limit"] = [None if k % 7 == 3 else limits[node] for k, node in enumerate(nodes["id"])]
        pays = zip(edges["source"], edges["amount"], strict=True)
        edges["amount"] = [amount * limits[source] for source, amount in pays]
        channels = edges["channel"]
        edges["tax"] = [
            amount * len(channel) ** 2 * rng.uniform(0.9, 1.1)
            for amount, channel in zip(edges["amount"], channels, strict=True)
        ]
        edges["settled"] = [time + np.timedelta64(int(rng.integers(1, 10**6)), "s") for time in edges["time"]]
        nodes["checked"] = [None if k % 5 == 0 else str(day) for k, day in enumerate(days[1])]
    return before, since


@pytest.mark.parametrize(
    ("options", "num_new", "weeks"),
    [({}, 12, 0), ({"directed": False}, 5, 0), ({"edge_type": "channel"}, 1, 0), ({}, 12, 60)],
)
def test_columns_are_those_of_the_whole(network, options, num_new, weeks):
    """Also where all edges come so many weeks after those of the fit."""
    before, since = split_dated(network, num_new)
    both = [join(*pair) for pair in zip(before, since, strict=True)]
    recipe = ColumnRecipe.learn(cr.read_tables(*both, label="is_fraud", rare="yes", **options))
    for _, edges in (before, since, both):
        edges["time"] = [time + np.timedelta64(7 * weeks, "D") for time in edges["time"]]
    after = cr.read_tables(*both, label="is_fraud", rare="yes", **options)
    graph = cr.read_tables(*before, schema=after.schema)
    update = read_update(graph, NodeNames(graph), *since)
    found = columns_of(GrownBase(Standing(graph, recipe), update), update.nodes)
    want = recipe.apply(after)
    assert found.names == want.names and len(found.names) > 100
    assert {one.weight for one in recipe.aggregates} > {""}
    np.testing.assert_allclose(found.values, want.values[update.nodes], rtol=3e-7, atol=1e-6)


def odd(since, before):
    """The same rows and odd ones: repeated, turned round, from a node to itself, with values missing; a known node changed."""
    nodes, edges = since
    known = {name: values[:9] for name, values in before[1].items()}
    turned = {**known, "source": known["target"], "target": known["source"]}
    itself = {**known, "target": known["source"]}
    fresh = {**known, "source": [nodes["id"][0]] * 9, "target": [nodes["id"][0], *known["target"][1:]]}
    unknown = {**fresh, **{name: [None] * 9 for name in ("amount", "time", "channel")}}
    for more in (known, known, turned, itself, fresh, unknown):
        edges = join(edges, more)
    changed = {name: values[:2] for name, values in before[0].items()}
    changed |= {name: [7.5, -3.0] for name, values in changed.items() if isinstance(values[0], float)}
    changed["opened"] = ["2024-02-01", "2024-03-01"]
    return join(nodes, changed), edges


@pytest.mark.parametrize("options", [{}, {"directed": False}, {"edge_type": "channel"}])
def test_every_node_follows_odd_rows(network, options):
    before, since = split_dated(network, num_new=4)
    since = odd(since, before)
    changed = {name: values[-2:] for name, values in since[0].items()}
    rest = {name: values[2:] for name, values in before[0].items()}
    new = {name: values[:-2] for name, values in since[0].items()}
    edges = join(before[1], since[1])
    if "edge_type" in options:  # every row has a type
        edges["channel"] = [channel or "app" for channel in edges["channel"]]
        since[1]["channel"] = edges["channel"][len(before[1]["channel"]) :]
    after = cr.read_tables(join(join(changed, rest), new), edges, label="is_fraud", rare="yes", **options)
    recipe = ColumnRecipe.learn(after)
    graph = cr.read_tables(*before, schema=after.schema)
    update = read_update(graph, NodeNames(graph), *since)
    found = columns_of(GrownBase(Standing(graph, recipe), update), np.arange(after.num_nodes))
    for part in (
        ", last of ",
        "missing, share",
        AGAINST_USUAL,
        MEETING,
        TREND,
        AGAIN,
        *BESIDE,
        SAME_EDGE,
        *([] if "edge_type" in options else [SAME_CATEGORY]),
        *([] if "directed" in options else OF_ENDS),  # limits are those of who pays
        *([] if "edge_type" in options else [NEIGHBOURS_WITH]),
    ):
        assert any(part in name for name in found.names)
    np.testing.assert_allclose(found.values, recipe.apply(after).values, rtol=3e-7, atol=1e-6)


def test_times_are_kept_in_their_order_and_unknown_ones_last():
    table = EdgeTable(
        np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]), (EdgeColumn("t", "time", np.array([5.0, np.nan, 3.0, 4.0])),)
    )
    times, rank = _by_time(table, "t")
    assert rank.tolist() == [2, 3, 0, 1]
    np.testing.assert_array_equal(times.columns[0].values, [3.0, 4.0, 5.0, np.nan])
    np.testing.assert_array_equal(times.take(rank).source, table.source)
    assert _by_time(table, None)[1].tolist() == [0, 1, 2, 3]
