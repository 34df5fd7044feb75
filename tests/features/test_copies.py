"""Copies share a group; nodes that are alike for want of attributes do not."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from edge_cases import typed_graph

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.features.copies import find_copies


def with_copies(graph, copied):
    """The graph with a twin of each node in `copied`: same attributes, same edges."""
    size = graph.num_nodes
    twin = {int(node): size + k for k, node in enumerate(copied)}
    own = np.isin(graph.edge_index[0], copied)
    source = np.array([twin[int(node)] for node in graph.edge_index[0, own]], dtype=int)
    edge_index = np.hstack([graph.edge_index, np.stack([source, graph.edge_index[1, own]])])
    rows = np.concatenate([np.arange(size), copied])
    return RareGraph(x=graph.x[rows], edge_index=edge_index, y=graph.y[rows])


def apart_graph(nodes=60, sparse=False, seed=0):
    """Even nodes join odd ones, so that no two even nodes are neighbours."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(nodes, 3))
    edge_index = np.stack([2 * generator.integers(0, nodes // 2, 50), 2 * generator.integers(0, nodes // 2, 50) + 1])
    return RareGraph(x=sp.csr_array(x) if sparse else x, edge_index=edge_index, y=np.zeros(nodes, int))


def partition(groups):
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in set(groups.tolist())}


@pytest.mark.parametrize("sparse", [False, True])
def test_planted_copies_are_found_and_nothing_else(sparse):
    graph = with_copies(apart_graph(sparse=sparse), np.array([2, 8, 30]))
    groups = find_copies(graph, np.arange(graph.num_nodes))
    pairs = {group for group in partition(groups) if len(group) > 1}
    assert pairs == {frozenset({2, 60}), frozenset({8, 61}), frozenset({30, 62})}


def test_groups_agree_with_comparing_every_pair():
    generator = np.random.default_rng(3)
    x = generator.integers(0, 6, (40, 2)).astype(float)
    graph = RareGraph(x=x, edge_index=generator.integers(0, 40, (2, 12)), y=np.zeros(40, int))
    nodes = generator.permutation(40)[:30]
    groups = find_copies(graph, nodes)
    matrix = graph.adjacency().toarray()
    around = [{tuple(row) for row in x[matrix[node] > 0]} for node in range(40)]  # no attributes stand nine times
    for i, a in enumerate(nodes):
        for j, b in enumerate(nodes):
            alike = np.array_equal(x[a], x[b]) and around[a] == around[b]
            assert (groups[i] == groups[j]) == alike


@pytest.mark.parametrize("sparse", [False, True])
def test_copies_of_nodes_that_are_joined_are_found(sparse):
    graph = apart_graph(sparse=sparse)
    copied = np.unique(graph.edge_index[:, :4])
    grown = with_copies(graph, copied)
    assert (grown.adjacency()[[copied[0]]] != grown.adjacency()[[60]]).nnz  # a twin is joined to the other end alone
    pairs = {group for group in partition(find_copies(grown, np.arange(grown.num_nodes))) if len(group) > 1}
    assert pairs == {frozenset({int(node), 60 + k}) for k, node in enumerate(copied)}


def test_neighbours_with_common_attributes_are_not_taken_for_one():
    """Two accounts with the same attributes, each joined to a stranger of a common kind."""
    x = np.concatenate([[[0.5, 0.5]] * 2, np.ones((20, 2)), np.random.default_rng(0).normal(size=(20, 2))])
    graph = RareGraph(x=x, edge_index=np.array([[0, 1], [2, 3]]), y=np.zeros(42, int))
    nodes = np.r_[0, 1, 22:42]
    assert find_copies(graph, nodes).tolist() == list(range(22))


def test_few_discrete_attributes_make_no_copies():
    generator = np.random.default_rng(0)
    for width in (0, 1):
        x = generator.integers(0, 2, (200, width)).astype(float)
        graph = RareGraph(x=x, edge_index=np.zeros((2, 0), int), y=np.zeros(200, int))
        assert find_copies(graph, np.arange(200)).tolist() == list(range(200))


def test_a_common_pattern_is_no_copy_but_the_others_are():
    x = np.random.default_rng(0).normal(size=(100, 2))
    x[:30] = 0.0
    x[99] = x[98]
    graph = RareGraph(x=x, edge_index=np.zeros((2, 0), int), y=np.zeros(100, int))
    groups = find_copies(graph, np.arange(100))
    assert np.unique(groups).size == 99 and groups[98] == groups[99]


def test_what_the_edges_say_counts_and_their_order_does_not():
    source, target = np.array([0, 0, 1, 1, 2, 2]), np.array([3, 4, 4, 3, 3, 4])
    value = np.array([5.0, np.nan, np.nan, 5.0, 5.0, 6.0])
    graph = RareGraph(
        x=np.zeros((5, 1)),
        edge_index=np.stack([source, target]),
        y=np.zeros(5, int),
        edges=EdgeTable(source, target, (EdgeColumn("value", "number", value),)),
    )
    assert find_copies(graph, np.array([0, 1, 2])).tolist() == [0, 0, 1]
    turned = EdgeTable(
        np.where(source == 1, target, source), np.where(source == 1, source, target), graph.edges.columns
    )
    assert find_copies(replace(graph, edges=turned), np.array([0, 1, 2])).tolist() == [0, 1, 2]
    undirected = replace(graph, edges=replace(turned, directed=False))
    assert find_copies(undirected, np.array([0, 1, 2])).tolist() == [0, 0, 1]


def test_no_nodes_and_typed_tables():
    graph = typed_graph()
    assert find_copies(graph, np.array([], int)).tolist() == []
    assert find_copies(graph, np.arange(20)).tolist() == list(range(20))
