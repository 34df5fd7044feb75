"""Graphs and methods from outside."""

from __future__ import annotations

import pytest

from calirare.benchmark import DatasetSource, MethodSource, run_grid
from calirare.benchmark.grid import known_methods
from calirare.benchmark.planning import choose_entries, make_grid
from calirare.errors import InputError
from calirare.estimator.methods import methods

MODULE = '''
import calirare as cr
from calirare.estimator.methods import Method
from calirare.detectors.networks.objectives import CrossEntropy

def graph():
    return cr.make_transactions(num_nodes=300, rare_share=0.2, seed=1)

def not_a_graph():
    return 3

class Gentle(CrossEntropy):
    """Cross-entropy, a little less of it."""
    def loss(self, task, epoch):
        return 0.5 * super().loss(task, epoch)

def method():
    return Method("from_function", "made by a function")

INSTANCE = Method("instance", "as it is")
TAKEN = Method("temperature", "a name that is taken")
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MODULE)
    return path


@pytest.mark.parametrize(
    ("name", "expected"), [("Gentle", "gentle"), ("method", "from_function"), ("INSTANCE", "instance")]
)
def test_every_kind_of_method(module, name, expected):
    method = MethodSource.parse(f"{module}:{name}").load()
    assert method.name == expected
    with known_methods([MethodSource.parse(f"{module}:{name}")]):
        assert expected in methods()
    assert expected not in methods()


def test_methods_that_are_none(module):
    for name, says in (("not_a_graph", "must be a Calibrator class"), ("nothing", "has no 'nothing'")):
        with pytest.raises(InputError, match=says):
            MethodSource.parse(f"{module}:{name}").load()
    with pytest.raises(InputError, match="taken"), known_methods([MethodSource.parse(f"{module}:TAKEN")]):
        pass
    with pytest.raises(InputError, match="module:name"):
        MethodSource.parse("mine")


def test_a_graph_from_a_function(module):
    source = DatasetSource.parse(f"{module}:graph")
    assert source.name == "graph" and source.load().num_nodes == 300
    with pytest.raises(InputError, match="RareGraph"):
        DatasetSource.parse(f"{module}:not_a_graph").load()


def test_the_fingerprint_follows_the_file(module):
    before = MethodSource.parse(f"{module}:Gentle").fingerprint
    module.write_text(MODULE.replace("0.5 *", "0.6 *"))
    assert MethodSource.parse(f"{module}:Gentle").fingerprint != before


@pytest.mark.slow
def test_an_objective_from_outside_runs_in_other_processes(module, tiny, tmp_path):
    own = [f"{module}:Gentle"]
    entries = choose_entries("calibration", "uncalibrated", own)
    grid = make_grid(
        datasets=[DatasetSource.parse(str(tiny))], entries=entries, own_methods=own, labels=(10,), seeds=1, epochs=5
    )
    results = run_grid(grid, tmp_path / "out", jobs=2)
    assert not results.failures
    assert [row["entry"] for row in results.rows] == ["uncalibrated", "gentle"]
