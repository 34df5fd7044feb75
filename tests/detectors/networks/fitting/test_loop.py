"""The fit loop: Adam as torch has it, seeds that hold, stopping that restores the best."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from graph_cases import make_network, small_graph

from calirare.data.inputs import GraphInputs
from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.fitting import training
from calirare.detectors.networks.fitting.loop import seeded, train
from calirare.detectors.networks.fitting.rest import Rest
from calirare.detectors.networks.fitting.training import Schedule, Training, train_network
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.influence.model import predict_logits
from calirare.detectors.networks.objectives import CrossEntropy, MixUp, SmoothedCrossEntropy
from calirare.detectors.networks.task import Task
from calirare.errors import NumericalError

CPU = torch.device("cpu")


def _task(name="gcn", *, nodes=None, seed=0, dropout=0.5):
    graph = small_graph(2)
    nodes = np.arange(20) if nodes is None else nodes
    with seeded(seed, CPU):
        model = make_network(name, 7, 2, hidden=8, dropout=dropout)
    y = graph.y[nodes]
    return Task.of(model, GraphInputs(graph), LabelledNodes(nodes, y, node_weights(y, 2), 2, nodes), 5e-4)


def _bytes(model):
    return b"".join(value.detach().numpy().tobytes() for value in model.parameters())


@pytest.mark.refits
@pytest.mark.parametrize(
    ("name", "objective"), [*((name, CrossEntropy) for name in ("gcn", "gat", "gin", "sage")), ("gcn", MixUp)]
)
def test_same_seed_same_bytes(name, objective):
    fitted = []
    for seed in (4, 4, 5):
        task = _task(name)
        train(task, objective(), epochs=8, lr=0.01, seed=seed)
        fitted.append(_bytes(task.model))
    assert fitted[0] == fitted[1] != fitted[2]


def test_global_random_state_is_untouched():
    before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    train(_task(), MixUp(), epochs=3, lr=0.01, seed=0)
    assert torch.equal(before, torch.random.get_rng_state())
    np.testing.assert_array_equal(numpy_before, np.random.get_state()[1])


def test_steps_are_those_of_adam_with_weight_decay():
    task, other = _task(dropout=0.0), _task(dropout=0.0)
    history = train(task, CrossEntropy(), epochs=5, lr=0.02, seed=0)
    optimizer = torch.optim.Adam(other.model.parameters(), lr=0.02, weight_decay=5e-4)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        log_p = other.model(other.inputs)[other.nodes].log_softmax(1)
        loss = -(other.weights * log_p[torch.arange(20), other.y]).sum()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    np.testing.assert_allclose(history.loss, losses, rtol=1e-5)
    for ours, theirs in zip(task.model.parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


class _Watched(CrossEntropy):
    """Notes at every epoch whether dropout is on."""

    def __init__(self):
        self.noisy = []

    def loss(self, task, epoch):
        self.noisy.append(task.model.training)
        return super().loss(task, epoch)


@pytest.mark.parametrize(("settle", "noisy_epochs"), [(0.0, 8), (0.1, 8), (0.25, 6), (1.0, 0)])
def test_the_last_epochs_settle(settle, noisy_epochs):
    objective = _Watched()
    train(_task(), objective, epochs=8, lr=0.01, seed=0, settle=settle)
    assert objective.noisy == [True] * noisy_epochs + [False] * (8 - noisy_epochs)


def test_settling_all_the_time_is_training_without_dropout():
    settled, plain = _task(), _task(dropout=0.0)
    train(settled, CrossEntropy(), epochs=8, lr=0.01, seed=0, settle=1.0)
    train(plain, CrossEntropy(), epochs=8, lr=0.01, seed=0)
    assert _bytes(settled.model) == _bytes(plain.model)


def test_training_lowers_the_loss_and_ends_in_eval_mode():
    task = _task(dropout=0.0)
    history = train(task, CrossEntropy(), epochs=60, lr=0.05, seed=0)
    assert history.loss[-1] < 0.7 * history.loss[0]
    assert not task.model.training and history.best_epoch is None and history.validation == []


def test_early_stopping_restores_the_best_parameters():
    """Validation labels are flipped, so the validation loss rises as soon as the model learns."""
    task = _task(dropout=0.0)
    validation = replace(task, y=1 - task.y, weight_decay=0.0)
    snapshots = []
    history = train(
        task,
        CrossEntropy(),
        epochs=200,
        lr=0.05,
        seed=0,
        validation=validation,
        patience=7,
        progress=lambda *_: snapshots.append(predict_logits(task.model, task.inputs)),
    )
    best = int(np.argmin(history.validation))
    assert history.best_epoch == best
    assert len(history.loss) == best + 7 + 1 < 200
    torch.testing.assert_close(predict_logits(task.model, task.inputs), snapshots[best], atol=0, rtol=0)
    assert not torch.equal(snapshots[best], snapshots[-1])


def test_an_objective_of_its_own_is_not_undone_at_the_end():
    """Rest is that of the plain cross-entropy: label smoothing would end where no smoothing ends."""
    graph, nodes = small_graph(2, sparse=False), np.arange(25)
    labels = LabelledNodes(nodes, graph.y[nodes], node_weights(graph.y[nodes], 2), 2, nodes)
    schedule, found = Schedule(epochs=3, lr=0.01, weight_decay=1e-2, settle=0.0, patience=None), {}
    for objective in (CrossEntropy, SmoothedCrossEntropy):
        network = make_network("gcn", 7, 2, hidden=4)
        found[objective] = train_network(network, GraphInputs(graph), labels, schedule, Training(objective), seed=0)
    assert found[CrossEntropy].rest_steps > 0 == found[SmoothedCrossEntropy].rest_steps


@pytest.mark.parametrize("slope", [float("nan"), float("inf")])
def test_training_that_left_the_range_of_numbers_is_refused_at_once(slope, monkeypatch):
    graph, nodes = small_graph(2, sparse=False), np.arange(25)
    labels = LabelledNodes(nodes, graph.y[nodes], node_weights(graph.y[nodes], 2), 2, nodes)
    schedule = Schedule(epochs=1, lr=0.01, weight_decay=1e-2, settle=0.0, patience=None)
    monkeypatch.setattr(training, "come_to_rest", lambda task, gives_up: Rest(0, slope))
    with pytest.raises(NumericalError, match="^training left the range of numbers; scale the features"):
        train_network(make_network("gcn", 7, 2, hidden=4), GraphInputs(graph), labels, schedule, Training(), seed=0)


def test_progress_is_told_every_epoch():
    seen = []
    history = train(_task(), CrossEntropy(), epochs=3, lr=0.01, seed=0, progress=lambda *told: seen.append(told))
    assert seen == [(epoch + 1, 3, loss) for epoch, loss in enumerate(history.loss)]


def test_a_loss_that_is_no_number_stops():
    class Broken:
        def loss(self, task, epoch):
            return CrossEntropy().loss(task, epoch) * (float("nan") if epoch == 2 else 1.0)

    with pytest.raises(NumericalError, match="the loss became nan in epoch 3"):
        train(_task(), Broken(), epochs=9, lr=0.01, seed=0)
