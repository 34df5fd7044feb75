"""How even edges with the same neighbour are, against loops."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_parts import check_parts
from stored_recipes import check_refused

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.decisions.column_names import say_column
from calirare.features.edges.again import AGAIN, plan_again
from calirare.features.recipe import ColumnRecipe

NUM_HOSTS, CALLS, START = 100, 8, 1_700_000_000
GAPS, BYTES = (f"time, unevenness of gaps{AGAIN}least of ", f"bytes, unevenness{AGAIN}least of ")


def calls(num_even: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Hosts that call two servers now and then; the first few call one of them once a day, with as many bytes each time."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(NUM_HOSTS), 2 * CALLS)
    server = (source + np.tile(np.repeat([0, 7], CALLS), NUM_HOSTS) * (1 + source // 9)) % 25
    time, size = rng.integers(0, 8 * 86_400, len(source)), rng.integers(100, 10_000, len(source)).astype(float)
    even = (source < num_even) & (np.arange(len(source)) % (2 * CALLS) < CALLS)
    time[even] = 86_400 * np.tile(np.arange(CALLS), num_even) + rng.integers(0, 3_600, even.sum())
    size[even] = np.repeat(rng.integers(100, 10_000, num_even), CALLS)
    nodes = {
        "hosts": {
            "id": [f"H{k}" for k in range(NUM_HOSTS)],
            "infected": ["yes" if k < 10 else "no" for k in range(NUM_HOSTS)],
        },
        "servers": {"id": [f"S{k}" for k in range(25)]},
    }
    edges = {
        "source": [f"H{k}" for k in source],
        "target": [f"S{k}" for k in server],
        "time": [str(np.datetime64(START + int(one), "s")) for one in time],
        "bytes": [None if k % 40 == 7 else one for k, one in enumerate(size.tolist())],
    }
    edges["time"][11] = edges["time"][12]  # of one moment
    return nodes, edges


def learn(nodes: dict[str, Any], edges: dict[str, Any], **options: Any) -> tuple[cr.RareGraph, ColumnRecipe]:
    graph = cr.read_tables(nodes, edges, label="infected", rare="yes", **options)
    return graph, ColumnRecipe.learn(graph)


def plan(nodes: dict[str, Any], edges: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    table = cr.read_tables(nodes, edges, label="infected", rare="yes").edges
    assert table is not None
    return plan_again(table)


def told(recipe: ColumnRecipe) -> dict[str, tuple[str, ...]]:
    assert recipe.edges is not None
    return {column.name: column.again for column in recipe.edges.columns if column.again}


def least(edges: dict[str, Any], values: list[Any], ways: list[tuple[str, str]], gaps: bool) -> dict[str, float]:
    """Of each node, by a loop over its neighbours."""
    met, found = defaultdict[tuple[str, str], list[float]](list), dict[str, float]()
    for way, opposite in ways:
        for one, node, other in zip(values, edges[way], edges[opposite], strict=True):
            if node != other and one is not None:
                met[node, other].append(one)
    for (node, _), mine in met.items():
        mine = np.diff(sorted(set(mine))).tolist() if gaps else mine
        if len(mine) >= 4:
            low, high = np.quantile(mine, [0.25, 0.75])
            uneven = (len(mine) * (high - low) / (high + low) + 2) / (len(mine) + 4)
            found[node] = min(uneven, found.get(node, uneven))
    return found


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = calls(12)
    edges = {name: [*values, values[0]] for name, values in edges.items()}
    edges["target"][-1] = edges["source"][-1]  # a node is no neighbour of its own
    graph, recipe = learn(nodes, edges, directed=directed)
    columns = recipe.apply(graph)
    found = dict(zip(columns.names, columns.values.T, strict=True))
    seconds = np.array(edges["time"], dtype="datetime64[s]").astype(float).tolist()
    there, back = ("source", "target"), ("target", "source")
    ways = {"outgoing": [there], "incoming": [back]} if directed else {"edges": [there, back]}
    ids = nodes["hosts"]["id"] + nodes["servers"]["id"]
    for which, pairs in ways.items():
        for name, values, gaps in ((GAPS, seconds, True), (BYTES, edges["bytes"], False)):
            if name + which in found:
                loops = least(edges, values, pairs, gaps)
                want = np.array([loops.get(node, np.nan) for node in ids])
                want[np.isnan(want)] = np.nanmean(want)
                np.testing.assert_allclose(found[name + which], want, rtol=1e-5)
    first = next(iter(ways))
    assert found[GAPS + first][:12].max() < found[GAPS + first][12:NUM_HOSTS].min()
    assert {GAPS + first, BYTES + first} <= set(found)


def test_it_is_told_where_more_nodes_have_an_even_neighbour_than_by_chance() -> None:
    assert all("outgoing" in plan(*calls(12))[name] for name in ("time", "bytes"))
    assert not any(plan(*calls(0, seed)) for seed in range(6))


def test_rhythms_of_nodes_prices_of_neighbours_and_bursts_tell_nothing() -> None:
    nodes, edges = calls(0)
    rng = np.random.default_rng(1)
    place = rng.permuted(np.tile(np.arange(2 * CALLS), (NUM_HOSTS, 1)), axis=1).ravel()
    clockwork = [str(np.datetime64(START + 86_400 * int(k), "s")) for k in place]  # whichever server it calls
    burst = np.repeat(rng.integers(0, 10**6, 2 * NUM_HOSTS), CALLS) + rng.exponential(60, len(place)).cumsum() % 600
    price = [100.0 * (1 + int(server[1:])) for server in edges["target"]]
    for change in (
        {"time": clockwork},
        {"time": [str(np.datetime64(START + int(one), "s")) for one in burst]},
        {"bytes": price},
        {"bytes": [5.0] * len(place)},
    ):
        assert not plan(nodes, edges | change)


def test_the_largest_numbers_and_no_edges_are_read() -> None:
    source, target = np.repeat(np.arange(60), 10), np.tile(np.repeat([60, 61], 5), 60)
    largest = EdgeColumn("sum", "number", 1.7e308 * (-1.0) ** np.random.default_rng(0).integers(0, 2, 600))
    assert plan_again(EdgeTable(source, target, (largest,))) == {}
    assert plan_again(EdgeTable(source[:0], target[:0], (EdgeColumn("sum", "number", np.zeros(0)),))) == {}


def test_neighbours_are_not_asked_and_the_recipe_is_kept_and_checked() -> None:
    graph, recipe = learn(*calls(12))
    columns, state = recipe.apply(graph), recipe.state()
    assert not any(" over " in name for name in columns.names if AGAIN in name)
    np.testing.assert_array_equal(ColumnRecipe.restore(state).apply(graph).values, columns.values)
    time, size = state["edges"]["columns"]
    for damage in (["upwards"], ["outgoing", "outgoing"], "outgoing"):
        check_refused(state, "edges", {"columns": [time, size | {"again": damage}]})
    old = [{key: value for key, value in one.items() if key != "again"} for one in (time, size)]
    assert not told(ColumnRecipe.restore(state | {"edges": state["edges"] | {"columns": old}}))


def test_parts_say_what_the_whole_says(tmp_path: Path) -> None:
    nodes, edges = calls(12)
    whole = {"id": nodes["hosts"]["id"] + nodes["servers"]["id"], "infected": nodes["hosts"]["infected"] + [None] * 25}
    check_parts(tmp_path, whole, edges, "infected", AGAIN)


def test_names_as_one_would_say_them() -> None:
    assert say_column(BYTES + "edges") == "least unevenness of bytes with the same neighbour"
    assert say_column(GAPS + "incoming") == "least unevenness of gaps of incoming time with the same neighbour"
