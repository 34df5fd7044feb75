"""How usual edges are for the own category: against loops, silent where nothing depends, in parts and live as at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from in_parts import check_parts_and_live
from stored_recipes import check_refused

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edges.customs import CUSTOM, custom_columns, plan_customs
from calirare.features.edges.plan import EdgePlan
from calirare.features.recipe import ColumnRecipe


def prescriptions(seed: int = 0, size: int = 240, depend: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """Doctors who prescribe what others of their specialty do, but for a twentieth, and refer to one other specialty."""
    rng = np.random.default_rng(seed)
    specialty = rng.integers(0, 4, size)
    odd = np.arange(size) % 20 == 0
    doctor = rng.integers(0, size, 10 * size)
    as_other = odd[doctor] & (rng.random(doctor.size) < 0.6)
    like = np.where(as_other, rng.integers(0, 4, doctor.size), specialty[doctor]) if depend else 0
    drug = np.where(
        rng.random(doctor.size) < 0.2, rng.integers(0, 40, doctor.size), 10 * like + rng.integers(0, 10, doctor.size)
    )
    at = [np.flatnonzero(specialty == k) for k in range(4)]
    to = np.array([rng.choice(at[(specialty[one] + 1) % 4]) for one in doctor])
    to = np.where(rng.random(doctor.size) < 0.7, to, rng.integers(0, size, doctor.size))
    to = to if depend else rng.integers(0, size, doctor.size)
    nodes = {
        "id": [f"D{k}" for k in range(size)],
        "specialty": [None if k == 7 else f"S{one}" for k, one in enumerate(specialty)],
        "region": rng.choice(["north", "south", "east"], size).tolist(),
        "fraud": [("yes" if odd[k] != (k % 97 == 0) else "no") if k % 2 == 0 else None for k in range(size)],
    }
    edges = {
        "doctor": [f"D{k}" for k in doctor],
        "to": [f"D{k}" for k in to],
        "drug": [None if k % 50 == 0 else f"ATC{one}" for k, one in enumerate(drug.tolist())],
    }
    return nodes, edges


def read(tables: tuple[Any, Any], **options: Any) -> RareGraph:
    return cr.read_tables(*tables, label="fraud", rare="yes", **options)


def by_hand(own: list[Any], edges: list[tuple[int, Any]]) -> list[list[float]]:
    """How usual the category of each edge is for its node, one list for each node."""
    mine = [[told for at, told in edges if at == node and told is not None] for node in range(len(own))]
    shares = [{one: told.count(one) / len(told) for one in told} for told in mine]
    found: list[list[float]] = []
    for node, told in enumerate(mine):
        values = []
        for one in told if own[node] is not None else []:
            known = [k for k in range(len(own)) if own[k] is not None and mine[k]]
            overall = np.mean([shares[k].get(one, 0.0) for k in known])
            same = [shares[k].get(one, 0.0) for k in known if own[k] == own[node]]
            values.append(np.log((sum(same) - max(same) + 5 * overall) / (len(same) - 1 + 5) / overall))
        found.append(values)
    return found


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = prescriptions()
    graph = read((nodes, edges), directed=directed)
    recipe = ColumnRecipe.learn(graph)
    columns = ColumnRecipe.restore(recipe.state()).apply(graph)
    found = dict(zip(columns.names, columns.values.T, strict=True))
    which = "outgoing" if directed else "edges"
    place = {name: k for k, name in enumerate(nodes["id"])}
    rows = list(zip(edges["doctor"], edges["to"], edges["drug"], strict=True))
    rows += [] if directed else [(b, a, drug) for a, b, drug in rows]
    drugs = by_hand(nodes["specialty"], [(place[a], drug) for a, _, drug in rows])
    ends = by_hand(nodes["specialty"], [(place[a], nodes["specialty"][place[b]]) for a, b, _ in rows])
    for name, values in {"drug": drugs, "the other end's specialty": ends}.items():
        for statistic, of in {"mean": np.mean, "least": np.min}.items():
            told = found[f"{name} as usual for own specialty, {statistic} of {which}"]
            for k, mine in enumerate(values):
                if mine:
                    assert told[k] == pytest.approx(of(mine), abs=2e-5)
    assert not any(f"{CUSTOM}region" in name for name in columns.names)


def test_those_who_do_as_others_of_their_kind_do_not_stand_out() -> None:
    tables = prescriptions()
    graph = read(tables)
    columns = ColumnRecipe.learn(graph).apply(graph)
    told = columns.values[:, columns.names.index("drug as usual for own specialty, mean of outgoing")]
    assert set(np.argsort(told)[:5] % 20) == {0}


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_told_of_what_does_not_depend(seed: int) -> None:
    names = ColumnRecipe.learn(read(prescriptions(seed, depend=False))).names
    assert not any(CUSTOM in name for name in names)


def test_a_node_with_many_edges_proves_nothing() -> None:
    """Sixty edges of each of sixty nodes with habits of their own: edges depend on the own category, nodes do not."""
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(60), 60)
    habit = rng.integers(0, 30, 60)[own]
    code = np.where(rng.random(own.size) < 0.9, habit, rng.integers(0, 30, own.size))
    column = EdgeColumn("drug", "category", code, tuple(f"c{k}" for k in range(30)))
    table = EdgeTable(own, rng.integers(0, 60, own.size), (column,))
    assert not plan_customs(table, {"specialty": rng.integers(0, 3, 60).astype(float)})


def test_what_the_fit_did_not_know_is_not_told() -> None:
    own = np.repeat(np.arange(80), 5)
    code = np.where(np.arange(400) % 5 < 4, own % 2, 2)
    column = EdgeColumn("drug", "category", code, ("a", "b", "c"))
    specialty = np.where(np.arange(90) < 80, np.arange(90) % 2, np.nan)
    (custom,) = plan_customs(EdgeTable(own, 80 + own % 10, (column,)), {"specialty": specialty})
    assert (custom.own, custom.of, custom.at_end, custom.which) == ("specialty", "drug", False, "outgoing")
    plan = EdgePlan(True, customs=(custom,))
    later = EdgeColumn("drug", "category", np.array([0, 1, 2, -1]), ("z", "a", "b"))
    new = EdgeTable(np.array([0, 0, 1, 2]), np.array([3, 3, 3, 3]), (later,))
    ((_, mean), _) = custom_columns(new, plan, 3, {"specialty": np.array([0.0, 5.0, 0.0, np.nan])})
    assert mean[0] == pytest.approx(custom.usual[0][0]) and np.isnan(mean[1:]).all()
    assert not list(custom_columns(replace(new, columns=()), plan, 3, {}))


def test_scored_from_memory_in_parts_and_live(tmp_path: Any) -> None:
    tables = prescriptions()
    model = cr.RareCategoryClassifier("linear", device="cpu").fit(read(tables))
    names = model.state_.recipe.names
    assert sum(CUSTOM in name for name in names) >= 4
    check_parts_and_live(tmp_path, model, *tables)


def test_what_was_edited_is_refused_and_older_models_load() -> None:
    state = ColumnRecipe.learn(read(prescriptions())).state()
    (custom, *others) = state["edges"]["customs"]
    for change in (
        {"own": "town"},
        {"usual": ()},
        {"usual": custom["usual"][:1] + ((0.0,),)},
        {"usual": custom["usual"] * 2},
        {"at_end": "yes"},
        {"which": "sideways"},
        {"of": "drug", "at_end": True},
    ):
        check_refused(state, "edges", {"customs": [{**custom, **change}, *others]})
    del state["edges"]["customs"]
    older = ColumnRecipe.restore(state).edges
    assert older is not None and older.customs == ()
