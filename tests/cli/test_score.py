"""`calirare score`."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.cli.score import show_top
from calirare.scoring.table import read_for

run = CliRunner().invoke
COLUMNS = ["id", "probability", "lower", "upper", "disagreement", "prediction", "set"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_scores_are_the_model_s(model, tables, tmp_path, ending):
    out = tmp_path / f"scores.{ending}"
    answer = run(app, ["score", str(model), *tables, "--out", str(out), "--coverage", "0.8"])
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == str(out)
    table = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert table.columns == COLUMNS
    classifier = cr.load(model)
    graph = read_for(classifier, *tables)
    assert table["id"].to_list() == graph.ids.tolist()
    np.testing.assert_allclose(table["probability"], classifier.predict_proba(graph)[:, 1], rtol=1e-12)
    np.testing.assert_allclose(table["upper"], classifier.predict_interval(graph, coverage=0.8).upper, rtol=1e-12)
    assert table["prediction"].to_list() == [classifier.class_names_[k] for k in classifier.predict(graph)]
    inside = classifier.predict_set(graph, coverage=0.8)
    assert [("yes" in words.split(" or ")) for words in table["set"]] == inside[:, 1].tolist()


def test_the_highest_that_are_shown_have_no_label(model, tables, tmp_path):
    answer = run(app, ["score", str(model), *tables, "--out", str(tmp_path / "s.parquet")], env={"COLUMNS": "200"})
    nodes = pl.read_csv(tables[0]).filter(pl.col("is_fraud").is_null())
    want = pl.read_parquet(tmp_path / "s.parquet").join(nodes, on="id", how="semi").sort("probability").tail(10)["id"]
    assert f"Highest of {nodes.height} nodes without a label" in answer.stdout
    assert {line.split("│")[1].strip() for line in answer.stdout.splitlines() if "│" in line} == set(want)


def test_new_nodes_without_labels_are_scored(model, tables, tmp_path):
    nodes = pl.read_csv(tables[0]).drop("is_fraud")
    new = nodes.head(1).with_columns(pl.lit("NEW").alias("id"))
    pl.concat([nodes, new]).write_csv(tmp_path / "nodes.csv")
    edges = pl.read_csv(tables[1])
    edges = pl.concat([edges, edges.head(1).with_columns(source=pl.lit("NEW"), target=pl.lit(nodes["id"][5]))])
    edges.write_csv(tmp_path / "edges.csv")
    words = ["score", str(model), str(tmp_path / "nodes.csv"), str(tmp_path / "edges.csv")]
    answer = run(app, [*words, "--out", str(tmp_path / "s.csv"), "--json"])
    assert json.loads(answer.stdout)["nodes"] == 301
    assert pl.read_csv(tmp_path / "s.csv")["id"][-1] == "NEW"


def test_ids_that_look_like_formulas_are_escaped_in_csv_alone(model, tables, tmp_path):
    nodes, edges = pl.read_csv(tables[0]), pl.read_csv(tables[1])
    first = nodes["id"][0]
    evil = "=HYPERLINK(1)"
    nodes.with_columns(pl.col("id").replace(first, evil)).write_csv(tmp_path / "nodes.csv")
    edges.with_columns(pl.col("source", "target").replace(first, evil)).write_csv(tmp_path / "edges.csv")
    for name in ("s.csv", "s.parquet"):
        words = ["score", str(model), str(tmp_path / "nodes.csv"), str(tmp_path / "edges.csv"), "--out"]
        assert run(app, [*words, str(tmp_path / name)]).exit_code == 0
    assert pl.read_csv(tmp_path / "s.csv")["id"][0] == "'" + evil
    assert pl.read_parquet(tmp_path / "s.parquet")["id"][0] == evil


def test_mistakes_get_one_line_and_no_output(model, tables, tmp_path):
    out = tmp_path / "scores.csv"
    pl.read_csv(tables[0]).drop("night_share").write_csv(tmp_path / "few.csv")
    for words, says in [
        (["score", str(tmp_path), *tables, "--out", str(out)], "model.json"),
        (["score", str(model), *tables, "--out", str(out) + ".xlsx"], ".parquet, .csv or .jsonl"),
        (["score", str(model), str(tmp_path / "few.csv"), tables[1], "--out", str(out)], "night_share"),
        (["score", str(model), *tables, "--out", str(out), "--coverage", "1.5"], "coverage"),
        (["score", str(model), *tables], "--out"),
        (["score", str(model), *tables, "--out", str(out), "--partitions", "2", "--source", "form"], "source must be"),
        (["score", str(model), str(model), tables[1], "--out", str(out)], "has no shards"),
        (["score", str(model), *tables, "--out", str(out), "--partitions", "-1"], "partitions"),
        (["score", str(model), *tables, "--out", str(out), "--queue", str(out)], "two files"),
    ]:
        answer = run(app, words)
        assert answer.exit_code == 2, answer.output
        assert says in answer.stderr and answer.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["few.csv"]


def test_parts_and_shards_give_the_same_table(model, tables, tmp_path):
    nodes, edges = (pl.read_csv(path) for path in tables)
    (tmp_path / "nodes").mkdir()
    for place in range(2):
        nodes[place * 150 : (place + 1) * 150].write_parquet(tmp_path / "nodes" / f"{place}.parquet")
    edges.write_parquet(tmp_path / "edges.parquet")
    words = ["score", str(model), str(tmp_path / "nodes"), str(tmp_path / "edges.parquet"), "--no-intervals"]
    queue = ["--queue", str(tmp_path / "queue.csv"), "--queue-size", "20"]
    answer = run(app, [*words, "--out", str(tmp_path / "parts.csv"), *queue])
    assert answer.exit_code == 0, answer.output
    told = pl.read_csv(tmp_path / "queue.csv")
    assert told.height == 20 and told["reason"].str.ends_with(".").all() and "queue.csv" in answer.stdout
    assert "Highest of 300 nodes" in answer.stdout and "interval" not in answer.stdout
    answer = run(app, [*words, "--partitions", "3", "--out", str(tmp_path / "three.csv"), "--json"])
    assert json.loads(answer.stdout)["parts"] == 3
    lines = [
        "score",
        str(model),
        *tables,
        "--no-intervals",
        "--partitions",
        "3",
        "--out",
        str(tmp_path / "lines.jsonl"),
    ]
    assert run(app, lines).exit_code == 0
    answer = run(app, ["score", str(model), *tables, "--no-intervals", "--out", str(tmp_path / "whole.csv"), "--json"])
    facts = json.loads(answer.stdout)
    assert facts["parts"] == 1 and facts["read"]["edges"]["rows"] == edges.height
    whole = pl.read_csv(tmp_path / "whole.csv")
    for found in (
        *(pl.read_csv(tmp_path / name) for name in ("parts.csv", "three.csv")),
        pl.read_ndjson(tmp_path / "lines.jsonl"),
    ):
        np.testing.assert_allclose(found["probability"], whole["probability"], atol=1e-6)
        assert found.drop("probability").equals(whole.drop("probability"))


def test_how_far_detectors_lie_apart_is_shown_where_there_are_several(capsys):
    top = {name: np.array([value, value]) for name, value in {"id": "A7", "prediction": "no", "set": "no"}.items()}
    top |= {"probability": np.array([0.25, 0.125]), "disagreement": np.array([0.0, 0.0625])}
    show_top(top, "2 nodes")
    assert "disagreement" in (said := capsys.readouterr().out) and "0.062" in said
    show_top(top | {"disagreement": np.zeros(2)}, "2 nodes")
    assert "disagreement" not in capsys.readouterr().out


def test_a_model_that_was_not_fitted_on_tables_says_so(tables, tmp_path, network):
    from dataclasses import replace

    graph = replace(network, schema=None)
    cr.RareCategoryClassifier(detector=cr.detectors.GCN(epochs=2), method="uncalibrated").fit(graph).save(
        tmp_path / "model"
    )
    answer = run(app, ["score", str(tmp_path / "model"), *tables, "--out", str(tmp_path / "s.csv")])
    assert answer.exit_code == 2 and "not fitted on tables" in answer.stderr


def test_shifted_tables_are_said_and_strict_refuses_them(model, tables, tmp_path):
    nodes, edges = tables
    frame = pl.read_csv(nodes)
    frame.with_columns(pl.col("balance_log10") * 1000).write_csv(tmp_path / "scaled.csv")
    words = ["score", str(model), str(tmp_path / "scaled.csv"), edges, "--no-intervals"]
    answer = run(app, [*words, "--out", str(tmp_path / "s.csv")], env={"COLUMNS": "200"})
    assert answer.exit_code == 0 and "BEWARE" in answer.stdout and "1,000 times" in answer.stdout
    assert (
        "fit without what is new every time, such as a month or a running number: --type balance_log10=ignore."
        in answer.stdout
    )
    assert (tmp_path / "s.csv").exists()
    shift = json.loads(run(app, [*words, "--out", str(tmp_path / "s.csv"), "--json"]).stdout)["shift"]
    assert shift["matters"] and shift["columns"][0]["column"] == "balance_log10"
    assert "scores" in [one["table"] for one in shift["columns"]]  # ten times the accounts would be alerted
    answer = run(app, [*words, "--out", str(tmp_path / "strict.csv"), "--strict"])
    assert answer.exit_code == 3 and answer.stderr.count("\n") == 1 and "balance_log10" in answer.stderr
    assert not (tmp_path / "strict.csv").exists()
    same = ["score", str(model), nodes, edges, "--no-intervals", "--out", str(tmp_path / "same.csv"), "--strict"]
    assert run(app, same).exit_code == 0


def test_strict_refuses_shifted_tables_in_parts_too(model, tables, tmp_path):
    for name, file in zip(("nodes", "edges"), tables, strict=True):
        frame = pl.read_csv(file)
        frame.write_parquet(tmp_path / f"{name}.parquet")
    shifted = pl.read_parquet(tmp_path / "nodes.parquet").with_columns(pl.col("balance_log10") * 1000)
    shifted.write_parquet(tmp_path / "scaled.parquet")
    rest = [str(tmp_path / "edges.parquet"), "--partitions", "2", "--out", str(tmp_path / "s.csv")]
    answer = run(app, ["score", str(model), str(tmp_path / "scaled.parquet"), *rest, "--strict"])
    assert answer.exit_code == 3 and "balance_log10" in answer.stderr and not (tmp_path / "s.csv").exists()
    answer = run(app, ["score", str(model), str(tmp_path / "scaled.parquet"), *rest, "--json"])
    assert json.loads(answer.stdout)["shift"]["columns"][0]["column"] == "balance_log10"
    assert run(app, ["score", str(model), str(tmp_path / "nodes.parquet"), *rest, "--strict"]).exit_code == 0


@pytest.mark.parametrize("command", ["score", "triage"])
def test_a_table_that_is_read_is_not_written_over(model, tables, tmp_path, command):
    for name, file in zip(("nodes.csv", "edges.csv"), tables, strict=True):
        shutil.copy(file, tmp_path / name)
    (tmp_path / "link.csv").symlink_to(tmp_path / "nodes.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    words = [command, str(model), str(tmp_path / "nodes.csv"), str(tmp_path / "edges.csv"), "--out"]
    for out in ("nodes.csv", "edges.csv", "link.csv", "../" + tmp_path.name + "/nodes.csv"):
        answer = run(app, [*words, str(tmp_path / out)])
        assert answer.exit_code == 2 and "must not be one of the tables" in answer.stderr, answer.output
    shards = tmp_path / "shards"
    shards.mkdir()
    answer = run(app, [command, str(model), str(shards), words[3], "--out", str(shards / "scores.parquet")])
    assert answer.exit_code == 2 and "must not be one of the tables" in answer.stderr
    shards.rmdir()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
