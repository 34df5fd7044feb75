"""The sample of mutants is honest: drawn without looking, the same for the same seed."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().with_name("mutants.py")


@pytest.fixture(scope="module")
def mutants():
    spec = importlib.util.spec_from_file_location("mutants_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_sample_holds_so_many_different_names_whatever_their_order(mutants):
    names = [f"m{i}" for i in range(100)]
    sample = mutants.draw(names, 30, seed=1)
    assert len(set(sample)) == 30 and set(sample) <= set(names)
    assert sample == mutants.draw(names[::-1], 30, seed=1)
    assert sample != mutants.draw(names, 30, seed=2)


def test_every_name_has_the_same_chance(mutants):
    names = [f"m{i}" for i in range(20)]
    drawn = [name for seed in range(400) for name in mutants.draw(names, 5, seed)]
    counts = [drawn.count(name) for name in names]
    assert sum(counts) == 2000
    assert 60 < min(counts) and max(counts) < 140  # 100 expected; 60 and 140 are 4.6 standard deviations away


@pytest.mark.parametrize("size", [0, 3, 7])
def test_none_is_left_out_where_all_are_wanted(mutants, size):
    assert mutants.draw(["c", "a", "b"], size, seed=0) == ["a", "b", "c"]


def test_results_are_read_from_every_file(mutants, tmp_path):
    for name, codes in (("one", {"x": 1, "y": None}), ("deep/two", {"z": 0})):
        path = tmp_path / "mutants" / f"{name}.py.meta"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"exit_code_by_key": codes}))
    assert mutants.results(tmp_path) == {"x": 1, "y": None, "z": 0}


def test_packages_are_those_of_pyproject_innermost_first(mutants):
    known = mutants.packages(mutants.ROOT)
    assert {"metrics", "calibration", "detectors", "detectors.networks.influence", "decisions"} == set(known)
    assert mutants.package_of("calirare.detectors.networks.influence.model.x_f__mutmut_1", known) == known[0]
    assert mutants.package_of("calirare.detectors.networks.fitting.loop.x_f__mutmut_1", known) == "detectors"


@pytest.mark.parametrize("shares", ['@pytest.fixture(scope="module")', "@cache", ""])
def test_all_tests_of_a_file_that_shares_try_what_one_of_them_calls(mutants, tmp_path, shares):
    (tmp_path / "mutants").mkdir()
    (tmp_path / "test_a.py").write_text(f"{shares}\ndef made(): ...\n")
    (tmp_path / "test_b.py").write_text("")
    names = ["test_a.py::one", "test_a.py::two", "test_b.py::three"]
    stats = {"duration_by_test": dict.fromkeys(names, 1.0), "tests_by_mangled_function_name": {"f": names[:1]}}
    (tmp_path / mutants.STATS).write_text(json.dumps(stats))
    mutants.share_fixtures(tmp_path)
    found = json.loads((tmp_path / mutants.STATS).read_text())["tests_by_mangled_function_name"]
    assert found == {"f": names[:2] if shares else names[:1]}


def test_a_mutant_meets_the_tests_of_its_package_first_and_all_where_there_are_none(mutants, tmp_path):
    (tmp_path / "mutants").mkdir()
    tests = [
        "tests/metrics/test_a.py::t",
        "tests/tools/docstring_examples.py::test_example[calirare.metrics.a-f]",
        "tests/decisions/test_b.py::t",
    ]
    known = {"calirare.metrics.a.x_f": tests, "calirare.metrics.a.x_g": tests[2:]}
    (tmp_path / mutants.STATS).write_text(json.dumps({"tests_by_mangled_function_name": known}))
    mutants.own_tests(tmp_path, ["decisions", "metrics"])
    found = json.loads((tmp_path / mutants.STATS).read_text())["tests_by_mangled_function_name"]
    assert found == {"calirare.metrics.a.x_f": tests[:2], "calirare.metrics.a.x_g": tests[2:]}


def test_every_test_is_tried_on_what_came_through(mutants, tmp_path, monkeypatch):
    """An interrupted run left the narrow list; the wide one is put back first and last."""
    (tmp_path / "mutants").mkdir()
    (tmp_path / "tests").mkdir()
    every, now = tmp_path / mutants.EVERY, tmp_path / mutants.STATS
    every.write_text("wide")
    os.utime(every, (0, 0))
    (tmp_path / "tests" / "test_new.py").touch()
    now.write_text("narrow")
    monkeypatch.setattr(mutants, "share_fixtures", lambda root: now.write_text("wider"))
    monkeypatch.setattr(mutants, "own_tests", lambda root, known: now.write_text("narrow"))
    monkeypatch.setattr(mutants, "results", lambda root: {"a": 1, "b": 0, "c": 0})
    seen = []
    mutants.try_out(["a", "b"], tmp_path, [], lambda names: seen.append((names, now.read_text())))
    assert seen == [(["a"], "wide"), (["a", "b"], "narrow"), (["b"], "wider")] and now.read_text() == "wider"
    seen.clear()
    mutants.try_out(["a", "b"], tmp_path, [], lambda names: seen.append((names, now.read_text())))
    assert seen == [(["a", "b"], "narrow"), (["b"], "wider")]  # no test is newer than what is known


def test_scores_are_told_by_package(mutants, capsys):
    states = {
        "calirare.metrics.a.x_f": "killed",
        "calirare.metrics.a.x_g": "survived",
        "calirare.decisions.b.x_h": "timeout",
    }
    mutants.tell(states, ["metrics", "decisions", "calibration"], 40)
    assert capsys.readouterr().out.splitlines() == [
        "survived: calirare.metrics.a.x_g",
        "decisions: 1 of 1 noticed (100.0%): 1 timeout",
        "metrics: 1 of 2 noticed (50.0%): 1 killed, 1 survived",
        "all: 2 of 3 noticed (66.7%), sampled from 40: 1 killed, 1 survived, 1 timeout",
    ]
