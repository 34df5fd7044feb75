"""The record of a case as the user knows it: columns, edges, neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import calirare as cr
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.decisions.facts import Facts
from calirare.decisions.node_prices import costs_of
from calirare.errors import InputError
from calirare.review.case.attributes import compare
from calirare.review.case.edges_of import edges_of, likeliest_neighbours
from calirare.review.records import Records
from calirare.review.snapshot import Snapshot
from calirare.review.store.book import DecisionBook
from calirare.review.store.decisions import DecisionStore


@pytest.fixture(scope="module")
def read(tables):
    """(the model's snapshot, the file of nodes, both tables)."""
    frames = [
        pl.read_csv(tables / name, infer_schema_length=None, schema_overrides={"branch": pl.String})
        for name in ("nodes.csv", "edges.csv")
    ]
    return Snapshot.load(tables / "model"), tables / "nodes.csv", *frames


def test_records_from_the_table_are_its_cells(read):
    snapshot, file, nodes, _ = read
    records = Records.of(snapshot, file)
    assert list(records.columns) == ["amount", "country", "opened", "branch", "owner"] and records.from_table
    for node in (0, 3, 57):
        said = {cell.name: cell.value for cell in records.record(node)}
        row = nodes.row(by_predicate=pl.col("account") == snapshot.ids[node], named=True)
        assert said["owner"] == row["owner"] and said["opened"] == row["opened"] and said["branch"] == row["branch"]
        assert said["amount"] == ("" if row["amount"] is None else f"{row['amount']:,.2f}")
    assert records.columns["amount"].is_number and not records.columns["branch"].is_number
    assert next(cell for cell in records.record(0) if cell.name == "owner").unused
    amounts = records.columns["amount"].values
    assert np.isnan(amounts[3]) and records.price("amount", "cost_miss")[3] == np.nanmedian(amounts)
    with pytest.raises(InputError, match="holds words"):
        records.price("country", "cost_miss")
    with pytest.raises(InputError, match="did you mean 'amount'"):
        records.price("amont", "cost_miss")


@pytest.mark.parametrize(
    ("written", "cells"),
    [
        (lambda x: f"{x:,.2f} €".translate(str.maketrans(",.", ".,")), ["3.855,65 €", "k.A."]),
        (lambda x: f"${x:,.2f}", ["$3,855.65", "k.A."]),
        (lambda x: f"{x:.2f} kg", ["3855.65 kg", "k.A."]),
    ],
)
def test_a_price_is_read_from_the_cells_as_the_model_reads_them(read, written, cells):
    """The desk asked for numbers where `triage` took the column."""
    rng, n = np.random.default_rng(0), 40
    nodes = {
        "id": [f"n{k}" for k in range(n)],
        "sum": [cells[0], *map(written, rng.lognormal(8, 1, n - 2)), cells[1]],
        "note": [cells[0], *map(written, rng.lognormal(8, 1, n - 2)), cells[1]],
        "y": [k % 4 == 0 and 1 or 0 for k in range(n)],
    }
    edges = {"source": nodes["id"][1:], "target": nodes["id"][:-1]}
    graph = cr.read_tables(nodes, edges, label="y", rare=1, types={"note": "ignore"})
    records = Records.of(replace(read[0], graph=graph), pl.DataFrame(nodes))
    price = records.price("sum", "cost_miss")
    assert price[0] == 3855.65 and price.tolist() == pytest.approx(costs_of(graph, "sum").miss.tolist())
    assert records.price("note", "cost_miss")[0] == 3855.65  # a column that the model does not read
    assert [records.columns["sum"].say(node) for node in (0, n - 1)] == cells


def test_a_column_of_another_kind_of_node_is_no_price(read):
    nodes = {"id": ["a", "b", "c", "x"], "kind": ["user"] * 3 + ["shop"], "y": [1, 0, None, None]}
    edges = {"source": ["a", "b"], "target": ["b", "x"]}
    columns = {"turnover": [None, None, None, 25.0], "amount": [10.0, None, None, 30.0]}
    graph = cr.read_tables({**nodes, **columns}, edges, label="y", rare=1, node_type="kind")
    for table in (None, pl.DataFrame({**nodes, **columns})):
        records = Records.of(replace(read[0], graph=graph), table)
        for refuses in (
            lambda records=records: records.price("turnover", "cost_miss"),
            lambda: costs_of(graph, "turnover"),
        ):
            with pytest.raises(InputError, match="cost_miss: column 'turnover' is empty at every node that is scored"):
                refuses()
        assert records.price("amount", "cost_miss").tolist() == pytest.approx(costs_of(graph, "amount").miss.tolist())


def test_the_table_of_the_nodes_that_are_scored_is_enough_beside_many_of_another_kind(read):
    users = {"user": ["a", "b", "c"], "age": [30.0, 40.0, None], "y": [1, 0, None]}
    shops = {"shop": [f"S{k}" for k in range(9)], "size": [float(k) for k in range(9)]}
    edges = {"user": ["a", "b", "c"], "shop": ["S1", "S2", "S3"]}
    graph = cr.read_tables({"users": users, "shops": shops}, edges, label="y", rare=1)
    records = Records.of(replace(read[0], graph=graph), pl.DataFrame(users))
    assert [cell.value for cell in records.record(1)] == ["40"]
    others = pl.DataFrame(users | {"user": ["x", "y", "z"]})
    with pytest.raises(InputError, match="3 of the nodes that it scores are not in it"):
        Records.of(replace(read[0], graph=graph), others)


def test_a_column_of_kinds_is_read(read):
    snapshot, file, _, _ = read
    schema = snapshot.graph.schema
    typed = {**schema, "nodes": {**schema.get("nodes", {}), "type": "owner"}}
    kinds = replace(snapshot, graph=replace(snapshot.graph, schema=typed))
    assert Records.of(kinds, file).columns["owner"].unused  # left out as an identifier at the fit
    without = [column for column in typed["columns"] if column["name"] != "owner"]
    kinds = replace(snapshot, graph=replace(snapshot.graph, schema={**typed, "columns": without}))
    assert not Records.of(kinds, file).columns["owner"].unused


def test_records_read_back_from_the_features_say_the_same(read):
    snapshot, file, nodes, _ = read
    table, features = Records.of(snapshot, file), Records.of(snapshot)
    assert np.allclose(features.columns["amount"].values, table.columns["amount"].values, equal_nan=True)
    if "country" in features.columns:
        assert features.columns["country"].values.tolist() == table.columns["country"].values.tolist()


def test_yes_and_no_stay_words_and_amounts_have_two_decimals(tmp_path):
    """0.0000001 and 370.3 are not what the table says."""
    n, rng = 40, np.random.default_rng(0)
    nodes = pl.DataFrame(
        {
            "id": [f"a{k}" for k in range(n)],
            "verified": ["no" if k % 3 else "yes" for k in range(n)],
            "flag": [k % 4 == 0 and 1 or 0 for k in range(n)],
            "fraud": ["yes" if k % 5 == 0 else "no" for k in range(n)],
        }
    )
    edges = pl.DataFrame(
        {
            "source": [f"a{k}" for k in range(n)],
            "target": [f"a{(k + 1) % n}" for k in range(n)],
            "value": [1370.3 if k == 0 else round(float(v), 2) for k, v in enumerate(rng.lognormal(3, 1, n))],
        }
    )
    graph = cr.read_tables(nodes, edges, label="fraud", rare="yes")
    cr.RareCategoryClassifier(detector="linear").fit(graph).save(tmp_path / "model", graph=graph)
    snapshot = Snapshot.load(tmp_path / "model")
    said = {cell.name: cell.value for cell in Records.of(snapshot).record(1)}
    assert (said["verified"], said["flag"]) == ("no", "0")
    shown = {one.name: one for one in compare(snapshot, 1).attributes}
    assert (shown["verified"].value, shown["verified"].usual, shown["flag"].value) == ("no", "no", "0")
    normal = [k for k in range(n) if k % 5]
    assert shown["verified"].share == pytest.approx(np.mean([k % 3 != 0 for k in normal]))
    assert snapshot.why.facts(1) and Facts(snapshot.graph).say("verified", 1) == "verified is no, as at 65% of nodes"
    near = Facts(snapshot.graph).say("verified, of neighbours", 1)  # of nodes 0 and 2
    assert near == "share of neighbours with verified = yes is 50%, as at 70% of nodes (median 50%)"
    assert Facts(snapshot.graph).say("flag", 4) == "flag is 1, as at 25% of nodes"
    assert "1,370.30" in {cell for row in edges_of(snapshot, 0).rows for cell in row.cells}


def test_years_and_codes_have_no_separator_and_amounts_have_one_in_every_case(tmp_path):
    rng, n = np.random.default_rng(0), 40
    nodes = {
        "id": [f"a{k}" for k in range(n)],
        "since": [1994, *rng.integers(1990, 2026, n - 1)],
        "steps": [1994, *rng.integers(1, 3000, n - 1)],
        "opened": [f"2023-{1 + k % 12:02d}-{1 + k % 28:02d} 16:{k % 60:02d}" for k in range(n)],
        "bad": ["yes" if k % 5 == 0 else "no" for k in range(n)],
    }
    edges = {
        "source": nodes["id"],
        "target": [f"a{(k + 1) % n}" for k in range(n)],
        "made": [2024, *rng.integers(1990, 2026, n - 1)],
        "shop": [80331, *rng.integers(10_000, 99_999, n - 1)],
        "value": [
            1370.0,
            *np.round(rng.lognormal(3, 1, n - 1), 2),
        ],  # the case has whole amounts alone, the column has not
        "calls": [1370, *rng.integers(1, 999, n - 1)],
    }
    edges["value"][-1] = 2.0
    kept = {"since": "numeric", "made": "numeric", "shop": "numeric"}
    graph = cr.read_tables(pl.DataFrame(nodes), pl.DataFrame(edges), label="bad", rare="yes", types=kept)
    cr.RareCategoryClassifier(detector="linear").fit(graph).save(tmp_path / "model", graph=graph)
    snapshot = Snapshot.load(tmp_path / "model")
    said = {cell.name: cell.value for cell in Records.of(snapshot).record(0)}
    assert (said["since"], said["steps"]) == ("1994", "1,994")
    shown = {one.name: one for one in compare(snapshot, 0).attributes}
    assert (shown["since"].value, shown["steps"].value) == ("1994", "1,994") and "," not in shown["since"].usual
    minutes = [next(one.value for one in compare(snapshot, k).attributes if one.name == "opened") for k in range(n)]
    assert minutes == nodes["opened"]
    assert Facts(snapshot.graph).say("since", 0).startswith("since is 1994, ")
    found = edges_of(snapshot, 0)
    row = next(row for row in found.rows if row.other == 1)
    cells = dict(zip(found.names, row.cells, strict=True))
    assert cells == {"made": "2024", "shop": "80331", "value": "1,370.00", "calls": "1,370"}


def test_a_foreign_table_is_refused(read, tmp_path):
    pl.DataFrame({"account": ["X1", "X2"], "amount": [1, 2]}).write_csv(tmp_path / "other.csv")
    with pytest.raises(InputError, match="fitted on"):
        Records.of(read[0], tmp_path / "other.csv")


def test_edges_of_a_case_are_those_of_the_table_latest_first(read, monkeypatch):
    snapshot, _, _, edges = read
    for node in (0, 11):
        name = snapshot.ids[node]
        found = edges_of(snapshot, node)
        own = edges.filter((pl.col("payer") == name) | (pl.col("payee") == name))
        assert found.total == own.height == len(found.rows)
        assert {"value", "when", "channel"} <= set(found.names)
        when = [row.cells[found.names.index("when")] for row in found.rows]
        assert when == sorted(when, reverse=True) and when[0].startswith("2026-03-")
        outgoing = sum(row.direction in ("to", "itself") for row in found.rows)
        assert outgoing == own.filter(pl.col("payer") == name).height
        values = sorted(float(row.cells[found.names.index("value")].replace(",", "")) for row in found.rows)
        assert np.allclose(values, sorted(own["value"].to_list()), rtol=5e-3)
    monkeypatch.setattr("calirare.review.case.edges_of.MOST", 1)
    assert len(edges_of(snapshot, 0).rows) == 1


def test_neighbours_with_what_is_known_of_them(read):
    snapshot = read[0]
    store = DecisionStore.open("sqlite://")
    book = DecisionBook(store)
    node = int(np.argmax(np.diff(snapshot.adjacency.indptr)))
    near, total = likeliest_neighbours(snapshot, book, node)
    assert total == len(near) == len(set(snapshot.adjacency[[node]].indices.tolist()) - {node})
    assert [one.probability for one in near] == sorted((one.probability for one in near), reverse=True)
    store.record(near[0].node_id, "rare", reviewer="a", model_version="m", seen=0, action_key="k")
    book.refresh()
    assert likeliest_neighbours(snapshot, book, node)[0][0].state == "decided rare"
    assert sum(one.num_edges for one in near) == sum(row.other != node for row in edges_of(snapshot, node).rows)


def test_a_graph_of_pairs_has_edges_too(desk):
    snapshot = desk.snapshot
    node = int(np.argmax(np.diff(snapshot.adjacency.indptr)))
    found = edges_of(snapshot, node)
    assert found.total >= np.diff(snapshot.adjacency.indptr)[node] - 1 and found.rows


def test_types_and_gaps_in_edges_are_said_in_words():
    table = EdgeTable(
        np.array([0, 1]),
        np.array([1, 0]),
        (
            EdgeColumn("value", "number", np.array([np.nan, 2.5])),
            EdgeColumn("kind", "category", np.array([-1, 0]), ("x",)),
        ),
        type=np.array([0, 1]),
        type_names=("pays", "calls"),
    )
    graph = cr.make_transactions(num_nodes=40, rare_share=0.3, labelled_share=1.0, seed=0)
    from dataclasses import replace

    class Fake:
        def __init__(self):
            self.graph = replace(graph, edges=table)

    found = edges_of(Fake(), 0)
    assert found.names == ("type", "value", "kind")
    assert {row.cells for row in found.rows} == {("pays", "", ""), ("calls", "2.5", "x")}
    assert {row.direction for row in found.rows} == {"to", "from"}
