"""Tiny seeded graphs: random edges, one isolated node, features dense or sparse, edges weighted or not."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.detectors import detectors

NETWORKS = ("gcn", "gat", "gin", "sage")


def small_graph(num_classes=2, *, num_nodes=30, num_features=7, sparse=True, weighted=False, seed=0):
    generator = np.random.default_rng([seed, num_classes, num_nodes])
    x = sp.random_array((num_nodes, num_features), density=0.4, rng=generator, format="csr")
    linked = generator.random((num_nodes, num_nodes)) < 4 / num_nodes
    linked[-1] = linked[:, -1] = False
    edge_index = np.array(np.nonzero(linked))
    y = np.concatenate([np.arange(num_classes), generator.integers(0, num_classes, num_nodes - num_classes)])
    return RareGraph(
        x=x if sparse else x.toarray(),
        edge_index=edge_index,
        y=y,
        edge_weight=generator.uniform(0.5, 2.0, edge_index.shape[1]) if weighted else None,
        class_names=tuple(f"class {c}" for c in range(num_classes)),
    )


def make_network(name, num_features, num_classes, **arguments):
    """The torch module of a network detector, its weights drawn from torch's random state."""
    return detectors()[name](**arguments).make(num_features, num_classes)


def exact_inputs(graph):
    """The graph in float64."""
    return GraphInputs(graph, dtype=torch.float64)


def random_weights(model, seed=1, scale=0.3):
    """The model in float64 with random parameters, biases too, in eval mode."""
    generator = torch.Generator().manual_seed(seed)
    model = model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model.eval()
