"""Numbers of edges beside numbers of their ends, against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stored_recipes import check_refused

import calirare as cr
from calirare.decisions.column_names import say_column
from calirare.features.edges.multiples import OF_ENDS
from calirare.features.edges.plan import EdgePlan
from calirare.features.recipe import ColumnRecipe


def fuellings() -> tuple[dict[str, Any], dict[str, Any]]:
    """Cars with a tank, stations with a price level, and what was filled in and paid; car 0 fills in more than its tank holds."""
    rng = np.random.default_rng(0)
    tank, level = np.exp(rng.normal(4, 0.5, 40)), np.exp(rng.normal(0, 0.6, 12))
    car, station = rng.integers(0, 40, 500), rng.integers(0, 12, 500)
    litres = tank[car] * np.where(car == 0, 1.3, rng.uniform(0.5, 0.95, 500))
    nodes = {
        "cars": {
            "id": [f"C{k}" for k in range(40)],
            "tank": [None if k == 3 else 0.0 if k == 4 else float(size) for k, size in enumerate(tank)],
            "doors": rng.integers(2, 6, 40).tolist(),
            "log_of_tank_in_ml": np.log10(1000 * tank).tolist(),
            "fraud": ["yes" if k % 9 == 0 else "no" for k in range(40)],
        },
        "stations": {"id": [f"S{k}" for k in range(12)], "level": level.tolist()},
    }
    edges = {
        "source": [f"C{k}" for k in car],
        "target": [f"S{k}" for k in station],
        "litres": [None if k % 50 == 7 else float(one) for k, one in enumerate(litres)],
        "per_litre": (level[station] * rng.uniform(0.9, 1.1, 500)).tolist(),
    }
    return nodes, edges


def plan_of(nodes: dict[str, Any], edges: dict[str, Any], **options: Any) -> EdgePlan:
    plan = ColumnRecipe.learn(cr.read_tables(nodes, edges, label="fraud", rare="yes", **options)).edges
    assert plan is not None
    return plan


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = fuellings()
    graph = cr.read_tables(nodes, edges, label="fraud", rare="yes", directed=directed)
    columns = ColumnRecipe.learn(graph).apply(graph)
    found = dict(zip(columns.names, columns.values.T, strict=True))
    which = "outgoing" if directed else "edges"
    tanks, levels = (dict(zip(table["id"], table[name], strict=True)) for table, name in (
        (nodes["cars"], "tank"), (nodes["stations"], "level")))  # fmt: skip
    rows = list(zip(*edges.values(), strict=True))
    for k, car in enumerate(nodes["cars"]["id"]):
        mine = [litres / tanks[a] for a, _, litres, _ in rows if a == car and litres and tanks[a]]
        if mine:  # else the population's mean stands there
            for what, want in (
                ("mean", np.mean(mine)),
                ("least", min(mine)),
                ("greatest", max(mine)),
                ("sum", sum(mine)),
            ):
                assert found[f"litres / own tank, {what} of {which}"][k] == pytest.approx(want, rel=1e-5)
        mine = [paid / levels[b] for a, b, _, paid in rows if a == car]
        (high,) = (name for name in found if name.startswith("per_litre above "))
        limit = float(high.split()[2])
        assert high == f"per_litre above {limit:g} times the other end's level, share of {which}"
        assert found[high][k] == pytest.approx(np.mean(np.array(mine) > limit))
        assert found[f"per_litre / the other end's level, mean of {which}"][k] == pytest.approx(np.mean(mine), rel=1e-5)
    assert np.argmax(found[f"litres / own tank, mean of {which}"]) == 0
    ratios = [paid / levels[b] for _, b, _, paid in rows]
    assert limit == float(f"{np.quantile(ratios, 0.9):.3g}")
    assert "litres / own tank, mean of incoming" not in found and not any("own doors" in name for name in found)


def test_units_do_not_matter_and_what_tells_nothing_is_not_divided_by() -> None:
    nodes, edges = fuellings()
    plan = plan_of(nodes, edges)
    told = {column.name: {(one.number, one.end, one.which) for one in column.multiples} for column in plan.columns}
    litres = {("tank", "own", "outgoing"), ("tank", "the other end's", "incoming")}
    assert told == {
        "litres": litres,
        "per_litre": {("level", "the other end's", "outgoing"), ("level", "own", "incoming")},
    }
    in_ml = {**edges, "litres": [None if one is None else 1000 * one for one in edges["litres"]]}
    first, second = ({(one.number, one.end, one.which): one.high for one in of.columns[0].multiples} for of in (
        plan, plan_of(nodes, in_ml)))  # fmt: skip
    assert second == pytest.approx({key: 1000 * high for key, high in first.items()}, rel=0.005)
    nodes["cars"]["tank"] = np.random.default_rng(1).permutation(np.exp(np.linspace(3, 5, 40))).tolist()
    assert plan_of(nodes, edges).columns[0].multiples == ()
    debts = {**edges, "litres": [-1.0] * 500}
    assert plan_of(nodes, debts).columns[0].multiples == ()


def test_neighbours_are_not_asked_and_the_recipe_is_kept_and_checked() -> None:
    graph = cr.read_tables(*fuellings(), label="fraud", rare="yes")
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    mine = [name for name in columns.names if any(part in name for part in OF_ENDS)]
    assert len(mine) == 16 and not any(" over " in name for name in mine)
    assert {size.name for size in recipe.own.sizes} == {"tank", "level"}  # doors are divided by nowhere
    state = recipe.state()
    np.testing.assert_array_equal(ColumnRecipe.restore(state).apply(graph).values, columns.values)
    first, *others = state["edges"]["columns"]
    (told, *_) = first["multiples"]
    for damage in ({"number": "weight"}, {"end": "nobody's"}, {"which": "upwards"}, {"high": "x"}):
        check_refused(state, "edges", {"columns": [first | {"multiples": [told | damage]}, *others]})
    check_refused(state, "own", {"sizes": []}, {"sizes": state["own"]["sizes"][:1] * 2})
    old_own = {key: value for key, value in state["own"].items() if key != "sizes"}
    plain = [{key: value for key, value in one.items() if key != "multiples"} for one in (first, *others)]
    old = ColumnRecipe.restore(state | {"own": old_own, "edges": state["edges"] | {"columns": plain}})
    assert old.edges is not None and not old.own.sizes and not old.edges.sizes  # of an earlier version


def test_huge_numbers_beside_small_ones_stay_finite() -> None:
    nodes, edges = fuellings()
    nodes["cars"]["tank"] = [None if one is None else 1e-30 * one for one in nodes["cars"]["tank"]]
    edges["litres"] = [None if one is None else 1e30 * one for one in edges["litres"]]
    graph = cr.read_tables(nodes, edges, label="fraud", rare="yes")
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    assert "litres / own tank, mean of outgoing" not in columns.names  # all are cut
    assert {size.name for size in recipe.own.sizes} == {"tank", "level"} and np.isfinite(columns.values).all()
    np.testing.assert_array_equal(ColumnRecipe.restore(recipe.state()).apply(graph).values, columns.values)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("litres / own tank, greatest of outgoing", "greatest of outgoing litres / own tank"),
        ("bid / own estimate, mean of edges", "mean of bid / own estimate over all edges"),
        (
            "cost above 0.4 times the other end's value, share of outgoing",
            "share of outgoing with cost above 0.4 times the other end's value",
        ),
    ],
)
def test_names_as_one_would_say_them(name: str, said: str) -> None:
    assert say_column(name) == said
