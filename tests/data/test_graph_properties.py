"""Whatever arrays come: a graph that holds what they say, or one of our errors that names the argument."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import anything, few_or_many, run_property

import calirare as cr
from calirare.errors import CalirareError, InputError

few_or_thousands = few_or_many(12, 500)
OPTIONS = (
    "x", "edge_index", "y", "rare_class", "edge_weight", "class_names", "node_ids", "feature_names", "original_y",
    "public_split", "true_probability",
)  # fmt: skip


@st.composite
def graphs(draw):
    """Arguments of a graph that is well formed: edgeless, stars, islands, repeats, constant and huge features."""
    size, width = draw(st.integers(0, 8)), draw(st.integers(0, 3))
    numbers = st.one_of(st.floats(-5, 5), st.just(0.0), st.floats(width=32, allow_nan=False, allow_infinity=False))
    x = draw(hnp.arrays("f8", (size, width), elements=numbers, fill=st.just(1.0)))
    ends = st.integers(0, max(size - 1, 0))
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=12 if size else 0))
    if size and draw(st.booleans()):
        pairs += [(0, node) for node in range(size)]
    edges = np.array(pairs, dtype=draw(st.sampled_from(["i8", "i4", "u2", "f8"]))).reshape(-1, 2).T
    weights = st.floats(0, 1e6, width=32)
    return {
        "x": sp.csr_array(x) if draw(st.booleans()) else x,
        "edge_index": edges,
        "y": draw(hnp.arrays("i8", size, elements=st.integers(-1, 1))),
        "edge_weight": draw(st.none() | hnp.arrays("f8", len(pairs), elements=weights)),
    }


@few_or_thousands
def test_well_formed_arguments_give_the_graph_that_a_slow_loop_gives(examples):
    run_property(examples, holds_what_was_given, arguments=graphs())


def holds_what_was_given(arguments):
    graph = cr.RareGraph(**arguments)
    x = arguments["x"].toarray() if sp.issparse(arguments["x"]) else arguments["x"]
    found = graph.x.toarray() if sp.issparse(graph.x) else graph.x
    np.testing.assert_array_equal(found, x.astype(np.float32))
    weights = arguments["edge_weight"]
    one_way = {}
    for k, (source, target) in enumerate(arguments["edge_index"].T.astype(int).tolist()):
        if source != target:
            value = np.float64(np.float32(1.0 if weights is None else weights[k]))
            one_way[source, target] = one_way.get((source, target), 0.0) + value
    said_twice = all(np.isclose(one_way.get((b, a), -1.0), w, rtol=1e-6, atol=0) for (a, b), w in one_way.items())
    both = {
        pair: one_way.get(pair, 0.0) + (0.0 if said_twice else one_way.get(pair[::-1], 0.0))
        for a, b in one_way
        for pair in ((a, b), (b, a))
    }
    expected = {pair: value for pair, value in both.items() if value or weights is None}
    pairs = list(map(tuple, graph.edge_index.T.tolist()))
    assert pairs == sorted(expected)
    if weights is not None:
        np.testing.assert_allclose(graph.edge_weight, [expected[pair] for pair in pairs], rtol=1e-5)
    np.testing.assert_array_equal(graph.y, arguments["y"])


@few_or_thousands
def test_wild_arguments_give_a_graph_or_our_error(examples):
    run_property(
        examples, a_graph_or_our_error, arguments=graphs(), changes=st.dictionaries(st.sampled_from(OPTIONS), anything)
    )


def a_graph_or_our_error(arguments, changes):
    try:
        graph = cr.RareGraph(**(arguments | changes))
    except CalirareError as error:
        assert str(error)
        return
    values = graph.x.data if sp.issparse(graph.x) else graph.x
    assert values.dtype == np.float32 and np.isfinite(values).all()
    assert graph.edge_index.dtype == np.int64 and graph.edge_index.shape[0] == 2
    assert not graph.edge_index.size or 0 <= graph.edge_index.min() <= graph.edge_index.max() < graph.num_nodes
    assert graph.edge_weight is None or np.isfinite(graph.edge_weight).all()
    assert set(np.unique(graph.y)) <= set(range(-1, graph.num_classes))
    assert 0 <= graph.rare_class < graph.num_classes == len(set(graph.class_names))
    assert len(graph.ids) == graph.num_nodes and graph.adjacency().shape == (graph.num_nodes, graph.num_nodes)
    graph.against_rest()


@few_or_thousands
def test_wild_splits_give_a_split_or_our_error(examples):
    def a_split_or_our_error(train, val, test):
        try:
            split = cr.Split(train=train, val=val, test=test)
        except CalirareError as error:
            assert "Split" in str(error)
            return
        parts = np.concatenate([split.train, split.val, split.test])
        assert parts.dtype == np.int64 and (parts >= 0).all() and np.unique(parts).size == parts.size

    run_property(examples, a_split_or_our_error, train=anything, val=anything, test=anything)


def test_the_users_matrix_is_left_alone():
    x = sp.csr_array((np.ones(3, dtype=np.float32), np.array([1, 0, 0]), np.array([0, 3])), shape=(1, 2))
    before = x.data.copy(), x.indices.copy()
    graph = cr.RareGraph(x=x, edge_index=np.empty((2, 0)), y=np.array([0]))
    np.testing.assert_array_equal(graph.x.toarray(), [[2, 1]])
    np.testing.assert_array_equal(x.data, before[0])
    np.testing.assert_array_equal(x.indices, before[1])


def test_indices_beyond_a_sparse_matrix_are_not_followed():
    x = sp.csr_array(np.eye(2))
    x.indices[0] = 10**6
    with pytest.raises(InputError, match="valid sparse matrix"):
        cr.RareGraph(x=x, edge_index=np.empty((2, 0)), y=np.array([0, 1]))
