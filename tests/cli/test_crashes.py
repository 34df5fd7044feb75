"""Killed, interrupted, without space, without rights: the old result stands, or the new one is whole."""

from __future__ import annotations

import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from folders import content_of
from limited import run_limited, start
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.persistence.folder import load_graph, model_version

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")
run = CliRunner().invoke


def fit_words(tables, out, *more):
    words = ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(out), "--device", "cpu"]
    return [*words, "--detector", "gcn", "--weight-decay", "0.005", *more]


@pytest.fixture
def own_model(model, tmp_path):
    """A copy of the model folder that a test may lose, without the series that other tests' scores may have left there."""
    return Path(shutil.copytree(model, tmp_path / "model", ignore=shutil.ignore_patterns("decisions.sqlite*")))


COMMANDS = {
    "fit": lambda tables, model, out: fit_words(tables, out / "new", "--epochs", "2"),
    "score": lambda tables, model, out: ["score", model, *tables, "--out", out / "scores.parquet"],
    "score csv": lambda tables, model, out: ["score", model, *tables, "--out", out / "scores.csv"],
    "triage": lambda tables, model, out: ["triage", model, *tables, "--out", out / "queue.csv"],
    "report": lambda tables, model, out: ["report", model, "--out", out / "report.html"],
    "demo": lambda tables, model, out: ["demo", "--nodes", "300", "--out", out / "demo"],
    "figures": lambda tables, model, out: [
        "figures",
        "--figure",
        "reliability",
        "--model",
        model,
        "--out",
        out / "figures",
    ],
}


def one_line(done):
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and "Traceback" not in done.stderr, done.stderr
    return errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fit", "score", "score csv", "triage", "report", "demo"])
def test_a_full_disk_gives_one_line_and_leaves_nothing(command, tables, model, tmp_path):
    """The limit is too low for any result; what fails is the write itself, as on a full disk."""
    words = COMMANDS[command](tables, model, tmp_path)
    said = one_line(run_limited(2_000, *words))
    assert "cannot be written: " in said and "File too large" in said
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_model(tables, own_model):
    before = content_of(own_model)
    said = one_line(run_limited(2_000, *fit_words(tables, own_model, "--epochs", "2")))
    assert str(own_model) in said
    assert content_of(own_model) == before


@pytest.mark.slow
def test_a_full_disk_leaves_the_model_that_was_to_be_refitted(tables, own_model):
    """Neither the new model nor the copy of the old one can be written."""
    before = content_of(own_model)
    said = one_line(run_limited(2_000, "refit", own_model, *tables, "--force"))
    assert "File too large" in said
    assert {name: content for name, content in content_of(own_model).items() if name.suffix != ".sqlite"} == before
    whole_model(own_model, {model_version(own_model)})


@pytest.mark.slow
def test_a_full_disk_leaves_scores_and_says_that_the_series_lacks_them(tables, own_model, tmp_path):
    """Room for the scores, none for the database of the series."""
    done = run_limited(40_000, "score", own_model, *tables, "--out", tmp_path / "scores.parquet")
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    lacks = "Note: this run is not in the series of `calirare monitor`" in done.stderr
    assert lacks != (own_model / "decisions.sqlite").exists()
    assert (tmp_path / "scores.parquet").exists()


@pytest.mark.parametrize(
    ("command", "place"),
    [
        *((command, "below a file") for command in ("fit", "score", "triage", "report")),
        *((command, "read-only") for command in ("fit", "score")),  # a folder and a file
    ],
)
def test_places_that_cannot_be_written(command, place, tables, model, tmp_path):
    if place == "below a file":
        out = tmp_path / "file"
        out.write_text("mine")
    else:
        out = Path("/sys/kernel")  # nobody makes files here, root included
        if not out.is_dir():
            pytest.skip("no /sys on this machine")
    answer = run(app, [str(word) for word in COMMANDS[command](tables, model, out)])
    assert answer.exit_code == 2 and answer.stderr.count("\n") == 1, (answer.output, answer.exception)
    assert answer.stderr.startswith("Error: ") and str(out) in answer.stderr
    assert place == "read-only" or out.read_text() == "mine"


def whole_model(folder, versions):
    """The model in the folder is one of these, loads, and answers for its graph."""
    assert model_version(folder) in versions
    graph = load_graph(folder)
    assert cr.load(folder).predict_proba(graph).shape == (graph.num_nodes, 2)


def finish(*words):
    """In a process of its own, as the killed one is: bytes are the same for the same number of threads."""
    process = start(*words)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(4))
def test_a_fit_killed_over_an_existing_model(tables, own_model, tmp_path, turn):
    old = model_version(own_model)
    words = fit_words(tables, own_model, "--epochs", "3", "--seed", "7")
    finish(*fit_words(tables, tmp_path / "new", "--epochs", "3", "--seed", "7"))
    new = model_version(tmp_path / "new")
    process = start(*words)
    time.sleep(random.Random(turn).uniform(0.0, 5.0))
    process.kill()
    process.communicate(timeout=30)
    whole_model(own_model, {old, new})
    finish(*words)
    whole_model(own_model, {new})


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(5))
def test_ctrl_c_at_any_moment_of_a_fit(tables, own_model, turn):
    """Exit 130, no words, and either the old model untouched or the new one whole."""
    before, old = content_of(own_model), model_version(own_model)
    process = start(*fit_words(tables, own_model, "--epochs", "40", "--seed", "3"))
    time.sleep(random.Random(turn).uniform(0.0, 5.0))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, 0), said
    assert "Traceback" not in said and "Error" not in said, said
    assert not list(own_model.glob(".*"))
    if process.returncode == 130:
        assert content_of(own_model) == before or model_version(own_model) != old
    whole_model(own_model, {model_version(own_model)})


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "triage", "report", "demo"])
def test_ctrl_c_while_other_commands_run(command, tables, model, tmp_path):
    words = COMMANDS[command](tables, model, tmp_path)
    process = start(*words)
    time.sleep(random.Random(command).uniform(0.5, 3.0))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, 0) and "Traceback" not in said, said
    assert not [path for path in tmp_path.rglob(".*")]
