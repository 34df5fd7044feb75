"""What once gave a foreign error or garbage, kept so that it never does again. Odd tables: tests/data/tables/corpus."""

import json
from pathlib import Path

import numpy as np
import pytest

import calirare as cr
from calirare import metrics
from calirare.errors import InputError

GRAPHS = json.loads((Path(__file__).parent / "corpus" / "graphs.json").read_text())
GOOD = {"x": np.eye(3), "edge_index": np.array([[0, 1], [1, 2]]), "y": np.array([0, 1, -1])}


@pytest.mark.parametrize("case", GRAPHS, ids=lambda case: json.dumps(case["change"])[:60])
def test_graphs_that_are_refused(case):
    with pytest.raises(InputError) as refused:
        cr.RareGraph(**(GOOD | case["change"]))
    assert case["says"] in str(refused.value)


def test_splits_of_odd_types():
    assert cr.Split(train=np.array([], dtype=complex)).train.dtype == np.int64
    with pytest.raises(InputError, match="one-dimensional"):
        cr.Split(train=np.ones((2, 2), dtype=bool))  # was read as a mask over four nodes


def test_feature_names_in_a_list_are_those_in_a_tuple():
    graph = cr.RareGraph(**GOOD, feature_names=["a", "b", "c"])
    assert graph.feature_names == ("a", "b", "c")


def test_metrics_of_huge_classes_and_bins():
    assert metrics.macro_f1([2**62, 0], [2**62, 0]) == 1.0
    with pytest.raises(InputError, match="num_bins must be at most"):
        metrics.expected_calibration_error([0], [[1.0, 0.0]], 2**62)
    with pytest.raises(InputError, match="integer classes"):
        metrics.accuracy(np.array([1], dtype="m8[s]"), [1])
