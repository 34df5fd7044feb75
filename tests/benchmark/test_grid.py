"""What shares a detector, what makes a row its own."""

from __future__ import annotations

import dataclasses

import pytest

from calirare.benchmark import Entry, Settings, calibration_entries, classification_entries
from calirare.benchmark.grid import Grid
from calirare.benchmark.planning import choose_datasets, choose_entries, whole_numbers
from calirare.benchmark.provenance import source_digest
from calirare.benchmark.tasks import without
from calirare.errors import CalirareError, DataError, InputError
from calirare.estimator.methods import Method, temporarily


def groups(grid):
    return [sorted(str(entry) for entry in task.names) for task in grid.tasks() if task.seed == 0]


def test_each_detector_is_trained_once(make_grid):
    found = groups(make_grid(*(str(entry) for entry in calibration_entries())))
    assert sorted(["uncalibrated", "temperature", "vector", "matrix", "platt", "isotonic", "cagcn", "gats"]) in found
    assert ["cross_fit", "jackknife", "jackknife:balanced", "jackknife:balanced+macro_f1"] in found
    assert ["jackknife:balanced@auto", "jackknife:balanced@auto+macro_f1", "jackknife@auto"] in found
    assert len(found) == 7  # and label_smoothing, mixup, calirare, calirare_code on their own


def test_a_decision_from_left_out_labels_needs_a_method_that_has_them(make_grid):
    assert str(Entry.parse("jackknife:balanced@auto+macro_f1")) == "jackknife:balanced@auto+macro_f1"
    with pytest.raises(InputError, match="left-out labels"):
        make_grid("temperature+macro_f1")
    with pytest.raises(InputError, match="decision must be one of"):
        Entry.parse("jackknife+best")


def test_detectors_and_options_are_not_shared(make_grid):
    grid = make_grid("uncalibrated", "uncalibrated@gin")
    variant = Entry("calirare", options=(("coverage", 0.7), ("trade_off", 0.2)))
    grid = dataclasses.replace(grid, entries=(*grid.entries, Entry("calirare"), variant))
    assert len(groups(grid)) == 4
    with temporarily(Method("noisy", "dropout to the end", rests=False)):
        assert groups(make_grid("uncalibrated", "temperature", "noisy")) == [["temperature", "uncalibrated"], ["noisy"]]
    objective = variant.resolve().objective()
    assert (objective.coverage, objective.trade_off) == (0.7, 0.2)
    assert Entry("calirare").resolve().objective().coverage == 0.9


def test_the_classification_table():
    keys = [str(entry) for entry in classification_entries()]
    assert keys[:3] == ["uncalibrated@gin", "uncalibrated@gat", "uncalibrated"]
    assert {"calirare", "calirare_code", "jackknife:balanced"} <= set(keys)


@pytest.mark.parametrize("entry", [*calibration_entries(), *classification_entries()], ids=str)
def test_the_key_of_an_entry_reads_back(entry):
    assert Entry.parse(str(entry)) == entry


@pytest.mark.parametrize("word", ["", "a b", "jackknife:flat", "jackknife@gnc", "x:natural:y"])
def test_entries_that_mean_nothing(word):
    with pytest.raises(InputError):
        Entry.parse(word)


def test_an_unknown_method_is_found_before_the_run(make_grid):
    with pytest.raises(InputError, match="did you mean 'temperature'"):
        make_grid("temprature")


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"labels": ()}, {"labels": (0,)}])
def test_grids_without_work(make_grid, wrong):
    with pytest.raises(InputError):
        make_grid("uncalibrated", **wrong)


def test_two_graphs_of_one_name(make_grid):
    grid = make_grid("uncalibrated")
    with pytest.raises(InputError, match="same name"):
        Grid(grid.datasets * 2, grid.entries)


def test_what_is_done_is_left_out(make_grid):
    tasks = make_grid("uncalibrated", "temperature", "mixup").tasks()
    done = {tasks[0].key(Entry("uncalibrated")), tasks[1].key(Entry("mixup"))}
    left = without(tasks, done)
    assert [str(entry) for task in left for entry in task.names].count("temperature") == 2
    assert len(left) == len(tasks) - 1


def test_the_fingerprint_follows_everything_that_shapes_a_row(make_grid):
    grid = make_grid("uncalibrated")
    source = grid.datasets[0]
    same = make_grid("uncalibrated", "mixup", seeds=4).fingerprint(source)
    assert grid.fingerprint(source) == same
    others = {
        make_grid("uncalibrated", settings=Settings(epochs=7)).fingerprint(source),
        grid.fingerprint(dataclasses.replace(source, fingerprint="other graph")),
        grid.fingerprint(dataclasses.replace(source, protocol="paper")),
    }
    assert len(others | {same}) == 4


def test_the_digest_of_code_sees_what_it_does_and_nothing_else(tmp_path):
    def digest(text):
        path = tmp_path / "code.py"
        path.write_text(text)
        return source_digest([path])

    plain = digest("def f(x):\n    return x + 1\n")
    assert plain == digest('"""About."""\n\ndef f(x):  # why\n    """What."""\n    return (x + 1)\n')
    assert plain != digest("def f(x):\n    return x + 2\n")


def test_choosing():
    assert len(choose_datasets("all")) == 5
    assert choose_entries("calibration", "all") == calibration_entries()
    assert whole_numbers(" 40, 20,20", "labels") == (20, 40)
    for call in (
        lambda: choose_datasets("coraa"),
        lambda: choose_datasets("cora", protocol="papr"),
        lambda: whole_numbers("20,x", "labels"),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(DataError, match="no such file"):
        choose_datasets("none", ["nowhere.npz"])
    with pytest.raises(CalirareError, match="no module"):
        choose_entries("calibration", "none", ["no_such_module:Thing"])
