"""Layer by layer, part by part: the logits and their derivatives of the whole graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from calirare.detectors.networks.backbone import BACKBONES, make_backbone

import calirare as cr
from calirare.data.inputs import GraphInputs
from calirare.data.parts.partitions import Part
from calirare.detectors.networks.layerwise import PartInputs, layers_of
from calirare.errors import InputError
from calirare.influence.jacobian import contrast_basis, make_jacobian
from calirare.influence.model import predict_logits


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


def run_layers(graph, model, directions):
    """Logits `(N, C)` and their movements `(N, b, C)`, with nothing but halos of one step."""
    layers = layers_of(model)
    parts = list(cut(graph, [0, 5, 6, 20, graph.num_nodes]))
    inputs = [PartInputs(part) for part in parts]
    passed, moved = [], []
    for one in inputs:
        nodes = np.concatenate([np.arange(one.part.start, one.part.stop), one.part.halo])
        own, near = one.tensor(graph.x[nodes][: one.num_nodes]), layers.gather(one, one.tensor(graph.x[nodes]))
        with torch.no_grad():
            passed.append(layers(0, own, near, one))
        moved.append(layers.push(0, own, near, one, directions))
    passed, moved = torch.cat(passed), torch.cat(moved)
    assert passed.shape == (graph.num_nodes, layers.passes)
    logits, changes = [], []
    for one in inputs:
        nodes = np.concatenate([np.arange(one.part.start, one.part.stop), one.part.halo])
        own, near = passed[nodes][: one.num_nodes], layers.gather(one, passed[nodes])
        with torch.no_grad():
            logits.append(layers(1, own, near, one))
        flat = moved[nodes].reshape(len(nodes), -1)
        shape = (-1, len(directions), layers.passes)
        tangents = flat[: one.num_nodes].reshape(shape), layers.gather(one, flat).reshape(shape)
        changes.append(layers.push(1, own, near, one, directions, tangents))
    return torch.cat(logits), torch.cat(changes)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_give_the_logits_and_the_jacobian_of_the_whole(backbone, sparse, weighted):
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
    model = make_backbone(backbone, 6, 2, hidden=5, dropout=0.5)
    inputs = GraphInputs(graph)
    jacobian = make_jacobian(model, inputs)
    directions = torch.randn(3, jacobian.num_parameters)
    logits, changes = run_layers(graph, model, directions)
    torch.testing.assert_close(logits, predict_logits(model, inputs), rtol=1e-5, atol=1e-6)
    basis = contrast_basis(2).float()
    torch.testing.assert_close(
        torch.einsum("vbc,cp->vpb", changes, basis), jacobian.push(directions).float(), rtol=1e-4, atol=1e-5
    )


def test_a_module_of_unknown_depth_is_refused():
    with pytest.raises(InputError, match="'gcn', 'sage', 'gin' and 'gat'"):
        layers_of(torch.nn.Linear(3, 2))
