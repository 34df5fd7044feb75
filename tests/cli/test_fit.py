"""`calirare fit`."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.fit import _show_detectors
from calirare.cli.main import app
from calirare.cli.model_options import OPTIONS, choose_model, number_or_left_out
from calirare.cli.table_options import choose_tables
from calirare.detectors.registry import detectors, make_detector
from calirare.evaluation import first_lines
from calirare.evaluation.members import Member, judge_members
from calirare.persistence.folder import load_graph

run = CliRunner().invoke
QUICK = ["--detector", "gcn", "--epochs", "5", "--weight-decay", "0.02", "--hidden", "4"]


def fit_words(tables, out, *more):
    return ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(out), *QUICK, *more]


@pytest.mark.refits
def test_the_model_is_the_one_that_python_fits(tables, tmp_path):
    out = tmp_path / "model"
    more = ["--method", "uncalibrated", "--hidden", "4", "--seed", "3", "--weight-decay", "0.02", "--detector", "sage"]
    assert run(app, fit_words(tables, out, *more)).exit_code == 0
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    own = cr.RareCategoryClassifier(
        detector=cr.detectors.SAGE(hidden=4, epochs=5, weight_decay=0.02), method="uncalibrated", seed=3
    ).fit(graph)
    np.testing.assert_array_equal(cr.load(out).predict_proba(graph), own.predict_proba(graph))


def test_defaults_are_those_of_python():
    usual = {name: default for name, (_, default) in OPTIONS.items()}
    assert choose_model(**usual).get_params() == cr.RareCategoryClassifier().get_params()
    gcn = choose_model(**usual | {"detector": "gcn"})
    assert gcn.detector.get_params() == make_detector("gcn").get_params()
    decay = number_or_left_out("left_out")
    assert choose_model(**usual | {"detector": "gcn", "weight_decay": decay}).detector.weight_decay == "left_out"


def test_the_help_names_every_detector():
    annotation, _ = OPTIONS["detector"]
    named = set(re.findall(r"\w+", annotation.__metadata__[0].help))
    assert set(detectors()) - {"module"} <= named


def test_it_shows_how_the_columns_were_read(payments, tmp_path):
    answer = run(app, fit_words(payments, tmp_path / "model"), env={"COLUMNS": "160"})
    assert answer.exit_code == 0
    assert "account_age_days" in answer.stdout and "numeric" in answer.stdout
    assert str(tmp_path / "model") in answer.stdout
    _, *said = shlex.split(answer.stdout.splitlines()[-1].removeprefix("Next:"))
    said[-1] = str(tmp_path / said[-1])
    assert run(app, said).exit_code == 0 and (tmp_path / "scores.parquet").exists()


def test_what_was_counted_names_the_columns_as_the_table_does(tables, tmp_path):
    nodes = pl.read_csv(tables[0]).with_row_index("k")
    gaps = pl.when(pl.col("k") < 7).then(None).otherwise(pl.col("night_share")).alias("night_share")
    nodes.with_columns(gaps).drop("k").write_csv(tmp_path / "nodes.csv")
    answer = run(app, fit_words([str(tmp_path / "nodes.csv"), tables[1]], tmp_path / "model"))
    counted = [line.split("│")[1:3] for line in answer.stdout.splitlines() if "gaps filled in" in line]
    assert [[cell.strip() for cell in row] for row in counted] == [["gaps filled in night_share", "7"]]


def test_the_next_command_names_the_tables_where_labels_lie_apart(tables, tmp_path):
    nodes = pl.read_csv(tables[0])
    nodes.select("id", "is_fraud").drop_nulls().write_csv(tmp_path / "known.csv")
    words = ["fit", str(tables[1]), "--labels", str(tmp_path / "known.csv"), "--label", "is_fraud", "--rare", "yes"]
    answer = run(app, [*words, "--detector", "linear", "--out", str(tmp_path / "model")])
    assert answer.exit_code == 0, answer.output
    assert f"{tmp_path / 'model'} {tables[1]} --out scores.parquet" in answer.stdout


def test_the_next_command_names_further_tables(tables, tmp_path):
    """As it is printed it scores the same tables."""
    shops = pl.DataFrame({"shop": ["s1", "s2"], "size": [3, 5]})
    shops.write_csv(tmp_path / "shops.csv")
    ids = pl.read_csv(tables[0])["id"]
    pl.DataFrame({"id": ids, "shop": ["s1", "s2"] * (ids.len() // 2)}).write_csv(tmp_path / "buys.csv")
    more = ["--nodes", f"shops={tmp_path / 'shops.csv'}", "--edges", str(tmp_path / "buys.csv")]
    answer = run(app, fit_words(tables, tmp_path / "model", *more), env={"COLUMNS": "400"})
    assert answer.exit_code == 0, answer.output
    _, *said = shlex.split(answer.stdout.splitlines()[-1].removeprefix("Next:"))
    said[-1] = str(tmp_path / said[-1])
    assert run(app, said).exit_code == 0 and pl.read_parquet(said[-1]).height == ids.len()


def test_a_table_given_by_place_may_have_a_name_as_further_ones_do(tables, tmp_path):
    rest = {"labels": None, "id_column": None, "undirected": False, "bipartite": False}
    shops = tmp_path / "shops.csv"
    found = choose_tables(Path(f"people={tables[0]}"), Path(tables[1]), [f"at={shops}"], None, **rest)
    assert found.nodes == {"people": Path(tables[0]), "at": shops} and found.edges == Path(tables[1])
    (tmp_path / "year=2024").mkdir()
    by_year = tmp_path / "year=2024" / "nodes.csv"
    by_year.touch()
    assert choose_tables(by_year, Path(tables[1]), None, None, **rest).nodes == by_year


def test_it_shows_what_the_stack_chose_and_whom_it_went_without(tables, capsys):
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", cr.detectors.Forest(trees=20)])).fit(graph)
    members = [*judge_members(clf), Member("boosting", None, None, "it needs more labels")]
    _show_detectors(members)
    said = capsys.readouterr().out
    for one in members[:2]:
        (row,) = (line for line in said.splitlines() if one.name in line)
        assert [cell.strip() for cell in row.split("│")[2:4]] == [f"{clf.weights_[one.name]:.2f}", f"{one.loss:.3f}"]
    assert "boosting is left out: it needs more labels" in said
    _show_detectors([])
    assert capsys.readouterr().out == ""


def test_nodes_alone_are_nodes_that_nothing_joins(tables, model, tmp_path, caplog):
    words, out = ["--label", "is_fraud", "--rare", "yes", "--detector", "linear"], tmp_path / "s.parquet"
    answer = run(app, ["fit", tables[0], *words, "--out", str(tmp_path / "alone")])
    assert answer.exit_code == 0 and caplog.messages == ["no edges were given: each node stands alone."]
    assert "source" not in answer.stdout and f"alone {shlex.quote(tables[0])} --out" in answer.stdout
    graph = cr.read_tables(tables[0], {"source": [], "target": []}, label="is_fraud", rare="yes")
    want = cr.RareCategoryClassifier("linear").fit(graph).predict_proba(graph)[:, 1]
    for files in ([tables[0]], ["--nodes", tables[0], "--partitions", "2"]):
        more = ["--no-intervals", "--out", str(out)]
        assert run(app, ["score", str(tmp_path / "alone"), *files, *more]).exit_code == 0
        np.testing.assert_allclose(pl.read_parquet(out)["probability"], want, atol=2e-6)
        answer = run(app, ["score", str(model), "--nodes", tables[0], *files[2:], *more])
        assert answer.exit_code == 2 and "edges must be given: the model was fitted with some" in answer.stderr


def test_the_first_line_says_what_two_labels_can_tell(tables, tmp_path):
    nodes = pl.read_csv(tables[0])
    rare = pl.col("is_fraud") == "yes"
    nodes = nodes.with_columns(is_fraud=pl.when(rare & (rare.cum_sum() > 2)).then(None).otherwise(pl.col("is_fraud")))
    nodes.write_csv(tmp_path / "nodes.csv")
    words = ["fit", str(tmp_path / "nodes.csv"), tables[1], "--label", "is_fraud", "--rare", "yes"]
    answer = run(app, [*words, "--out", str(tmp_path / "model"), "--detector", "linear"])
    assert answer.exit_code == 0, answer.output
    first = first_lines(cr.load(tmp_path / "model"), load_graph(tmp_path / "model"))[0]
    assert first.startswith("Nothing is shown yet: 2 labels of is_fraud = yes cannot tell")
    assert answer.stdout.splitlines()[0] == first


def test_json(tables, tmp_path, network):
    answer = run(app, fit_words(tables, tmp_path / "model", "--json", "--type", "country_risk=ignore"))
    facts = json.loads(answer.stdout)
    assert facts["nodes"] == 300 and facts["edges"] == network.num_edges
    assert facts["labelled"] == facts["trained_on"] == network.known.size
    assert facts["features"] == network.num_features - 1
    assert facts["beware"] == list(first_lines(cr.load(tmp_path / "model"), load_graph(tmp_path / "model")))
    assert {row["column"]: row["type"] for row in facts["columns"]}["country_risk"] == "ignore"
    assert facts["detectors"] == []  # one alone


def test_val_share_sets_labels_aside(tables, tmp_path, network):
    words = fit_words(tables, tmp_path / "model", "--json", "--method", "temperature", "--val-share", "0.4")
    facts = json.loads(run(app, words).stdout)
    assert abs(facts["trained_on"] - 0.6 * network.known.size) <= 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"--label": "is_frod"}, "did you mean 'is_fraud'"),
        ({"--rare": "maybe"}, "rare must be one of the values in column 'is_fraud': ['no', 'yes']; got 'maybe'"),
        ({"--method": "magic"}, "method must be one of"),
        ({"--detector": "gnc"}, "gcn"),
        ({"--detector": "linear"}, "is for networks"),
        ({"--prior": "flat"}, "prior must be"),
        ({"--epochs": "0"}, "epochs must be"),
        ({"--epochs": "many"}, "Invalid value for '--epochs'"),
        ({"--type": "country_risk"}, "--type must look like"),
        ({"--type": "country_risk=word"}, "must be one of ['numeric', 'categorical', 'time', 'text', 'ignore']"),
        ({"--source": "payer"}, "payer"),
        ({"--val-share": "2"}, "fraction"),
    ],
)
def test_mistakes_get_one_line_and_no_output(tables, tmp_path, change, says):
    words = fit_words(tables, tmp_path / "model")
    for option, value in change.items():
        words += [option, value]
    answer = run(app, words)
    assert answer.exit_code == 2, answer.output
    assert says in answer.stderr and answer.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_missing_table_is_named(tmp_path):
    answer = run(app, fit_words([str(tmp_path / "no.csv"), str(tmp_path / "no.csv")], tmp_path / "model"))
    assert answer.exit_code == 2 and "no.csv does not exist" in answer.stderr


def test_a_model_path_that_is_a_file_is_refused(tables, tmp_path):
    (tmp_path / "model").write_text("mine")
    answer = run(app, fit_words(tables, tmp_path / "model"))
    assert answer.exit_code == 2
    assert (tmp_path / "model").read_text() == "mine"


WAITING = """
import sys, time
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.cli import run

def wait(*arguments, **named):
    print("training", flush=True)
    time.sleep(60)

RareCategoryClassifier.fit = wait
sys.argv = ["calirare", *sys.argv[1:]]
run()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_exits_with_130_and_leaves_nothing(tables, tmp_path):
    words = [sys.executable, "-c", WAITING, *fit_words(tables, tmp_path / "model")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "training\n"
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=30)
    assert (running.returncode, stderr) == (130, "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["fit", "demo"])
def test_an_empty_out_is_not_the_current_folder(command, tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["fit", *tables, "--label", "is_fraud", "--rare", "yes"] if command == "fit" else ["demo"]
    answer = run(app, [*words, "--out", ""])
    assert answer.exit_code == 2 and "it is empty" in answer.stderr and answer.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
