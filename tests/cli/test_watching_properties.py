"""Whatever is asked of evaluate, audit, monitor and refit: an answer, or one line; and the model stays as it was."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest
from folders import content_of
from hypothesis import strategies as st
from properties import few_or_many, run_property
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.decisions.costs import Costs

run = CliRunner().invoke
few_or_hundreds = few_or_many(4, 200)
numbers = st.sampled_from(["nan", "inf", "-1", "0", "1", "0.5", "1e400", "", "٣", "1_0", "9" * 30, "a", "--"])
texts = st.sampled_from(
    ["", " ", "yes", "id", "is_fraud", "=1+1", "漢字🦊", "\udc80", "../x", "-", "a" * 3000, "[red]", "'; DROP TABLE x"]
)
POSTGRES = "postgresql://a:secret@127.0.0.1:1/b"  # pragma: allowlist secret
databases = st.sampled_from(["", "x", "sqlite:///", "sqlite:////proc/x/y.sqlite", "mysql://a", POSTGRES, "sqlite:///\0", "postgresql://[",
                             "duckdb:///x", "sqlite:///a?mode=ro&b=\udc80"])  # fmt: skip
READ = {
    "--id": texts,
    "--source": texts,
    "--weight": texts,
    "--time": texts,
    "--edge-type": texts,
    "--node-type": texts,
    "--labels": texts,
}
OPTIONS = {
    "evaluate": READ
    | {
        "--budget": numbers,
        "--resamples": st.sampled_from(["-1", "0", "1", "3", "nan", "x"]),
        "--at-least": st.sampled_from(["average_precision=0.1", "x=1", "brier_score=", "=", "roc_auc=nan", "", "roc_auc=٣", "roc_auc=0=1"]),
    },
    "audit": READ | {"--label": texts, "--rare": texts, "--type": st.sampled_from(["", "=", "a=b", "night_share=ignore"])},
    "monitor": {"--days": numbers, "--db": databases, "--network": texts},
    "refit": {"--decisions": texts, "--to": texts, "--network": texts},
}  # fmt: skip


def answer_or_one_line(words):
    answer = run(app, words)
    if answer.exit_code in (0, 1) and answer.stdout:
        assert answer.stderr == "" or answer.exit_code == 1
        return
    assert answer.exit_code == 2 and isinstance(answer.exception, SystemExit), (words, answer.exception, answer.output)
    said = answer.stderr
    assert said.startswith("Error: ") and said.count("\n") == 1 and "secret" not in said, said
    assert "Traceback" not in said and answer.stdout == ""


@few_or_hundreds
@pytest.mark.parametrize("command", sorted(OPTIONS))
def test_wild_options(examples, command, model, tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = shutil.copytree(model, tmp_path / "model")
    base = {
        "evaluate": [str(own), *tables, "--resamples", "2"],
        "audit": [*tables, "--label", "is_fraud", "--rare", "yes"],
        "monitor": [str(own)],
        "refit": [str(own)],
    }[command]
    before = content_of(tmp_path)

    def wild(picked, as_json):
        answer_or_one_line([command, *base, *(word for pair in picked.items() for word in pair), *as_json])
        assert content_of(tmp_path) == before

    picked = st.fixed_dictionaries({}, optional=OPTIONS[command])
    run_property(examples, wild, picked=picked, as_json=st.sampled_from([[], ["--json"]]))


@pytest.mark.parametrize("command", ["evaluate", "monitor", "refit", "serve"])
def test_models_that_are_none(command, no_model, tables, tmp_path):
    before = content_of(tmp_path)
    answer_or_one_line([command, str(no_model), *([] if command == "monitor" else tables)])
    assert content_of(tmp_path) == before


def insert_row(own, kind, changed, time=None):
    """A row like the last of its kind, with another value or some other entries in it."""
    database = sqlite3.connect(own / "decisions.sqlite")
    found = database.execute("SELECT * FROM calirare_monitoring WHERE kind = ? ORDER BY id DESC", (kind,)).fetchone()
    _, network, _, version, then, subject, value = found
    odd = json.loads(value) | changed if isinstance(changed, dict) and changed else changed
    row = (
        network,
        kind,
        version,
        then if time is None else time,
        subject,
        odd if isinstance(odd, str) else json.dumps(odd),
    )
    database.execute(
        "INSERT INTO calirare_monitoring (network, kind, model_version, time, subject, value) VALUES (?, ?, ?, ?, ?, ?)",
        row,
    )
    database.commit()
    database.close()


@pytest.fixture(scope="module")
def watched(model, tables, tmp_path_factory):
    """A model with one run in its series."""
    own = shutil.copytree(model, tmp_path_factory.mktemp("watched") / "model")
    assert run(app, ["score", str(own), *tables, "--out", str(own.parent / "scores.csv")]).exit_code == 0
    return own


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("run", None), ("run", 1), ("run", []), ("run", {}), ("run", "{"), ("run", "[" * 10_000), ("run", {"nodes": "many"}),
        ("run", {"nodes": 0}), ("run", {"nodes": 10**400}), ("run", {"counts": [-1]}), ("run", {"said": [float("nan")] * 10}),
        ("run", {"counts": [1], "said": [0.5]}), ("run", {"columns": {"x": [1]}}), ("run", {"shifted": [["large", "x"]]}),
        ("run", {"share": {"now": 1}}), ("run", {"alerted": 2}), ("run", {"score_shift": [None, 1]}), ("run", {"rare": [1e308, 0]}),
        ("reference", {"alerted": True}), ("reference", {"num_nodes": 0}), ("reference", {"profile": {"cuts": [2.0, 1.0], "shares": [1, 1, 1]}}),
        ("reference", {"profile": {"cuts": [], "shares": []}}),
    ],
)  # fmt: skip
def test_a_series_that_somebody_wrote_into(kind, changed, watched, tmp_path):
    """Who can write the database can put any row into the series: it is refused in one line."""
    own = shutil.copytree(watched, tmp_path / "model")
    insert_row(own, kind, changed)
    answer = run(app, ["monitor", str(own)])
    assert answer.exit_code == 2 and answer.stderr.count("\n") == 1, (answer.output, answer.exception)
    assert "that calirare did not write; start a new one with another --db" in answer.stderr


@pytest.mark.parametrize("time", ["never", -1.0, 1e300])
def test_a_series_out_of_time(time, watched, tmp_path):
    own = shutil.copytree(watched, tmp_path / "model")
    insert_row(own, "run", {"nodes": 7}, time)
    answer_or_one_line(["monitor", str(own)])


def test_a_decision_that_somebody_wrote_into(watched, tmp_path):
    from calirare.evaluation.monitoring.feeding import take_decision
    from calirare.evaluation.monitoring.series import Series
    from calirare.persistence.folder import model_version
    from calirare.review.store.database import Database, database_url

    own = shutil.copytree(watched, tmp_path / "model")
    database = Database(database_url(own))
    take_decision(Series(database), model_version(own), "a", "rare", 0.5, "alert", Costs())
    database.close()
    good = (own / "decisions.sqlite").read_bytes()
    for changed in (
        {"probability": 1.5},
        {"action": "shred"},
        {"prices": [1, 2, 3]},
        {"prices": [-1, 1, 1, 0]},
        {"decision": 7},
    ):
        (own / "decisions.sqlite").write_bytes(good)
        insert_row(own, "decision", changed)
        answer = run(app, ["monitor", str(own)])
        assert answer.exit_code == 2 and "holds a decision that calirare did not write" in answer.stderr, changed


@pytest.mark.parametrize("command", ["monitor", "refit"])
def test_a_name_of_bytes_that_are_no_text_is_refused(command, model):
    answer = run(app, [command, str(model), "--network", "\udc80"])
    assert answer.exit_code == 2 and "bytes that are no text" in answer.stderr
