"""`calirare datasets`."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from calirare.benchmark.leaderboard.graphs import ARENAS
from calirare.cli.main import app
from calirare.data.catalogue.own import add_own
from calirare.data.graph import RareGraph
from calirare.data.synthetic import make_transactions
from calirare.errors import InputError

run = CliRunner().invoke


def test_list_says_what_is_cached(tmp_path):
    answer = run(app, ["datasets", "list", "--json"], env={"CALIRARE_DATA": str(tmp_path)})
    listed = json.loads(answer.stdout)
    assert listed["folder"] == str(tmp_path)
    assert {row["name"]: row["cached"] for row in listed["datasets"]} == dict.fromkeys(
        ["cora", "citeseer", "pubmed", "dblp", "facebook", "tolokers", "reddit"], False
    )


def test_list_prints_a_table(tmp_path):
    answer = run(app, ["datasets", "list"], env={"CALIRARE_DATA": str(tmp_path)})
    assert answer.exit_code == 0
    assert "2,708" in answer.stdout and "12.96%" in answer.stdout


def test_verify_of_a_missing_graph_gives_the_way_out(tmp_path):
    answer = run(app, ["datasets", "verify", "cora"], env={"CALIRARE_DATA": str(tmp_path)})
    assert answer.exit_code == 2
    assert "calirare datasets fetch cora" in answer.stderr


def test_fetch_without_network_gives_one_line(tmp_path, downloads_at_once):
    answer = run(
        app, ["datasets", "fetch", "cora", "--mirror", "http://127.0.0.1:9"], env={"CALIRARE_DATA": str(tmp_path)}
    )
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1 and "ind.cora.x" in answer.stderr


@pytest.mark.datasets
def test_verify_accepts_the_graph_and_refuses_another_under_its_name(data_folder, tmp_path):
    good = run(app, ["datasets", "verify", "cora", "--json"], env={"CALIRARE_DATA": str(data_folder)})
    assert good.exit_code == 0 and json.loads(good.stdout)[0]["passed"]
    shutil.copy(data_folder / "citeseer.npz", tmp_path / "cora.npz")
    bad = run(app, ["datasets", "verify", "cora"], env={"CALIRARE_DATA": str(tmp_path)})
    assert bad.exit_code == 1 and "DIFFERS" in bad.stdout and "REFUSED" in bad.stdout


def test_a_graph_of_ones_own_is_kept_and_named_once(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,age,fraud\n" + "".join(f"{k},{k % 7},{k % 5 == 0}\n" for k in range(40)))
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{k},{(k + 1) % 40}\n" for k in range(40)))
    words = ["datasets", "add", "mine", str(tmp_path / "nodes.csv"), str(tmp_path / "edges.csv")]
    words += ["--label", "fraud", "--rare", "True"]
    env = {"CALIRARE_DATA": str(tmp_path)}
    answer = run(app, words, env=env)
    assert answer.exit_code == 0, answer.output
    graph = RareGraph.load(tmp_path / "own" / "mine.npz")
    assert (graph.num_nodes, graph.num_edges, int((graph.y == graph.rare_class).sum())) == (40, 40, 8)
    assert run(app, words, env=env).exit_code == 2
    assert run(app, [*words, "--force"], env=env).exit_code == 0
    listed = json.loads(run(app, ["datasets", "list", "--json"], env=env).stdout)
    assert listed["own"] == {"mine": str(tmp_path / "own" / "mine.npz")}
    assert "Your own: mine" in run(app, ["datasets", "list"], env=env).stdout


@pytest.mark.parametrize("name", [*ARENAS, "Cora", "my graph", "../mine"])
def test_names_that_a_graph_of_ones_own_may_not_have(name, tmp_path):
    with pytest.raises(InputError, match="name must be up to 64 letters"):
        add_own(name, make_transactions(100, seed=0), tmp_path)
