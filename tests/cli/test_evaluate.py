"""`calirare evaluate`."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.evaluation import evaluate, first_lines, look_again
from calirare.persistence.folder import load_graph
from calirare.scoring.table import read_for

run = CliRunner().invoke


def test_json_is_the_library_s_judgement(model, tables):
    answer = run(app, ["evaluate", str(model), *tables, "--resamples", "5", "--json"])
    assert answer.exit_code == 0, answer.output
    found, clf = json.loads(answer.stdout), cr.load(model)
    own = evaluate(clf, read_for(clf, *tables), num_resamples=5)
    assert found["verdict"] == own.verdict.level and found["source"] == "left_out"
    graph = read_for(clf, *tables)
    assert found["beware"] == list(first_lines(clf, graph, own.skill))
    assert found["look_again"] == [asdict(one) for one in look_again(clf, graph, 10)]
    assert found["metrics"]["brier_score"]["value"] == pytest.approx(own.after["brier_score"].value)


def test_without_tables_those_of_the_fit_judge(model, monkeypatch):
    monkeypatch.setattr("calirare.uncertainty.skill.LEVEL", 0.0)  # nothing is shown, which is said first
    answer = run(app, ["evaluate", str(model), "--resamples", "5"], env={"COLUMNS": "150"})
    assert answer.exit_code == 0 and "Average precision" in answer.stdout and "Verdict: " in answer.stdout
    clf, graph = cr.load(model), load_graph(model)
    assert answer.stdout.splitlines()[0] == first_lines(clf, graph)[0]
    assert "Labels to look at again" not in answer.stdout  # nobody doubts them without skill
    monkeypatch.undo()
    again = look_again(clf, graph, 10)
    shown = run(app, ["evaluate", str(model), "--resamples", "5"]).stdout.split("Labels to look at again")[1]
    assert again and all(one.id in shown and f"{one.probability:.3f}" in shown for one in again)


@pytest.mark.parametrize(
    ("bound", "code", "says"),
    [
        ("roc_auc=0.0", 0, ""),
        ("roc_auc=1.01", 1, "ROC-AUC is 0."),
        ("brier_score=1", 0, ""),
        ("brier_score=0", 1, "it must be at most 0."),
        ("brier=1", 2, "did you mean 'brier_score'"),
        ("brier_score", 2, "written METRIC=VALUE"),
        ("brier_score=nan", 2, "written METRIC=VALUE"),
        ("recall_at_budget=1", 2, "needs --budget"),
    ],
)
def test_bounds_set_the_exit_code(model, bound, code, says):
    answer = run(app, ["evaluate", str(model), "--resamples", "0", "--at-least", bound])
    assert answer.exit_code == code and says in answer.stderr
    assert answer.stderr.count("\n") == bool(code)
