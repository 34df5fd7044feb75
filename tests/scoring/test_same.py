"""Nodes that share a device are joined by it, however they are scored."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.data.tables.schema.asked import arguments_of
from calirare.detectors.stack import Stack
from calirare.scoring.in_parts import score_in_parts
from calirare.scoring.live.scores import LiveScores
from calirare.scoring.table import read_for, score_table

pytestmark = pytest.mark.usefixtures("quick_networks_here")
LABELS = {"label": "blocked", "rare": "yes"}
NUMBERS = ("probability", "lower", "upper")


def accounts(rng, size, first=0, known=0.7):
    """Accounts of which some share a device; those that are rare share one of a few, and their mail is of one domain."""
    rare = rng.random(size) < 0.2
    device = np.where(rare, rng.integers(0, 30, size), 100 + (first + np.arange(size)) * 2 // 3)
    domain = np.where(
        rare & (rng.random(size) < 0.5), "@brief.top", np.array(["@post.org", "@mail.net"])[np.arange(size) % 2]
    )
    return pl.DataFrame(
        {
            "account": [f"a{first + k}" for k in range(size)],
            "age": rng.normal(40, 9, size),
            "device_id": [f"d{one}" for one in device],
            "mail": [f"n{first + k}{one}" for k, one in enumerate(domain)],
            "blocked": [("yes" if r else "no") if rng.random() < known else None for r in rare],
        }
    )  # fmt: skip


def payments(rng, size, count=600):
    ends = rng.integers(0, size, (2, count))
    return pl.DataFrame(
        {"payer": [f"a{k}" for k in ends[0]], "payee": [f"a{k}" for k in ends[1]], "sum": rng.gamma(2, 9, count)}
    )


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    return accounts(rng, 400), payments(rng, 400)


@pytest.fixture(scope="module")
def fitted(tables):
    detector = Stack(["linear", "spreading", cr.detectors.GCN(epochs=20, weight_decay=5e-3, hidden=8)])
    return cr.RareCategoryClassifier(detector, device="cpu").fit(cr.read_tables(*tables, **LABELS))


def test_a_column_of_the_nodes_is_the_table_of_edges_that_it_stands_for(tables):
    nodes, edges = tables
    found = cr.read_tables(nodes, edges, **LABELS)
    by_hand = {"edges": edges, "device": nodes.select("account", "device_id")}
    want = cr.read_tables(nodes, by_hand, **LABELS, same=[])
    assert found.schema["nodes"]["same"] == ["device_id"] and want.schema["nodes"]["same"] == []
    assert found.ids.tolist() == want.ids.tolist() and found.node_type_names == ("account", "device")
    np.testing.assert_array_equal(found.edge_index, want.edge_index)
    np.testing.assert_array_equal(found.node_type, want.node_type)
    assert found.edges.type_names == want.edges.type_names and found.schema["read"]["edges"]["same"] == nodes.height


def test_which_columns_join_nodes_unasked(tables):
    nodes, edges = tables
    size = nodes.height

    def joined(values, name="thing", **said):
        table = nodes.drop("device_id").with_columns(pl.Series(name, values))
        return cr.read_tables(table, edges, **LABELS, **said).schema["nodes"]["same"]

    pairs = [f"x{k // 2}" for k in range(size)]
    assert joined(pairs) == ["thing"] == joined([None, *pairs[1:]]) == joined(["unknown", *pairs[1:]])
    assert joined([k // 2 for k in range(size)], "card_id") == ["card_id"]
    for not_so in (
        [f"x{k}" for k in range(size)],  # nobody shares
        [f"x{k % 90}" for k in range(size)],  # categories
        [f"x{k // 2}" if k > 60 else "x" for k in range(size)],  # one value of too many
        ["unknown" if k % 2 else f"x{k}" for k in range(size)],
        [k // 2 for k in range(size)],  # numbers
        [f"a{k // 2}" for k in range(size)],  # ids of nodes
    ):
        assert joined(not_so) == []
    assert joined(pairs, "last_name") == [] == joined(pairs, types={"thing": "ignore"}) == joined(pairs, same=[])
    assert joined(pairs, weight="sum") == [] == joined(pairs, bipartite=False)


def test_what_stands_for_nothing_joins_nobody(tables):
    nodes, edges = tables
    gaps = ["", " ", "unknown", "N/A", "0.0.0.0", None]
    device = [gaps[k % 6] if k < 60 else f"d{k // 2}" for k in range(nodes.height)]
    graph = cr.read_tables(nodes.with_columns(device_id=pl.Series(device)), edges, **LABELS)
    assert graph.schema["read"]["edges"]["same"] == nodes.height - 60


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"same": ["devise_id"]}, "same must be a column of the nodes"),
        ({"same": "account"}, "other columns than the id"),
        ({"same": ["device_id"], "weight": "sum"}, "must be left out"),
    ],
)
def test_mistakes(tables, said, says):
    with pytest.raises(cr.errors.InputError, match=says):
        cr.read_tables(*tables, **LABELS, **said)


def test_scored_from_memory_in_parts_and_live(tables, fitted, tmp_path):
    nodes, edges = tables
    nodes.write_csv(tmp_path / "nodes.csv")
    edges.write_parquet(tmp_path / "edges.parquet")
    files = tmp_path / "nodes.csv", tmp_path / "edges.parquet"
    want = score_table(fitted, read_for(fitted, *files))
    assert want["id"].tolist() == nodes["account"].to_list() and np.ptp(want["probability"]) > 0.1
    score_in_parts(fitted, *files, tmp_path / "s.parquet", partitions=3)
    parts = pl.read_parquet(tmp_path / "s.parquet")
    for name in NUMBERS:
        np.testing.assert_allclose(parts[name].to_numpy(), want[name], atol=2e-6)


@pytest.mark.parametrize("with_edges", [True, False])
def test_new_accounts_are_joined_by_their_devices(tables, fitted, with_edges):
    nodes, edges = tables
    rng = np.random.default_rng(1)
    fresh = accounts(rng, 12, first=400).with_columns(blocked=pl.lit(None, dtype=pl.String))
    fresh = fresh.with_columns(device_id=pl.Series(["d3", "d3", "new", "new", *fresh["device_id"][4:]]))
    more = edges.head(5).with_columns(payer=pl.lit("a401")) if with_edges else None
    live = LiveScores(fitted, read_for(fitted, *tables))
    same_again = nodes.filter(pl.col("account") == "a7").drop("blocked")
    found = live.score(pl.concat([fresh.drop("blocked"), same_again]), more)
    grown = pl.concat([nodes, fresh]), edges if more is None else pl.concat([edges, more])
    want = score_table(fitted, read_for(fitted, *grown))
    rows = [want["id"].tolist().index(one) for one in found["id"].tolist()]
    assert found["id"].tolist() == [*fresh["account"], "a7"]
    for name in NUMBERS:
        np.testing.assert_allclose(found[name], want[name][rows], atol=2e-6)


def test_a_model_of_nodes_alone_that_a_column_joins(tables, tmp_path):
    nodes, _ = tables
    classifier = cr.RareCategoryClassifier("linear").fit(cr.read_tables(nodes, **LABELS))
    classifier.save(tmp_path / "model")
    later = read_for(cr.load(tmp_path / "model"), nodes, None)
    np.testing.assert_allclose(classifier.predict_proba(later), cr.load(tmp_path / "model").predict_proba(later))
    assert later.num_edges == nodes.height


def test_a_refit_joins_by_the_same_columns(tables):
    first = cr.read_tables(*tables, **LABELS)
    assert arguments_of(first.schema)["same"] == ["device_id"]
    fewer = tables[0].with_columns(device_id=pl.Series([f"d{k}" for k in range(400)])), tables[1]
    assert cr.read_tables(*fewer, **arguments_of(first.schema)).schema["nodes"]["same"] == ["device_id"]


def test_the_command_line_says_what_joins_nodes(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables[0].write_csv("nodes.csv")
    tables[1].write_csv("edges.csv")
    asked = [
        "fit",
        "nodes.csv",
        "edges.csv",
        "--label",
        "blocked",
        "--rare",
        "yes",
        "--detector",
        "linear",
        "--out",
        "model",
    ]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0 and "joins nodes" in " ".join(told.output.split()), told.output
    scored = CliRunner().invoke(app, ["score", "model", "nodes.csv", "edges.csv", "--out", "scores.csv"])
    assert scored.exit_code == 0 and pl.read_csv("scores.csv").height == 400
    alone = CliRunner().invoke(app, [*asked[:-1], "other", "--type", "device_id=ignore"])
    assert alone.exit_code == 0 and "joins nodes" not in " ".join(alone.output.split())
    by_mail = CliRunner().invoke(app, [*asked[:-1], "third", "--same", "mail"])
    assert by_mail.exit_code == 0 and cr.load("third").schema_["nodes"]["same"] == ["mail"]


def test_joins_that_nobody_asked_for_are_said(tables, caplog):
    nodes, edges = tables
    graph = cr.read_tables(nodes, edges, **LABELS)
    assert f"behind the 400 of the table: {graph.num_nodes:,} in all" in caplog.text
    devices = nodes["device_id"].n_unique()
    assert graph.num_nodes == 400 + devices
    assert f"{graph.num_nodes:,} nodes (400 account, {devices:,} device)" in repr(graph)
    np.testing.assert_array_equal(graph.ids[:400], nodes["account"].to_numpy())
    caplog.clear()
    for options in ({"same": ["device_id"]}, {"same": []}, {"schema": graph.schema}):
        cr.read_tables(nodes, edges, **LABELS, **options)
    assert "in common" not in caplog.text
