"""Dates of nodes beside each other and beside the times of edges, against loops and plain subtraction."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from stored_recipes import check_refused

import calirare as cr
from calirare.features.edges.dates import BESIDE
from calirare.features.recipe import ColumnRecipe

START = datetime(2024, 1, 1)


def trades() -> tuple[dict[str, Any], dict[str, Any]]:
    """Traders with two dates, shares with the day of their news, and trades of a hundred days; trader 0 buys before the news."""
    rng = np.random.default_rng(0)
    opened, checked = rng.integers(-400, 60, 30), rng.integers(0, 100, 30)
    announced = rng.uniform(50, 90, 10)
    trader, share, when = rng.integers(0, 30, 400), rng.integers(0, 10, 400), rng.uniform(0, 100, 400)
    when = np.where(trader == 0, announced[share] - rng.uniform(0.1, 0.3, 400), when)
    day = [str(date(2024, 1, 1) + timedelta(days=int(one))) for one in opened]
    nodes = {
        "traders": {
            "id": [f"T{k}" for k in range(30)],
            "opened": [None if k == 5 else day[k] for k in range(30)],
            "checked": [str(date(2024, 1, 1) + timedelta(days=int(one))) for one in checked],
            "insider": ["yes" if k % 7 == 0 else "no" for k in range(30)],
        },
        "shares": {"id": [f"S{k}" for k in range(10)], "announced": [_moment(one) for one in announced]},
    }
    stamps = [None if k % 50 == 3 else _moment(one) for k, one in enumerate(when)]
    edges = {"source": [f"T{k}" for k in trader], "target": [f"S{k}" for k in share], "traded": stamps}
    return nodes, edges


def _moment(days: float) -> str:
    return (START + timedelta(days=float(days))).isoformat(sep=" ", timespec="seconds")


def _days(text: str | None) -> float:
    return np.nan if text is None else (datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds() / 86_400


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = trades()
    graph = cr.read_tables(nodes, edges, label="insider", rare="yes", directed=directed)
    columns = ColumnRecipe.learn(graph).apply(graph)
    found = dict(zip(columns.names, columns.values.T, strict=True))
    opened, announced = (dict(zip(table["id"], map(_days, table[name]), strict=True)) for table, name in (
        (nodes["traders"], "opened"), (nodes["shares"], "announced")))  # fmt: skip
    which = "outgoing" if directed else "edges"
    rows = [(a, b, _days(when)) for a, b, when in zip(*edges.values(), strict=True) if when is not None]
    for name, dates, end in (("own opened", opened, 0), ("the other end's announced", announced, 1)):
        apart = [(a, when - dates[(a, b)[end]]) for a, b, when in rows]
        apart = [(a, days) for a, days in apart if not np.isnan(days)]
        near = float(f"{np.quantile(np.abs([days for _, days in apart]), 0.05):.2g}")
        for k, trader in enumerate(nodes["traders"]["id"]):
            mine = np.array([days for a, days in apart if a == trader])
            if not mine.size:
                continue  # the population's mean stands there
            mean, before, after = (found[f"traded {what} {name}, {kind} of {which}"][k] for what, kind in (
                ("in days after", "mean"), (f"at most {near:g} days before", "share"), (f"at most {near:g} days after", "share")))  # fmt: skip
            assert mean == pytest.approx(mine.mean(), abs=2e-4)  # attributes are in single precision
            assert before == pytest.approx(np.mean((mine < 0) & (mine >= -near)))
            assert after == pytest.approx(np.mean((mine >= 0) & (mine <= near)))
        if end:
            news = f"traded at most {near:g} days before {name}, share of {which}"
            assert np.argmax(found[news][:30]) == 0 and found[news][0] > 0.2


def test_days_between_two_dates_of_a_node() -> None:
    nodes, edges = trades()
    graph = cr.read_tables(nodes, edges, label="insider", rare="yes")
    columns = ColumnRecipe.learn(graph).apply(graph)
    between = columns.values[:, columns.names.index("checked after opened, in days")]
    traders = nodes["traders"]
    want = np.array([_days(b) - _days(a) for a, b in zip(traders["opened"], traders["checked"], strict=True)])
    np.testing.assert_allclose(between[:30], np.where(np.isnan(want), np.nanmean(want), want), atol=2e-3)
    assert not any("announced after" in name for name in columns.names)  # no node has both


def test_dates_outside_of_the_times_and_steps_are_not_told_beside_edges() -> None:
    nodes, edges = trades()
    nodes["shares"]["announced"] = [_moment(5_000 + k) for k in range(10)]
    steps = {**edges, "traded": [None if one is None else round(_days(one)) - 19_000 for one in edges["traded"]]}
    for rows, told in ((edges, {"opened", "checked"}), (steps, set())):
        graph = cr.read_tables(nodes, rows, label="insider", rare="yes", time="traded")
        plan = ColumnRecipe.learn(graph).edges
        assert plan is not None and {one.date for column in plan.columns for one in column.dated} == told


def test_neighbours_are_not_asked_and_the_recipe_is_kept_and_checked() -> None:
    graph = cr.read_tables(*trades(), label="insider", rare="yes")
    recipe, columns = ColumnRecipe.learn_and_apply(graph)
    mine = [name for name in columns.names if any(part in name for part in BESIDE)]
    assert mine and not any(" over " in name for name in mine)
    state = recipe.state()
    np.testing.assert_array_equal(ColumnRecipe.restore(state).apply(graph).values, columns.values)
    (time,), (first, *others) = state["edges"]["columns"], state["own"]["dates"]
    (told, *_) = time["dated"]
    for damage in ({"at": -1}, {"gap": 99}, {"scale": "x"}, {"name": 3}, {"at": True}):
        check_refused(state, "own", {"dates": [first | damage, *others]})
    for damage in ({"date": "born"}, {"end": "nobody's"}, {"which": "upwards"}, {"near": "x"}):
        check_refused(state, "edges", {"columns": [time | {"dated": [told | damage]}]})
    old_own = {key: value for key, value in state["own"].items() if key != "dates"}
    old_edges = state["edges"] | {"columns": [{key: value for key, value in time.items() if key != "dated"}]}
    old = ColumnRecipe.restore(state | {"own": old_own, "edges": old_edges})  # of an earlier version
    assert old.edges is not None and not old.own.dates and not old.edges.columns[0].dated
