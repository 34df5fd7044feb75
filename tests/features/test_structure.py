"""Structure agrees with networkx."""

import networkx as nx
import numpy as np
import pytest

from calirare.data.graph import RareGraph
from calirare.features import ends, structure, triangles
from calirare.features.structure import structure_columns


def as_graph(network):
    edge_index = np.array(list(network.edges()), dtype=int).reshape(-1, 2).T
    size = network.number_of_nodes()
    return RareGraph(x=np.zeros((size, 0)), edge_index=edge_index, y=np.zeros(size, dtype=int))


NETWORKS = {
    "random": nx.gnp_random_graph(80, 0.08, seed=0),
    "dense": nx.gnp_random_graph(30, 0.6, seed=1),
    "hubs": nx.barabasi_albert_graph(120, 3, seed=2),
    "communities": nx.relaxed_caveman_graph(6, 7, 0.2, seed=3),
    "star": nx.star_graph(20),
    "path": nx.path_graph(15),
    "in pieces": nx.disjoint_union(nx.complete_graph(5), nx.empty_graph(4)),
    "no edges": nx.empty_graph(3),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("at_once", "words"), [(1, 0), (2**30, 0), (7, 1), (2**30, 2)])
def test_structure_agrees_with_networkx(name, at_once, words, monkeypatch):
    if words and not triangles._WORDS:
        pytest.skip("NumPy before 2.0 does not count bits")
    monkeypatch.setattr(triangles, "_PATHS_AT_ONCE", at_once)
    monkeypatch.setattr(triangles, "_EDGES_AT_ONCE", at_once)
    monkeypatch.setattr(triangles, "_words_of_hubs", lambda degree, paths: words)
    monkeypatch.setattr(ends, "AT_ONCE", at_once)
    network = NETWORKS[name]
    network.remove_edges_from(nx.selfloop_edges(network))
    columns = structure_columns(as_graph(network))
    degree = dict(network.degree())
    component = {node: len(piece) for piece in nx.connected_components(network) for node in piece}
    expected = {
        "degree": degree,
        "log degree": {node: np.log1p(many) for node, many in degree.items()},
        "clustering": nx.clustering(network),
        "core number": nx.core_number(network),
        "size of component": component,
        "two-hop reach (neighbours' degrees added)": {
            node: sum(degree[other] for other in network[node]) for node in network
        },
    }
    assert list(columns) == list(expected)
    for column, wanted in expected.items():
        np.testing.assert_allclose(columns[column], [wanted[node] for node in range(len(network))], err_msg=column)


def test_too_many_paths_leave_clustering_out_with_a_word(monkeypatch, caplog):
    monkeypatch.setattr(triangles, "MOST_PATHS", 10)
    columns = structure_columns(as_graph(NETWORKS["dense"]))
    assert np.isnan(columns["clustering"]).all()
    assert "One column is left out: clustering, the share of pairs of neighbours that are joined." in caplog.text
    assert "and at most 10 are looked at. All other columns are made." in caplog.text


@pytest.mark.skipif(not triangles._WORDS, reason="NumPy before 2.0 does not count bits")
def test_hubs_are_compared_by_bits_only_where_that_is_cheaper():
    even, few_hubs = np.full(10_000, 90), np.r_[np.full(2_000, 700), np.full(10_000, 20)]
    assert triangles._words_of_hubs(even, 2e7) == 0 and triangles._words_of_hubs(few_hubs, 4e8) == 32
    assert triangles._words_of_hubs(np.full(2_000_000, 90), 1e12) == 0  # the bits of so many nodes take too much memory


def test_values_of_the_adjacency_are_not_read():
    """Scoring in parts holds a single number in their place."""
    graph = as_graph(NETWORKS["hubs"])
    adjacency = structure.neighbours(graph)
    adjacency.data = np.broadcast_to(np.float64("nan"), adjacency.data.shape)
    for name, column in structure.structure_of(adjacency).items():
        np.testing.assert_array_equal(column, structure_columns(graph)[name])


def test_no_nodes():
    graph = RareGraph(x=np.zeros((0, 1)), edge_index=np.zeros((2, 0), int), y=np.zeros(0, int))
    assert all(column.shape == (0,) for column in structure_columns(graph).values())
