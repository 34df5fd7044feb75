"""Networks against PyG's convolutions with the same weights, and against themselves on other forms of the input."""

import numpy as np
import pytest
import torch
from graph_cases import NETWORKS, exact_inputs, make_network, random_weights, small_graph
from torch import nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from calirare.detectors.networks.backbones.gat import GATBackbone
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.backbones.gin import GINBackbone
from calirare.detectors.networks.backbones.sage import SAGEBackbone
from calirare.detectors.networks.influence.model import evaluating, predict_logits
from calirare.detectors.networks.members import Module
from calirare.detectors.networks.module import ModuleNetwork
from calirare.detectors.registry import make_detector
from calirare.errors import InputError


def _copy(target, source):
    with torch.no_grad():
        target.copy_(source)


def _pyg_gcn(model, x, edges, edge_weight):
    first, second = GCNConv(7, 5).double(), GCNConv(5, 3).double()
    _copy(first.lin.weight, model.input.weight)
    _copy(first.bias, model.input_bias)
    _copy(second.lin.weight, model.output.weight)
    _copy(second.bias, model.output.bias)
    return second(torch.relu(first(x, edges, edge_weight)), edges, edge_weight)


def _pyg_gin(model, x, edges):
    first = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 5)).double()
    second = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 3)).double()
    layers = GINConv(first), GINConv(second)  # making them draws the weights anew
    _copy(first[0].weight, model.input.weight)
    _copy(first[0].bias, model.input_bias)
    for mine, theirs in ((model.first, first[2]), (model.second[0], second[0]), (model.second[2], second[2])):
        _copy(theirs.weight, mine.weight)
        _copy(theirs.bias, mine.bias)
    return layers[1](torch.relu(layers[0](x, edges)), edges)


def _pyg_sage(model, x, edges):
    layers = []
    for mine_self, mine_neighbours, sizes in (
        (model.input_self, model.input_neighbours, (7, 5)),
        (model.output_self, model.output_neighbours, (5, 3)),
    ):
        layer = SAGEConv(*sizes).double()
        _copy(layer.lin_r.weight, mine_self.weight)
        _copy(layer.lin_l.weight, mine_neighbours.weight)
        _copy(layer.lin_l.bias, mine_self.bias)
        layers.append(layer)
    return layers[1](torch.relu(layers[0](x, edges)), edges)


def _pyg_gat(model, x, edges):
    first, second = GATConv(7, 5, heads=4).double(), GATConv(20, 3).double()
    _copy(first.lin.weight, model.input.weight)
    for name in ("att_src", "att_dst", "bias"):
        _copy(getattr(first, name), getattr(model.first, name))
    second.load_state_dict(model.second.state_dict())
    return second(torch.nn.functional.elu(first(x, edges)), edges)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    ("network", "reference"),
    [(GINBackbone, _pyg_gin), (SAGEBackbone, _pyg_sage), (GATBackbone, _pyg_gat)],
    ids=["gin", "sage", "gat"],
)
def test_equals_pyg_with_the_same_weights(network, reference, sparse):
    graph = small_graph(3, sparse=sparse)
    model, inputs = random_weights(network(7, 3, hidden=5)), exact_inputs(graph)
    x = torch.from_numpy(small_graph(3, sparse=False).x).double()
    with torch.no_grad():
        torch.testing.assert_close(model(inputs), reference(model, x, inputs.edge_index), atol=1e-10, rtol=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [True, False])
def test_gcn_equals_pyg_with_the_same_weights_and_edge_weights(sparse, weighted):
    graph = small_graph(3, sparse=sparse, weighted=weighted)
    model, inputs = random_weights(GCNBackbone(7, 3, hidden=5)), exact_inputs(graph)
    x = torch.from_numpy(small_graph(3, sparse=False).x).double()
    with torch.no_grad():
        expected = _pyg_gcn(model, x, inputs.edge_index, inputs.edge_weight)
        torch.testing.assert_close(model(inputs), expected, atol=1e-10, rtol=0)


def test_edge_weights_enter_sums_and_means():
    graph = small_graph(2, weighted=True)
    inputs = exact_inputs(graph)
    dense = graph.adjacency().toarray().astype(np.float64)
    degree = dense.sum(axis=1)
    assert degree[-1] == 0, "the case should hold an isolated node"
    mean = np.divide(dense, degree[:, None], out=np.zeros_like(dense), where=degree[:, None] > 0)
    looped = dense + np.eye(len(dense))
    scale = 1 / np.sqrt(looped.sum(axis=1))
    np.testing.assert_allclose(inputs.neighbour_mean.csr.toarray(), mean, atol=1e-14)
    np.testing.assert_allclose(inputs.neighbour_sum.csr.toarray(), looped, atol=1e-14)
    np.testing.assert_allclose(inputs.normalized.csr.toarray(), scale[:, None] * looped * scale, atol=1e-14)
    np.testing.assert_allclose(inputs.self_weight.numpy(), scale**2, atol=1e-14)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("weighted", [False, True])
def test_dense_and_sparse_features_give_the_same(name, weighted):
    model = random_weights(make_network(name, 7, 2, hidden=5, dropout=0.5))
    answers = [
        predict_logits(model, exact_inputs(small_graph(2, sparse=sparse, weighted=weighted)))
        for sparse in (True, False)
    ]
    torch.testing.assert_close(*answers, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_agree_with_finite_differences(name):
    model, inputs = random_weights(make_network(name, 7, 2, hidden=3, dropout=0.5)), exact_inputs(small_graph(2))
    names, values = zip(*model.named_parameters(), strict=True)

    def logits(*parameters):
        return torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), (inputs,))[:5]

    assert torch.autograd.gradcheck(logits, tuple(value.detach().requires_grad_() for value in values), fast_mode=True)


@pytest.mark.parametrize("name", NETWORKS)
def test_dropout_only_while_training(name):
    model, inputs = random_weights(make_network(name, 7, 2, hidden=5, dropout=0.5)), exact_inputs(small_graph(2))
    torch.testing.assert_close(predict_logits(model.train(), inputs), model.eval()(inputs).detach(), atol=0, rtol=0)
    model.train()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert not torch.equal(model(inputs), model(inputs))
    with evaluating(model):
        assert not model.training
    assert model.training


class _PlainModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 2)

    def forward(self, x, edge_index):
        return self.linear(x)


class _WeightedModule(_PlainModule):
    def forward(self, x, edge_index, edge_weight=None):
        return self.linear(x) * (1.0 if edge_weight is None else edge_weight.mean())


def test_a_users_module_is_copied_and_called_with_what_the_graph_has():
    module = _WeightedModule().double()
    model = Module(module).make(7, 2)
    assert model.module is not module
    plain, weighted = (exact_inputs(small_graph(2, sparse=False, weighted=w)) for w in (False, True))
    expected = module(plain.x, plain.edge_index)
    torch.testing.assert_close(model(plain), expected)
    torch.testing.assert_close(model(weighted), expected * weighted.edge_weight.mean())
    sparse = exact_inputs(small_graph(2, sparse=True))
    torch.testing.assert_close(model(sparse), expected)


def test_wrong_networks_are_refused():
    with pytest.raises(InputError, match="detector must be one of .* did you mean 'gin' or 'gcn'"):
        make_detector("gnc")

    class Flat(_PlainModule):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index)[:, 0]

    with pytest.raises(InputError, match=r"logits of shape \(30, 2\), .* got torch.float64 of shape \(30,\)"):
        ModuleNetwork(Flat().double(), 2)(exact_inputs(small_graph(2, sparse=False)))
