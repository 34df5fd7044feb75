"""What two columns of one edge say together, against loops."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from stored_recipes import check_refused

import calirare as cr
from calirare.decisions.column_names import say_column
from calirare.features.edges.plan import WithinPlan
from calirare.features.edges.within import SAME_CATEGORY, SAME_EDGE
from calirare.features.recipe import ColumnRecipe

DAY = 86_400.0
WARES = [f"ware {k}" for k in range(6)]


def imports() -> tuple[dict[str, Any], dict[str, Any]]:
    """Firms that import wares; firm 0 declares a third of their price, firm 1 has all of it cleared within seconds."""
    rng = np.random.default_rng(0)
    firm, ware = rng.integers(0, 30, 600), rng.integers(0, 6, 600)
    kg = np.exp(rng.normal(5, 1.2, 600))
    price = np.exp(np.arange(6.0))[ware] * np.exp(rng.normal(0, 0.2, 600)) * np.where(firm == 0, 0.33, 1)
    came = 1.7e9 + rng.uniform(0, 90 * DAY, 600)
    wait = np.where(firm == 1, 5.0, rng.exponential(2 * DAY, 600))
    nodes = {"id": [f"F{k}" for k in range(30)], "fraud": ["yes" if k % 9 == 0 else "no" for k in range(30)]}
    edges = {
        "source": [f"F{k}" for k in firm],
        "target": [f"S{k}" for k in rng.integers(0, 25, 600)],
        "kg": [None if k % 60 == 7 else 0.0 if k % 60 == 8 else float(one) for k, one in enumerate(kg)],
        "value": (kg * price).tolist(),
        "humidity": rng.uniform(1, 2, 600).tolist(),
        "ware": [None if k % 60 == 9 else WARES[one] for k, one in enumerate(ware)],
        "came": np.round(came).tolist(),
        "cleared_at": [None if k % 60 == 10 else float(one) for k, one in enumerate(np.round(came + wait))],
    }
    return nodes, edges


def read(nodes: dict[str, Any], edges: dict[str, Any], **options: Any) -> cr.RareGraph:
    types = {"came": "time", "cleared_at": "time"}
    return cr.read_tables(nodes, edges, label="fraud", rare="yes", types=types, **options)


def plan_of(graph: cr.RareGraph) -> WithinPlan:
    plan = ColumnRecipe.learn(graph).edges
    assert plan is not None
    return plan.within


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = imports()
    graph = read(nodes, edges, directed=directed)
    columns = ColumnRecipe.learn(graph).apply(graph)
    found = dict(zip(columns.names, columns.values.T, strict=True))
    which = "outgoing" if directed else "edges"
    rows = [dict(zip(edges, row, strict=True)) for row in zip(*edges.values(), strict=True)]
    usual = {}
    priced = [row for row in rows if row["kg"] and row["ware"]]
    middle = np.mean([math.log(row["value"] / row["kg"]) for row in priced])
    for ware in WARES:
        logs = [math.log(row["value"] / row["kg"]) for row in priced if row["ware"] == ware]
        usual[ware] = (sum(logs) + middle) / (len(logs) + 1)
    waits = [(row["cleared_at"] - row["came"]) / DAY for row in rows if row["cleared_at"]]
    near = float(f"{np.quantile(np.abs(waits), 0.05):.2g}")
    for k, firm in enumerate(nodes["id"]):
        mine = [row for row in rows if row["source"] == firm]
        ratios = [row["value"] / row["kg"] for row in mine if row["kg"]]
        apart = [math.log(row["value"] / row["kg"]) - usual[row["ware"]] for row in mine if row["kg"] and row["ware"]]
        days = [(row["cleared_at"] - row["came"]) / DAY for row in mine if row["cleared_at"]]
        price, beside = f"value / kg{SAME_EDGE}", f"value / kg{SAME_CATEGORY}ware"
        want = {
            f"{price}, mean of {which}": np.mean(ratios),
            f"{price}, least of {which}": min(ratios),
            f"{price}, greatest of {which}": max(ratios),
            f"{beside}, mean of {which}": np.mean(apart),
            f"{beside}, size of {which}": math.sqrt(np.mean(np.square(apart))),
            f"{beside}, least of {which}": min(apart),
            f"{beside}, greatest of {which}": max(apart),
            f"cleared_at after came{SAME_EDGE} in days, mean of {which}": np.mean(days),
            f"cleared_at after came{SAME_EDGE} in days, least of {which}": min(days),
            f"cleared_at after came{SAME_EDGE} in days, greatest of {which}": max(days),
            f"cleared_at within {near:g} days of came{SAME_EDGE}, share of {which}": np.mean(np.abs(days) <= near),
        }
        assert {name: found[name][k] for name in want} == pytest.approx(want, rel=1e-4, abs=1e-6)
    firms = slice(0, 30)
    assert np.argmin(found[f"{beside}, mean of {which}"][firms]) == 0
    assert np.argmax(found[f"cleared_at within {near:g} days of came{SAME_EDGE}, share of {which}"][firms]) == 1


def test_what_tells_nothing_is_not_told() -> None:
    nodes, edges = imports()
    plan = plan_of(read(nodes, edges))
    assert [(one.name, one.other) for one in plan.ratios] == [("value", "kg")]  # humidity rises with nothing
    assert [(one.name, one.other) for one in plan.times] == [("cleared_at", "came")]
    assert ("value", "kg", "ware") in {(one.name, one.other, one.category) for one in plan.beside}
    assert "humidity" not in {one.name for one in plan.beside}
    rng = np.random.default_rng(1)
    shuffled = {**edges, "ware": rng.permutation(np.array(edges["ware"], dtype=object)).tolist()}
    assert plan_of(read(nodes, shuffled)).beside == ()
    many = {**edges, "ware": [f"ware {k // 2}" for k in rng.permutation(600)]}  # 300, by none of which anything is told
    assert plan_of(read(nodes, many)).beside == ()
    copied = {**edges, "kg": [2.0 * one for one in edges["value"]], "cleared_at": [one + 60 for one in edges["came"]]}
    assert plan_of(read(nodes, copied)).ratios == () and plan_of(read(nodes, copied)).times == ()
    later = {**edges, "came": edges["cleared_at"], "cleared_at": edges["came"]}
    assert [(one.name, one.other) for one in plan_of(read(nodes, later)).times] == [("came", "cleared_at")]


def test_units_do_not_matter() -> None:
    nodes, edges = imports()
    grams = {**edges, "kg": [None if one is None else 1000 * one for one in edges["kg"]]}
    first, second = (plan_of(read(nodes, one)) for one in (edges, grams))
    assert (first.times, first.ratios) == (second.times, second.ratios)
    both = [dict(next(one.usual for one in plan.beside if one.other)) for plan in (first, second)]
    assert both[1] == pytest.approx({ware: mean - math.log(1000) for ware, mean in both[0].items()})


def test_neighbours_are_not_asked_and_the_recipe_is_kept_and_checked() -> None:
    graph = read(*imports())
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    assert not any(" over " in name for name in columns.names if SAME_EDGE in name or SAME_CATEGORY in name)
    state = recipe.state()
    np.testing.assert_array_equal(ColumnRecipe.restore(state).apply(graph).values, columns.values)
    within = state["edges"]["within"]
    (time,), (ratio,), (beside, *_) = within["times"], within["ratios"], within["beside"]
    for damage in (
        {"times": [time | {"near": "x"}]},
        {"ratios": [ratio | {"other": 7}]},
        {"ratios": "value / kg"},
        {"beside": [beside | {"usual": [["ware 1"]]}]},
        {"beside": [beside | {"usual": [["ware 1", math.inf]]}]},
        {"beside": ["kg"]},
    ):
        check_refused(state, "edges", {"within": within | damage})
    plain = {key: value for key, value in state["edges"].items() if key != "within"}
    old = ColumnRecipe.restore(state | {"edges": plain})
    assert old.edges is not None and old.edges.within == WithinPlan()  # of an earlier version


def test_later_tables_may_lack_columns_and_have_new_categories() -> None:
    nodes, edges = imports()
    graph = read(nodes, edges)
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    assert graph.edges is not None and recipe.edges is not None
    without = replace(graph.edges, columns=tuple(one for one in graph.edges.columns if one.name != "kg"))
    found = recipe.apply(replace(graph, edges=without))
    at = columns.names.index(f"value / kg{SAME_EDGE}, mean of outgoing")
    assert np.ptp(found.values[:, at]) == 0 < np.ptp(columns.values[:, at])
    renamed = [
        replace(one, categories=("new", *one.categories[1:])) if one.name == "ware" else one
        for one in graph.edges.columns
    ]
    found = recipe.apply(replace(graph, edges=replace(graph.edges, columns=tuple(renamed))))
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"value / kg{SAME_EDGE}, greatest of outgoing", "greatest of outgoing value / kg"),
        (f"value / kg{SAME_CATEGORY}ware, mean of edges", "value / kg against what is usual with the same ware"),
        (f"kg{SAME_CATEGORY}ware, size of incoming", "distance of incoming kg from what is usual with the same ware"),
        (f"b within 0 days of a{SAME_EDGE}, share of outgoing", "share of outgoing with b at the same moment as a"),
    ],
)
def test_names_as_one_would_say_them(name: str, said: str) -> None:
    assert say_column(name) == said
