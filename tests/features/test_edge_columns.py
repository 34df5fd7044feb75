"""Sums, means, shares and gaps agree with plain loops over the edges, on odd tables too."""

from dataclasses import replace

import numpy as np
import pytest
from edge_cases import odd_table
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import few_or_many, run_property
from slow_columns import slow_edge_columns

from calirare.data.edge_table import MOST_CATEGORIES, EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.edge_columns import as_stored, edge_columns
from calirare.features.edges.by_category import category_columns
from calirare.features.edges.plan import EdgePlan, PlannedColumn
from calirare.features.edges.planning import edge_table, plan_edges
from calirare.features.edges.rhythm import rhythm_columns


def fast_edge_columns(table, plan, num_nodes):
    """With those of single nodes that need no other edges."""
    alone = {**dict(category_columns(table, plan, num_nodes)), **rhythm_columns(table, plan, num_nodes)}
    return edge_columns(table, plan, num_nodes) | {name: as_stored(column) for name, column in alone.items()}


def compare(table, num_nodes, rtol=1e-6, atol=1e-6):
    plan = plan_edges(table)
    fast, slow = fast_edge_columns(table, plan, num_nodes), slow_edge_columns(table, plan, num_nodes)
    assert set(fast) == set(slow)
    for name, column in fast.items():
        assert column.dtype == np.float32 and column.shape == (num_nodes,)
        scale = np.nanmax(np.abs(slow[name]), initial=0.0) if name.split(",")[-1].startswith(" spread") else 0.0
        np.testing.assert_allclose(column, slow[name], rtol=rtol, atol=atol + 1e-7 * scale, err_msg=name)
    return fast


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_every_column_agrees_with_loops(directed, typed, seed):
    columns = compare(odd_table(seed, directed=directed, typed=typed), 12)
    assert all(np.isfinite(column).any() for name, column in columns.items() if "(" not in name)
    assert ("value, mean of incoming" in columns) == directed and ("value, mean of edges (wire)" in columns) == typed
    table = odd_table(seed, directed=directed, typed=typed)
    for name, column in fast_edge_columns(
        table, plan_edges(table), 5
    ).items():  # nodes from 5 on are named, not told of
        np.testing.assert_array_equal(column, columns[name][:5], err_msg=name)


def test_no_edges_and_no_columns():
    none = np.zeros(0, dtype=int)
    empty = compare(EdgeTable(none, none, (EdgeColumn("value", "number", none.astype(float)),)), 3)
    assert empty["number of edges"].tolist() == [0, 0, 0] and np.isnan(empty["value, mean of incoming"]).all()
    compare(EdgeTable(np.array([0, 1, 1]), np.array([1, 0, 1])), 3)
    compare(odd_table(num_edges=0), 4)
    assert edge_columns(EdgeTable(none, none), plan_edges(EdgeTable(none, none)), 0)["number of edges"].size == 0


@pytest.mark.parametrize(("values", "signed"), [([1.0, -2.0], True), ([1.0, 0.0], False), ([-1.0] + [1.0] * 19, True),
                                                ([-1.0] + [1.0] * 20, False)])  # fmt: skip
def test_a_number_is_signed_where_both_signs_are_usual(values, signed):
    ends = np.zeros(len(values), dtype=int)
    table = EdgeTable(ends, ends + 1, (EdgeColumn("grade", "number", values),))
    assert ("grade negative, share of incoming" in compare(table, 2)) == signed


def test_names_that_people_read():
    table = EdgeTable(
        np.array([0, 0, 2]),
        np.array([1, 1, 0]),
        (EdgeColumn("value", "number", [5.0, -1.0, 0.0]), EdgeColumn("sort", "category", [0, 1, -1], ("a", "b"))),
    )
    columns = edge_columns(table, plan_edges(table), 3)
    assert columns["value, sum of outgoing"].tolist() == [4, 0, 0]
    assert columns["value, least of incoming"].tolist()[:2] == [0, -1]
    assert columns["value negative, share of outgoing"].tolist()[::2] == [0.5, 0]
    assert columns["sort = b, share of outgoing"][0] == 0.5 and columns["sort missing, share of outgoing"][2] == 1
    assert columns["share returned, all"].tolist() == [0, 0, 0]


def test_values_that_do_not_differ_have_exactly_no_spread():
    table = EdgeTable(np.zeros(3, int), np.ones(3, int), (EdgeColumn("value", "number", [0.1, 0.1, 0.1]),))
    assert edge_columns(table, plan_edges(table), 2)["value, spread of edges"].tolist() == [0, 0]


def test_spread_of_large_values_does_not_cancel():
    seconds = 1.7e9 + np.array([0.0, 1.0, 2.0, 3.0])
    table = EdgeTable(np.array([0, 0, 1, 0]), np.array([1, 1, 0, 1]), (EdgeColumn("n", "number", seconds),))
    spread = edge_columns(table, plan_edges(table), 2)["n, spread of edges"]
    np.testing.assert_allclose(spread, np.std(seconds), rtol=1e-5)


def test_the_latest_of_several_is_their_mean_whatever_their_order():
    value = EdgeColumn("value", "number", [1.0, 3.0, 8.0, np.nan])
    time = EdgeColumn("time", "time", [50.0, 50.0, 20.0, 90.0])
    table = EdgeTable(np.array([0, 0, 0, 0]), np.array([1, 2, 1, 1]), (value, time))
    for rows in ([0, 1, 2, 3], [3, 2, 1, 0]):
        columns = edge_columns(table.take(rows), plan_edges(table), 3)
        assert columns["value, last of outgoing"][0] == 2.0 and columns["value, last of incoming"][1] == 1.0


def test_times_are_days_of_a_clock_or_steps():
    days = np.array([0.0, 1.0, 4.0])
    for origin, length, name in ((1.6e9, 86_400.0, "time in days"), (1.0, 1.0, "time")):
        time = EdgeColumn("time", "time", origin + length * days)
        table = EdgeTable(np.zeros(3, int), np.ones(3, int), (time,))
        columns = edge_columns(table, plan_edges(table), 2)
        assert columns[f"{name}, span of outgoing"][0] == 4 and columns[f"{name}, mean gap of outgoing"][0] == 2
        assert columns[f"{name}, first of outgoing"][0] == 0 and columns[f"{name}, last of outgoing"][0] == 4


def test_calls_at_night_and_at_weekends_are_told():
    friday = np.datetime64("2025-03-07", "s").astype(float)
    hours = np.array([1.0, 3.0, 13.0, 25.0, 49.0, np.nan])  # the fourth and the fifth are on Saturday and Sunday
    table = EdgeTable(np.zeros(6, int), np.ones(6, int), (EdgeColumn("at", "time", friday + 3600 * hours),))
    planned = PlannedColumn("at", "time", ("0 to 6 h", "weekend"), missing=True, origin=friday, in_days=True)
    columns = edge_columns(table, EdgePlan(True, (planned,)), 2)
    assert (
        columns["at = 0 to 6 h, share of outgoing"][0]
        == columns["at = 0 to 6 h, share of incoming"][1]
        == np.float32(0.8)
    )
    assert columns["at = weekend, share of outgoing"][0] == np.float32(0.4)
    steps = EdgeTable(np.zeros(3, int), np.ones(3, int), (EdgeColumn("at", "time", [1.0, 30_000.0, 60_000.0]),))
    assert not any(" = " in name for name in edge_columns(steps, plan_edges(steps), 2))  # no clock


@pytest.mark.parametrize(
    ("there", "part"),
    [
        (lambda day, hour: day == 1, "Tuesday"),
        (lambda day, hour: (hour >= 22) | (hour < 4), "22 to 4 h"),
        (lambda day, hour: day >= 5, "weekend"),
    ],
)
def test_the_part_in_which_nodes_differ_is_found(there, part):
    rng = np.random.default_rng(1)
    ends, hour = rng.integers(0, 300, (2, 4_000)), rng.uniform(0, 7 * 24, 4_000)
    for _ in range(4):
        again = np.where(there(hour // 24, hour % 24), hour, rng.uniform(0, 7 * 24, 4_000))
        hour = np.where(ends[0] < 20, again, hour)
    time = EdgeColumn("at", "time", (1.6e9 // 604_800 * 7 + 4) * 86_400 + 3600 * hour)  # from a Monday on
    assert plan_edges(EdgeTable(*ends, (time,))).columns[0].categories[0] == part


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda rng, amount: np.round(amount, -2), "a multiple of 100"),
        (lambda rng, amount: rng.uniform(900, 999, amount.size).round(2), "just below 1,000"),
        (lambda rng, amount: -amount, "negative"),
    ],
)
def test_amounts_that_some_nodes_prefer_are_told(change, part):
    rng = np.random.default_rng(2)
    ends, amount = rng.integers(0, 300, (2, 4_000)), rng.lognormal(5, 1, 4_000).round(2)
    none = plan_edges(EdgeTable(*ends, (EdgeColumn("amount", "number", amount),))).columns[0]
    assert none.categories == () and not none.signed and not none.pairs
    some = (ends[0] < 12) & (rng.random(4_000) < 0.7)
    amount[some] = change(rng, amount[some])
    table = EdgeTable(*ends, (EdgeColumn("amount", "number", amount),))
    planned = plan_edges(table).columns[0]
    assert (
        planned.signed if part == "negative" else part in planned.categories or "a multiple of 10" in planned.categories
    )
    assert any(name.startswith(f"amount {part.split()[0]}") for name in compare(table, 300))


@pytest.mark.parametrize("apart", [True, False])
def test_parts_of_the_day_are_told_where_nodes_differ_in_them(apart):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        ends = rng.integers(0, 300, (2, 4_000))
        night = rng.random(4_000) < (np.where(ends[0] < 15, 0.8, 0.3) if apart else 0.3)
        hours = np.where(night, rng.uniform(0, 6, 4_000), rng.uniform(6, 12, 4_000))
        time = EdgeColumn("at", "time", 1.6e9 // 604_800 * 604_800 + 3600 * hours)
        found.append(plan_edges(EdgeTable(*ends, (time,))).columns[0].categories)
    near = {"0 to 6 h", "6 to 12 h", "1 to 7 h", "5 to 11 h", "23 to 5 h", "7 to 13 h"}  # they say the same
    assert sum(bool(set(one) & near) if apart else not one for one in found) >= 18


def test_codes_may_change_as_long_as_names_stay():
    table, plan = odd_table(0), plan_edges(odd_table(0))
    device = next(column for column in plan.columns if column.name == "device")
    assert len(device.categories) == MOST_CATEGORIES and device.diverse

    def recoded(column):
        if column.kind != "category":
            return column
        most = len(column.categories)
        values = np.where(column.values < 0, -1, most - column.values)
        return replace(column, values=values, categories=("new", *column.categories[::-1]))

    columns = tuple(recoded(column) for column in reversed(table.columns))
    other = replace(table, columns=columns, type=2 - table.type, type_names=("new", "card", "wire"))
    expected = edge_columns(table, plan, 12)
    found = edge_columns(other, plan, 12)
    assert list(found) == list(expected)
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)


def test_a_table_without_a_column_or_a_type_lacks_its_columns_or_counts_none():
    table, plan = odd_table(0), plan_edges(odd_table(0))
    lacking = replace(table, columns=table.columns[1:], type=None, type_names=())
    found = edge_columns(lacking, plan, 12)
    expected = edge_columns(table, plan, 12)
    assert set(expected) - set(found) == {name for name in expected if name.startswith("value")}
    assert found["number of edges (wire)"].tolist() == [0] * 12
    other_kind = replace(table.columns[0], values=np.zeros(60, int), kind="category", categories=("a",))
    assert set(edge_columns(replace(table, columns=(other_kind, *table.columns[1:])), plan, 12)) == set(found)


def test_weights_without_a_table_are_a_column():
    graph = RareGraph(
        x=np.eye(3), edge_index=np.array([[0, 1], [1, 2]]), y=np.zeros(3, int), edge_weight=np.array([2.0, 5.0])
    )
    table = edge_table(graph)
    columns = compare(table, 3)
    assert columns["weight, sum of edges"].tolist() == [2, 7, 5]
    assert edge_table(replace(graph, edge_weight=None)) is None


def tables(max_nodes=6, max_edges=12):
    def build(draw_size):
        size = draw_size
        ends = hnp.arrays(np.int64, size, elements=st.integers(0, max_nodes - 1))
        number = hnp.arrays(np.float64, size, elements=st.floats(-1e12, 1e12) | st.just(np.nan) | st.just(0.0))
        time = hnp.arrays(
            np.float64, size, elements=st.integers(0, 5).map(lambda day: 1.6e9 + day * 3600.0) | st.just(np.nan)
        )
        codes = hnp.arrays(np.int64, size, elements=st.integers(-1, 2))
        types = hnp.arrays(np.int64, size, elements=st.integers(0, 1))
        return st.tuples(ends, ends, number, time, codes, types, st.booleans(), st.booleans())

    return st.integers(0, max_edges).flatmap(build)


@few_or_many(12, 2000)
def test_odd_tables_agree_with_loops(examples):
    def check(drawn):
        source, target, number, time, codes, types, directed, typed = drawn
        columns = (
            EdgeColumn("value", "number", number),
            EdgeColumn("time", "time", time),
            EdgeColumn("sort", "category", codes, ("a", "b", "c")),
        )
        table = EdgeTable(source, target, columns, directed, types if typed else None, ("x", "y") if typed else ())
        compare(table, 6, rtol=1e-5, atol=1e-3)

    run_property(examples, check, drawn=tables())


@pytest.mark.parametrize("value", [1e308, -1e308, 1e39])
def test_huge_values_stay_finite(value):
    table = EdgeTable(np.array([0, 0, 1]), np.array([1, 1, 0]), (EdgeColumn("value", "number", [value, 0.0, -value]),))
    for name, column in edge_columns(table, plan_edges(table), 2).items():
        assert np.isfinite(column).all() or (" pairs of " in name and not np.isinf(column).any())
