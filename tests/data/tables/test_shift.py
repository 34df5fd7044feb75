"""Shifts since the fit: none for the same population, loud for another unit, and a written rule in between."""

import json

import numpy as np
import pytest

from calirare.data.tables.reading import read_tables
from calirare.data.tables.shift import Shifts, compare_with_fit, stability_index
from calirare.errors import InputError


def tables(seed, size=1_500, **change):
    rng = np.random.default_rng(seed)
    nodes = {
        "id": [f"n{k}" for k in range(size)],
        "balance": rng.lognormal(5, 1, size),
        "visits": rng.poisson(2, size),
        "town": rng.choice(["Oslo", "Bergen", "Voss"], size, p=[0.6, 0.3, 0.1]),
        "age": np.where(rng.random(size) < 0.1, np.nan, rng.normal(40, 10, size)),
        "y": (rng.random(size) < 0.2).astype(int),
    }
    ends = rng.integers(0, size, (2, 3 * size))
    edges = {
        "source": [f"n{k}" for k in ends[0]],
        "target": [f"n{k}" for k in ends[1]],
        "amount": rng.lognormal(3, 1, 3 * size),
        "channel": rng.choice(["app", "card"], 3 * size),
        "time": 1_700_000_000 + rng.integers(0, 10**6, 3 * size),
    }
    for name, make in change.items():
        table = nodes if name in nodes else edges
        table[name] = make(table[name])
    return nodes, edges


@pytest.fixture(scope="module")
def schema():
    return json.loads(json.dumps(read_tables(*tables(0), label="y", rare=1).schema, allow_nan=False))


def shifts(schema, seed=1, size=1_500, **change):
    return compare_with_fit(read_tables(*tables(seed, size, **change), schema=schema))


def test_the_same_tables_and_the_same_population_have_not_shifted(schema):
    assert shifts(schema, seed=0) == Shifts((), 7)
    assert (
        sum(len(shifts(schema, seed=seed, size=size).found) for seed in range(1, 4) for size in (40, 300, 3_000)) == 0
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"balance": lambda v: 1000 * v}, "the median is 1,000 times that of the fit: another unit?"),
        ({"balance": lambda v: v / 100}, "the median is 1/100 of that of the fit"),
        ({"amount": lambda v: 1000 * v}, "1,000 times"),
        ({"visits": lambda v: v + 3}, "median 2 at fit, 5 now"),
        ({"town": lambda v: np.where(v == "Oslo", "Paris", v)}, "Oslo: 60% at fit, 0% now"),
        ({"channel": lambda v: np.where(v == "app", "fax", v)}, "app: 51% at fit, 0% now"),
        ({"age": lambda v: np.where(np.arange(v.size) % 2, np.nan, v)}, "of the cells were empty at fit"),
        ({"amount": lambda v: np.full(v.size, np.nan)}, "0% of the cells were empty at fit, 100% are now"),
        ({"amount": lambda v: np.where(np.arange(v.size) % 2, np.nan, v)}, "50% are now"),
        ({"channel": lambda v: np.char.upper(v)}, "100% of the cells hold categories that the fit did not know"),
        ({"channel": lambda v: np.full(v.size, None)}, "0% of the cells were empty at fit, 100% are now"),
    ],
)  # fmt: skip
def test_what_has_shifted_is_named_and_counts(schema, change, says):
    found = shifts(schema, **change)
    assert found.matters and [one.column for one in found.found if one.severity == "large"] == list(change)
    assert any(says in one.words for one in found.found), found.found
    assert json.loads(json.dumps(found.to_json()))["matters"]


def test_times_may_be_later_and_edges_may_not_be_denser(schema):
    assert not shifts(schema, time=lambda v: v + 10**7).found
    nodes, edges = tables(1)
    twice = {name: np.concatenate([column, column, column]) for name, column in edges.items()}
    found = compare_with_fit(read_tables(nodes, twice, schema=schema))
    assert [(one.table, one.column) for one in found.found] == [("edges", "(edges per node)")]


def test_a_column_that_one_table_of_edges_has_may_stand_in_more_or_fewer_rows():
    def two(seed, calls, **change):
        nodes, payments = tables(seed, **change)
        rng = np.random.default_rng([seed, 9])
        ends = [[f"n{k}" for k in rng.integers(0, 1_500, calls)] for _ in range(2)]
        minutes = rng.exponential(5, calls)
        return nodes, {"payments": payments, "calls": {"source": ends[0], "target": ends[1], "minutes": minutes}}

    schema = read_tables(*two(0, 9_000), label="y", rare=1).schema
    fewer = compare_with_fit(read_tables(*two(1, 900), schema=schema)).found
    assert {one.column for one in fewer} <= {"(edges per node)"}
    emptied = read_tables(*two(1, 9_000, amount=lambda v: np.full(v.size, np.nan)), schema=schema)
    assert [one.column for one in compare_with_fit(emptied).found] == ["amount"]


def test_days_are_said_as_days_and_that_of_a_snapshot_may_be_later():
    def month(number, joined):
        nodes, edges = tables(number)
        days = np.datetime64(joined) + np.arange(1_500) % 75
        return {**nodes, "month_end": [f"2025-0{number}-28"] * 1_500, "joined": days.astype(str)}, edges

    schema = read_tables(*month(1, "2024-01-01"), label="y", rare=1).schema
    later = read_tables(*month(2, "2024-12-01"), schema=schema)
    (found,) = compare_with_fit(later).found
    assert found.column == "joined" and found.words == (
        "median 2024-02-07 at fit, 2025-01-07 now. 100% of the values lie outside 2024-01-01 to 2024-03-15."
    )


def test_the_index_is_its_formula():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    psi, excess = stability_index(p, q, 10**9, 10**9)
    assert psi == pytest.approx(2 * 0.3 * np.log(2.5), rel=1e-6) and excess == pytest.approx(psi, abs=1e-6)
    rng = np.random.default_rng(0)
    alarms = [
        stability_index(np.full(10, 0.1), rng.multinomial(200, np.full(10, 0.1)) / 200, 10**9, 200)[1] > 0
        for _ in range(1_000)
    ]
    assert np.mean(alarms) < 0.008  # one in a thousand, but for the χ²'s own error


def test_a_profile_that_was_altered_is_refused(schema):
    broken = json.loads(json.dumps(schema))
    broken["seen"]["nodes"]["balance"]["shares"][0] = 7
    with pytest.raises(InputError, match="schema"):
        read_tables(*tables(1), schema=broken)
    without = {key: value for key, value in schema.items() if key != "seen"}
    assert compare_with_fit(read_tables(*tables(1), schema=without)) == Shifts((), 0)
