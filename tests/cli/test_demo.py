"""`calirare demo`, smaller than life."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app

run = CliRunner().invoke


def test_it_ends_with_the_path_of_what_to_open(tmp_path):
    out = tmp_path / "demo"
    answer = run(app, ["demo", "--out", str(out), "--nodes", "300"], env={"COLUMNS": "120"})
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == str(out / "report.html")
    assert "Fraud in a generated transaction network" in (out / "report.html").read_text()
    assert pl.read_csv(out / "scores.csv").height == pl.read_parquet(out / "scores.parquet").height == 300
    assert set(pl.read_csv(out / "queue.csv")["action"]) <= {"alert", "review", "clear"}
    assert cr.load(out / "model").class_names_ == ("no", "yes")
    payments, accounts = pl.read_parquet(out / "edges.parquet"), pl.read_parquet(out / "nodes.parquet")
    assert re.search(rf"│ payments +│ +{payments.height:,} │", answer.stdout)
    assert f"Recall within the budget ({round(0.05 * accounts['is_fraud'].null_count())} reviews)" in answer.stdout


@pytest.mark.slow
def test_json_shows_that_calibration_helps(tmp_path):
    answer = run(app, ["demo", "--out", str(tmp_path), "--nodes", "2000", "--json"])
    found = json.loads(answer.stdout)
    calibrated, plain = found["calibrated"], found["uncalibrated"]
    for metric in ("negative_log_likelihood", "brier_score", "distance_from_truth"):
        assert calibrated[metric][0] < plain[metric][0]


def test_too_small_a_network_says_so(tmp_path):
    answer = run(app, ["demo", "--out", str(tmp_path), "--nodes", "3"])
    assert answer.exit_code == 2 and answer.stderr.count("\n") == 1
