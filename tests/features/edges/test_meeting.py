"""How near in time others meet a node at the other ends of its edges, against loops."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edges.directions import directions_of
from calirare.features.edges.meeting import MEETING, meeting_columns, meetings
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.planning import plan_edges
from calirare.features.edges.rhythm import rhythm_columns
from calirare.features.recipe import ColumnRecipe


def visits(seed: int, *, directed: bool = True, clock: bool = True) -> EdgeTable:
    """Few nodes, many edges at the same moment, loops, some times missing."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 8, (2, 60))
    times = rng.integers(0, 40, 60) * (3_600.0 if clock else 1.0) + (1_600_000_000 if clock else 0)
    times[rng.random(60) < 0.1] = np.nan
    return EdgeTable(source, target, (EdgeColumn("time", "time", times),), directed=directed)


def all_told(table: EdgeTable, close: float) -> EdgePlan:
    """A plan that tells of all directions."""
    plan = plan_edges(table)
    assert plan is not None
    near = tuple((which, close) for which in directions_of(table.directed))
    return replace(plan, columns=tuple(replace(column, near=near) for column in plan.columns))


def by_loops(table: EdgeTable, which: str, node: int, day: float) -> list[float]:
    times = table.columns[0].values / day
    ends = list(zip(times, table.source, table.target, strict=True))
    turned = [(when, target, source) for when, source, target in ends]
    seen = {"outgoing": ends, "incoming": turned, "edges": ends + turned}[which]
    seen = [one for one in seen if not math.isnan(one[0]) and one[1] != one[2]]
    nearest = []
    for when, mine, other in seen:
        apart = [abs(then - when) for then, who, where in seen if where == other and who != mine]
        if mine == node and apart:
            nearest.append(min(apart))
    return nearest


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("clock", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_columns_agree_with_loops(directed: bool, clock: bool, seed: int) -> None:
    table = visits(seed, directed=directed, clock=clock)
    day, shortest, close = (86_400, 1e-3, 0.1) if clock else (1, 1.0, 2.0)
    plan = all_told(table, close)
    found = dict(meeting_columns(meetings(table, plan, 8, 8), plan))
    assert len(found) == 3 * len(directions_of(directed)) and all(MEETING in name for name in found)
    for which in directions_of(directed):
        apart = found[f"time{' in days' if clock else ''} apart from{MEETING}{which}"]
        near = found[f"time within {'0.1 days' if clock else '2'} of{MEETING}share of {which}"]
        for node in range(8):
            wanted = by_loops(table, which, node, day)
            mean = math.exp(np.mean(np.log(np.array(wanted) + shortest))) - shortest if wanted else math.nan
            np.testing.assert_allclose(apart[node], mean, rtol=1e-5, atol=1e-5)
            share = np.mean(np.array(wanted) <= close + 1e-9) if wanted else math.nan
            np.testing.assert_allclose(near[node], share, rtol=1e-6)


@pytest.mark.parametrize("directed", [True, False])
def test_a_few_edges_at_a_time_say_the_same(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = visits(1, directed=directed)
    plan, size = all_told(table, 0.1), 8
    want, columns = meetings(table, plan, size, size), rhythm_columns(table, plan, size)
    monkeypatch.setattr("calirare.features.edges.rhythm.AT_ONCE", 13)
    np.testing.assert_allclose(meetings(table, plan, size, size), want)
    for name, column in rhythm_columns(table, plan, size).items():
        np.testing.assert_array_equal(column, columns[name])


def test_what_each_other_end_says_adds_up() -> None:
    table = visits(0)
    plan = all_told(table, 0.1)
    both = np.zeros((8, plan.num_met))
    for own in (np.arange(0, 3), np.arange(3, 8)):  # the edges of some nodes, these numbered first
        mine = table.take(np.isin(table.source, own) | np.isin(table.target, own))
        named = np.concatenate([own, np.setdiff1d(np.arange(8), own)])
        place = np.argsort(named)
        local = EdgeTable(place[mine.source], place[mine.target], mine.columns)
        both += meetings(local, plan, len(own), 8)[place]
    want = meetings(table, plan, 8, 8)
    np.testing.assert_allclose(both, want)
    assert want[:3].any()
    np.testing.assert_allclose(meetings(table, plan, 8, 3), want[:3])  # of the first nodes alone


def test_those_who_keep_together_stand_out() -> None:
    rng = np.random.default_rng(0)
    who, where = rng.integers(0, 60, 600), 60 + rng.integers(0, 40, 600)
    when = rng.random(600) * 1e7
    posts = np.flatnonzero(who < 10)  # in fives at one place, within seconds
    where[posts], when[posts] = 60 + np.arange(posts.size) // 5 % 40, 1e5 * (np.arange(posts.size) // 5)
    times = EdgeColumn("time", "time", 1_600_000_000 + when + rng.random(600))
    table = EdgeTable(who, where, (times,))
    plan = plan_edges(table)
    assert plan is not None
    columns = dict(meeting_columns(meetings(table, plan, 100, 100), plan))
    ((_, close), *_) = plan.columns[0].near
    apart = columns[f"time in days apart from{MEETING}outgoing"]
    near = columns[f"time within {close:g} days of{MEETING}share of outgoing"]
    assert np.nanmean(apart[:10]) < np.nanmean(apart[10:60]) / 10
    assert np.nanmean(near[:10]) > 5 * np.nanmean(near[10:60])


def test_models_of_earlier_versions_find_the_share_under_its_old_name() -> None:
    table = visits(0)
    graph = RareGraph(
        x=np.eye(8), edge_index=np.stack([table.source, table.target]), y=np.zeros(8, dtype=int), edges=table
    )
    recipe = ColumnRecipe.learn(graph)
    told = [name for name in recipe.names if MEETING in name and "share of" in name and "neighbours" not in name]
    assert told and not any("near" in name for name in told)  # once, by its new name
    state = recipe.state()
    state["names"] = [re.sub(r" within \S+ days of others", " near others", name) for name in recipe.names]
    assert state["names"] != list(recipe.names)
    np.testing.assert_array_equal(ColumnRecipe.restore(state).apply(graph).values, recipe.apply(graph).values)


def test_without_the_column_nothing_is_known() -> None:
    table = visits(0)
    plan = all_told(table, 0.1)
    bare = EdgeTable(table.source, table.target)
    assert all(np.isnan(column).all() for _, column in meeting_columns(meetings(bare, plan, 8, 8), plan))
