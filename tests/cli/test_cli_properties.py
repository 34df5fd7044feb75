"""Whatever stands on the command line and in the files: a whole result, or one line and nothing written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import strategies as st
from properties import few_or_many, run_property
from typer.testing import CliRunner

import calirare as cr
from calirare.cli.main import app
from calirare.persistence.folder import load_graph

run = CliRunner().invoke
few_or_thousands = few_or_many(6, 150)
TABLES = sorted((Path(__file__).parents[1] / "data" / "tables" / "corpus").glob("*"))
QUICK = ["--detector", "gcn", "--epochs", "1", "--hidden", "2"]

numbers = st.sampled_from(
    [
        "nan",
        "inf",
        "-inf",
        "-1",
        "0",
        "1",
        "2",
        "0.5",
        "1e400",
        "1e-320",
        "",
        " ",
        "٣",
        "1_0",
        "0x1",
        "9" * 30,
        "a",
        "½",
        "--",
    ]
)
small = st.sampled_from(["-1", "0", "1", "2", "nan", "", "x", "٣", "1.5", "9" * 30])  # epochs, which must stay few
texts = st.sampled_from(
    ["", " ", "yes", "no", "id", "is_fraud", "=1+1", "é", "漢字🦊", "\udc80", "../x", "-", "a" * 3000, "[red]"]
)
FIT = {
    "--label": texts, "--rare": texts, "--method": st.sampled_from(["jackknife", "temperature", "isotonic", "x", ""]),
    "--prior": texts, "--rare-share": numbers, "--detector": st.sampled_from(["gcn", "sage", "linear", "", "GCN"]),
    "--hidden": numbers,
    "--epochs": small, "--weight-decay": numbers, "--val-share": numbers, "--decisions": texts, "--seed": numbers,
    "--device": st.sampled_from(["cpu", "auto", "cuda", "meta", "", "cpu:9", "mps"]), "--id": texts, "--source": texts,
    "--target": texts, "--weight": texts, "--type": st.sampled_from(["", "=", "a=b", "night_share=ignore", "is_fraud=numeric"]),
}  # fmt: skip
SCORE = {"--coverage": numbers, "--id": texts, "--source": texts, "--target": texts, "--weight": texts}
TRIAGE = SCORE | {
    name: numbers for name in ("--cost-miss", "--cost-alarm", "--cost-review", "--budget", "--review-error")
}
REPORT = {
    "--coverage": numbers, "--cost-miss": numbers, "--cost-alarm": numbers, "--cost-review": numbers, "--budget": numbers,
    "--rows": numbers, "--title": texts,
}  # fmt: skip


def chosen(options):
    """Some of the options with wild values, as words."""
    return st.fixed_dictionaries({}, optional=options).map(
        lambda picked: [word for pair in picked.items() for word in pair]
    )


def result_or_one_line(words, folder):
    """Run a command that writes into `folder`; says whether it gave a result."""
    before = sorted(os.listdir(folder))
    answer = run(app, words)
    said = answer.stderr
    if answer.exit_code == 0:
        assert said == "" and answer.stdout
        assert not [name for name in os.listdir(folder) if name.startswith(".")]
        return True
    assert answer.exit_code == 2, (answer.exit_code, answer.exception)
    assert isinstance(answer.exception, SystemExit), answer.exception
    assert said.startswith("Error: ") and said.count("\n") == 1 and said.endswith("\n"), said
    assert "Traceback" not in said and answer.stdout == ""
    assert sorted(os.listdir(folder)) == before
    return False


@few_or_thousands
def test_fit_with_wild_options(examples, tables, tmp_path):
    def wild(words, as_json):
        out = tmp_path / "model"
        base = ["fit", *tables, "--label", "is_fraud", "--rare", "yes", "--out", str(out), *QUICK]
        if result_or_one_line([*base, *words, *as_json], tmp_path):
            assert load_graph(out).num_nodes == 300
            cr.load(out)

    run_property(examples, wild, words=chosen(FIT), as_json=st.sampled_from([[], ["--json"]]))


@few_or_thousands
@pytest.mark.parametrize(("command", "options"), [("score", SCORE), ("triage", TRIAGE)])
def test_score_and_triage_with_wild_options(examples, command, options, model, tables, tmp_path):
    def wild(words, name):
        if result_or_one_line([command, str(model), *tables, "--out", str(tmp_path / name), *words], tmp_path):
            table = pl.read_csv(tmp_path / name) if name.lower().endswith("csv") else pl.read_parquet(tmp_path / name)
            assert table["probability"].is_between(0, 1).all()
            (tmp_path / name).unlink()

    run_property(
        examples,
        wild,
        words=chosen(options),
        name=st.sampled_from(
            ["t.csv", "t.parquet", "T.CSV", "t.xlsx", "", "漢字.csv", "a/b/t.csv", "x" * 300 + ".csv"]
        ),
    )


@pytest.mark.slow
def test_report_with_wild_options(model, tmp_path):
    def wild(words):
        page = tmp_path / "report.html"
        if result_or_one_line(["report", str(model), "--out", str(page), *words], tmp_path):
            assert page.read_text().rstrip().endswith("</html>")
            page.unlink()

    run_property(60, wild, words=chosen(REPORT))


@few_or_thousands
def test_wild_words(examples, tmp_path):
    """No command line of any words gives a traceback. Those that would serve, download or train are not among them."""
    words = st.sampled_from(
        ["fit", "score", "triage", "report", "methods", "datasets", "list", "verify", "figures", "--json", "--help", "--out",
         "--version", "x", "", "-", "--", "-h", "--seeds", "0", "é", "\udcff", "--table", "--figure", "--formats", "--model"]
    )  # fmt: skip

    def wild(words):
        before = os.getcwd()
        os.chdir(tmp_path)
        try:
            answer = run(app, words)
        finally:
            os.chdir(before)
        assert answer.exit_code in (0, 1, 2)
        assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
        assert answer.exit_code == 0 or answer.stderr.count("Error: ") <= 1
        assert not os.listdir(tmp_path)

    run_property(examples, wild, words=st.lists(words, max_size=5))


ENCODED = [("utf-16", "good"), ("utf-8-sig", "good"), ("latin-1", "good"), ("utf-32", "bad"), ("cp037", "bad")]


@pytest.mark.parametrize(("encoding", "expected"), ENCODED)
def test_encodings(tables, tmp_path, encoding, expected):
    text = Path(tables[0]).read_text().replace("id,", "né,", 1)
    (tmp_path / "in.csv").write_bytes(text.encode(encoding))
    words = ["fit", str(tmp_path / "in.csv"), tables[1], "--label", "is_fraud", "--rare", "yes"]
    assert result_or_one_line([*words, "--out", str(tmp_path / "model"), *QUICK], tmp_path) == (expected == "good")


@few_or_thousands
def test_wild_files(examples, tables, tmp_path):
    good = {".csv": [Path(path).read_bytes() for path in tables]}
    for suffix in (".parquet", ".arrow"):
        frames = [pl.read_csv(path) for path in tables]
        for k, frame in enumerate(frames):
            file = tmp_path / f"{k}{suffix}"
            frame.write_parquet(file) if suffix == ".parquet" else frame.write_ipc(file)
        good[suffix] = [(tmp_path / f"{k}{suffix}").read_bytes() for k in range(2)]
    where = tmp_path / "out"
    where.mkdir()

    def wild(data, suffix):
        paths = []
        for k, whole in enumerate(good[suffix]):
            content = bytearray(whole)
            harm = data.draw(st.sampled_from(["none", "cut", "flip", "line", "empty", "noise"]))
            if harm == "cut":
                content = content[: data.draw(st.integers(0, len(content)))]
            if harm == "flip":
                for _ in range(data.draw(st.integers(1, 4))):
                    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
            if harm == "line":
                lines = bytes(content).split(b"\n")
                content = b"\n".join(lines[: data.draw(st.integers(0, 4))])
            if harm in ("empty", "noise"):
                content = data.draw(st.binary(max_size=60)) if harm == "noise" else b""
            paths.append(tmp_path / f"in{k}{suffix}")
            paths[-1].write_bytes(bytes(content))
        words = ["fit", *map(str, paths), "--label", "is_fraud", "--rare", "yes", "--out", str(where / "model"), *QUICK]
        result_or_one_line(words, where)

    run_property(examples, wild, data=st.data(), suffix=st.sampled_from(sorted(good)))


ANSWERED = {"good_no_feature", "good_one_rare", "good_huge_numbers", "good_unicode"}
"""That the others are read is proved in tests/data; what a fit makes of these is another matter."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (path.stem.startswith("good") and path.stem not in ANSWERED))
        for path in TABLES
    ],
    ids=lambda path: path.name,
)
def test_the_corpus_of_odd_tables(path, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    words = [
        "fit",
        str(path),
        str(tmp_path / "edges.csv"),
        "--label",
        "y",
        "--rare",
        "1",
        "--out",
        str(tmp_path / "model"),
    ]
    quick = ["--detector", "linear"] if path.stem == "good_no_feature" else QUICK  # a network needs attributes
    assert result_or_one_line([*words, *quick], tmp_path) == path.name.startswith("good")


@pytest.mark.parametrize("command", ["score", "triage", "report", "review"])
def test_models_that_are_none(command, no_model, tables, tmp_path):
    words = [command, str(no_model), *(tables if command in ("score", "triage") else ())]
    words += ["--no-open", "--port", "0"] if command == "review" else ["--out", str(tmp_path / "out.html")]
    if command in ("score", "triage"):
        words[-1] = str(tmp_path / "out.csv")
    assert not result_or_one_line(words, tmp_path)


def test_the_corpus_of_command_lines(tables, model, tmp_path):
    """Command lines that once gave a traceback or nonsense."""
    cases = json.loads((Path(__file__).parents[1] / "corpus" / "commands.json").read_text())
    places = {"NODES": tables[0], "EDGES": tables[1], "MODEL": str(model), "OUT": str(tmp_path / "out")}
    for case in cases:
        words = [places.get(word, word).replace("OUT/", f"{tmp_path}/") for word in case["words"]]
        answer = run(app, words)
        assert answer.exit_code == 2 and case["says"] in answer.stderr, (words, answer.output, answer.exception)
        assert answer.stderr.count("\n") == 1
