"""`calirare benchmark` and `calirare figures`."""

from __future__ import annotations

import csv
import json
import shlex

import pytest
from typer.testing import CliRunner

from calirare.cli.main import app
from calirare.data.catalogue.own import add_own
from calirare.data.graph import RareGraph
from calirare.data.synthetic import make_transactions

run = CliRunner().invoke


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "tiny.npz"
    make_transactions(num_nodes=300, rare_share=0.2, seed=0).save(path)
    return path


@pytest.fixture
def words(tiny):
    """A benchmark of seconds."""
    options = "--datasets none --table calibration --methods uncalibrated,platt,platt:balanced --labels 10,20"
    return ["benchmark", *options.split(), "--dataset", str(tiny), "--seeds", "2", "--epochs", "3", "--jobs", "1"]


def test_tables_in_every_format_and_a_page_for_the_docs(words, tmp_path):
    out, docs = tmp_path / "results", tmp_path / "docs" / "results.md"
    answer = run(app, [*words, "--out", str(out), "--docs", str(docs), "--json"])
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    assert (told["rows"], told["computed"], told["reused"], told["failures"]) == (12, 12, 0, [])
    assert {path.rpartition("/")[2] for path in told["files"]} == {
        "results.md",
        "index.html",
        "statistics.tex",
        "statistics.csv",
        "calibration.tex",
        "calibration.csv",
        "costs.csv",
    }
    page = docs.read_text()
    assert page == (out / "results.md").read_text()
    assert "platt (natural)" in page and "platt (balanced)" in page
    assert "picked by their true class" in page
    with (out / "calibration.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["labels_per_class"], row["num_seeds"]) for row in rows} == {("10", "2"), ("20", "2")}

    again = run(app, [*words, "--out", str(out), "--json"])
    assert json.loads(again.stdout)["computed"] == 0

    line = page[page.index("```sh\n") + 6 :].partition("\n```")[0]
    assert shlex.split(line)[:2] == ["calirare", "benchmark"]
    repeated = run(app, [*shlex.split(line)[1:], "--json"])
    assert json.loads(repeated.stdout)["reused"] == 12
    assert docs.read_text() == page


def test_a_graph_of_ones_own_by_its_name_and_one_seed(words, tiny, tmp_path):
    env = {"CALIRARE_DATA": str(tmp_path)}
    add_own("mine", RareGraph.load(tiny), tmp_path)
    said = [*words, "--out", str(tmp_path / "results"), "--labels", "10", "--seeds", "1"]
    said[said.index("--datasets") + 1] = "mine"
    del said[said.index("--dataset") : said.index("--dataset") + 2]
    assert json.loads(run(app, [*said, "--json"], env=env).stdout)["computed"] == 3
    page = (tmp_path / "results" / "results.md").read_text()
    assert "Graphs: mine." in page and "Seed: 0; a seed draws" in page
    said[said.index("mine")] = "mien"
    answer = run(app, said, env=env)
    assert answer.exit_code == 2 and "did you mean 'mine'?" in answer.stderr


@pytest.mark.datasets
def test_the_published_numbers_stand_beside_ours(data_folder, tmp_path):
    answer = run(
        app,
        "benchmark --datasets citeseer --labels 20 --seeds 1 --epochs 2 --jobs 1 --table classification "
        f"--methods uncalibrated@gin,uncalibrated --out {tmp_path}".split(),
        env={"CALIRARE_DATA": str(data_folder)},
    )
    assert answer.exit_code == 0, answer.output
    page = (tmp_path / "results.md").read_text()
    assert "| CiteSeer | 3,327 | 9,104 | 3,703 | 15.34% (15.72%) | 3,312 |" in page
    assert "--seeds 1 --epochs 2" in page
    with (tmp_path / "classification.csv").open() as stream:
        rows = {(row["entry"], row["metric"]): row for row in csv.DictReader(stream)}
    beside = rows["uncalibrated@gin", "rare_f1"]
    assert (beside["paper_method"], float(beside["published"])) == ("GIN-CS", 39.8)
    assert float(beside["difference"]) == pytest.approx(float(beside["mean"]) - 39.8)
    assert float(rows["uncalibrated", "macro_f1"]["published"]) == 84.10
    assert rows["uncalibrated", "precision"]["published"] == ""


def test_a_run_that_fails_says_where_and_exits_with_1(words, tmp_path):
    words[words.index("--methods") + 1] = "uncalibrated,mixup@gin"
    answer = run(app, [*words, "--out", str(tmp_path)])
    assert answer.exit_code == 1
    assert "tiny, 10 labels, seed 0, mixup@gin" in answer.stderr
    assert "2 runs" not in answer.stderr and "4 runs computed" in answer.stdout


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--table", "calibratoin"], "--table must be one of"),
        (["--datasets", "coraa"], "did you mean 'cora'"),
        (["--methods", "jacknife"], "did you mean 'jackknife'"),
        (["--methods", "jackknife:flat"], "prior must be"),
        (["--labels", "many"], "labels must be whole numbers"),
        (["--dataset", "missing.npz"], "no such file"),
        (["--method", "nowhere:Class"], "no module 'nowhere'"),
        (["--backend", "dask"], "backend must be one of"),
        (["--protocol", "papr"], "protocol must be one of"),
    ],
)
def test_mistakes_get_one_line(words, tmp_path, more, says):
    kept = [word for i, word in enumerate(words) if not {more[0]} & {word, words[i - 1]} or more[0] == "--dataset"]
    answer = run(app, [*kept, *more, "--out", str(tmp_path)])
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1 and says in answer.stderr


@pytest.mark.slow
def test_figures(words, tiny, tmp_path):
    results = tmp_path / "results"
    add_own("mine", RareGraph.load(tiny), tmp_path)
    assert run(app, [*words, "--out", str(results)]).exit_code == 0
    answer = run(
        app,
        ["figures", "--out", str(tmp_path / "figures"), "--dataset", "mine", "--results", str(results)]
        + [
            "--figure",
            "reliability_rare",
            "--figure",
            "label_curve",
            "--formats",
            "png,svg",
            "--labels",
            "10",
            "--json",
        ],
        env={"CALIRARE_DATA": str(tmp_path)},
    )
    assert answer.exit_code == 0, answer.output
    files = json.loads(answer.stdout)["files"]
    names = [path.rpartition("/")[2] for path in files]
    assert names == [f"{name}.{kind}" for name in ("reliability_rare", "label_curve") for kind in ("png", "svg", "csv")]
    with open(files[-1]) as stream:
        assert {row["labels_per_class"] for row in csv.DictReader(stream)} == {"10", "20"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--figure", "reliabilty"], "did you mean 'reliability'"),
        (["--figure", "label_curve", "--results", "nowhere"], "calirare benchmark --out nowhere"),
        (["--figure", "network", "--formats", "gif2"], "formats must list"),
    ],
)
def test_mistakes_about_figures_get_one_line(tmp_path, more, says):
    answer = run(app, ["figures", "--out", str(tmp_path), *more])
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1 and says in answer.stderr
