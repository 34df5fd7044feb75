"""The sample of mutants is honest: drawn without looking, the same for the same seed."""

from __future__ import annotations

import importlib.util
import json
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
