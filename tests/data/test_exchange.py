"""NetworkX and frames, there and back."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import calirare as cr
from calirare.errors import InputError


@pytest.fixture
def network():
    made = nx.MultiDiGraph()
    for k, (age, town, fraud) in enumerate([(20.0, "Oslo", "yes"), (30.0, "Rome", "no"), (50.0, "Oslo", None)] * 4):
        made.add_node(f"a{k}", age=age, town=town, **({} if fraud is None else {"fraud": fraud}))
    for k in range(11):
        made.add_edge(f"a{k}", f"a{k + 1}", amount=float(k))
    made.add_edge("a0", "a1", amount=99.0)
    return made


def test_a_network_is_read_as_its_tables_are(network):
    graph = cr.from_networkx(network, label="fraud", rare="yes")
    nodes = {"node": list(network), "age": [20.0, 30.0, 50.0] * 4, "town": ["Oslo", "Rome", "Oslo"] * 4,
             "fraud": ["yes", "no", None] * 4}  # fmt: skip
    edges = {"source": [a for a, _ in network.edges()], "target": [b for _, b in network.edges()],
             "amount": [d["amount"] for *_, d in network.edges(data=True)]}  # fmt: skip
    same = cr.read_tables(nodes, edges, label="fraud", rare="yes", id="node")
    np.testing.assert_array_equal(graph.x, same.x)
    np.testing.assert_array_equal(graph.edges.columns[0].values, same.edges.columns[0].values)
    np.testing.assert_array_equal(graph.y, same.y)
    assert not cr.from_networkx(network.to_undirected(), label="fraud", rare="yes").schema["edges"]["directed"]


def test_there_and_back_keeps_edges_labels_and_features(network):
    graph = cr.from_networkx(network, label="fraud", rare="yes")
    back = graph.to_networkx()
    assert sorted((a, b, d["amount"]) for a, b, d in back.edges(data=True)) == sorted(
        (a, b, d["amount"]) for a, b, d in network.edges(data=True)
    )
    assert back.nodes["a0"]["label"] == "yes" and "label" not in back.nodes["a2"]
    plain = cr.RareGraph(x=np.eye(3), edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, -1]))
    assert sorted(plain.to_networkx().edges()) == [(0, 1), (1, 2)] and plain.to_networkx().nodes[1]["feature_1"] == 1.0
    with pytest.raises(InputError, match="NetworkX graph"):
        cr.from_networkx({"a": 1}, label="fraud", rare="yes")
    nx.set_node_attributes(network, 1, "node")
    with pytest.raises(InputError, match="called 'node'"):
        cr.from_networkx(network, label="fraud", rare="yes")


def test_frames_of_both_libraries_read_as_the_same_graph():
    graph = cr.make_transactions(60, rare_share=0.2, labelled_share=0.5, seed=0)
    for nodes, edges in (graph.to_polars(), graph.to_pandas()):
        again = cr.read_tables(nodes, edges, label="label", rare="fraud")
        np.testing.assert_array_equal(again.y, graph.y)
        np.testing.assert_array_equal(again.edge_index, graph.edge_index)
        np.testing.assert_allclose(
            again.x[:, 0], (graph.x[:, 0] - graph.x[:, 0].mean()) / graph.x[:, 0].std(), atol=1e-5
        )


def test_a_graph_without_attributes_is_a_network_of_names():
    graph = cr.RareGraph(x=np.zeros((3, 0)), edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, -1]))
    network = graph.to_networkx()
    assert dict(network.nodes(data=True)) == {0: {"label": "normal"}, 1: {"label": "rare"}, 2: {}}
    assert network.number_of_edges() == 2
