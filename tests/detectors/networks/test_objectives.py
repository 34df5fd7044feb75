"""Objectives: values by hand, gradients that are real."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from graph_cases import exact_inputs, random_weights, small_graph

from calirare.data.around import inputs_around_all
from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.backbones.gin import GINBackbone
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.objectives import CaliRare, CrossEntropy, MixUp, SmoothedCrossEntropy, SoftmaxTwice
from calirare.detectors.networks.objectives import mixup as mixup_module
from calirare.detectors.networks.objectives.calirare import left_out_changes
from calirare.detectors.networks.task import Task
from calirare.errors import InputError

NODES = np.arange(12)


def _task(num_classes=2, *, dropout=0.0, network=GCNBackbone, sparse=True, weight_decay=1e-2):
    graph = small_graph(num_classes, sparse=sparse)
    model = random_weights(network(7, num_classes, hidden=5, dropout=dropout)).train()
    y = graph.y[NODES]
    labels = LabelledNodes(NODES, y, node_weights(y, num_classes), num_classes, NODES)
    return Task.of(model, exact_inputs(graph), labels, weight_decay)


def _constant_changes(task):
    """Left-out changes that stay put while parameters move, large enough for quantiles to lie apart."""
    n = len(task.nodes)
    generator = torch.Generator().manual_seed(0)
    return 0.5 * torch.randn(n, n, task.num_classes, generator=generator, dtype=torch.float64)


OBJECTIVES = {
    "cross_entropy": lambda: CrossEntropy(),
    "label_smoothing": lambda: SmoothedCrossEntropy(0.1),
    "mixup": lambda: MixUp(),
    "softmax_twice": lambda: SoftmaxTwice(),
    "calirare": lambda: CaliRare(changes_of=_constant_changes, trade_off=0.5, warm_up=0),
    "eice_alone": lambda: CaliRare(changes_of=_constant_changes, trade_off=1.0, warm_up=0),
}


def _loss_at(task, objective, parameters):
    """The loss with these parameters, whatever is random in it drawn from one seed."""
    original = [value.detach().clone() for value in task.model.parameters()]
    with torch.no_grad():
        for value, moved in zip(task.model.parameters(), parameters, strict=True):
            value.copy_(moved)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        loss = float(objective().loss(task, epoch=0))
    with torch.no_grad():
        for value, before in zip(task.model.parameters(), original, strict=True):
            value.copy_(before)
    return loss


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("sparse", [True, False])
def test_what_lies_around_labels_is_all_that_the_loss_depends_on(name, sparse):
    task, objective = _task(sparse=sparse), OBJECTIVES[name]
    if name == "calirare":
        objective = partial(CaliRare, trade_off=0.5, warm_up=0)  # with changes of its own
    some = np.array([1, 4, 7])
    chosen = replace(task, nodes=task.nodes[some], y=task.y[some], weights=task.weights[some])
    near = replace(chosen, inputs=inputs_around_all(task.inputs, NODES[some]), nodes=torch.arange(3))
    assert objective().around_labels and near.inputs.num_nodes < task.inputs.num_nodes
    parameters = [value.detach().clone() for value in task.model.parameters()]
    assert _loss_at(near, objective, parameters) == pytest.approx(_loss_at(chosen, objective, parameters), rel=1e-9)


@pytest.mark.parametrize(("num_classes", "dropout"), [(2, 0.5), (3, 0.0)])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_is_real(name, num_classes, dropout):
    task, objective = _task(num_classes, dropout=dropout), OBJECTIVES[name]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        loss = objective().loss(task, epoch=0)
    gradients = torch.autograd.grad(loss, list(task.model.parameters()))
    assert max(float(gradient.abs().max()) for gradient in gradients) > 1e-4
    generator = torch.Generator().manual_seed(5)
    for _ in range(3):
        direction = [torch.randn(g.shape, generator=generator, dtype=torch.float64) for g in gradients]
        step = 1e-6
        moved = [
            [value.detach() + sign * step * d for value, d in zip(task.model.parameters(), direction, strict=True)]
            for sign in (1, -1)
        ]
        numerical = (_loss_at(task, objective, moved[0]) - _loss_at(task, objective, moved[1])) / (2 * step)
        analytical = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
        assert analytical == pytest.approx(numerical, rel=1e-5, abs=1e-7)


def test_cross_entropy_by_hand():
    task = _task(3)
    p = task.model(task.inputs)[task.nodes].softmax(1).detach().numpy()
    y, w = task.y.numpy(), task.weights.numpy()
    likelihood = -np.log(p[np.arange(12), y])
    assert CrossEntropy().loss(task, 0).item() == pytest.approx((w * likelihood).sum(), abs=1e-12)
    smoothed = 0.8 * likelihood + 0.2 * -np.log(p).mean(axis=1)
    assert SmoothedCrossEntropy(0.2).loss(task, 0).item() == pytest.approx((w * smoothed).sum(), abs=1e-12)
    assert SmoothedCrossEntropy(0.0).loss(task, 0).item() == pytest.approx((w * likelihood).sum(), abs=1e-12)
    twice = np.exp(p) / np.exp(p).sum(axis=1, keepdims=True)
    expected = 0.9 * (w * -np.log(twice[np.arange(12), y])).sum()
    assert SoftmaxTwice(0.1).loss(task, 0).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sparse", [True, False])
def test_mixup_of_each_node_with_itself_is_cross_entropy(monkeypatch, sparse):
    task = _task(3, sparse=sparse)
    monkeypatch.setattr(mixup_module.torch, "randperm", lambda n, device: torch.arange(n, device=device))
    assert MixUp().loss(task, 0).item() == pytest.approx(CrossEntropy().loss(task, 0).item(), abs=1e-12)


def test_mixup_by_a_loop_over_pairs(monkeypatch):
    task = _task(2)
    order, share = torch.arange(12).roll(5), 0.3
    monkeypatch.setattr(mixup_module.torch, "randperm", lambda n, device: order)
    monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(share, dtype=torch.float64))
    adjacency = task.inputs.normalized.csr.toarray()
    x = task.inputs.x.csr.toarray().astype(np.float64)
    first, b1, second, b2 = (
        value.detach().numpy()
        for value in (task.model.input.weight, task.model.input_bias, task.model.output.weight, task.model.output.bias)
    )

    def mixed_layer(states, mixed, i, j, weight, bias):
        branches = []
        for v in (i, j):
            total = adjacency[v, v] * mixed
            for u in range(len(states)):
                if u != v:
                    total = total + adjacency[v, u] * states[u]
            branches.append(weight @ total)
        return share * branches[0] + (1 - share) * branches[1] + bias

    hidden = np.maximum(adjacency @ x @ first.T + b1, 0)
    expected = 0.0
    for row in range(12):
        i, j = NODES[row], NODES[order[row]]
        state = np.maximum(mixed_layer(x, share * x[i] + (1 - share) * x[j], i, j, first, b1), 0)
        logits = mixed_layer(hidden, state, i, j, second, b2)
        log_p = logits - np.log(np.exp(logits).sum())
        y, w = task.y.numpy(), task.weights.numpy()
        expected -= share * w[row] * log_p[y[row]] + (1 - share) * w[order[row]] * log_p[y[order[row]]]
    assert MixUp().loss(task, 0).item() == pytest.approx(expected, abs=1e-10)


def test_mixup_mixes_inside_the_gcn_only():
    with pytest.raises(InputError, match="use detector='gcn'"):
        MixUp().loss(_task(network=GINBackbone), 0)


def test_calirare_without_trade_off_is_cross_entropy():
    task = _task()
    objective = CaliRare(changes_of=_constant_changes, trade_off=0.0, warm_up=0)
    assert objective.loss(task, 0).item() == pytest.approx(CrossEntropy().loss(task, 0).item(), abs=1e-14)


def test_calirare_refreshes_every_k_epochs_after_the_warm_up():
    called = []

    def changes(task):
        called.append(epoch)
        return _constant_changes(task)

    task, objective = _task(), CaliRare(changes_of=changes, warm_up=3, refresh=4)
    for epoch in range(13):
        objective.loss(task, epoch)
    assert called == [3, 7, 11]


def test_calirare_eice_of_the_engine_is_that_of_the_formula():
    task = _task(3)
    objective = CaliRare(trade_off=1.0, warm_up=0)
    found = objective.loss(task, 0).item()
    changes = left_out_changes(task)
    logits = task.model(task.inputs)[task.nodes].detach()
    left_out = (logits[:, None] + changes).softmax(2).numpy()
    p, y = logits.softmax(1).numpy(), task.y.numpy()
    errors = []
    for v in range(12):
        c = p[v].argmax()
        residuals = np.array([abs(float(y[i] == c) - left_out[i, i, c]) for i in range(12)])
        lower = np.quantile(left_out[v, :, c] - residuals, 0.05)
        upper = np.quantile(left_out[v, :, c] + residuals, 0.95)
        errors.append(abs((lower + upper) / 2 - p[v, c]))
    assert found == pytest.approx(np.mean(errors), abs=1e-10)
