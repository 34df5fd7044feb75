"""`-`, JSON Lines, folders, and how much is said."""

from __future__ import annotations

import io
import json
import logging
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import calirare
from calirare.cli import pipes, voice
from calirare.cli.main import app
from calirare.errors import InputError
from calirare.review.store.decisions import DecisionStore

runner = CliRunner()


@pytest.fixture(autouse=True)
def usual_voice():
    yield
    voice.set_voice(quiet=False, verbose=False)
    logging.getLogger("calirare").setLevel(logging.NOTSET)


@pytest.fixture(scope="module")
def scores(model, tables, tmp_path_factory, cheaply):
    """The scores as a file, by which pipes are judged."""
    out = tmp_path_factory.mktemp("scores") / "scores.csv"
    with cheaply():
        answer = runner.invoke(app, ["score", str(model), *tables, "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    return out


def test_a_table_in_and_a_table_out(model, tables, scores):
    with open(tables[0], "rb") as nodes:
        answer = runner.invoke(app, ["score", str(model), "-", tables[1], "--out", "-"], input=nodes.read())
    assert answer.exit_code == 0, answer.output
    assert answer.stdout == scores.read_text()


def test_json_lines_come_back(model, tables, scores, tmp_path):
    nodes = tmp_path / "nodes.jsonl"
    pl.read_csv(tables[0], infer_schema=False).write_ndjson(nodes)
    out = tmp_path / "scores.jsonl"
    answer = runner.invoke(app, ["score", str(model), str(nodes), tables[1], "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    expected = pl.read_csv(scores)
    assert [row["id"] for row in rows] == expected["id"].to_list()
    assert [row["probability"] for row in rows] == pytest.approx(expected["probability"].to_list())


@pytest.mark.parametrize(
    ("start", "ending"),
    [(b"PAR1....", ".parquet"), (b"ARROW1..", ".arrow"), (b'{"id": 1}', ".jsonl"), (b"id,x\n1,2", ".csv"), (b"\x1f\x8b\x08", ".csv.gz")],
)  # fmt: skip
def test_standard_input_is_named_by_how_it_begins(monkeypatch, start, ending):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(start)))
    found = pipes.received(pipes.PIPE)
    assert found.name == f"stdin{ending}" and found.read_bytes() == start
    with pytest.raises(InputError, match="only one table"):
        pipes.received(pipes.PIPE)


def test_two_things_cannot_share_standard_output(model, tables):
    answer = runner.invoke(app, ["score", str(model), *tables, "--out", "-", "--json"])
    assert answer.exit_code == 2 and "both want standard output" in answer.stderr


def test_no_folder_is_made_silently(model, tables, tmp_path):
    for words in (
        ["score", str(model), *tables, "--out", str(tmp_path / "typo" / "scores.csv")],
        ["report", str(model), "--out", str(tmp_path / "typo" / "report.html")],
        ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(tmp_path / "typo" / "model")],
    ):
        answer = runner.invoke(app, words)
        assert answer.exit_code == 2 and "mkdir -p" in answer.stderr
    assert not (tmp_path / "typo").exists()


def test_decisions_are_not_replaced_silently(tables, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    words = ["fit", *tables, "--label", "no such column", "--rare", "yes", "--out", str(model)]
    store = DecisionStore.open(model / "decisions.sqlite")
    clicks = map(str, range(9))

    def decide(node, seen=0):
        return store.record(node, "rare", reviewer="ada", model_version="m", seen=seen, action_key=next(clicks)).id

    def undo(row):
        store.undo(row, reviewer="ada", model_version="m", action_key=next(clicks))

    first = decide("A1")
    undo(first)
    assert "no such column" in runner.invoke(app, words).stderr  # what was taken back is no decision
    decide("A3")
    second = decide("A2", seen=decide("A2"))
    answer = runner.invoke(app, words)
    assert answer.exit_code == 2 and "decisions on 2 nodes" in answer.stderr and "--replace" in answer.stderr
    undo(second)  # brings back the one before
    assert "decisions on 2 nodes" in runner.invoke(app, words).stderr
    store.close()
    assert "no such column" in runner.invoke(app, [*words, "--replace"]).stderr


def test_a_database_of_another_program_is_no_decision(tables, tmp_path):
    with sqlite3.connect(tmp_path / "decisions.sqlite") as connection:
        connection.execute("CREATE TABLE calirare_decisions (node_id TEXT)")
    connection.close()
    words = ["fit", *tables, "--label", "no such column", "--rare", "yes", "--out", str(tmp_path)]
    assert "no such column" in runner.invoke(app, words).stderr


def test_quiet_says_nothing_and_verbose_says_every_step(model, tables, tmp_path, caplog):
    words = ["score", str(model), *tables, "--out", str(tmp_path / "scores.csv")]
    for silent in (["-q", *words], [*words, "--quiet"]):
        answer = runner.invoke(app, silent)
        assert answer.exit_code == 0 and answer.output == ""
    assert json.loads(runner.invoke(app, [*words, "--json", "--quiet"]).stdout)["nodes"] == 300
    copy = tmp_path / "nodes.csv"
    copy.write_text(f"{Path(tables[0]).read_text()}Total{',' * Path(tables[0]).read_text().split()[0].count(',')}\n")
    for silent, said in (([], True), (["-q"], False)):  # what reading tells of tables is no error
        caplog.clear()
        runner.invoke(app, [*silent, "score", str(model), str(copy), *tables[1:], "--out", str(tmp_path / "more.csv")])
        assert ("adds up the others" in caplog.text) == said
    answer = runner.invoke(app, [*words, "--verbose"])
    assert "Scoring: " in answer.stderr and "Highest of" in answer.stdout
    failed = runner.invoke(app, ["--verbose", "score", str(tmp_path), *tables, "--out", "x.csv"])
    assert "Traceback" in failed.stderr and failed.exit_code == 2
    assert "Traceback" not in runner.invoke(app, ["score", str(tmp_path), *tables, "--out", "x.csv"]).stderr


def test_completion_and_help():
    assert "--install-completion" in runner.invoke(app, ["--help"]).stdout
    for words in ([], ["fit"], ["score"], ["review"], ["triage"]):
        said = runner.invoke(app, [*words, "--help"]).stdout
        assert "bool" not in said and max(map(len, said.splitlines())) <= 80
    asked = {
        "_CALIRARE_COMPLETE": "complete_bash",
        "COMP_WORDS": "calirare f",
        "COMP_CWORD": "1",
        "PYTHONPATH": str(Path(calirare.__file__).parents[1]),
    }
    code = "import sys; sys.argv = ['calirare']; from calirare.cli import run; run()"
    found = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["figures", "fit"]
