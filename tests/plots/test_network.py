import numpy as np
import pytest

from calirare.data.graph import RareGraph
from calirare.errors import InputError
from calirare.plots import network
from calirare.plots.layout import spring_layout


def test_frame_has_every_node_with_its_kind(small_graph):
    table = network.frame(small_graph)
    assert table["node"].tolist() == list(range(60))
    names = {1: "rare", 0: "normal", -1: "unknown"}
    assert table["kind"].tolist() == [names[label] for label in small_graph.y]
    for axis in ("x", "y"):
        assert table[axis].min() == 0 and table[axis].max() == pytest.approx(1)


def test_a_large_graph_is_sampled_with_its_neighbourhoods():
    ring = np.array([np.arange(500), (np.arange(500) + 1) % 500])
    graph = RareGraph(x=np.ones((500, 1)), edge_index=ring, y=np.zeros(500, dtype=int))
    nodes = network.sample_nodes(graph, 41, seed=0)
    assert nodes.size == 41 and np.unique(nodes).size == 41
    # 41 nodes of a ring taken breadth first are one arc: 40 edges, in both directions.
    assert network.drawn_edges(graph, nodes).shape == (2, 80)
    assert not np.array_equal(nodes, network.sample_nodes(graph, 41, seed=1))


def test_isolated_nodes_do_not_stop_the_sample():
    graph = RareGraph(x=np.ones((20, 1)), edge_index=np.empty((2, 0), dtype=int), y=np.zeros(20, dtype=int))
    assert network.sample_nodes(graph, 7, seed=0).size == 7
    assert np.isfinite(network.frame(graph)["x"]).all()


def test_edges_are_those_among_the_nodes(small_graph):
    nodes = np.arange(0, 60, 2)
    expected = {
        (source // 2, target // 2)
        for source, target in small_graph.edge_index.T.tolist()
        if source % 2 == 0 and target % 2 == 0
    }
    assert {tuple(edge) for edge in network.drawn_edges(small_graph, nodes).T.tolist()} == expected


def test_the_picture_is_the_frame(small_graph):
    table = network.frame(small_graph)
    (ax,) = network.plot(small_graph).axes
    edges, *points = ax.collections
    assert len(edges.get_segments()) == small_graph.num_edges
    for collection, kind in zip(points, ("unknown", "normal", "rare"), strict=True):
        picked = table["kind"] == kind
        np.testing.assert_allclose(collection.get_offsets(), np.column_stack([table["x"], table["y"]])[picked])
        assert collection.get_label() == f"{kind} ({picked.sum()})"


def test_layout_puts_neighbours_together_and_repeats_itself():
    cliques = [(a + 20 * k, b + 20 * k) for k in range(3) for a in range(20) for b in range(a)]
    edges = np.array([*cliques, (0, 20), (20, 40)]).T
    position = spring_layout(60, edges, seed=4)
    np.testing.assert_array_equal(position, spring_layout(60, edges, seed=4))
    distance = np.linalg.norm(position[:, None] - position[None], axis=2)
    inside = np.equal.outer(np.arange(60) // 20, np.arange(60) // 20)
    assert distance[inside].mean() < 0.5 * distance[~inside].mean()


def test_max_nodes_is_checked(small_graph):
    with pytest.raises(InputError, match="max_nodes must be a whole number, 1 or more; got 0"):
        network.frame(small_graph, max_nodes=0)
