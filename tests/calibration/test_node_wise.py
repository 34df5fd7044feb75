"""CaGCN and GATS: their formulas against slow references, and a planted temperature that depends on degree."""

import numpy as np
import pytest
import torch
from graph_cases import exact_inputs, small_graph
from scipy.special import softmax
from slow_calibrators import gats_temperature, nll, sample_classes
from torch_geometric.nn import GCNConv

from calirare.calibration import GATS, CaGCN, TemperatureScaling
from calirare.data.graph import RareGraph
from calirare.data.inputs import GraphInputs
from calirare.errors import InputError


def _fitted(calibrator, num_classes=3, seed=0):
    graph = small_graph(num_classes, seed=seed)
    inputs = exact_inputs(graph)
    logits = np.random.default_rng(seed).normal(0, 1.5, (graph.num_nodes, num_classes))
    nodes = np.arange(20)
    return calibrator.fit(logits, graph.y[nodes], nodes=nodes, graph=inputs), logits, graph, inputs


def test_cagcn_is_two_convolutions_of_the_logits():
    fitted, logits, graph, inputs = _fitted(CaGCN(epochs=30))
    first, second = GCNConv(3, 16).double(), GCNConv(16, 1).double()
    with torch.no_grad():
        first.lin.weight.copy_(torch.from_numpy(fitted.first_weight_.T))
        first.bias.copy_(torch.from_numpy(fitted.first_bias_))
        second.lin.weight.copy_(torch.from_numpy(fitted.second_weight_.T))
        second.bias.copy_(torch.from_numpy(fitted.second_bias_))
        edges = torch.from_numpy(graph.edge_index)
        score = second(torch.relu(first(torch.from_numpy(logits), edges)), edges)[:, 0].numpy()
    sharpness = np.log(np.exp(score) + 1.1)
    np.testing.assert_allclose(fitted.sharpness(logits, inputs), sharpness, atol=1e-10)
    expected = softmax(logits * sharpness[:, None], axis=1)
    np.testing.assert_allclose(fitted.predict_proba(logits, graph=inputs), expected, atol=1e-10)


def test_cagcn_margin_term_by_hand():
    scaled = torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    p = softmax(scaled.numpy(), axis=1)
    right, wrong = 1 - p[0, 0] + p[0, 1], p[1, 1] - p[1, 0]
    expected = 0.25 * (-np.log(p[0, 0]) + 0.5 * right) + 0.75 * (-np.log(p[1, 0]) + 0.5 * wrong)
    weights = torch.tensor([0.25, 0.75], dtype=torch.float64)
    assert float(CaGCN()._loss(scaled, torch.tensor([0, 0]), weights)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("num_classes", [2, 4])
def test_gats_equals_the_loop_over_nodes_neighbours_and_heads(num_classes):
    fitted, logits, graph, inputs = _fitted(
        GATS(heads=3, epochs=40, lr=0.05, train_nodes=np.array([0, 5])), num_classes
    )
    assert (np.abs(fitted.factors_ - 1) > 1e-3).all()
    learned = fitted.projection_, fitted.slope_, fitted.offset_, fitted.factors_
    by_loop = gats_temperature(logits, graph.adjacency().toarray(), {0, 5}, *learned)
    temperature = fitted.temperature(logits, inputs)
    np.testing.assert_allclose(temperature, by_loop, atol=1e-10)
    expected = softmax(logits / by_loop[:, None], axis=1)
    np.testing.assert_allclose(fitted.predict_proba(logits, graph=inputs), expected, atol=1e-10)


def test_gats_refuses_training_nodes_outside_the_graph():
    with pytest.raises(InputError, match="train_nodes must lie in 0…29"):
        _fitted(GATS(train_nodes=np.array([30])))


def test_gats_on_another_graph_forgets_where_the_training_nodes_were():
    fitted, *_ = _fitted(GATS(epochs=40, lr=0.05, train_nodes=np.array([0, 5])))
    other = small_graph(3, num_nodes=40)
    logits = np.random.default_rng(1).normal(size=(40, 3))
    learned = fitted.projection_, fitted.slope_, fitted.offset_, fitted.factors_
    expected = gats_temperature(logits, other.adjacency().toarray(), set(), *learned)
    np.testing.assert_allclose(fitted.temperature(logits, exact_inputs(other)), expected, atol=1e-10)


@pytest.mark.parametrize("calibrator", [CaGCN(epochs=20), GATS(epochs=20)])
def test_constant_logits_isolated_nodes_and_huge_logits_stay_finite(calibrator):
    graph = small_graph(2)
    y = graph.y[:20]
    for logits in (
        np.zeros((30, 2)),
        np.full((30, 2), 300.0) * [1, -1],
        np.random.default_rng(0).normal(size=(30, 2)) * 1e-9,
    ):
        probabilities = calibrator.fit(logits, y, nodes=np.arange(20), graph=GraphInputs(graph)).predict_proba(
            logits, graph=GraphInputs(graph)
        )
        assert np.isfinite(probabilities).all()


def _planted(num_classes, num_nodes=1_200):
    """Hubs and leaves; the logits of hubs are five times too large. The last value says which nodes are hubs."""
    generator = np.random.default_rng(num_classes)
    hubs = num_nodes // 10
    leaves = np.arange(hubs, num_nodes)
    edges = np.vstack([generator.integers(0, hubs, 2 * len(leaves)), np.repeat(leaves, 2)])
    edges = generator.permutation(num_nodes)[edges]
    graph = RareGraph(
        x=np.zeros((num_nodes, 1)),
        edge_index=edges,
        y=np.zeros(num_nodes, dtype=int),
        class_names=tuple(map(str, range(num_classes))),
    )
    degree = np.diff(graph.adjacency().indptr)
    logits = 1.5 * np.eye(num_classes)[generator.integers(0, num_classes, num_nodes)]
    logits += generator.normal(0, 0.3, logits.shape)
    y = sample_classes(generator, softmax(logits, axis=1))
    return GraphInputs(graph), logits * np.where(degree > 8, 5.0, 1.0)[:, None], y, degree > 8


@pytest.mark.refits
@pytest.mark.parametrize(
    ("calibrator", "gain", "num_classes"),
    [
        (CaGCN(), 0.02, 2),
        pytest.param(CaGCN(), 0.02, 3, marks=pytest.mark.slow),
        pytest.param(GATS(), 0.01, 2, marks=pytest.mark.slow),
        pytest.param(GATS(), 0.01, 3, marks=pytest.mark.slow),
    ],
)
def test_a_planted_temperature_by_degree_is_found_better_than_by_one_temperature(calibrator, gain, num_classes):
    inputs, logits, y, hub = _planted(num_classes)
    known, fresh = np.arange(600), np.arange(600, 1_200)
    one = TemperatureScaling().fit(logits[known], y[known]).predict_proba(logits)
    each = calibrator.fit(logits, y[known], nodes=known, graph=inputs).predict_proba(logits, graph=inputs)
    assert nll(each[fresh], y[fresh]) < nll(one[fresh], y[fresh]) - gain
    gats = isinstance(calibrator, GATS)
    temperature = calibrator.temperature(logits, inputs) if gats else 1 / calibrator.sharpness(logits, inputs)
    assert np.median(temperature[hub]) > 1.3 * np.median(temperature[~hub])
