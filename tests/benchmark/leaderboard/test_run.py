"""A run stops in time, goes on where it was, and its page has the same bytes whatever happened on the way."""

import json
from dataclasses import replace

import numpy as np
import pytest

from calirare.benchmark.competitors import Answer, competitors
from calirare.benchmark.leaderboard import __main__ as command
from calirare.benchmark.leaderboard.cells import CellTask, all_tasks
from calirare.benchmark.leaderboard.graphs import list_graphs, load, prepare
from calirare.benchmark.leaderboard.measures import MEASURES, measure
from calirare.benchmark.leaderboard.page import write_page
from calirare.benchmark.leaderboard.protocols import PROTOCOLS
from calirare.benchmark.leaderboard.rows import pack
from calirare.benchmark.leaderboard.run import run
from calirare.benchmark.seconds import Seconds
from calirare.benchmark.store import RowStore
from calirare.data.catalogue.own import add_own
from calirare.data.synthetic import make_transactions
from calirare.errors import DataError, InputError

NAMES = ("our linear", "lightgbm, attributes, raw")


def key_of(row):
    return [row[name] for name in CellTask.COLUMNS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, briefly):
    """Two graphs and the rows of two competitors on them."""
    folder = tmp_path_factory.mktemp("leaderboard")
    for name, seed in (("first", 0), ("second", 1)):
        add_own(name, make_transactions(num_nodes=300, rare_share=0.15, seed=seed, with_payments=False), folder)
    prepare(folder / "graphs", ["first", "second"], folder)
    with briefly(), pytest.MonkeyPatch.context() as patch:  # as the fixture same_code does for a test
        patch.setattr("calirare.benchmark.leaderboard.cells.code_digest", lambda *_: "this code")
        outcome = run(folder / "graphs", folder / "store", protocols=["tenth"], names=NAMES, seeds=1, jobs=1)
    assert (outcome.num_computed, outcome.num_left, outcome.failures) == (4, 0, ())
    return folder


def test_rows_hold_every_number(folder):
    for row in RowStore(folder / "store").read():
        assert row["competitor"] in NAMES and row["num_rare_labels"] >= 2
        for name in ("average_precision", "nll", "cost_usual", "truth_error", "seconds"):
            assert np.isfinite(row[name])


def test_nothing_is_computed_twice_and_half_a_line_is_computed_again(folder):
    again = run(folder / "graphs", folder / "store", protocols=["tenth"], names=NAMES, seeds=1, jobs=1)
    assert (again.num_computed, again.num_before) == (0, 4)
    path = next((folder / "store" / "rows").glob("*linear*"))
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    once_more = run(folder / "graphs", folder / "store", protocols=["tenth"], names=NAMES, seeds=1, jobs=1)
    assert once_more.num_computed == 1
    one = {name: value for name, value in json.loads(text).items() if name not in ("seconds", "memory_mb", "spent")}
    key = key_of(one)
    found = next(row for row in RowStore(folder / "store").read() if key_of(row) == key)
    assert {name: found[name] for name in one} == one


def test_rows_of_other_code_count_only_where_asked_for(folder, tmp_path):
    for row in RowStore(folder / "store").read():
        RowStore(tmp_path).add("old", [row | {"fingerprint": "older"}])
    options = {"protocols": ["tenth"], "names": NAMES, "seeds": 1, "jobs": 1, "minutes": -1}
    assert run(folder / "graphs", tmp_path, **options).num_left == 4
    assert run(folder / "graphs", tmp_path, any_code=True, **options).num_left == 0


def test_how_long_is_said_before_and_nothing_is_started_after_the_time_is_up(folder, tmp_path):
    said = []
    options = {"protocols": ["tenth"], "names": NAMES, "seeds": 1, "jobs": 1, "minutes": -1, "announce": said.append}
    outcome = run(folder / "graphs", tmp_path, **options)
    assert (outcome.num_computed, outcome.num_left) == (0, 4) and not list(tmp_path.rglob("*.jsonl"))
    runs = Seconds.known().runs
    assert said == [pytest.approx(2 * sum(runs[name]["tenth 10"] for name in NAMES))]


def test_what_is_slow_runs_where_everything_is_asked_for(folder, same_code):
    def asked(full):
        tasks = all_tasks(folder / "graphs", ["first"], list(PROTOCOLS), 3, full=full)
        return {(task.protocol, task.size, task.seed, name) for task in tasks for name in task.names}

    usual, full = asked(()), asked(PROTOCOLS)
    assert usual < full and {one[:3] for one in usual if one[0] == "by_time"} == {("by_time", 50, 0)}
    assert {one[1] for one in usual if one[0] == "few"} == {5, 20}
    assert {one[1] for one in full if one[0] == "few"} == {5, 10, 20, 50}
    slow = {name for name, one in competitors().items() if one.slow}
    assert {one[3] for one in full if one[0] == "tenth"} == set(competitors())
    assert {one[3] for one in usual if one[0] == "tenth"} == set(competitors()) - slow
    assert not any(competitors()[name].core for name in slow)
    assert {one[3] for one in full if one[0] != "tenth"} == {name for name, one in competitors().items() if one.core}


def test_expected_seconds_add_up_to_those_that_were_spent():
    draw = np.random.default_rng(0)
    cells = [("a", "tenth", 10), ("b", "tenth", 10), ("a", "by_time", 50), ("b", "by_time", 50)]
    rows = [
        {"graph": graph, "protocol": protocol, "size": size, "competitor": name, "spent": draw.uniform(1, 9)}
        for graph, protocol, size in cells
        for name in ("one", "two")
        for seed in range(2)
    ]
    rows[-1] = {name: value for name, value in rows[-1].items() if name != "spent"} | {"skipped": "no time"}
    known = Seconds.of(rows)
    for name in ("one", "two"):
        for protocol in ("tenth", "by_time"):
            here = [row for row in rows if row["competitor"] == name and row["protocol"] == protocol]
            expected = sum(known.expected(row["graph"], protocol, row["size"], name) for row in here)
            assert expected == pytest.approx(sum(row.get("spent", 0.0) for row in here))
    assert sum(known.graphs.values()) == pytest.approx(2)


def test_a_row_says_where_its_network_ran_and_keeps_no_seconds_of_another_device(folder, tmp_path):
    options = {"graphs": ["first"], "protocols": ["tenth"], "names": ["gcn as trained"], "seeds": 1, "jobs": 1}
    run(folder / "graphs", tmp_path / "cpu", **options)
    run(folder / "graphs", tmp_path / "other", device="cpu:0", **options)  # another name, the same numbers
    (usual,), (other,) = RowStore(tmp_path / "cpu").read(), RowStore(tmp_path / "other").read()
    assert other["versions"] == usual["versions"] | {"device": "cpu:0"}
    assert usual["seconds"] > 0 and np.isnan(other["seconds"]) and other["nll"] == usual["nll"]


def test_the_page_depends_on_the_rows_alone(folder, tmp_path, monkeypatch):
    first = write_page(folder / "store", tmp_path / "a" / "page.md", "the command")
    store = tmp_path / "store"
    for number, row in enumerate(reversed(RowStore(folder / "store").read())):
        RowStore(store).add(f"other-{number}", [row])
    second = write_page(store, tmp_path / "b" / "page.md", "the command")
    assert len(first) == len(second) > 2
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
    seeds = {row["seed"] for row in RowStore(store).read()}
    assert "our linear" in first[0].read_text() and f"labels: {len(seeds)} (A tenth labelled" in first[0].read_text()
    packed = [
        pack(where, tmp_path / f"packed{k}" / "rows.jsonl.gz") for k, where in enumerate((store, folder / "store"))
    ]
    assert packed[0].read_bytes() == packed[1].read_bytes()
    monkeypatch.setattr("calirare.benchmark.leaderboard.page.write_pictures", lambda *_: first[1:])
    third = write_page(packed[0].parent, tmp_path / "c" / "page.md", "the command")
    assert third[0].read_bytes() == first[0].read_bytes()


def test_of_two_rows_of_a_run_the_newest_is_packed(folder, tmp_path):
    now = RowStore(folder / "store").read()[0]
    other = now["versions"] | {"calirare": "0.0.9"}
    pack(folder / "store", tmp_path / "rows.jsonl.gz")
    RowStore(tmp_path).add(
        "a", [now | {"nll": 1.0, "fingerprint": "later"}]
    )  # the same version, computed after packing
    RowStore(tmp_path).add("z", [now | {"nll": 2.0, "fingerprint": "old", "versions": other}])
    pack(tmp_path, tmp_path / "again" / "rows.jsonl.gz")
    packed = RowStore(tmp_path / "again").read()
    assert len(packed) == 4 and [row["nll"] for row in packed if row["fingerprint"] == "later"] == [1.0]
    assert not any(row["fingerprint"] == "old" or key_of(row) == key_of(now) for row in packed)


def test_measures_of_the_truth_are_the_best():
    rng = np.random.default_rng(0)
    truth = rng.beta(0.4, 2.0, 4_000)
    y = (rng.random(4_000) < truth).astype(int)
    nodes = np.arange(4_000)
    sets = np.column_stack([truth < 0.8, truth > 0.1])
    right = measure(Answer(truth, sets), y, nodes, truth)
    wrong = measure(Answer(np.clip(truth**2, 0, 1)), y, nodes, truth)
    assert right["truth_error"] == 0
    for name in ("nll", "brier", "smooth_ece", "classwise_ace", "cost_cheap", "cost_usual", "cost_dear"):
        assert right[name] < wrong[name], name
    assert right["average_precision"] == wrong["average_precision"]
    assert right["coverage_rare"] == sets[y == 1, 1].mean()
    assert set(right) <= set(MEASURES)


@pytest.mark.parametrize("error", [TypeError("no such argument"), ImportError("no such library")])
def test_who_breaks_is_named_and_tried_again_and_the_others_go_on(folder, tmp_path, monkeypatch, error):
    bad = "lightgbm, attributes, raw"
    options = {"graphs": ["first"], "protocols": ["tenth"], "names": ["our linear", bad], "seeds": 1, "jobs": 1}

    def broken(problem):
        raise error

    with monkeypatch.context() as patch:
        patch.setitem(competitors(), bad, replace(competitors()[bad], answer=broken))
        found = run(folder / "graphs", tmp_path, **options)
    assert (found.num_computed, found.num_left) == (1, 0)
    told = f"{type(error).__name__}: {error}"
    assert found.failures == (f"first, tenth 10, seed 0, {bad}: {told}",)
    monkeypatch.setattr("calirare.benchmark.leaderboard.page.write_pictures", lambda *_: [])
    page = write_page(tmp_path, tmp_path / "page.md", "the command")[0]
    assert f"1 run failed, left out here and tried again by the command: {bad} on first ({told})" in page.read_text()
    again = run(folder / "graphs", tmp_path, **options)
    assert (again.num_before, again.num_computed, again.num_left, again.failures) == (1, 1, 0, ())
    assert "failed" not in write_page(tmp_path, tmp_path / "page.md", "the command")[0].read_text()


def test_words_that_mean_nothing_are_refused(folder, tmp_path):
    with pytest.raises(InputError, match="lightgbm"):
        run(folder / "graphs", tmp_path, names=["lightgbn, attributes, raw"])
    with pytest.raises(DataError, match="prepare"):
        list_graphs(tmp_path)
    with pytest.raises(InputError, match="cora"):
        prepare(tmp_path, ["coraa"], folder)
    with pytest.raises(DataError, match="no finished runs"):
        (tmp_path / "empty").mkdir()
        write_page(tmp_path / "empty", tmp_path / "x.md", "")
    with pytest.raises(InputError, match="already"):
        add_own("first", load(str(folder / "graphs" / "first.npz")), folder)
    with pytest.raises(InputError, match="none of"):
        add_own("cora", load(str(folder / "graphs" / "first.npz")), folder)


def test_the_plain_command_prepares_and_runs(folder, tmp_path, capsys):
    assert command.main(["prepare", str(tmp_path / "g"), "--only", "first", "--data", str(folder)]) == 0
    words = ["run", str(tmp_path / "g"), str(tmp_path / "s"), "--jobs", "1", "--seeds", "1", "--protocol", "tenth"]
    assert command.main([*words, "--competitor", "our linear", "--minutes", "0"]) == 3
    assert command.main([*words, "--competitor", "our linear"]) == 0
    assert "1 rows computed" in capsys.readouterr().out
    (row,), file = [row for row in RowStore(tmp_path / "s").read() if "spent" in row], tmp_path / "seconds.json"
    assert command.main(["seconds", str(tmp_path / "s"), str(file)]) == 0
    told = {"graphs": {"first": 1.0}, "runs": {"our linear": {"tenth 10": pytest.approx(row["spent"], rel=5e-3)}}}
    assert json.loads(file.read_text()) == told


def test_every_competitor_has_a_source_and_a_word_on_its_labels():
    for one in competitors().values():
        assert one.source and one.reads, one.name
