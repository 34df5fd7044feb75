"""Layer by layer, part by part: the logits of the whole graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graph_cases import NETWORKS, make_network

import calirare as cr
from calirare.data.inputs import GraphInputs
from calirare.data.parts.partitions import Part
from calirare.detectors.networks.backbones.layerwise import layers_of, run_layer
from calirare.detectors.networks.influence.model import predict_logits
from calirare.errors import InputError


def cut(graph, cuts):
    """The parts of a graph between the cuts, by slicing its matrix."""
    adjacency = graph.adjacency()
    degree = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        rows = adjacency[start:stop]
        found = np.unique(rows.indices)
        halo = found[(found < start) | (found >= stop)]
        nodes = np.concatenate([np.arange(start, stop), halo])
        yield Part(start, stop, halo, rows[:, nodes].tocsr(), degree[nodes], graph.edge_weight is not None)


def run_layers(graph, model):
    """Logits `(N, C)`, with nothing but halos of one step."""
    layers, parts, values = layers_of(model), list(cut(graph, [0, 5, 6, 20, graph.num_nodes])), graph.x
    for layer in range(2):
        rows = [values[np.concatenate([np.arange(part.start, part.stop), part.halo])] for part in parts]
        values = np.vstack([run_layer(layers, layer, *one, "cpu") for one in zip(parts, rows, strict=True)])
        assert layer or values.shape == (graph.num_nodes, layers.passes)
    return torch.from_numpy(values)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_give_the_logits_of_the_whole(network, sparse, weighted):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 6)).astype(np.float32) * (rng.random((40, 6)) < 0.5)
    edges = np.vstack([rng.integers(0, 38, 70), rng.integers(0, 38, 70)])  # two nodes stay alone
    graph = cr.RareGraph(
        x=sp.csr_array(x) if sparse else x,
        edge_index=edges,
        y=rng.integers(0, 2, 40),
        rare_class=1,
        edge_weight=rng.random(70) + 0.1 if weighted else None,
    )
    torch.manual_seed(0)
    model = make_network(network, 6, 2, hidden=5, dropout=0.5)
    logits = run_layers(graph, model)
    torch.testing.assert_close(logits, predict_logits(model, GraphInputs(graph)), rtol=1e-5, atol=1e-6)


def test_a_module_of_unknown_depth_is_refused():
    with pytest.raises(InputError, match="'gcn', 'sage', 'gin' and 'gat'"):
        layers_of(torch.nn.Linear(3, 2))
