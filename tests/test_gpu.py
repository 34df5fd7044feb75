"""The same answers on a GPU as on the CPU."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GAT, GCN, GIN, GraphSAGE

import calirare as cr
from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.fitting import loop, replay, rest
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.influence.leave_one_out import LeaveOneOut
from calirare.detectors.networks.module import ModuleNetwork

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")]  # torch's first backward
GPU = "cuda"
DECAY = 2e-2
"""With less, the step of a GAT hangs on rounding: weights that differ by a millionth move a left-out logit by 0.7."""


@pytest.fixture(scope="module")
def graph():
    found = cr.make_transactions(1_000, labelled_share=0.5, rare_share=0.15, seed=0)
    return replace(found, x=(found.x - found.x.mean(axis=0)) / found.x.std(axis=0))


@pytest.fixture(scope="module")
def split(graph):
    return cr.split_labels(graph, train_fraction=0.3, val_fraction=0.2, test_fraction=0.5, seed=0)


def fit(graph, split, device, **options):
    """Without dropout, whose random numbers differ from device to device."""
    of_network = {"epochs": 30, "weight_decay": 5e-3, "dropout": 0.0}
    of_network |= {name: options.pop(name) for name in ("epochs", "dropout") if name in options}
    detector = cr.detectors.detectors()[options.pop("detector", "gcn")](**of_network)
    return cr.RareCategoryClassifier(detector, device=device, **options).fit(graph, split)


def trained(network, graph, split):
    """A PyG network after Adam and a line search, on the CPU."""
    torch.manual_seed(0)
    module = network(graph.num_features, 4, num_layers=2, out_channels=2)
    x, edges = torch.from_numpy(graph.x), torch.from_numpy(graph.edge_index)
    y = torch.from_numpy(graph.y[split.labelled])

    def loss():
        decay = sum(value.square().sum() for value in module.parameters())
        return cross_entropy(module(x, edges)[split.labelled], y) + 0.5 * DECAY * decay

    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    for optimizer in (
        torch.optim.Adam(module.parameters(), lr=0.01),
        torch.optim.LBFGS(module.parameters(), line_search_fn="strong_wolfe"),
    ):
        for _ in range(100):
            optimizer.step(step)
    return module.eval()


@pytest.mark.parametrize("network", [GCN, GAT, GIN, GraphSAGE])
def test_the_same_weights_give_the_same_step(graph, split, network):
    """What one Newton step says of each label without it, worked out on either device."""
    module, y = ModuleNetwork(trained(network, graph, split), 2), graph.y[split.labelled]
    on_cpu, on_gpu = (
        LeaveOneOut(
            copy.deepcopy(module).to(device), GraphInputs(graph, device), split.labelled, y, node_weights(y, 2), DECAY
        ).left_out_logits.cpu().numpy()
        for device in ("cpu", GPU)
    )  # fmt: skip
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-2, atol=1e-2 * on_cpu.std())


def test_the_same_weights_give_the_same_numbers(graph, split):
    """Probabilities, left-out evidence and intervals of one network, calibrated on either device."""
    module = trained(GCN, graph, split)

    def calibrated(device):
        moved = copy.deepcopy(module).to(device)
        return cr.RareCategoryClassifier.from_trained(moved, graph, split, weight_decay=DECAY, device=device)

    on_cpu, on_gpu = calibrated("cpu"), calibrated(GPU)
    assert next(on_gpu.detector_.model_.parameters()).device.type == GPU
    np.testing.assert_allclose(on_gpu.predict_proba(graph), on_cpu.predict_proba(graph), atol=1e-3)
    np.testing.assert_allclose(on_gpu.predict_left_out(), on_cpu.predict_left_out(), atol=1e-3)
    for name in ("predict_interval", "jackknife_interval"):
        mine, theirs = getattr(on_gpu, name)(graph), getattr(on_cpu, name)(graph)
        np.testing.assert_allclose(mine.lower, theirs.lower, atol=2e-3)
        np.testing.assert_allclose(mine.upper, theirs.upper, atol=2e-3)


@pytest.mark.parametrize("detector", ["gcn", "gat", "gin", "sage"])
def test_training_on_either_device_is_as_good(graph, split, detector):
    """Rounding differs between devices, and a line search turns it into another path: equal in likelihood, not to the digit."""
    on_cpu, on_gpu = (
        fit(graph, split, device, detector=detector).predict_proba(graph)[split.test] for device in ("cpu", GPU)
    )
    y = graph.y[split.test]
    assert log_loss(y, on_gpu) == pytest.approx(log_loss(y, on_cpu), rel=0.1)
    assert np.corrcoef(on_gpu[:, 1], on_cpu[:, 1])[0, 1] > 0.9


@pytest.mark.parametrize("detector", ["gcn", "gat", "gin", "sage"])
def test_epochs_that_are_played_again_are_those_that_were_recorded(graph, split, detector, monkeypatch):
    """Dropout draws the same numbers, too. Further on, rounding leads apart."""
    losses = []
    for module in (loop, rest):
        monkeypatch.setattr(module, "Replayed", Counted)
    for steady in (True, False):
        Counted.made = 0
        for module in (loop, rest):
            monkeypatch.setattr(module, "is_steady", lambda *_, steady=steady: steady)
        fitted = fit(graph, split, GPU, detector=detector, dropout=0.5, epochs=12)
        assert (Counted.made > 0) == steady
        losses.append(fitted.detector_.history_.loss)
    assert len(losses[0]) == 12
    np.testing.assert_allclose(*losses, rtol=1e-3)


class Counted(replay.Replayed):
    made = 0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        Counted.made += 1


@pytest.mark.parametrize("method", cr.methods())
def test_every_method(graph, split, method):
    p = fit(graph, split, GPU, method=method, epochs=10).predict_proba(graph)
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)


def test_a_model_moves_between_devices(graph, split, tmp_path):
    fitted = fit(graph, split, GPU)
    fitted.save(tmp_path / "model")
    loaded = cr.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(graph), fitted.predict_proba(graph), atol=1e-6)
    moved = cr.load(tmp_path / "model").set_params(device="cpu")
    np.testing.assert_allclose(moved.predict_proba(graph), fitted.predict_proba(graph), atol=1e-4)


def test_triage_decides_alike(graph, split, tmp_path):
    fit(graph, split, GPU).save(tmp_path / "model")
    tables = [
        cr.triage(cr.load(tmp_path / "model").set_params(device=device), graph, budget=20) for device in ("cpu", GPU)
    ]
    assert (tables[0].action == tables[1].action).mean() > 0.99
    np.testing.assert_allclose(tables[0].groups["all"].cost.value, tables[1].groups["all"].cost.value, rtol=1e-3)


def test_the_same_seed_gives_nearly_the_same_model(graph, split):
    """Sparse products on a GPU sum in an order of their own, and a line search carries the last digits on."""
    first, second = (fit(graph, split, GPU, dropout=0.5).predict_proba(graph) for _ in range(2))
    np.testing.assert_allclose(first, second, atol=0.05)


def test_the_stack(graph, split):
    clf = cr.RareCategoryClassifier(cr.detectors.Stack(["linear", cr.detectors.GCN(epochs=30)]), device=GPU)
    p = clf.fit(graph, split).predict_proba(graph)
    assert np.isfinite(p).all() and set(clf.weights_) == {"linear", "gcn"}
    assert clf.explain(graph, 3).logit == pytest.approx(np.log(p[3, 1] / p[3, 0]))
