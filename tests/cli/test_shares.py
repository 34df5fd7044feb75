"""`--rare-share` on `score` and `triage`: the numbers move by Bayes' rule, and screen, JSON and tables say so."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from slow_calibrators import shift_prior
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.cli.shares import move_to_share, show_share
from calirare.data.tables.shift import Shift, Shifts
from calirare.scoring.table import read_for
from calirare.uncertainty import prior_shift
from calirare.uncertainty.prior_shift import Share

run = CliRunner().invoke


@pytest.fixture(scope="module")
def skilled(tables, tmp_path_factory):
    """One that shows skill."""
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    folder = tmp_path_factory.mktemp("skilled")
    cr.RareCategoryClassifier("linear").fit(graph).save(folder, graph)
    return folder


@pytest.fixture(scope="module")
def fitted(skilled, tables):
    classifier = cr.load(skilled)
    graph = read_for(classifier, *tables)
    return classifier, graph, classifier.predict_proba(graph)[:, 1]


def test_scores_at_a_given_share(skilled, tables, tmp_path, fitted):
    classifier, _, before = fitted
    out, old = tmp_path / "s.csv", float(classifier.shares_[1])
    answer = run(app, ["score", str(skilled), *tables, "--out", str(out), "--rare-share", "0.3"])
    assert answer.exit_code == 0, answer.output
    assert f"are at a rare share of 0.3, not {old:.4g} as at the fit" in answer.stdout
    table = pl.read_csv(out)
    np.testing.assert_allclose(table["probability"], shift_prior(before, old, 0.3), rtol=1e-9)
    assert table["rare_share"].unique().to_list() == [0.3]
    assert (table["lower"] <= table["probability"]).all() and (table["probability"] <= table["upper"]).all()


def test_a_queue_at_an_estimated_share(skilled, tables, tmp_path, fitted):
    classifier, graph, _ = fitted
    out = tmp_path / "q.csv"
    answer = run(app, ["triage", str(skilled), *tables, "--out", str(out), "--rare-share", "estimate", "--json"])
    said = json.loads(answer.stdout)["rare_share"]
    found = classifier.estimate_rare_share(graph)
    assert said["used"] == said["estimate"]["value"] == found.value
    assert said["at_fit"] == classifier.shares_[1] and said["words"].startswith(f"By their scores {found.value:.2%}")
    assert pl.read_csv(out)["rare_share"].unique().to_list() == pytest.approx([found.value])


def test_a_share_that_is_surely_another_is_said_unasked(fitted, capsys):
    classifier, graph, _ = fitted
    far = classifier.with_rare_share(0.6)  # as if most nodes had been rare at the fit
    same, facts = move_to_share(far, graph, None)
    show_share(facts)
    assert same is far and not facts["estimate"]["lower"] <= 0.6 <= facts["estimate"]["upper"]
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("By their scores") and "; 60% at the fit." in said
    assert said.endswith(
        "Probabilities, and what is forecast from them, are at the share of the fit; --rare-share moves them."
    )


def test_what_nobody_asked_is_not_answered(fitted, monkeypatch, caplog):
    classifier, graph, _ = fitted
    at_fit = float(classifier.shares_[1])
    monkeypatch.setattr(prior_shift, "mixture_gap", lambda *_: (0.3, 0.1))  # scores that no share explains
    assert not classifier.estimate_rare_share(graph).explained
    assert move_to_share(classifier, graph, None)[1] == {"at_fit": at_fit, "used": at_fit}
    assert not caplog.records
    assert "cannot be trusted" in move_to_share(classifier, graph, "estimate")[1]["words"]


def test_no_share_is_told_unasked_where_more_has_changed(fitted, monkeypatch):
    classifier, graph, _ = fitted
    far = classifier.with_rare_share(0.6)
    large = Shifts((Shift("nodes", "balance", 3.0, "large", "another unit"),), 7)
    assert "words" in move_to_share(far, graph, None, Shifts((), 7))[1]
    assert "words" not in move_to_share(far, graph, None, large)[1]
    assert "words" in move_to_share(far, graph, "estimate", large)[1]
    nobody = Share(0.9 / graph.scored.size, 0.0, 0.01, 0.01, 0.05)
    monkeypatch.setattr(type(far), "estimate_rare_share", lambda *_, **__: nobody)
    assert nobody.explained and "words" not in move_to_share(far, graph, None)[1]


def test_a_share_that_the_scores_rule_out_is_asked_about(fitted, capsys):
    classifier, graph, _ = fitted
    found = classifier.estimate_rare_share(graph)
    assert "words" not in move_to_share(classifier, graph, str(found.value))[1]
    moved, facts = move_to_share(classifier, graph, "0.9")
    show_share(facts)
    said = " ".join(capsys.readouterr().out.split())
    assert moved.base_rate_ == pytest.approx(0.9)
    assert said.startswith(f"By their scores {found.value:.2%}") and "The share given, 0.9, is far from that" in said
    assert said.endswith("are at a rare share of 0.9, not " + f"{facts['at_fit']:.4g} as at the fit.")


def test_parts_take_a_number_and_no_estimate(model, tables, tmp_path):
    classifier = cr.load(model)
    before = classifier.predict_proba(read_for(classifier, *tables))[:, 1]
    for name, path in zip(("nodes", "edges"), tables, strict=True):
        pl.read_csv(path).write_parquet(tmp_path / f"{name}.parquet")
    words = ["score", str(model), str(tmp_path / "nodes.parquet"), str(tmp_path / "edges.parquet"), "--partitions", "2"]
    out = tmp_path / "s.parquet"
    answer = run(app, [*words, "--out", str(out), "--no-intervals", "--rare-share", "0.3"])
    assert answer.exit_code == 0, answer.output
    table = pl.read_parquet(out)
    np.testing.assert_allclose(table["probability"], shift_prior(before, float(classifier.shares_[1]), 0.3), atol=1e-5)
    assert table["rare_share"].unique().to_list() == [0.3]
    answer = run(app, [*words, "--out", str(out), "--rare-share", "estimate"])
    assert answer.exit_code == 2 and "cannot be estimated; give --rare-share a number" in answer.stderr


@pytest.mark.parametrize(
    ("share", "says"), [("many", "or estimate; got 'many'"), ("1.5", "between 0 and 1; got 1.5"), ("nan", "got nan")]
)
def test_other_words_are_refused(model, tables, tmp_path, share, says):
    answer = run(app, ["score", str(model), *tables, "--out", str(tmp_path / "s.csv"), "--rare-share", share])
    assert answer.exit_code == 2 and says in answer.stderr and answer.stderr.count("\n") == 1
    assert not (tmp_path / "s.csv").exists()


@pytest.mark.parametrize("gap", [0.01, 0.31])
def test_unasked_a_share_is_told_where_it_is_another_and_can_be_trusted(fitted, monkeypatch, gap):
    classifier, graph, _ = fitted
    found = prior_shift.Share(0.6, 0.5, 0.7, gap, allowed=0.05)
    monkeypatch.setattr(type(classifier), "estimate_rare_share", lambda *_, **__: found)
    other = replace(graph, x=graph.x + 2)  # other scores than those of the fit
    assert ("words" in move_to_share(classifier, other, None)[1]) == (gap < 0.05)
    assert "60%" in move_to_share(classifier, graph, "estimate")[1]["words"]
    assert "words" not in move_to_share(classifier, graph, None)[1]  # the tables of the fit say nothing new
