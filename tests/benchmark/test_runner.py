"""Rows: right, shared, stored, and not computed twice."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from calirare import RareCategoryClassifier, RareGraph
from calirare.benchmark import Entry, Settings, run_grid
from calirare.benchmark.pages import make_section, write_pages
from calirare.benchmark.store import RowStore, read_parquet, write_parquet
from calirare.benchmark.work import row_metrics, split_for
from calirare.detectors import GCN
from calirare.detectors.networks.network import Network
from calirare.errors import DataError
from calirare.estimator.methods import methods
from calirare.metrics import METRICS


@pytest.fixture
def counted(monkeypatch):
    """How often a detector was fitted and its left-out evidence gathered, in this process."""
    calls = {"fit_detector": 0, "_gather": 0}

    def count(module, name):
        original = getattr(module, name)

        def call(*arguments, **options):
            calls[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    count(RareCategoryClassifier, "fit_detector")
    count(Network, "_gather")
    return calls


def test_the_cut_for_macro_f1_changes_decisions_and_nothing_else(make_grid, tmp_path):
    grid = make_grid("jackknife:balanced@linear", "jackknife:balanced@linear+macro_f1", seeds=1)
    plain, cut = (row for row in run_grid(grid, tmp_path, jobs=1).rows)
    assert cut["negative_log_likelihood"] == plain["negative_log_likelihood"]
    assert cut["macro_f1"] != plain["macro_f1"] and cut["recall"] <= plain["recall"]


@pytest.mark.refits
def test_a_row_is_what_the_estimator_gives(make_grid, tiny, tmp_path):
    grid = make_grid("uncalibrated", "temperature", "jackknife", "jackknife:balanced", seeds=1)
    found = {row["entry"]: row for row in run_grid(grid, tmp_path, jobs=1).rows}
    graph = RareGraph.load(tiny)
    split = split_for(graph, 10, grid.settings, 0)
    for entry in grid.entries:
        alone = RareCategoryClassifier(
            GCN(**grid.settings.training), entry.method, entry.prior, seed=0, device=grid.settings.device
        ).fit(graph, split)
        expected = row_metrics(
            graph.y[split.test],
            alone.predict_proba(graph)[split.test],
            alone.predict(graph)[split.test],
            graph.rare_class,
        )
        assert {name: found[str(entry)][name] for name in expected} == pytest.approx(expected, rel=1e-6)
    row = found["jackknife"]
    assert (row["num_train"], row["num_val"], row["num_test"]) == (split.train.size, split.val.size, split.test.size)
    assert row["train_seconds"] > 0 and row["peak_memory_mb"] > 10 and "torch" in row["versions"]
    assert (row["trains_on"], row["calibrates_on"]) == methods()["jackknife"].label_budget


def test_detectors_and_left_out_logits_are_computed_once(make_grid, tmp_path, counted):
    grid = make_grid("uncalibrated", "temperature", "platt", "jackknife", "jackknife:balanced", seeds=1)
    run_grid(grid, tmp_path, jobs=1)
    assert counted == {"fit_detector": 2, "_gather": 1}


def test_what_is_done_is_not_done_again(make_grid, tmp_path, counted):
    first = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1)
    again = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1)
    assert counted["fit_detector"] == 1 and (again.num_computed, again.num_reused) == (0, 1)
    assert again.rows == first.rows
    more = run_grid(make_grid("uncalibrated", "temperature"), tmp_path, jobs=1)
    assert (more.num_computed, more.num_reused) == (3, 1)
    other = run_grid(
        make_grid("uncalibrated", settings=Settings(epochs=3, num_val=100, num_test=150)), tmp_path, jobs=1
    )
    assert other.num_reused == 0
    assert all(row["fingerprint"] != first.rows[0]["fingerprint"] for row in other.rows)


def test_rows_of_other_code_count_only_where_asked_for(make_grid, tmp_path, monkeypatch):
    first = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1).rows
    monkeypatch.setattr("calirare.benchmark.grid.code_digest", lambda *_: "other code")
    reused = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1, any_code=True)
    assert (reused.num_computed, reused.rows) == (0, first)
    shorter = make_grid("uncalibrated", seeds=1, settings=Settings(epochs=3, num_val=100, num_test=150))
    assert run_grid(shorter, tmp_path, jobs=1, any_code=True).num_reused == 0  # other settings are another run
    again = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1)
    assert again.num_computed == 1
    own = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1, any_code=True)
    assert own.rows == again.rows  # where both are there, this code's own


def test_rows_come_in_the_order_of_the_grid_and_as_one_file(make_grid, tmp_path):
    results = run_grid(make_grid("temperature", "uncalibrated"), tmp_path, jobs=1)
    order = [(row["entry"], row["seed"]) for row in results.rows]
    assert order == [("temperature", 0), ("temperature", 1), ("uncalibrated", 0), ("uncalibrated", 1)]
    assert read_parquet(tmp_path / "runs.parquet") == results.rows


@pytest.mark.slow
@pytest.mark.usefixtures("other_processes")
def test_processes_give_the_rows_of_this_process(make_grid, tmp_path):
    grid = make_grid("uncalibrated", "cagcn", "jackknife")
    here = run_grid(grid, tmp_path / "here", jobs=1).rows
    there = run_grid(grid, tmp_path / "there", jobs=2).rows
    measured = METRICS.keys() & here[0].keys()
    assert [[row[name] for name in measured] for row in here] == [[row[name] for name in measured] for row in there]


def test_half_a_line_that_a_killed_run_left_behind_is_computed_again(make_grid, tmp_path):
    first = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1)
    (path,) = (tmp_path / "rows").iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    again = run_grid(make_grid("uncalibrated", seeds=1), tmp_path, jobs=1)
    assert again.num_computed == 1 and again.rows[0]["brier_score"] == first.rows[0]["brier_score"]


def test_rows_in_one_file_count_where_they_lie_among_the_others(make_grid, tmp_path):
    first = run_grid(make_grid("uncalibrated", "temperature", seeds=1), tmp_path / "a", jobs=1)
    write_parquet(first.rows[:1], tmp_path / "b" / "rows" / "runs.parquet")
    again = run_grid(make_grid("uncalibrated", "temperature", seeds=1), tmp_path / "b", jobs=1)
    assert (again.num_reused, again.num_computed) == (1, 1) and again.rows[0] == first.rows[0]


def test_a_broken_row_file_is_named(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "x.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="x.parquet"):
        RowStore(tmp_path).read()


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="need a folder"):
        RowStore(tmp_path / "taken")


def test_what_cannot_be_computed_is_told_and_tried_again(make_grid, tmp_path):
    grid = make_grid("uncalibrated", "mixup@gin", seeds=1)
    results = run_grid(grid, tmp_path, jobs=1)
    assert [row["entry"] for row in results.rows] == ["uncalibrated"]
    assert [failure["entry"] for failure in results.failures] == ["mixup@gin"]
    assert "gcn" in results.failures[0]["failed"]
    assert len(run_grid(grid, tmp_path, jobs=1).failures) == 1
    write_pages(results, tmp_path, [make_section(results, "calibration", grid.entries)], "calirare benchmark")
    assert "1 runs are missing" in (tmp_path / "results.md").read_text()


def test_variants_leave_the_registry_as_it_was(make_grid, tmp_path):
    before = methods()
    grid = make_grid("uncalibrated", seeds=1)
    variant = Entry("calirare", options=(("coverage", 0.7), ("trade_off", 0.4)))
    row = run_grid(dataclasses.replace(grid, entries=(variant,)), tmp_path, jobs=1).rows[0]
    assert (row["coverage"], row["trade_off"], row["method"]) == (0.7, 0.4, "calirare[coverage=0.7,trade_off=0.4]")
    assert methods() == before


def test_progress_reaches_the_end(make_grid, tmp_path):
    shares = []
    run_grid(make_grid("uncalibrated"), tmp_path, jobs=1, progress=lambda share, last: shares.append(share))
    assert shares[0] == 0 and shares[-1] == pytest.approx(1) and shares == sorted(shares)


def test_what_retrains_starts_first(make_grid):
    tasks = make_grid("uncalibrated", "cross_fit", seeds=1).tasks()
    assert max(tasks, key=lambda task: task.cost).names[0].method == "cross_fit"


def test_a_graph_with_few_labels_gets_a_smaller_split(tiny):
    graph = RareGraph.load(tiny)
    split = split_for(graph, 10, Settings(), 0)
    left = graph.known.size - split.train.size
    assert (split.val.size, split.test.size) == (left // 3, left - left // 3)
    assert np.intersect1d(split.test, split.labelled).size == 0
