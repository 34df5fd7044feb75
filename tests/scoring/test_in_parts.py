"""Scoring in parts gives what scoring at once gives."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from ray_cluster import run_program

import calirare as cr
from calirare.data.tables.files import write_tables
from calirare.detectors import detectors
from calirare.errors import InputError
from calirare.scoring import in_parts as partitioned
from calirare.scoring.in_parts import score_in_parts, wants_parts
from calirare.scoring.table import read_for, score_table


@pytest.fixture(scope="module")
def network():
    """Three hundred accounts."""
    return cr.make_transactions(300, rare_share=0.15, labelled_share=0.4, seed=3)


@pytest.fixture(scope="module")
def tables(network, tmp_path_factory):
    """Their tables."""
    return write_tables(network, tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def fit(tables):
    """Fits a classifier on them, saved and loaded."""
    graph = cr.read_tables(*tables, label="is_fraud", rare="yes")
    quick = {"epochs": 20, "weight_decay": 2e-2, "hidden": 4}

    def fit_one(detector="gcn", **options):
        return cr.RareCategoryClassifier(detectors()[detector](**quick), device="cpu", **options).fit(graph)

    return fit_one


def check(table, want):
    """The same columns: numbers up to rounding, the rest exactly."""
    assert table.columns == list(want)
    for name, values in want.items():
        if name in ("probability", "lower", "upper"):
            np.testing.assert_allclose(table[name].to_numpy(), values, atol=2e-6)
        else:
            assert table[name].to_list() == values.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "uncalibrated"},
        {"method": "isotonic", "prior": "balanced"},
        {"detector": "sage", "method": "uncalibrated"},
        pytest.param({"detector": "gin", "method": "uncalibrated"}, marks=pytest.mark.slow),
        pytest.param({"detector": "gat", "method": "uncalibrated"}, marks=pytest.mark.slow),
    ],
)
def test_parts_give_the_scores_of_the_whole(fit, tables, tmp_path, options):
    classifier = fit(**options)
    seen = []
    done = score_in_parts(
        classifier,
        *tables,
        tmp_path / "s.parquet",
        coverage=0.7,
        partitions=3,
        progress=lambda *step: seen.append(step),
    )
    want = score_table(classifier, read_for(classifier, *tables), coverage=0.7)
    table = pl.read_parquet(tmp_path / "s.parquet")
    check(table, want)
    assert np.ptp(want["lower"]) > 0.01 and np.ptp(want["upper"]) > 0.01  # else the interval would prove little
    assert (done.num_nodes, done.num_parts) == (300, 3)
    assert done.top["probability"].tolist() == sorted(table["probability"], reverse=True)[:10]
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["s.parquet"]


def test_sparse_features_weights_and_shards(fit, tables, network, tmp_path, monkeypatch):
    nodes, edges = (pl.read_parquet(path) for path in tables)
    edges = edges.with_columns(pl.Series("amount", np.random.default_rng(0).integers(0, 4, edges.height)))
    graph = cr.read_tables(nodes, edges, label="is_fraud", rare="yes", weight="amount")
    graph = cr.read_tables(nodes, edges, schema={**graph.schema, "sparse": True})
    classifier = cr.RareCategoryClassifier(
        detector=cr.detectors.GCN(epochs=10, hidden=4, weight_decay=2e-2), method="uncalibrated", device="cpu"
    ).fit(graph)
    for name, frame in (("nodes", nodes), ("edges", edges)):
        (tmp_path / name).mkdir()
        for place in range(3):
            size = -(-frame.height // 3)
            frame[place * size : (place + 1) * size].write_parquet(tmp_path / name / f"{place}.parquet")
    monkeypatch.setattr(partitioned, "_PART_BYTES", 1 << 19)  # so that several parts are wanted unasked
    done = score_in_parts(classifier, tmp_path / "nodes", tmp_path / "edges" / "*.parquet", tmp_path / "s.csv")
    assert done.num_parts > 2 and done.read["edges"] == graph.schema["read"]["edges"]
    check(pl.read_csv(tmp_path / "s.csv"), score_table(classifier, graph))


def test_without_intervals_their_columns_are_left_out(fit, tables, tmp_path):
    classifier = fit()
    score_in_parts(classifier, *tables, tmp_path / "s.parquet", intervals=False, partitions=2)
    check(
        pl.read_parquet(tmp_path / "s.parquet"), score_table(classifier, read_for(classifier, *tables), intervals=False)
    )


def test_a_failure_leaves_the_earlier_scores_and_no_rubbish(fit, tables, tmp_path, monkeypatch):
    (tmp_path / "s.parquet").write_bytes(b"earlier")
    monkeypatch.setattr(partitioned.PartScorer, "write_scores", lambda self, place: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        score_in_parts(fit(), *tables, tmp_path / "s.parquet", intervals=False, work=tmp_path / "work")
    assert (tmp_path / "s.parquet").read_bytes() == b"earlier"
    assert not list((tmp_path / "work").iterdir())


def test_what_parts_cannot_do_is_said_before_reading(fit, network, tables, tmp_path):
    plain = fit(method="uncalibrated")
    for classifier, options, says in [
        (fit(method="cagcn"), {}, "looking at the whole graph"),
        (plain, {"partitions": 0}, "at least 1"),
        (plain, {"coverage": 2.0}, "coverage"),
        (plain, {"backend": "dask"}, "backend"),
    ]:
        with pytest.raises(InputError, match=says):
            score_in_parts(classifier, *tables, tmp_path / "s.parquet", **options)
    assert not list(tmp_path.iterdir())


def test_parts_are_chosen_unasked_for_shards_and_for_many_edges(tables, tmp_path, monkeypatch):
    assert not wants_parts(*tables)
    assert wants_parts(tables[0].parent, tables[1]) and wants_parts(tables[0], str(tables[1].parent / "e*.parquet"))
    monkeypatch.setattr(partitioned, "MANY_EDGES", 100)
    assert wants_parts(*tables)
    assert not wants_parts("nodes.csv", "edges.csv") and not wants_parts("nodes.parquet", "gone.parquet")


@pytest.mark.slow
def test_two_processes_and_a_ray_cluster_of_two_workers_give_the_same_scores(fit, tables, tmp_path):
    classifier = fit()
    classifier.save(tmp_path / "model")
    words = ["score", str(tmp_path / "model"), *map(str, tables), "--partitions", "4", "--json"]
    for name, options in (("one", []), ("two", ["--jobs", "2"]), ("ray", ["--jobs", "2", "--work", str(tmp_path)])):
        out = tmp_path / f"{name}.parquet"
        printed = run_program([*words, "--out", str(out), *options], on_cluster=name == "ray")
        assert json.loads(printed[printed.index("{") :])["parts"] == 4
        check(pl.read_parquet(out), score_table(classifier, read_for(classifier, *tables)))
        assert out.read_bytes() == (tmp_path / "one.parquet").read_bytes()
