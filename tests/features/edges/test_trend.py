"""How numbers of a node's edges change over time, against loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_parts import check_parts
from stored_recipes import check_refused

import calirare as cr
from calirare.decisions.column_names import say_column
from calirare.features.edges.trend import TREND
from calirare.features.recipe import ColumnRecipe

NUM_METERS, READINGS = 120, 12


def readings(num_slower: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Meters that are read once a month at one of four stations; the first few run slower from the middle of the year on."""
    rng = np.random.default_rng(seed)
    meter, month = np.repeat(np.arange(NUM_METERS), READINGS), np.tile(np.arange(READINGS), NUM_METERS)
    kwh = np.exp(rng.normal(5, 1, NUM_METERS)[meter] + rng.normal(0, 0.2, len(meter)))
    kwh[(meter < num_slower) & (month >= 6)] *= 0.3
    nodes = {
        "meters": {
            "id": [f"M{k}" for k in range(NUM_METERS)],
            "fraud": ["yes" if k < 10 else "no" for k in range(NUM_METERS)],
        },
        "stations": {"id": [f"S{k}" for k in range(4)]},
    }
    edges = {
        "source": [f"M{k}" for k in meter],
        "target": [f"S{k}" for k in rng.integers(0, 4, len(meter))],
        "read": [f"2024-{k + 1:02d}-{day:02d}" for k, day in zip(month, rng.integers(1, 28, len(meter)), strict=True)],
        "kwh": [None if k % 40 == 7 else float(one) for k, one in enumerate(kwh)],
    }
    return nodes, edges


def learn(nodes: dict[str, Any], edges: dict[str, Any], **options: Any) -> tuple[cr.RareGraph, ColumnRecipe]:
    graph = cr.read_tables(nodes, edges, label="fraud", rare="yes", **options)
    return graph, ColumnRecipe.learn(graph)


def changing(recipe: ColumnRecipe) -> dict[str, tuple[str, ...]]:
    assert recipe.edges is not None
    return {column.name: column.changing for column in recipe.edges.columns if column.changing}


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = readings(12)
    graph, recipe = learn(nodes, edges, directed=directed)
    columns, which = recipe.apply(graph), "outgoing" if directed else "edges"
    found = dict(zip(columns.names, columns.values.T, strict=True))[f"kwh{TREND}{which}"]
    days = np.array(edges["read"], dtype="datetime64[D]").astype(float)
    for k, meter in enumerate(nodes["meters"]["id"]):
        mine = [(day, kwh) for a, day, kwh in zip(edges["source"], days, edges["kwh"], strict=True) if a == meter]
        middle = np.mean([day for day, _ in mine])
        earlier = np.mean([kwh for day, kwh in mine if day < middle and kwh is not None])
        later = np.mean([kwh for day, kwh in mine if day > middle and kwh is not None])
        assert found[k] == pytest.approx((later - earlier) / (later + earlier), rel=1e-4, abs=1e-6)
    assert found[:12].max() < found[12:NUM_METERS].min()
    told = say_column(f"kwh{TREND}{which}")
    assert told == f"relative change of {'outgoing ' * directed}kwh over time"


def test_it_is_told_where_more_nodes_change_than_by_chance() -> None:
    assert changing(learn(*readings(12))[1]) == {"kwh": ("outgoing",)}
    assert not any(changing(learn(*readings(0, seed))[1]) for seed in range(10))


def test_what_counts_with_time_and_what_has_no_time_is_not_told() -> None:
    nodes, edges = readings(12)
    steady = {**edges, "counter": np.arange(float(len(edges["kwh"]))).tolist()}
    assert "counter" not in changing(learn(nodes, steady)[1])
    untimed = {name: values for name, values in edges.items() if name != "read"}
    assert not changing(learn(nodes, untimed)[1])
    same = {**edges, "kwh": [5.0] * len(edges["kwh"])}
    assert not changing(learn(nodes, same)[1])


def test_neighbours_are_not_asked_and_the_recipe_is_kept_and_checked() -> None:
    graph, recipe = learn(*readings(12))
    columns, state = recipe.apply(graph), recipe.state()
    assert [name for name in columns.names if TREND in name] == [f"kwh{TREND}outgoing"]
    np.testing.assert_array_equal(ColumnRecipe.restore(state).apply(graph).values, columns.values)
    time, kwh = state["edges"]["columns"]
    for damage in (["upwards"], ["outgoing", "outgoing"], "outgoing"):
        check_refused(state, "edges", {"columns": [time, kwh | {"changing": damage}]})
    earlier_versions = {key: value for key, value in kwh.items() if key != "changing"}
    assert not changing(ColumnRecipe.restore(state | {"edges": state["edges"] | {"columns": [time, earlier_versions]}}))


def test_parts_say_what_the_whole_says(tmp_path: Path) -> None:
    nodes, edges = readings(12)
    whole = {"id": nodes["meters"]["id"] + nodes["stations"]["id"], "fraud": nodes["meters"]["fraud"] + [None] * 4}
    check_parts(tmp_path, whole, edges, "fraud", TREND)
