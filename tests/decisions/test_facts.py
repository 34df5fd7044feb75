"""What is said of a value, in every form: times the median, ranks, marks, shares, moments and spreads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import calirare as cr
from calirare.decisions import facts as module
from calirare.decisions.column_names import say_column
from calirare.decisions.facts import Facts
from calirare.decisions.others import Others
from calirare.features.columns import Columns

NAMES = ("balance", "country = SE", "vip", "opened", "tie", "age in days")
OPENED = {"name": "opened", "type": "numeric", "scale": 2.0, "mean": 19_000.0, "days": True}
BALANCE = {"name": "balance", "type": "numeric", "scale": 10.0, "mean": 100.0}


@pytest.fixture
def graph():
    """A ring of ten. Balances in the table's units: 10, 20, …, 90 and 1,000."""
    balance = np.array([10, 20, 30, 40, 50, 60, 70, 80, 90, 1_000.0])
    x = np.stack(
        [
            (balance - 100) / 10,
            np.arange(10) < 3,
            np.arange(10) >= 9,
            np.arange(10) / 2,
            np.full(10, 7.0),
            np.arange(10),
        ],
        axis=1,
    )
    ring = np.array([np.arange(10), (np.arange(10) + 1) % 10])
    schema = {"columns": [BALANCE, OPENED, {"name": "country", "type": "categorical"}]}
    return cr.RareGraph(x=x, edge_index=ring, y=np.arange(10) % 2, feature_names=NAMES, schema=schema)


@pytest.fixture
def facts(graph):
    made = {
        "fee, sum of incoming": np.r_[np.zeros(6), [4.0, 8.0, 8.0, 400.0]],
        "balance, spread over neighbours": np.arange(10.0),
        "balance, mean over incoming neighbours": np.linspace(-9, 9, 10),
        "opened, mean over neighbours": np.arange(10.0),
        "opened, spread over neighbours": np.arange(10.0),
        "paid in days, last of outgoing": np.arange(10.0),
        "paid in days, wait of incoming until outgoing": np.linspace(0.0, 13 / 1440, 10),
        "closed after opened, in days": np.arange(10.0) - 1.5,
        "age in days, mean over neighbours": np.arange(10.0),
        "country = SE, mean over neighbours": np.linspace(0, 0.9, 10),
        "channel = cash, share of outgoing": np.linspace(0, 0.9, 10),
        "clustering": np.arange(10.0) / 9,
    }
    return Facts(
        graph, Columns(np.stack(list(made.values()), axis=1).astype(np.float32), tuple(made), ("",) * len(made))
    )


@pytest.mark.parametrize(
    ("name", "node", "said"),
    [
        ("balance", 9, "balance is 1,000, 18 times the median (55)"),
        ("balance", 8, "balance is 90, above 85% of nodes (median 55)"),
        ("balance", 0, "balance is 10, below 95% of nodes (median 55)"),
        ("country = SE", 0, "country is SE, as at 30% of nodes"),
        ("country = SE", 5, "country is not SE, as at 70% of nodes"),
        ("vip", 9, "vip, as at 10% of nodes"),
        ("vip", 0, "not: vip, as at 90% of nodes"),
        ("opened", 8, "opened is 2022-01-16, later than at 85% of nodes (median 2022-01-12)"),
        ("opened", 1, "opened is 2022-01-09, earlier than at 85% of nodes (median 2022-01-12)"),
        ("tie", 3, "tie is 7, as at all nodes (median 7)"),
        ("fee, sum of incoming", 9, "sum of incoming fee is 400, above 95% of nodes (median 0)"),
        ("fee, sum of incoming", 0, "sum of incoming fee is 0, as at 60% of nodes (median 0)"),
        ("balance, spread over neighbours", 9, "balance (spread over neighbours) is 90, 2.0 times the median (45)"),
        ("balance, mean over incoming neighbours", 9, "balance (mean over incoming neighbours) is 190, above 95% of nodes (median 100)"),
        ("opened, mean over neighbours", 9, "opened (mean over neighbours) is 2022-01-26, later than at 95% of nodes (median 2022-01-17)"),
        ("opened, spread over neighbours", 9, "opened (spread over neighbours) is 18 days, 2.0 times the median (9 days)"),
        ("paid in days, wait of incoming until outgoing", 9, "wait from incoming to next outgoing paid is 13 minutes, 2.0 times the median (6.5 minutes)"),
        ("closed after opened, in days", 0, "time from opened to closed is -36 hours, below 95% of nodes (median 3 days)"),
        ("age in days, mean over neighbours", 9, "age in days (mean over neighbours) is 9, 2.0 times the median (4.5)"),
        ("paid in days, last of outgoing", 0, "last of outgoing paid is earlier than at 95% of nodes"),
        ("country = SE, mean over neighbours", 9, "share of neighbours with country = SE is 90%, above 95% of nodes (median 45%)"),
        ("channel = cash, share of outgoing", 0, "share of outgoing with channel = cash is 0%, below 95% of nodes (median 45%)"),
        ("clustering", 3, "share of pairs of neighbours that are joined is 33%, below 65% of nodes (median 50%)"),
        ("balance, of neighbours", 0, "balance (mean over neighbours) is 510, 9 times the median (55)"),
        ("nothing of ours", 0, "nothing of ours"),
    ],
)  # fmt: skip
def test_every_form(facts, name, node, said):
    assert facts.say(name, node) == said


def test_a_column_of_the_table_keeps_its_name_whatever_ours_is_called(graph):
    named = dataclasses.replace(graph, feature_names=("clustering", *NAMES[1:]), schema=None)
    assert Facts(named).say("clustering", 9) == "clustering is 90, above 95% of nodes (median -4.5)"


def test_the_fold_changes_its_digits_at_five():
    assert [module._times(ratio) for ratio in (2.0, 4.96, 5.0, 5.4, 1_234.5)] == [
        "2.0 times", "5.0 times", "5 times", "5 times", "1,234 times",
    ]  # fmt: skip


def test_what_is_unusual(facts):
    assert facts.surprise("balance", 9) == pytest.approx(0.9) and facts.surprise("balance", 0) == pytest.approx(0.9)
    assert facts.surprise("balance", 4) == pytest.approx(0.1) and facts.surprise("tie", 0) == 0
    assert facts.surprise("nothing of ours", 0) == 0 and facts.own == list(NAMES)


def test_what_most_nodes_have_is_no_reason(facts):
    """Six of ten have no fee, the median, though only four have more."""
    fee = "fee, sum of incoming"
    assert facts.surprise(fee, 0) == pytest.approx(0.4) and facts.is_usual(fee, 0) and not facts.is_usual(fee, 8)
    assert (
        facts.is_usual("balance", 4) and not facts.is_usual("balance", 8) and not facts.is_usual("nothing of ours", 0)
    )


def test_what_standardising_leaves_is_zero():
    others = Others(np.array([-5.0, 0.0, 1e-7, 1e6]), False)
    assert others.snap(0.9) == 0.0 and others.snap(1.1) == 1.1 and others.snap(-2.0) == -2.0


def test_what_rounding_leaves_makes_no_rank_and_no_reason():
    nearly = 1 + np.array([0, 0, 1, -1, 1], dtype=np.float32) * np.finfo(np.float32).eps
    others = Others(np.sort(nearly.astype(np.float64)), False)
    assert others.rank(float(nearly[2])) == "as at all nodes" and not others.vary
    far = Others(np.array([300.0, 310.0, 320.0, 330.0, 1e5]), False)
    assert far.rank(320.0) == "as at 20% of nodes" and far.rank(310.0) == "below 70% of nodes" and far.vary


def test_a_large_graph_is_compared_with_the_same_sample_each_time(graph, monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 4)
    found = [Facts(graph)._sample.tolist() for _ in range(3)]
    assert found[0] == found[1] == found[2] == sorted(set(found[0])) and len(found[0]) == 4
    monkeypatch.setattr(module, "_SAMPLE", 10)
    assert Facts(graph)._sample.tolist() == list(range(10))


def test_a_column_with_both_signs_has_no_multiples():
    score = np.array([-2.0, -1.0, 0.1, 1.0, 2.5])
    graph = cr.RareGraph(
        x=score[:, None], edge_index=np.array([[0], [1]]), y=np.arange(5) % 2, feature_names=("score",)
    )
    assert Facts(graph).say("score", 4) == "score is 2.5, above 90% of nodes (median 0.1)"
    above = dataclasses.replace(graph, x=(score - score.min())[:, None])
    assert Facts(above).say("score", 4) == "score is 4.5, 2.1 times the median (2.1)"


def test_what_was_filled_in_is_neither_said_nor_compared_with():
    """Nodes 0 to 5 have no incoming edges, and nobody knows the age of the last."""
    fee, age = np.array([0.1] * 6 + [4.0, 8.0, 8.0, 40.0]), np.array([30.0] * 5 + [40.0] * 4 + [35.0])
    gap = np.arange(10) == 9
    graph = cr.RareGraph(
        x=np.stack([age, gap], axis=1),
        edge_index=np.array([[0], [1]]),
        y=np.arange(10) % 2,
        feature_names=("age", "age is missing"),
    )
    made = Columns(fee.astype(np.float32)[:, None], ("fee, mean of incoming",), ("edges",))
    facts = Facts(graph, made, means=np.array([0.1]))
    assert facts.say("fee, mean of incoming", 0) == "mean of incoming fee is not known"
    assert facts.surprise("fee, mean of incoming", 0) == 0
    assert facts.say("fee, mean of incoming", 9) == "mean of incoming fee is 40, 5 times the median (8)"
    assert facts.say("age", 9) == "age is not known"
    assert facts.say("age", 8) == "age is 40, above 78% of nodes (median 30)"  # seven of nine, four as old
    round_mean = Facts(graph, made, means=np.array([8.0]))  # which nodes have of their own
    assert round_mean.say("fee, mean of incoming", 7) == "mean of incoming fee is 8, 80 times the median (0.1)"


def test_gaps_of_neighbours_of_another_kind_are_told(graph):
    schema = {**graph.schema, "read": {"lacking": {"balance": 3}}}
    mean, spread = "balance, mean over neighbours", "age in days, mean over neighbours"
    columns = Columns(np.tile(np.arange(10.0, dtype=np.float32), (2, 1)).T, (mean, spread), ("neighbours",) * 2)
    facts = Facts(dataclasses.replace(graph, schema=schema), columns)
    assert facts.say(mean, 7).startswith("balance (mean over neighbours, gaps as the median) is 170")
    assert "gaps" not in facts.say(spread, 7) and "gaps" not in facts.say("balance", 7)
    assert "gaps" not in Facts(graph, columns).say(mean, 7)


def test_a_value_is_compared_with_nodes_of_the_kinds_that_carry_labels(graph):
    patients = dataclasses.replace(
        graph,
        y=np.where(np.arange(10) < 6, -1, np.arange(10) % 2),
        node_type=(np.arange(10) >= 6).astype(np.int64),
        node_type_names=("patient", "doctor"),
    )
    assert (
        Facts(patients).say("balance", 7) == "balance is 80, below 62% of nodes (median 85)"
    )  # 1.5 of 4 doctors lie below


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("country = SE, mean over neighbours", 0.02 + np.arange(10) / 2000, "2.4%, above 95% of nodes (median 2.2%)"),
        ("fee, mean of incoming", 0.4170 + np.arange(10) / 20_000, "0.4174, above 95% of nodes (median 0.4172)"),
        (
            "opened, mean over neighbours",
            np.arange(10) * 99.1,
            "2026-11-27, later than at 95% of nodes (median 2024-06-17)",
        ),
    ],
)
def test_what_differs_is_told_apart_and_a_mean_of_days_has_no_hour(graph, name, values, said):
    around = Facts(graph, Columns(values.astype(np.float32)[:, None], (name,), ("",)))
    assert around.say(name, 9).endswith(f" is {said}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("amount, mean gap of edges", "mean gap of amount over all edges"),
        ("amount, first of outgoing", "first of outgoing amount"),
        ("type = a, share of edges", "share of edges with type = a"),
        ("type = a, share of incoming, mean over neighbours", "share of incoming with type = a (mean over neighbours)"),
        ("x = a, mean over all", "x = a (mean over all)"),
        ("x is missing, mean over outgoing neighbours", "share of outgoing neighbours without x"),
        ("degree, spread over neighbours", "degree (spread over neighbours)"),
        ("plain", "plain"),
    ],
)
def test_columns_in_words(name, said):
    assert say_column(name) == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("posted at within 6.94444e-05 days of", "share of outgoing posted at within 6 seconds of"),
        ("posted at within 3 days of", "share of outgoing posted at within 3 days of"),
        ("step within 2 of", "share of outgoing step within 2 of"),
        ("step within 0 of", "share of outgoing step at the same moment as"),
        ("step near", "share of outgoing with step near"),  # models of earlier versions do not say how near
    ],
)
def test_what_is_near_others_is_told(name: str, said: str) -> None:
    others = "others at the other end"
    assert say_column(f"{name} {others}, share of outgoing") == f"{said} {others}"


def test_a_comparison_is_told_by_its_rank_alone(graph):
    names = (
        *(f"paid against the other end's usual, {one} of outgoing" for one in ("mean", "size")),
        "paid, change from incoming to next outgoing",
    )
    up = np.arange(10) / 10
    facts = Facts(graph, Columns(np.stack([up, 1 - up, up], axis=1).astype(np.float32), names, ("edges",) * 3))
    said = [facts.say(name, 8) for name in names]
    assert said[0] == "outgoing paid against what is usual at the other end: higher than at 85% of nodes"
    assert said[1] == "distance of outgoing paid from what is usual at the other end: lower than at 85% of nodes"
    assert said[2] == "change of paid from incoming to next outgoing: higher than at 85% of nodes"
