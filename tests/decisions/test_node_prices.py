"""Prices that are columns of the nodes: in the units of the table, and gaps are told."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.data.tables.reading import read_tables
from calirare.decisions.node_prices import costs_of
from calirare.errors import InputError

EDGES = {"source": ["a", "b"], "target": ["b", "x"]}


def read(amount, **columns):
    nodes = {"id": ["a", "b", "c", "x"], "kind": ["user"] * 3 + ["shop"], "amount": amount, "y": [1, 0, None, None]}
    return read_tables({**nodes, **columns}, EDGES, label="y", rare=1, node_type="kind")


def test_a_column_is_read_in_the_units_of_its_table(caplog):
    assert costs_of(read([10.0, 20.0, 40.0, 7.0]), "amount").miss.tolist() == pytest.approx([10.0, 20.0, 40.0, 7.0])
    assert not caplog.records


@pytest.mark.parametrize("seed", range(10))
def test_what_costs_nothing_in_the_table_costs_nothing(seed):
    """And everything else what stands there, for all that columns are standardised in single precision."""
    rng = np.random.default_rng(seed)
    amount = np.where(rng.random(200) < 0.3, 0.0, rng.gamma(2, 500, 200)).round(2)
    nodes = {"id": np.arange(200), "amount": amount, "y": rng.integers(0, 2, 200)}
    graph = read_tables(nodes, {"source": [0, 1], "target": [1, 2]}, label="y", rare=1)
    np.testing.assert_array_equal(costs_of(graph, "amount").miss, amount)


def test_gaps_count_with_the_median_and_that_is_said(caplog):
    costs = costs_of(read([10.0, None, 40.0, 25.0]), 50, "amount")
    assert costs.alarm.tolist() == pytest.approx([10.0, 25.0, 40.0, 25.0])
    assert caplog.messages == [
        "cost_alarm: column 'amount' is empty at 1 of 3 nodes that are scored; they count with its median, 25."
    ]


def test_a_column_of_another_kind_of_node_is_no_price():
    with pytest.raises(InputError, match="cost_miss: column 'amount' is empty at every node that is scored"):
        costs_of(read([None, None, None, 25.0]), "amount")


def test_columns_that_could_be_meant_are_those_of_the_table():
    graph = read([10.0, None, 40.0, 25.0], country=["SE", "NO", "SE", None])
    assert {"amount is missing", "country = SE"} <= set(graph.feature_names)
    with pytest.raises(InputError, match=r"no column of numbers 'loss' among the attributes: choices: 'amount'\.\n"):
        costs_of(graph, "loss")


def test_a_gap_of_another_kind_of_node_is_none(caplog):
    costs_of(read([10.0, 20.0, 40.0, None]), "amount")
    assert not caplog.records
