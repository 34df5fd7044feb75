"""`calirare review` and `calirare fit --decisions` from the shell's side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import polars as pl
import pytest
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.review.store.decisions import DecisionStore

run = CliRunner().invoke


@pytest.fixture(scope="module")
def tables(tmp_path_factory, cheaply):
    """A small network as two files, and a model fitted on them."""
    folder = tmp_path_factory.mktemp("tables")
    graph = cr.make_transactions(num_nodes=200, rare_share=0.2, labelled_share=0.4, seed=0)
    names = ["no", "yes"]
    labels = [None if label < 0 else names[label] for label in graph.y.tolist()]
    columns = {name: graph.x[:, k] for k, name in enumerate(graph.feature_names[:4])}
    pl.DataFrame({"id": graph.ids.tolist(), **columns, "fraud": labels}).write_csv(folder / "nodes.csv")
    edges = graph.ids[graph.edge_index]
    pl.DataFrame({"source": edges[0].tolist(), "target": edges[1].tolist()}).write_csv(folder / "edges.csv")
    words = fit_words(folder, folder / "model")
    with cheaply():
        answer = run(app, words)
    assert answer.exit_code == 0, answer.output
    return folder


def fit_words(folder, out):
    files = [str(folder / "nodes.csv"), str(folder / "edges.csv")]
    return [
        "fit",
        *files,
        "--label",
        "fraud",
        "--rare",
        "yes",
        "--out",
        str(out),
        "--detector",
        "linear",
        "--json",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "0.0.0.0"], "--token"),
        (["--host", "0.0.0.0", "--token", "short"], "at least 16"),
        (["--port", "99999"], "port"),
        (["--db", "mysql://x/y"], "SQLite or PostgreSQL"),
        (["--db", "postgresql://desk:topsecret@127.0.0.1:1/none"], "cannot be read or written"),
    ],
)
def test_what_would_not_be_safe_or_cannot_work_is_refused_in_one_line(tables, words, says):
    answer = run(app, ["review", str(tables / "model"), "--no-open", *words])
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1 and says in answer.stderr and "topsecret" not in answer.stderr


def test_a_folder_that_is_no_model(tmp_path):
    answer = run(app, ["review", str(tmp_path), "--no-open"])
    assert answer.exit_code == 2 and answer.stderr.count("\n") == 1


@pytest.mark.slow
def test_it_serves_until_interrupted(tables, tmp_path):
    nodes = (tables / "nodes.csv").read_text().replace("id,", "Größe,id,", 1).replace("\n", "\n7,").removesuffix("7,")
    (tmp_path / "nodes.csv").write_text(nodes, encoding="cp1252")
    words = [
        sys.executable,
        "-m",
        "calirare",
        "review",
        str(tables / "model"),
        "--no-open",
        "--port",
        "0",
        "--json",
        "--nodes",
        str(tmp_path / "nodes.csv"),
    ]
    # A shell's background jobs ignore Ctrl-C and hand that on; here it must arrive.
    options = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), "text": True}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        url = json.loads("".join(lines))["url"]
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert "calirare review desk" in answer.read().decode()
        strange = urllib.request.Request(url, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(strange, timeout=20)
        os.kill(process.pid, signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
    assert process.returncode == 130
    assert complaints.startswith(f"{tmp_path / 'nodes.csv'} is read as Windows-1252") and complaints.count("\n") == 1


def test_fit_with_decisions(tables):
    graph_size = json.loads(run(app, fit_words(tables, tables / "plain")).stdout)["trained_on"]
    store = DecisionStore.open(tables / "model")
    unlabelled = pl.read_csv(tables / "nodes.csv").filter(pl.col("fraud").is_null())["id"].to_list()
    for name, decision in zip(unlabelled, ["rare", "normal", "unsure"], strict=False):
        store.record(name, decision, reviewer="ada", model_version="m", seen=0, action_key=name)
    store.record("gone", "rare", reviewer="ada", model_version="m", seen=0, action_key="gone")
    store.close()
    for where in (
        tables / "model",
        tables / "model" / "decisions.sqlite",
        f"sqlite:///{tables}/model/decisions.sqlite",
    ):
        answer = run(app, [*fit_words(tables, tables / "again"), "--decisions", str(where)])
        assert answer.exit_code == 0, answer.output
        facts = json.loads(answer.stdout)
        assert (facts["decisions"], facts["trained_on"]) == (2, graph_size + 2)
    assert cr.load(tables / "again").labelled_nodes_.size == graph_size + 2
    refused = run(app, [*fit_words(tables, tables / "never"), "--decisions", str(tables / "none.sqlite")])
    assert refused.exit_code == 2 and "no decision has been made" in refused.stderr
    assert not (tables / "never").exists()
