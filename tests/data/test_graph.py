"""RareGraph and Split: what they accept, what they normalise, what they refuse."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from calirare.data.graph import RareGraph
from calirare.data.merging import merge_edges
from calirare.data.split import Split
from calirare.errors import InputError, LabelError

GOOD = {"x": np.eye(3), "edge_index": np.array([[0, 1], [1, 2]]), "y": np.array([0, 1, -1])}


@given(data=st.data(), size=st.integers(1, 6))
def test_edges_become_symmetric_and_unique(data, size):
    ends = st.integers(0, size - 1)
    pairs = data.draw(st.lists(st.tuples(ends, ends), max_size=15))
    edge_index = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    merged, weight = merge_edges(edge_index, None, size)
    expected = sorted({(s, t) for a, b in pairs for s, t in ((a, b), (b, a)) if s != t})
    assert list(map(tuple, merged.T.tolist())) == expected and weight is None


def test_times_of_nodes_are_seconds_whatever_unit_they_come_in():
    days = np.array(["2024-01-01", "NaT", "2024-01-02"], dtype="datetime64[D]")
    for when in (days, days.astype("datetime64[ns]")):
        np.testing.assert_array_equal(RareGraph(**GOOD, node_time=when).node_time, [1704067200, np.nan, 1704153600])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"x": np.ma.masked_greater(np.eye(3), 0.5)}, r"x must not have masked values; fill them in: x.filled\(…\)"),
        ({"node_time": ["a", "b", "c"]}, "node_time must hold numbers or datetimes"),
        ({"edges": "edges.csv"}, "edges must be of type EdgeTable, or None; got str"),
        ({"schema": "schema.json"}, "schema must be of type Mapping, or None; got str"),
    ],
)
def test_what_would_be_misread_is_refused(given, says):
    with pytest.raises(InputError, match=says):
        RareGraph(**GOOD | given)


def test_weights_of_repeats_add_up_and_both_directions_are_one_edge():
    edges = np.array([[0, 0, 1, 2, 2], [1, 1, 0, 1, 2]])
    merged, weight = merge_edges(edges, np.array([1.0, 2.0, 3.0, 5.0, 9.0]), 3)
    assert merged.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert weight.tolist() == [6.0, 6.0, 5.0, 5.0]
    both = np.hstack([edges[:, :1], edges[:, 3:4], edges[::-1, :1], edges[::-1, 3:4]])
    assert merge_edges(both, np.array([4.0, 5.0, 4.0, 5.0]), 3)[1].tolist() == [4.0, 4.0, 5.0, 5.0]
    assert merge_edges(both, np.array([4.0, 5.0, 4.0, 5.0]), 3, rows_count=True)[1].tolist() == [8.0, 8.0, 10.0, 10.0]
    assert merge_edges(merged, weight, 3)[1].tolist() == weight.tolist()


def test_properties_of_a_small_graph():
    graph = RareGraph(**GOOD)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (3, 2, 3, 2)
    assert graph.known.tolist() == [0, 1] and graph.rare_share == 0.5
    assert graph.ids.tolist() == [0, 1, 2]
    assert graph.adjacency().toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    relabelled = graph.with_labels(np.array([1, 1, 1]))
    assert relabelled.rare_share == 1.0 and graph.rare_share == 0.5
    assert np.isnan(graph.with_labels(np.full(3, -1)).rare_share)


def test_sparse_features_stay_sparse_and_float32():
    graph = RareGraph(**(GOOD | {"x": sp.coo_matrix(np.eye(3))}))
    assert isinstance(graph.x, sp.csr_array) and graph.x.dtype == np.float32


def test_two_classes_against_the_rest_keep_their_names():
    graph = RareGraph(**GOOD, class_names=("ok", "bad"), rare_class=0).against_rest()
    assert graph.class_names == ("bad", "ok") and graph.y.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": np.ones(3)}, InputError, "two dimensions"),
        ({"x": np.full((3, 1), np.nan)}, InputError, "3 values are NaN or infinite"),
        ({"x": sp.csr_array(np.array([[np.inf], [0], [0]]))}, InputError, "1 values are NaN"),
        ({"y": np.array([0, 1])}, InputError, "one integer per node"),
        ({"y": np.array([0.0, 1.0, 1.0])}, InputError, "one integer per node"),
        ({"y": np.array([0, 1, 5])}, InputError, "y must lie in -1…1"),
        ({"y": np.array([0, 1, -2])}, InputError, "y must lie in -1…1"),
        ({"class_names": ("one",)}, LabelError, "at least two classes"),
        ({"rare_class": 2}, InputError, "rare_class must be one of 0…1; got 2"),
        ({"node_ids": np.arange(2)}, InputError, "node_ids must name all 3"),
        ({"feature_names": ("a",)}, InputError, "feature_names must name all 3"),
        ({"edge_index": np.array([0, 1])}, InputError, r"shape \(2, E\)"),
        ({"edge_index": np.array([[0], [3]])}, InputError, "nodes 0…2"),
        ({"edge_index": np.array([[-1], [0]])}, InputError, "nodes 0…2"),
        ({"edge_weight": np.ones(3)}, InputError, "one weight per edge"),
        ({"edge_weight": np.array([1.0, -1.0])}, InputError, "not negative"),
        ({"edge_weight": np.array([1.0, np.nan])}, InputError, "finite"),
        ({"original_y": np.arange(2)}, InputError, "original_y must hold one value per node"),
        ({"true_probability": np.array([0.1, 0.2, 1.2])}, InputError, "between 0 and 1"),
        ({"public_split": Split(train=np.array([7]))}, InputError, "public_split must name nodes 0…2; got 7"),
    ],
)
def test_what_breaks_a_rule_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        RareGraph(**(GOOD | change))


def test_split_takes_masks_and_refuses_overlap():
    split = Split(train=np.array([True, False, False]), val=[1], test=np.array([2], dtype=np.int32))
    assert split.train.tolist() == [0] and split.val.dtype == np.int64
    assert split.labelled.tolist() == [0, 1]
    with pytest.raises(InputError, match=r"node \[1\] appears more than once"):
        Split(train=np.array([0, 1]), val=np.array([1]))
    with pytest.raises(InputError, match="one-dimensional"):
        Split(train=np.array([0.5]))
    with pytest.raises(InputError, match="non-negative"):
        Split(train=np.array([-1]))


@pytest.mark.slow
def test_the_data_layer_imports_no_optional_library():
    code = "import sys, calirare.data; print([m for m in ('polars', 'pooch') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_what_is_printed_fits_on_a_line():
    graph = RareGraph(
        x=np.ones((4, 2)),
        edge_index=[[0, 1], [1, 2]],
        y=[0, 1, 1, -1],
        class_names=("ok", "fraud"),
        name="payments",
    )
    assert repr(graph) == (
        "RareGraph(payments: 4 nodes, 2 edges, 2 features; 3 labels, 2 of them 'fraud', the rare class)"
    )
    assert repr(Split(train=[0, 1], val=[2])) == "Split(2 train, 1 val, 0 test)"
