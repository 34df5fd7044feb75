"""`calirare audit`."""

from __future__ import annotations

import json

import polars as pl
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.evaluation.graph_value import graph_value

run = CliRunner().invoke


def test_a_planted_leak_is_shown_by_audit_and_fit(tables, payments, tmp_path, monkeypatch):
    nodes = pl.read_csv(tables[0]).with_columns(closed=pl.when(pl.col("is_fraud") == "yes").then(pl.lit("2024-05-01")))
    nodes.write_csv(tmp_path / "nodes.csv")
    words = [str(tmp_path / "nodes.csv"), tables[1], "--label", "is_fraud", "--rare", "yes"]
    with monkeypatch.context() as patch:
        patch.setattr("calirare.evaluation.graph_value.graph_value", graph_value)  # whether the edges help
        answer = run(app, ["audit", *words], env={"COLUMNS": "200"})
    assert answer.exit_code == 0, answer.output
    assert "without 'closed', which would hide it, the edges" in answer.stdout
    assert "it was known only after the label" in answer.stdout and "--type closed=ignore" in answer.stdout
    paid = [words[0], payments[1], *words[2:]]
    found = json.loads(run(app, ["audit", *paid, "--json"]).stdout)
    assert [(one["kind"], one["column"]) for one in found["findings"] if one["severity"] == "leak"] == [
        ("leak", "closed")
    ]
    assert {row["column"] for row in found["columns"]} >= {"closed", "amount", "time", "source"}
    clean = json.loads(run(app, ["audit", *paid, "--json", "--type", "closed=ignore"]).stdout)
    assert not [one for one in clean["findings"] if one["severity"] == "leak"]
    more = ["--out", str(tmp_path / "model"), "--json", "--detector", "linear"]
    monkeypatch.setattr("calirare.evaluation.graph_value.graph_value", graph_value)
    found = json.loads(run(app, ["fit", *words, *more]).stdout)["audit"]
    assert found[0]["column"] == "closed" and found[-1]["kind"] == "graph"  # of so small a graph it looks there too


def test_labels_apart_and_a_single_file_of_edges(tables, tmp_path):
    nodes = pl.read_csv(tables[0])
    nodes.select("id", "is_fraud").write_csv(tmp_path / "labels.csv")
    words = ["audit", tables[1], "--labels", str(tmp_path / "labels.csv"), "--rare", "yes", "--json"]
    answer = run(app, words)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["read"]["labels"]["known"] == nodes["is_fraud"].drop_nulls().len()
    answer = run(app, ["audit", "--rare", "yes", "--label", "is_fraud"])
    assert answer.exit_code == 2 and "NODES and EDGES must be given" in answer.stderr
    answer = run(app, ["audit", *tables, "--edges", tables[1], "--rare", "yes", "--label", "is_fraud"])
    assert answer.exit_code == 2 and "'edges' is given twice" in answer.stderr
    typed = ["audit", *tables, "--edges", f"again={tables[1]}", "--rare", "yes", "--label", "is_fraud", "--json"]
    assert json.loads(run(app, typed).stdout)["read"]["edges"]["rows"] == 2 * pl.read_csv(tables[1]).height
