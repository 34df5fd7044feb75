"""How the attributes made a network's logit: exactly where it is linear, and own attributes apart from neighbours'."""

import numpy as np
import pytest
import torch
from graph_cases import NETWORKS, make_network, random_weights, small_graph
from torch import nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.base import DetectorInputs
from calirare.detectors.networks import contributions
from calirare.detectors.networks.contributions import network_contributions
from calirare.detectors.networks.module import ModuleNetwork


def _case(name, num_classes=2, *, sparse=True, bias=True):
    graph = small_graph(num_classes, sparse=sparse, weighted=True)
    inputs = DetectorInputs(graph)
    inputs.tensors = GraphInputs(graph, dtype=torch.float64)
    model = random_weights(make_network(name, 7, num_classes, hidden=5))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1 and not bias:
                parameter.zero_()
    return model, inputs


def _margin(model, inputs, node, rare):
    logits = model(inputs.tensors)[node].detach().numpy()
    return logits[rare] - np.log(np.exp(np.delete(logits, rare)).sum())


def _one(model, inputs, node):
    (found,) = network_contributions(model, inputs, np.array([node]), 1)
    return found


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_base_and_shares_are_the_margin(name, num_classes, sparse):
    model, inputs = _case(name, num_classes, sparse=sparse)
    for node in (0, 4, 29):  # the last one stands alone
        found = _one(model, inputs, node)
        assert found.logit == pytest.approx(_margin(model, inputs, node, 1), abs=1e-10)
        assert len(found.names) == len(found.groups) == len(found.shares) == 14
    assert not found.shares[7:].any(), "who has no neighbours is told nothing of them"


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", ["gcn", "gin", "sage"])
def test_without_biases_the_shares_of_a_relu_network_are_all_of_it(name, sparse):
    """A network of linear maps and relu is homogeneous: x · ∂m/∂x = m, so that nothing is left for the base."""
    model, inputs = _case(name, sparse=sparse, bias=False)
    for node in range(5):
        found = _one(model, inputs, node)
        assert found.shares.sum() == pytest.approx(_margin(model, inputs, node, 1), abs=1e-10)
        assert found.base == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("name", NETWORKS)
def test_shares_are_attributes_times_finite_differences(name):
    model, inputs = _case(name, sparse=False)
    x, step = inputs.tensors.x.clone(), 1e-6
    expected = np.zeros((2, 7))
    for part, nodes in enumerate((np.array([2]), np.delete(np.arange(30), 2))):
        for j in range(7):  # attributes times slopes, added up over nodes: the slope along their attributes
            moved = []
            for sign in (1, -1):
                fresh = GraphInputs(inputs.graph, dtype=torch.float64)
                fresh.x = x.clone()
                fresh.x[nodes, j] *= 1 + sign * step
                moved.append(model(fresh)[2].detach())
            change = (moved[0] - moved[1]) / (2 * step)
            expected[part, j] = float(change[1] - change[0])
    for sparse in (True, False):
        found = _one(*_case(name, sparse=sparse), 2)
        np.testing.assert_allclose(found.shares, expected.reshape(-1), atol=1e-6)


@pytest.mark.parametrize("most", [500, 2**21])
@pytest.mark.parametrize("name", NETWORKS)
def test_many_nodes_at_once_are_told_what_each_is_told_alone(name, most, monkeypatch):
    monkeypatch.setattr(contributions, "_MOST_AROUND", most)
    model, inputs = _case(name)
    nodes = np.array([4, 0, 29, 4, 7, 12])
    together = list(network_contributions(model, inputs, nodes, 1))
    for node, found in zip(nodes, together, strict=True):
        alone = _one(model, inputs, node)
        np.testing.assert_allclose(found.shares, alone.shares, atol=1e-12)
        assert found.base == pytest.approx(alone.base, abs=1e-12)


class _Own(nn.Module):
    """A user's module, linear in the attributes of the node alone."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 2)

    def forward(self, x, edge_index, edge_weight=None):
        return x @ self.linear.weight.T + self.linear.bias


@pytest.mark.parametrize("sparse", [True, False])
def test_a_users_own_module(sparse):
    graph = small_graph(2, sparse=sparse)
    inputs = DetectorInputs(graph)
    inputs.tensors = GraphInputs(graph, dtype=torch.float64)
    own = random_weights(_Own())
    found = _one(ModuleNetwork(own, 2), inputs, 3)
    weight, bias = own.linear.weight.detach().numpy(), own.linear.bias.detach().numpy()
    row = small_graph(2, sparse=False).x[3]
    np.testing.assert_allclose(found.shares, [*(row * (weight[1] - weight[0])), *np.zeros(7)], atol=1e-12)
    assert found.base == pytest.approx(bias[1] - bias[0])
