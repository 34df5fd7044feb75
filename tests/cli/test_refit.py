"""`calirare refit`: a new model comes in where it is not worse, and goes again on request."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.cli.refit import _words
from calirare.data.synthetic import make_transactions
from calirare.data.tables.files import write_tables
from calirare.evaluation.paired import PairedLikelihood
from calirare.persistence.folder import fingerprint_of, model_version
from calirare.review.renewal import Renewal
from calirare.review.store.decisions import DecisionStore

run = CliRunner().invoke


@pytest.fixture(scope="module")
def fitted(tables, tmp_path_factory, cheaply) -> Path:
    folder = tmp_path_factory.mktemp("refit") / "model"
    words = ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(folder), "--detector", "linear"]
    with cheaply():
        answer = run(app, words)
    assert answer.exit_code == 0, answer.output
    return folder


@pytest.fixture
def folder(fitted, tmp_path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "model"))


@pytest.fixture(scope="module")
def more(tmp_path_factory) -> list[str]:
    """The same accounts a week later, half of them labelled."""
    later = make_transactions(300, rare_share=0.1, labelled_share=0.7, seed=1, with_payments=False)
    return [str(path) for path in write_tables(later, tmp_path_factory.mktemp("later"), format="csv")]


def refit(folder, *words):
    answer = run(app, ["refit", str(folder), *words, "--json"])
    return answer, json.loads(answer.stdout) if answer.stdout else {}


def test_a_series_beside_the_model_is_no_decision(folder, more, tmp_path):
    run(app, ["score", str(folder), *more, "--out", str(tmp_path / "s.csv"), "--no-intervals"])
    assert (folder / "decisions.sqlite").is_file()
    answer = run(app, ["refit", str(folder)])
    assert answer.exit_code == 2 and "nothing new to fit with" in answer.stderr


def test_more_labels_come_in_the_old_model_is_kept_and_back_is_one_command(folder, more):
    before = fingerprint_of(folder)
    answer, said = refit(folder, *more)
    assert answer.exit_code == 0, answer.output
    assert said["labels_after"] > said["labels_before"] and said["gain"] + said["error"] >= 0
    now = fingerprint_of(folder)
    assert said["before"] == before.model != now.model == said["version"]
    kept = {one["version"]: one["data"] for one in said["versions"]}
    assert kept == {before.model: before.data, now.model: now.data} and before.data != now.data
    card = (folder / "MODEL_CARD.md").read_text()
    assert now.model in card and now.data in card and before.model not in card
    answer, said = refit(folder, "--back")
    assert said["version"] == before.model == model_version(folder)
    assert before.model in (folder / "MODEL_CARD.md").read_text()
    answer, said = refit(folder, "--to", now.model)
    assert model_version(folder) == now.model
    again = run(app, ["refit", str(folder), "--back", "--to", now.model])
    assert again.exit_code == 2 and "--back and --to" in again.stderr


def test_what_is_to_know_of_the_tables_is_said_once(folder, more, tmp_path, caplog):
    """They are read twice: as the old model reads them, and as the new one will."""
    nodes = Path(more[0]).read_text()
    (tmp_path / "nodes.csv").write_text("Größe," + nodes.replace("\n", "\n7,").removesuffix("7,"), encoding="cp1252")
    answer, _ = refit(folder, str(tmp_path / "nodes.csv"), more[1])
    assert answer.exit_code in (0, 1), answer.output
    assert sum("is read as Windows-1252" in one.getMessage() for one in caplog.records) == 1


def test_a_worse_model_stays_out_unless_forced(folder, tables, tmp_path):
    """The same labels, but every other column shuffled: what is fitted on that says nothing about a left-out label."""
    words = []
    for path in tables:
        frame = pl.read_csv(path, infer_schema=False)
        mixed = [frame[name].shuffle(seed=k) for k, name in enumerate(frame.columns) if name not in ("id", "is_fraud")]
        words.append(str(tmp_path / Path(path).name))
        frame.with_columns(mixed).write_csv(words[-1])
    before = model_version(folder)
    answer, said = refit(folder, *words)
    assert answer.exit_code == 1 and not said["installed"] and said["gain"] < 0
    assert model_version(folder) == before == said["version"] and not (folder / "versions").exists()
    answer, said = refit(folder, *words, "--force")
    assert answer.exit_code == 0 and said["installed"] and model_version(folder) != before


def test_decisions_are_labels_and_without_anything_new_it_says_so(folder, network):
    answer = run(app, ["refit", str(folder)])
    assert answer.exit_code == 2 and "nothing new to fit with" in answer.stderr
    assert run(app, ["refit", str(folder), "--back"]).exit_code == 2
    store = DecisionStore.open(folder)
    open_nodes = np.flatnonzero(network.y < 0)[:20]
    for node in open_nodes.tolist():
        what = "rare" if network.original_y[node] == 1 else "normal"
        store.record(str(network.ids[node]), what, reviewer="a", model_version="m", seen=0, action_key=str(node))
    store.close()
    answer, said = refit(folder, "--force")
    assert answer.exit_code == 0, answer.output
    assert said["decisions"] == 20 and said["labels_after"] == said["labels_before"] + 20
    shown = run(app, ["refit", str(folder), "--to", said["before"]])
    assert "is in use again" in shown.stdout and said["version"] in shown.stdout


def test_the_card_tells_what_it_was_made_from(folder, network):
    card = (folder / "MODEL_CARD.md").read_text()
    for part in ("# Model card", "## Data", "## Columns", "## Quality", "## Limits", "Trained on", "is\\_fraud"):
        assert part in card, part
    assert f"{network.known.size:,} labels" in card


SWITCH = """
import sys
from pathlib import Path
from calirare.review.versions import make_current
model, versions = Path(sys.argv[1]), sys.argv[2:]
print("ready", flush=True)
while True:
    for version in versions:
        make_current(model, version)
"""


@pytest.mark.slow
def test_a_switch_that_is_killed_leaves_one_whole_model(folder, more):
    _, said = refit(folder, *more, "--force")
    versions = [said["before"], said["version"]]
    expected = {one: cr.load(folder / "versions" / one).predict_left_out() for one in versions}
    for turn in range(12):
        process = subprocess.Popen([sys.executable, "-c", SWITCH, str(folder), *versions], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.003 * turn)
        process.kill()
        process.communicate()
        found = model_version(folder)
        np.testing.assert_array_equal(cr.load(folder).predict_left_out(), expected[found])


def test_the_same_model_is_not_called_better():
    same = Renewal(True, "abc", "abc", PairedLikelihood(0.0, 0.0, 9), 9, 9, 0)
    assert _words(same).startswith("Nothing is new") and "better" not in _words(same)
    assert "as good as the old one" in _words(replace(same, version="def"))
    assert "better by" in _words(replace(same, version="def", likelihood=PairedLikelihood(0.2, 0.1, 9)))
