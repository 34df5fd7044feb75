"""What dates and numbers of nodes tell beside their size, against the calendar, written digits and polars; in parts and live as at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from in_parts import check_parts_and_live
from stored_recipes import check_refused, columns_of

import calirare as cr
from calirare.data.graph import RareGraph
from calirare.features.own import OwnPlan
from calirare.features.recipe import ColumnRecipe

SIZE = 600


def tables(seed: int = 0, even: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Doctors who opened their account by day and bill by specialty; a twentieth by night, round sums, and far more."""
    rng = np.random.default_rng(seed)
    odd = (np.arange(SIZE) % 20 == 0) & (not even)
    hour = rng.uniform(0, 24, SIZE) if even else np.where(odd, rng.uniform(1, 5, SIZE), rng.normal(13, 2, SIZE) % 24)
    days = rng.integers(0, 1_400, SIZE)
    opened = [
        datetime(2020, 1, 6) + timedelta(days=int(d), minutes=int(60 * h)) for d, h in zip(days, hour, strict=True)
    ]
    specialty = rng.integers(0, 12, SIZE)
    billed = np.exp(10 + (0 if even else 0.4) * specialty + rng.normal(0, 0.3, SIZE) + 0.9 * odd).round(2)
    income = rng.integers(10_000, 99_999, SIZE)
    income[odd] = income[odd] // 5_000 * 5_000
    nodes = {
        "id": [f"D{k}" for k in range(SIZE)],
        "opened": [None if k == 11 else f"{at:%Y-%m-%d %H:%M:%S}" for k, at in enumerate(opened)],
        "specialty": [None if k == 5 else f"s{code}" for k, code in enumerate(specialty)],
        "billed": [None if k == 7 else float(one) for k, one in enumerate(billed)],
        "income": income.tolist(),
        "fraud": [("yes" if (k % 20 == 0) != (k % 97 == 0) else "no") if k % 2 == 0 else None for k in range(SIZE)],
    }
    ends = rng.integers(0, SIZE, (2, 2 * SIZE))
    return nodes, {"source": [f"D{k}" for k in ends[0]], "target": [f"D{k}" for k in ends[1]]}


def read(some: tuple[Any, Any], **options: Any) -> RareGraph:
    return cr.read_tables(*some, label="fraud", rare="yes", **options)


def test_hours_and_weekdays_are_those_of_the_calendar() -> None:
    nodes, edges = tables()
    found = columns_of(read((nodes, edges)))
    known = [k for k in range(SIZE) if k != 11]
    at = [datetime.fromisoformat(nodes["opened"][k]) for k in known]
    hours = [one.hour + one.minute / 60 for one in at]
    np.testing.assert_allclose(found["opened, hour of the day"][known], hours, atol=1e-4)
    assert "opened, day of the week" not in found  # evenly spread
    nodes["opened"] = [one and (datetime.fromisoformat(one) + timedelta(days=-(k % 3 > 0) * datetime.fromisoformat(one).weekday())).date().isoformat() for k, one in enumerate(nodes["opened"])]  # fmt: skip
    found = columns_of(read((nodes, edges)))
    days = [datetime.fromisoformat(nodes["opened"][k]).isoweekday() for k in known]
    assert found["opened, day of the week"][known].tolist() == days
    assert "opened, hour of the day" not in found  # dates alone have none
    assert found["opened, day of the week"][11] == pytest.approx(np.mean(days), abs=1e-4)


def test_zeros_are_those_that_are_written() -> None:
    nodes, edges = tables()
    found = columns_of(read((nodes, edges)))
    written = [len(str(one)) - len(str(one).rstrip("0")) for one in nodes["income"]]
    assert found["income, zeros at its end"].tolist() == written
    cents = {**nodes, "income": [one / 100 for one in nodes["income"]]}
    assert columns_of(read((cents, edges)))["income, zeros at its end"].tolist() == written


def test_beside_peers_is_beside_the_median() -> None:
    nodes, edges = tables()
    found = columns_of(read((nodes, edges)))["billed divided by what is usual with the same specialty"]
    frame = pl.DataFrame(nodes)
    usual = pl.col("billed").median()
    want = frame.select(
        pl.col("billed") / pl.when(pl.col("specialty").is_null()).then(usual).otherwise(usual.over("specialty"))
    ).to_series()
    known = [k for k in range(SIZE) if k != 7]
    np.testing.assert_allclose(found[known], want.to_numpy()[known], rtol=1e-3)


def test_nothing_is_made_of_columns_that_neighbours_must_not_be_asked_about() -> None:
    graph = read(tables())
    apart = OwnPlan.learn(graph, 0, apart=("income", "specialty", "opened"))
    assert not (apart.round or apart.peers or apart.hours or apart.dates)
    told = OwnPlan.learn(graph, 0)
    assert told.round and told.peers and told.hours and told.dates


def test_nothing_is_told_of_what_does_not_tell() -> None:
    found = columns_of(read(tables(even=True)))
    assert not [name for name in found if "of the day" in name or "zeros" in name or "usual" in name or "week" in name]


def test_a_damaged_plan_is_refused() -> None:
    state = ColumnRecipe.learn(read(tables())).state()
    own = state["own"]
    (beside,) = own["peers"]
    check_refused(
        state,
        "own",
        {"peers": ({**beside, "usual": beside["usual"][1:]},)},
        {"peers": ({**beside, "elsewhere": -1.0},)},
        {"hours": ({**own["hours"][0], "at": 99},)},
        {"round": ({**own["round"][0], "unit": 0.0},)},
    )
    old = {name: value for name, value in own.items() if name not in ("peers", "round", "hours", "weekdays")}
    assert ColumnRecipe.restore({**state, "own": old}).own.peers == ()


def test_in_parts_and_live_agree_with_scoring_at_once(tmp_path: Any) -> None:
    nodes, edges = tables()
    model = cr.RareCategoryClassifier("linear", device="cpu").fit(read((nodes, edges)))
    for part in ("hour of the day", "zeros at its end", "what is usual"):
        assert any(part in name for name in model.state_.recipe.names), part
    check_parts_and_live(tmp_path, model, nodes, edges)
