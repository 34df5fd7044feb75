"""Commands on tables in databases, and no password on any screen or in any folder."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.data.tables.sources.export import write_table

run = CliRunner().invoke
SECRET = "hunter2secret"  # pragma: allowlist secret


@pytest.fixture(scope="module")
def base(tables, tmp_path_factory):
    """The two tables in an SQLite file."""
    base = f"sqlite:///{tmp_path_factory.mktemp('warehouse')}/cases.db"
    for path, name in zip(tables, ("nodes", "edges"), strict=True):
        write_table(pl.read_csv(path).to_dict(as_series=False), f"{base}#{name}")
    return base


def test_fit_score_and_triage_from_and_to_a_database(base, tmp_path):
    both = [f"{base}#nodes", f"{base}#SELECT * FROM edges"]
    model = str(tmp_path / "model")
    fitted = run(app, ["fit", *both, "--label", "is_fraud", "--rare", "yes", "--out", model, "--detector", "linear"])
    assert fitted.exit_code == 0, fitted.output
    for command, table in (("score", "scores"), ("triage", "queue")):
        answer = run(app, [command, model, *both, "--out", f"{base}#{table}", "--no-monitor", "--json"])
        assert answer.exit_code == 0, answer.output
        assert json.loads(answer.stdout)[table] == f"{base}#{table}"
    file = tmp_path / "scores.parquet"
    run(app, ["score", model, *both, "--out", str(file), "--no-monitor"])
    scores = _read(f"{base}#scores")
    assert scores.sort("id")["probability"].to_list() == pl.read_parquet(file).sort("id")["probability"].to_list()
    assert {"id", "action", "reason"} <= set(_read(f"{base}#queue").columns)
    refused = run(app, ["score", model, *both, "--out", f"{base}#scores", "--partitions", "2"])
    assert refused.exit_code == 2


def _read(address):
    from calirare.data.tables.sources.frames import to_frame

    return to_frame(address, "scores")


def test_no_password_is_shown(model, tables, tmp_path):
    secret = f"postgresql://u:{SECRET}@127.0.0.1:1/none"
    lines = [
        ["score", str(model), f"{secret}#nodes", f"{secret}#edges", "--out", str(tmp_path / "s.csv")],
        ["score", str(model), *tables, "--out", f"{secret}#scores", "--no-monitor", "--json"],
        ["fit", f"{secret}#nodes", f"{secret}#edges", "extra", secret, "--label", "x", "--rare", "y", "--out", "m"],
        ["fit", secret, secret, "--label", "x", "--rare", "y", "--out", "m"],
        ["fit", *tables, "--edges", f"{secret}#edges", "--edges", f"{secret}#edges", "--label", "x", "--rare", "y", "--out", "m"],
        ["monitor", str(model), "--db", secret],
        ["refit", str(model), "--decisions", secret],
    ]  # fmt: skip
    for line in lines:
        answer = run(app, line)
        assert answer.exit_code == 2, (line, answer.output)
        assert SECRET not in answer.output + answer.stderr, line
        assert "u:***@127.0.0.1" in answer.stderr, (line, answer.stderr)
