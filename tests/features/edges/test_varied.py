"""Many values with the same neighbour: against loops, silent where values do not go with neighbours, in parts and live as at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from in_parts import check_parts_and_live
from stored_recipes import check_refused

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edges.plan import EdgePlan, PlannedColumn
from calirare.features.edges.varied import NEW, VARIED, plan_varied, varied_columns
from calirare.features.recipe import ColumnRecipe


def calls(seed: int = 0, size: int = 300, fixed: bool = True) -> EdgeTable:
    """Hosts that ask servers for the one or two ports these have, and one server often; a twentieth tries all ports there."""
    rng = np.random.default_rng(seed)
    ports = rng.integers(0, 10, (size, 2))
    host = rng.integers(0, size, 12 * size)
    often = rng.random(host.size) < 0.5
    server = np.where(often, (7 * host + 1) % size, rng.integers(0, size, host.size))
    port = np.where(
        rng.random(host.size) < 0.9, ports[server, rng.integers(0, 2, host.size)], rng.integers(0, 10, host.size)
    )
    tried = rng.integers(0, 10, host.size)
    port = np.where((host % 20 == 0) & often, tried, port) if fixed else tried
    columns = (
        EdgeColumn("port", "number", np.where(np.arange(host.size) % 90 == 0, np.nan, 1000.0 + port)),
        EdgeColumn("service", "category", port, tuple(f"s{k}" for k in range(10))),
        EdgeColumn("status", "category", rng.integers(0, 4, host.size), ("a", "b", "c", "d")),
        EdgeColumn("bytes", "number", rng.integers(0, 10**6, host.size).astype(float)),
    )
    return EdgeTable(host, server, columns)


def tables(seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    table = calls(seed)
    size, rng = 300, np.random.default_rng(seed)
    service = table.columns[1]
    nodes = {
        "id": [f"H{k}" for k in range(size)],
        "age": rng.uniform(0, 9, size).round(2).tolist(),
        "fraud": [("yes" if (k % 20 == 0) != (k % 97 == 0) else "no") if k % 3 else None for k in range(size)],
    }
    edges = {
        "host": [f"H{k}" for k in table.source],
        "server": [f"H{k}" for k in table.target],
        "port": [None if np.isnan(one) else int(one) for one in table.columns[0].values],
        "service": [service.categories[code] for code in service.values],
        "status": rng.choice(["200", "404", "timeout"], len(table)).tolist(),
    }
    return nodes, edges


def read(both: tuple[Any, Any]) -> RareGraph:
    return cr.read_tables(*both, label="fraud", rare="yes")


@pytest.mark.parametrize("which", ["outgoing", "incoming", "edges"])
def test_columns_agree_with_loops(which: Any) -> None:
    table = calls()
    plan = EdgePlan(which != "edges", tuple(PlannedColumn(name, kind, varied=(which,)) for name, kind in KINDS))
    found = dict(varied_columns(table, plan, 250))  # the last fifty are others
    ends = list(zip(table.source.tolist(), table.target.tolist(), strict=True))
    if which == "incoming":
        ends = [(b, a) for a, b in ends]
    for name, _ in KINDS:
        column = next(one for one in table.columns if one.name == name)
        rows = [(a, b, one) for (a, b), one in zip(ends, column.values.tolist(), strict=True)]
        rows += [(b, a, one) for a, b, one in rows] if which == "edges" else []
        greatest = found[f"{name}, different ones{VARIED}{which}"]
        share = found[f"{name}{NEW}, share of {which}"]
        assert len(greatest) == len(share) == 250
        for node in (0, 1, 20, 33, 249):
            met: dict[int, list[float]] = {}
            for a, b, one in rows:
                if a == node and b != node and one == one:
                    met.setdefault(b, []).append(one)
            more = sum(len(values) - 1 for values in met.values())
            new = sum(len(set(values)) - 1 for values in met.values())
            assert greatest[node] == max(len(set(values)) for values in met.values())
            np.testing.assert_equal(share[node], (new + 1) / (more + 4) if more else np.nan)


KINDS: tuple[tuple[str, Any], ...] = (("port", "number"), ("service", "category"))


def test_those_who_try_many_stand_out() -> None:
    table = calls()
    assert plan_varied(table) == {"port": ("outgoing",), "service": ("outgoing",), "status": ()}
    plan = EdgePlan(True, (PlannedColumn("port", "number", varied=("outgoing",)),))
    (_, greatest), _ = varied_columns(table, plan, 300)
    assert (np.argsort(-np.nan_to_num(greatest))[:10] % 20 == 0).sum() >= 7


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_told_where_values_do_not_go_with_neighbours(seed: int) -> None:
    assert not any(plan_varied(calls(seed, fixed=False)).values())


def test_a_habit_of_the_node_tells_nothing() -> None:
    """Who always asks for the same port sees few with each server; these do not go with the server."""
    table = calls()
    rng = np.random.default_rng(0)
    own = np.where(rng.random(len(table)) < 0.8, table.source % 10, rng.integers(0, 10, len(table)))
    habit = EdgeColumn("service", "category", own, tuple(f"s{k}" for k in range(10)))
    assert "outgoing" not in plan_varied(EdgeTable(table.source, table.target, (habit,)))["service"]


def test_few_edges_and_none() -> None:
    table = calls()
    for some in (slice(0), slice(40)):
        assert not any(plan_varied(table.take(some)).values())
    plan = EdgePlan(True, (PlannedColumn("service", "category", varied=("outgoing",)),))
    assert all(np.isnan(column).all() for _, column in varied_columns(table.take(slice(0)), plan, 3))
    assert not list(varied_columns(EdgeTable(table.source, table.target), plan, 3))


def test_scored_from_memory_in_parts_and_live(tmp_path: Any) -> None:
    both = tables()
    model = cr.RareCategoryClassifier("linear", device="cpu").fit(read(both))
    for part in (f"port, different ones{VARIED}outgoing", f"service{NEW}, share of outgoing"):
        assert part in model.state_.recipe.names
    check_parts_and_live(tmp_path, model, *both)


def test_what_was_edited_is_refused_and_older_models_load() -> None:
    graph = read(tables())
    state = ColumnRecipe.learn(graph).state()
    np.testing.assert_array_equal(
        ColumnRecipe.restore(state).apply(graph).values, ColumnRecipe.learn(graph).apply(graph).values
    )
    (column,) = [one for one in state["edges"]["columns"] if one["name"] == "port"]
    for wrong in (("outgoing", "outgoing"), ("sideways",), "outgoing"):
        check_refused(state, "edges", {"columns": [{**column, "varied": wrong}]})
    for one in state["edges"]["columns"]:
        del one["varied"]
    older = ColumnRecipe.restore(state).edges
    assert older is not None and not any(one.varied for one in older.columns)
