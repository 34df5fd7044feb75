"""`calirare monitor`: fed by scoring and triage, quiet on quiet tables, exit code 1 on an alarm."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.data.synthetic import make_transactions
from calirare.data.tables.files import write_tables

run = CliRunner().invoke


@pytest.fixture
def folder(model, tmp_path) -> Path:
    """An own copy, without the runs that other tests have fed."""
    return Path(shutil.copytree(model, tmp_path / "model", ignore=shutil.ignore_patterns("*.sqlite*")))


@pytest.fixture(scope="module")
def later(tmp_path_factory) -> tuple[str, str]:
    """Another week of the same world, with hardly a label."""
    nodes, edges = write_tables(
        make_transactions(300, rare_share=0.1, labelled_share=0.04, seed=3, with_payments=False),
        tmp_path_factory.mktemp("later"),
        format="csv",
    )
    return str(nodes), str(edges)


def monitor(folder, *words):
    answer = run(app, ["monitor", str(folder), *words, "--json"])
    return answer, json.loads(answer.stdout)


def test_runs_feed_the_series_and_a_planted_shift_alarms(folder, later, tmp_path):
    answer, said = monitor(folder)
    assert answer.exit_code == 0 and said["runs"] == []
    scored = run(app, ["score", str(folder), *later, "--out", str(tmp_path / "s.csv")])
    assert scored.exit_code == 0, scored.output
    queued = run(app, ["triage", str(folder), *later, "--out", str(tmp_path / "q.csv"), "--budget", "5"])
    assert queued.exit_code == 0, queued.output
    answer, said = monitor(folder)
    assert answer.exit_code == 0, answer.output
    assert [one["command"] for one in said["runs"]] == ["score", "triage"]
    assert said["runs"][1]["actions"]["review"] == 5
    assert (
        said["runs"][0]["nodes"] == pl.read_csv(later[0])["is_fraud"].is_null().sum()
    )  # labelled nodes say nothing new
    assert len(said["runs"][0]["columns"]) >= 12
    nodes = pl.read_csv(later[0]).with_columns(pl.col("account_age_days") * 24)
    nodes.write_csv(tmp_path / "hours.csv")
    hours = ["score", str(folder), str(tmp_path / "hours.csv"), later[1], "--out", str(tmp_path / "s.csv"), "--json"]
    scores = [one for one in json.loads(run(app, hours).stdout)["shift"]["columns"] if one["table"] == "scores"]
    assert [one["psi"] for one in scores] == [monitor(folder)[1]["runs"][-1]["score_shift"][0]]
    shown = run(app, ["monitor", str(folder)], env={"COLUMNS": "200"})
    assert (
        shown.exit_code == 1 and "account_age_days" in shown.stderr and "Scoring runs, the last 3 of 3" in shown.stdout
    )


def test_a_run_can_be_kept_out_of_the_series_or_sent_elsewhere(folder, later, tmp_path):
    out = str(tmp_path / "s.csv")
    run(app, ["score", str(folder), *later, "--out", out, "--no-monitor", "--no-intervals"])
    assert monitor(folder)[1]["runs"] == []
    db = f"sqlite:///{tmp_path / 'series.sqlite'}"
    run(app, ["score", str(folder), *later, "--out", out, "--db", db, "--no-intervals"])
    assert monitor(folder)[1]["runs"] == [] and len(monitor(folder, "--db", db)[1]["runs"]) == 1


def test_scores_are_written_even_where_the_series_cannot_be(folder, later, tmp_path):
    secret = "postgresql://desk:hunter2secret@127.0.0.1:1/none"  # pragma: allowlist secret
    out = tmp_path / "s.csv"
    answer = run(app, ["score", str(folder), *later, "--out", str(out), "--db", secret, "--no-intervals"])
    assert answer.exit_code == 0 and out.exists()
    assert "Note: this run is not in the series" in answer.stderr and "hunter2" not in answer.output
    assert run(app, ["monitor", str(folder), "--days", "0"]).exit_code == 2
