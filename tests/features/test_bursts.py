"""How near own dates are to those of others, against loops; silent without bursts; in parts and live as at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from in_parts import check_parts_and_live
from stored_recipes import check_refused

import calirare as cr
from calirare.data.graph import RareGraph
from calirare.decisions.column_names import say_column
from calirare.decisions.facts import Facts
from calirare.features.bursts import NEAREST, in_bursts, third_nearest
from calirare.features.recipe import ColumnRecipe
from calirare.scoring.live.handover import hand_over, take_over
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table

SIZE = 600
NAME = f"opened{NEAREST}"


def written(days: Any) -> list[str]:
    return [f"{datetime(2022, 1, 3) + timedelta(days=float(one)):%Y-%m-%d %H:%M:%S}" for one in days]


def tables(seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Accounts opened over 300 days, a tenth of them in bursts of ten within half an hour; one without a date."""
    rng = np.random.default_rng(seed)
    days, odd = rng.uniform(0, 300, SIZE), np.arange(SIZE) % 10 == 0
    days[odd] = np.repeat(rng.uniform(0, 300, 6), 10) + rng.uniform(0, 0.02, 60)
    days[1] = days[0]
    nodes = {
        "id": [f"A{k}" for k in range(SIZE)],
        "opened": [None if k == 11 else one for k, one in enumerate(written(days))],
        "age": rng.integers(18, 80, SIZE).tolist(),
        "fraud": [("yes" if odd[k] != (k % 97 == 0) else "no") if k % 4 < 2 else None for k in range(SIZE)],
    }
    ends = rng.integers(0, SIZE, (2, 2 * SIZE))
    return nodes, {"source": [f"A{k}" for k in ends[0]], "target": [f"A{k}" for k in ends[1]]}


def read(some: tuple[Any, Any]) -> RareGraph:
    return cr.read_tables(*some, label="fraud", rare="yes")


@pytest.fixture(scope="module")
def model() -> Any:
    found = cr.RareCategoryClassifier("linear", device="cpu").fit(read(tables()))
    assert NAME in found.state_.recipe.names
    return found


@pytest.mark.parametrize("size", [3, 4, 5, 40])
def test_third_nearest_by_hand(size: int) -> None:
    rng = np.random.default_rng(size)
    days = rng.integers(0, 30, size).astype(float)  # many are equal
    days[0] = np.nan
    everyone = np.sort(days[1:])
    for day, found in zip(days, third_nearest(days, everyone), strict=True):
        others = np.delete(everyone, np.searchsorted(everyone, day)) if not np.isnan(day) else everyone[:0]
        want = np.sort(np.abs(others - day))[2] if others.size > 2 else np.nan
        np.testing.assert_equal(found, want)


def test_columns_agree_with_loops_and_no_neighbour_is_asked() -> None:
    nodes, edges = tables()
    graph = read((nodes, edges))
    recipe = ColumnRecipe.learn(graph)
    columns = ColumnRecipe.restore(recipe.state()).apply(graph)
    found = columns.values[:, columns.names.index(NAME)]
    at = {k: datetime.fromisoformat(one) for k, one in enumerate(nodes["opened"]) if one}
    for k in (0, 1, 2, 3, 10, 20, 33, 599):
        apart = sorted(abs((at[k] - other).total_seconds()) for one, other in at.items() if one != k)
        assert np.exp(found[k]) * 86_400 == pytest.approx(max(apart[2], 60), rel=1e-3, abs=8), k
    assert found[11] == pytest.approx(np.delete(found, 11).mean(), abs=1e-4)
    assert [name for name in columns.names if NAME in name] == [NAME]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [300, 2_400, 20_000])
def test_bursts_alone_are_told(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    weeks, span = rng.integers(0, 60, size), 420
    even, grown = rng.uniform(0, span, size), span * np.sqrt(rng.random(size))
    weekday = rng.choice(7, size, p=np.array([5, 5, 5, 5, 5, 1, 1]) / 27)
    daily = 19_000 + 7 * weeks + weekday + np.clip(rng.normal(13, 2, size), 0, 23.99) / 24
    hours, dates = np.round(daily * 24) / 24, np.where(rng.random(size) < 0.5, np.floor(daily), daily)
    for name, days in (
        ("even", even), ("grown", grown), ("daily", daily), ("hours", hours), ("some without hours", dates),
    ):  # fmt: skip
        assert not in_bursts(days), name
        assert not in_bursts(np.round(days * 1440) / 1440), name
        some = rng.permutation(size)[: max(size // 20, 32)]
        if name in ("even", "grown", "daily"):
            bursts = days.copy()
            bursts[some] = rng.choice(days, some.size // 8)[np.arange(some.size) % (some.size // 8)]
            bursts[some] += rng.uniform(0, 0.01, some.size)
            assert in_bursts(bursts), name
    assert not in_bursts(np.full(200, 7.3)) and not in_bursts(even[:50])


def test_dates_alone_and_dates_apart_are_not_told() -> None:
    nodes, edges = tables()
    alone = {**nodes, "opened": [one and one[:10] for one in nodes["opened"]]}
    assert not ColumnRecipe.learn(read((alone, edges))).own.bursts
    assert not ColumnRecipe.learn_and_apply(read((nodes, edges)), apart=("opened",))[0].own.bursts


def test_plans_are_stored_and_checked() -> None:
    graph = read(tables())
    state = ColumnRecipe.learn(graph).state()
    own = state["own"]
    assert [one.name for one in ColumnRecipe.restore(state).own.bursts] == ["opened"]
    check_refused(state, "own", {"bursts": ({**own["bursts"][0], "at": 99},)})
    old = ColumnRecipe.restore({**state, "own": {name: value for name, value in own.items() if name != "bursts"}})
    assert not old.own.bursts


def test_in_parts_and_live_agree_with_scoring_at_once(model: Any, tmp_path: Any) -> None:
    check_parts_and_live(tmp_path, model, *tables())


def test_live_agrees_with_scoring_at_once(model: Any, tmp_path: Any) -> None:
    nodes, edges = tables()
    count = SIZE - 20
    live = LiveScores(model, read_for(model, *_first(nodes, edges, count)))
    came = {name: list(rows[count:]) for name, rows in nodes.items()}
    moved = {name: [rows[k] for k in (0, 1, 4, 11)] for name, rows in nodes.items()}
    moved["opened"] = [None, nodes["opened"][20], nodes["opened"][30], nodes["opened"][2]]
    both = {name: came[name] + moved[name] for name in nodes}
    added = {name: rows[-30:] for name, rows in edges.items()}
    now = {name: list(rows) for name, rows in nodes.items()}
    for k, one in zip((0, 1, 4, 11), moved["opened"], strict=True):
        now["opened"][k] = one
    kept = _first(nodes, edges, count)[1]
    whole = score_table(model, read_for(model, now, {name: kept[name] + added[name] for name in kept}))
    known = dict(zip(whole["id"], whole["probability"], strict=True))
    others = [one for one in nodes["id"] if one not in both["id"]]  # those who are nearest to them may have changed
    hand_over(live, tmp_path)
    for one in (live, take_over(tmp_path)):
        found = one.score(both, added, also=others)
        assert sorted(found["id"]) == sorted(nodes["id"])
        np.testing.assert_allclose(found["probability"], [known[node] for node in found["id"]], atol=1e-6)


def test_it_is_said_as_a_duration(model: Any) -> None:
    assert say_column(NAME) == "time from opened to the third nearest of other nodes in days"
    graph = read(tables())
    columns = model.columns(graph)
    said = Facts(graph, columns, means=model.state_.recipe.means).say(NAME, 10)
    assert "minutes" in said or "seconds" in said, said
    assert said.startswith("time from opened to the third nearest of other nodes is ")


def _first(nodes: dict[str, Any], edges: dict[str, Any], count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    kept = [k for k, ends in enumerate(zip(*edges.values(), strict=True)) if all(int(one[1:]) < count for one in ends)]
    return {name: rows[:count] for name, rows in nodes.items()}, {
        name: [rows[k] for k in kept] for name, rows in edges.items()
    }
