"""`calirare triage`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.review.store.decisions import DecisionStore
from calirare.scoring.table import read_for

run = CliRunner().invoke


def test_the_queue_is_the_library_s(model, tables, tmp_path):
    out = tmp_path / "queue.parquet"
    words = ["triage", str(model), *tables, "--budget", "7", "--cost-miss", "80", "--out", str(out)]
    answer = run(app, words, env={"COLUMNS": "150"})
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == str(out)
    classifier = cr.load(model)
    own = cr.triage(classifier, read_for(classifier, *tables), cost_miss=80, budget=7)
    table = pl.read_parquet(out)
    assert table["id"].to_list() == own.id.tolist()
    assert table["action"].to_list() == own.action.tolist()
    assert (table["action"] == "review").sum() == 7


def test_with_verbose_it_says_how_much_is_done(model, tables, tmp_path):
    words = ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv")]
    said = [line for line in run(app, [*words, "--verbose"]).stderr.splitlines() if line.startswith("Deciding: ")]
    assert said[:5] == [f"Deciding: {share}%" for share in (10, 20, 30, 40, 50)] and said[-1] == "Deciding: 100%"
    assert "Deciding" not in run(app, words).stderr


def test_json(model, tables, tmp_path):
    answer = run(app, ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv"), "--json"])
    found = json.loads(answer.stdout)
    assert [row["group"] for row in found["groups"]] == ["alert", "review", "clear", "all"]
    assert found["groups"][-1]["nodes"] == found["nodes"] == pl.read_csv(tmp_path / "q.csv").height


def test_prices_at_which_no_review_pays_are_said(model, tables, tmp_path):
    words = ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv"), "--json", "--cost-review"]
    said = {price: json.loads(run(app, [*words, price]).stdout) for price in ("1", "5")}
    assert not any("No review pays" in line for line in said["1"]["beware"])
    assert said["5"]["groups"][1]["nodes"] == 0
    assert said["5"]["beware"][-1].startswith("No review pays at these prices: it costs 5, a false alarm 5, a miss 50.")


def test_prices_at_which_most_nodes_are_alerted_are_asked_about(model, tables, tmp_path):
    words = ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv"), "--json", "--budget", "5", "--cost-miss"]
    said = {price: json.loads(run(app, [*words, price]).stdout) for price in ("50", "500000")}
    assert not any("are alerted" in line for line in said["50"]["beware"])
    alert, all_ = said["500000"]["groups"][0], said["500000"]["groups"][-1]
    assert 2 * alert["nodes"] > all_["nodes"]
    told = f"{alert['nodes']:,} of {all_['nodes']:,} nodes are alerted, about {alert['rare']:,.0f} of them rare: a miss costs 100,000"
    assert said["500000"]["beware"][-1].startswith(told)


def test_tables_without_labels_say_whose_labels_were_read(tables, tmp_path):
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    cr.RareCategoryClassifier(cr.detectors.Stack(["linear", "spreading"])).fit(graph).save(tmp_path / "model")
    nodes = tmp_path / "nodes.csv"
    pl.read_csv(tables[0]).drop("is_fraud").write_csv(nodes)
    said = {}
    for table in (tables[0], str(nodes)):
        words = ["triage", str(tmp_path / "model"), table, tables[1], "--out", str(tmp_path / "q.csv"), "--json"]
        said[table] = json.loads(run(app, words).stdout)
    told = [line for line in said[str(nodes)]["beware"] if "whose labels the model has read" in line]
    assert len(told) == 1 and told[0].startswith(f"{graph.known.size} of these nodes have ids of nodes")
    assert said[str(nodes)]["nodes"] == graph.num_nodes == said[tables[0]]["nodes"] + graph.known.size
    assert not any("whose labels the model has read" in line for line in said[tables[0]]["beware"])


def test_what_people_decided_since_the_fit_is_said(model, tables, tmp_path):
    folder = Path(shutil.copytree(model, tmp_path / "own model"))
    words = ["triage", str(folder), *tables, "--out", str(tmp_path / "q.csv")]
    assert "decided at the desk" not in run(app, words).stdout
    before = pl.read_csv(tmp_path / "q.csv")
    first, second, third, labelled = [
        *before["id"][:3],
        next(iter(set(pl.read_csv(tables[0])["id"]) - set(before["id"]))),
    ]
    store = DecisionStore.open(folder)
    for name, decision in ((first, "rare"), (second, "normal"), (third, "unsure"), (labelled, "rare")):
        store.record(name, decision, reviewer="ada", model_version="m", seen=0, action_key=name)
    store.close()
    said = "2 nodes of this queue were decided at the desk, and the model has not learned them: calirare refit"
    answer = run(app, words, env={"COLUMNS": "200"})
    assert f"{said} '{folder}'" in answer.stdout
    assert f"{said} '{folder}'" in json.loads(run(app, [*words, "--json"]).stdout)["beware"]
    assert not list(folder.glob("decisions.sqlite-*"))
    after = pl.read_csv(tmp_path / "q.csv")
    assert after.drop("decision").equals(before)
    assert after["decision"].to_list() == ["rare", "normal", "unsure", *["open"] * (before.height - 3)]
    out = tmp_path / "report.html"
    assert run(app, ["report", str(folder), "--out", str(out)]).exit_code == 0
    page = out.read_text()
    assert said in page and [page.count(f"<br>decided {one}<") for one in ("rare", "normal", "unsure")] == [1, 1, 1]


def test_a_negative_cost_is_refused(model, tables, tmp_path):
    answer = run(app, ["triage", str(model), *tables, "--out", str(tmp_path / "q.csv"), "--cost-miss", "-1"])
    assert answer.exit_code == 2 and "cost_miss" in answer.stderr


def test_a_spreadsheet_does_not_run_the_ids(network, tmp_path):
    from dataclasses import replace

    import numpy as np

    from calirare.data.tables.files import write_tables

    ids = np.array([f"=1+{i}" for i in range(network.num_nodes)], dtype=object)
    nodes, edges = write_tables(replace(network, node_ids=ids), tmp_path, format="parquet")
    words = [str(nodes), str(edges), "--label", "is_fraud", "--rare", "yes", "--detector", "linear"]
    assert run(app, ["fit", *words, "--out", str(tmp_path / "model")]).exit_code == 0
    out = tmp_path / "queue.csv"
    answer = run(app, ["triage", str(tmp_path / "model"), str(nodes), str(edges), "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    table = pl.read_csv(out)
    assert table["id"].str.starts_with("'=1+").all()
    assert not table["pulls"].str.starts_with("=").any()


def test_tables_without_an_open_node_say_so(model, tables, tmp_path):
    nodes = pl.read_csv(tables[0]).with_columns(is_fraud=pl.col("is_fraud").fill_null("no"))
    nodes.write_csv(tmp_path / "nodes.csv")
    answer = run(app, ["triage", str(model), str(tmp_path / "nodes.csv"), tables[1], "--out", str(tmp_path / "q.csv")])
    assert answer.exit_code == 0 and "nothing is left to decide" in answer.stdout
    assert pl.read_csv(tmp_path / "q.csv").height == 0


def test_scores_and_queues_of_a_model_that_shows_nothing_say_so_first(tables, tmp_path):
    nodes = pl.read_csv(tables[0])
    rare = np.flatnonzero(nodes["is_fraud"] == "yes")
    few = nodes.with_columns(is_fraud=nodes["is_fraud"].scatter(rare[2:], None))
    graph = cr.read_tables(few, tables[1], label="is_fraud", rare="yes")
    cr.RareCategoryClassifier("linear").fit(graph).save(tmp_path / "model", graph)
    words = [str(tmp_path / "model"), *tables, "--out", str(tmp_path / "q.csv")]
    says = "Nothing is shown yet: 2 labels of is_fraud = yes"
    assert run(app, ["triage", *words]).stdout.startswith(says)
    assert run(app, ["score", *words, "--no-intervals", "--partitions", "2"]).stdout.startswith(says)
    found = json.loads(run(app, ["score", *words, "--no-intervals", "--json"]).stdout)
    assert found["beware"][0].startswith(says)
