"""`calirare triage`."""

from __future__ import annotations

import json

import polars as pl
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.scores import read_for

run = CliRunner().invoke


def test_the_queue_is_the_library_s(model, tables, tmp_path):
    out = tmp_path / "queue.parquet"
    words = ["triage", str(model), *tables, "--budget", "7", "--cost-miss", "80", "--out", str(out)]
    answer = run(app, words, env={"COLUMNS": "150"})
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == str(out)
    classifier = cr.load(model)
    own = cr.triage(classifier, read_for(classifier, *tables), cost_miss=80, budget=7)
    table = pl.read_parquet(out)
    assert table["id"].to_list() == own.id.tolist()
    assert table["action"].to_list() == own.action.tolist()
    assert (table["action"] == "review").sum() == 7


def test_json(model, tables, tmp_path):
    answer = run(app, ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv"), "--json"])
    found = json.loads(answer.stdout)
    assert [row["group"] for row in found["groups"]] == ["alert", "review", "clear", "all"]
    assert found["groups"][-1]["nodes"] == found["nodes"] == pl.read_csv(tmp_path / "q.csv").height


def test_a_negative_cost_is_refused(model, tables, tmp_path):
    answer = run(app, ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv"), "--cost-miss", "-1"])
    assert answer.exit_code == 2 and "cost_miss" in answer.stderr
