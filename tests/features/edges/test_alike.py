"""Edges to one's like, and to the same neighbour, against loops; in parts and live as at once."""

from __future__ import annotations

from datetime import datetime
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from in_parts import check_parts_and_live
from stored_recipes import check_refused, columns_of

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.decisions.column_names import say_column
from calirare.features.edges.likes import like_columns, plan_likes
from calirare.features.edges.plan import EdgePlan, PlannedColumn
from calirare.features.recipe import ColumnRecipe


def payments(seed: int = 0, size: int = 300, apart: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """Accounts in four countries that pay within their own, but for a twentieth; these pay round sums, at night, and one payee."""
    rng = np.random.default_rng(seed)
    country = rng.choice(["NO", "SE", "DK", "FI"], size)
    odd = (np.arange(size) % 20 == 0) & apart
    payer = rng.integers(0, size, 12 * size)
    home = np.array([rng.choice(np.flatnonzero(country == country[k])) for k in payer])
    abroad = np.where(rng.random(payer.size) < 0.7, (7 * payer + 3) % size, rng.integers(0, size, payer.size))
    payee = np.where(odd[payer], abroad, home) if apart else rng.integers(0, size, payer.size)
    amount = rng.lognormal(4, 1, payer.size).round(2)
    hour = rng.uniform(7, 19, payer.size)
    hour[odd[payer]] = rng.uniform(22, 28, odd[payer].sum()) % 24
    amount[odd[payer]] = 500.0 * rng.integers(1, 5, odd[payer].sum())
    leaning = np.where(
        odd[payer] & (rng.random(payer.size) < 0.6), rng.integers(30, 36, payer.size), rng.integers(0, 40, payer.size)
    )
    nodes = {
        "id": [f"A{k}" for k in range(size)],
        "country": [None if k == 7 else str(one) for k, one in enumerate(country)],
        "handle": [f"{rng.choice(['ann', 'bo'])}{'x' * (k % 3)}{k if k % 4 else 10_000 + k}" for k in range(size)],
        "opened": [None if k == 11 else f"20{10 + (7 * k) % 13}-0{1 + k % 9}-15" for k in range(size)],
        "fraud": [("yes" if (k % 20 == 0) != (k % 97 == 0) else "no") if k % 2 == 0 else None for k in range(size)],
    }
    edges = {
        "payer": [f"A{k}" for k in payer],
        "payee": [f"A{k}" for k in payee],
        "amount": amount.tolist(),
        "time": (1.7e9 // 86_400 * 86_400 + 86_400 * rng.integers(0, 20, payer.size) + 3600 * hour).round().tolist(),
        "merchant": [f"M{code}" for code in leaning],
        "kind": rng.choice(["card", "wire", "cash"], payer.size).tolist(),
    }
    return nodes, edges


def read(tables: tuple[Any, Any], **options: Any) -> RareGraph:
    return cr.read_tables(*tables, label="fraud", rare="yes", **options)


def opening(nodes: dict[str, Any], own: str, others: list[str]) -> list[str]:
    opened = dict(zip(nodes["id"], nodes["opened"], strict=True))
    return [opened[own] or "2000-01-01", *(opened[one] for one in others if opened[one])]


def test_leanings_are_those_of_correspondence_analysis() -> None:
    rng = np.random.default_rng(0)
    own, codes = rng.integers(0, 200, 6_000), rng.integers(0, 60, 6_000)
    codes = np.where((own < 30) & (rng.random(6_000) < 0.5), rng.integers(50, 55, 6_000), codes)
    column = EdgeColumn("code", "category", codes, tuple(f"c{k}" for k in range(60)))
    table = EdgeTable(own, rng.integers(0, 200, 6_000), (column,))
    (first, *_) = [one for one in plan_likes(column, table) if one.which == "outgoing"]
    counts = np.zeros((200, 60))
    np.add.at(counts, (own, codes), 1.0)
    n, p = counts.sum(axis=1, keepdims=True), counts.sum(axis=0) / 6_000
    z = (counts - n * p) / np.sqrt(n * p)
    left, size, _ = np.linalg.svd(z, full_matrices=False)
    plan = EdgePlan(True, (PlannedColumn("code", "category", likes=(first,)),))
    ((name, told),) = like_columns(table, plan, 200)
    expected = left[:, 0] * size[0] / np.sqrt(n[:, 0])
    np.testing.assert_allclose(told * np.sign(told @ expected), expected, atol=1e-6)
    assert set(first.name.split(", ")) <= {f"c{k}" for k in range(50, 55)} and name.startswith("code like c5")
    nothing = EdgeColumn("code", "category", rng.integers(0, 60, 6_000), column.categories)
    assert not [one for one in plan_likes(nothing, table) if one.which == "incoming"]


@pytest.mark.parametrize("directed", [True, False])
def test_columns_agree_with_loops(directed: bool) -> None:
    nodes, edges = payments()
    found = columns_of(read((nodes, edges), directed=directed))
    country = dict(zip(nodes["id"], nodes["country"], strict=True))
    rows = list(zip(edges["payer"], edges["payee"], strict=True))
    which = "outgoing" if directed else "edges"
    for k in (0, 7, 11, 40):
        own = nodes["id"][k]
        others = [b for a, b in rows if a == own] + ([] if directed else [a for a, b in rows if b == own])
        known = [country[one] == country[own] for one in others if country[one] and country[own]]
        if known:
            assert found[f"same country at both ends, share of {which}"][k] == pytest.approx(np.mean(known), abs=1e-6)
        opened = [datetime.fromisoformat(one).timestamp() for one in opening(nodes, own, others)]
        if own != "A11":
            later = [(opened[0] - one) / 86_400 for one in opened[1:]]
            assert found[f"opened after the other end's in days, mean of {which}"][k] == pytest.approx(
                np.mean(later), abs=0.2
            )
        pairs = [a == b for a, b in combinations(others, 2)]
        assert found[f"neighbour, equal pairs of {which}"][k] == pytest.approx(np.mean(pairs), abs=1e-6)


def test_nothing_is_told_of_what_does_not_tell() -> None:
    found = columns_of(read(payments(apart=False)))
    assert not any("at both ends" in name or "neighbour, equal" in name for name in found)


def test_they_are_said_in_words() -> None:
    assert say_column("same country at both ends, share of outgoing") == (
        "share of outgoing with same country at both ends"
    )
    assert (
        say_column("neighbour, equal pairs of incoming") == "share of pairs of incoming edges with the same neighbour"
    )
    assert say_column("amount, equal pairs of edges") == "share of pairs of edges with the same amount"
    assert say_column("kind, unlike pairs of edges") == "share of pairs of edges with different kind"
    assert say_column("merchant like M1, M2, mean of outgoing") == "mean of outgoing merchant like M1, M2"
    assert say_column("opened after the other end's in days, mean of outgoing") == (
        "mean time by which own opened is later than the other end's, outgoing in days"
    )
    assert say_column("amount, outgoing share of the sum") == "outgoing share of all amount"
    assert (
        say_column("amount a multiple of 100, share of outgoing") == "share of outgoing with amount a multiple of 100"
    )
    assert say_column("time = 22 to 4 h, share of outgoing") == "share of outgoing with time = 22 to 4 h"


def test_scored_from_memory_in_parts_and_live(tmp_path: Any) -> None:
    tables = payments()
    graph = read(tables)
    model = cr.RareCategoryClassifier("linear", device="cpu").fit(graph)
    names = model.state_.recipe.names
    for part in (
        "a multiple of",
        "equal pairs",
        "unlike pairs",
        "outgoing share",
        "both ends",
        " to ",
        "like",
        "after the other",
    ):
        assert any(part in name for name in names), part
    check_parts_and_live(tmp_path, model, *tables)


def test_what_was_edited_is_refused() -> None:
    state = ColumnRecipe.learn(read(payments())).state()
    first, *others = state["own"]["categories"]
    assert state["edges"]["alike"]
    check_refused(state, "edges", {"alike": ["town"]}, {"pairs": "yes"}, {"apart": ["closed"]})
    check_refused(state, "own", {"categories": [{**first, "size": 10_000}, *others]})
