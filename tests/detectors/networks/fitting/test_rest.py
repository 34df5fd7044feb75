"""Coming to rest: the slope that is left, and the optimum that another solver finds."""

import numpy as np
import pytest
import torch
from graph_cases import exact_inputs, make_network, random_weights, small_graph
from scipy.optimize import minimize
from torch import nn

from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.fitting import rest as rest_module
from calirare.detectors.networks.fitting.rest import come_to_rest, slope_of
from calirare.detectors.networks.fitting.weights import node_weights
from calirare.detectors.networks.task import Task


class Rows(nn.Module):
    """Logistic regression on the attributes: convex, so that there is one place to rest."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 2)

    def forward(self, inputs):
        return self.linear(inputs.torch_x)


def task_of(model, weight_decay=1e-2):
    graph, nodes = small_graph(2, sparse=False), np.arange(25)
    y = graph.y[nodes]
    return Task.of(model, exact_inputs(graph), LabelledNodes(nodes, y, node_weights(y, 2), 2, nodes), weight_decay)


class Smooth(Rows):
    """A hidden layer without corners; neighbours are averaged."""

    def __init__(self):
        super().__init__()
        self.linear, self.output = nn.Linear(7, 4), nn.Linear(4, 2)

    def forward(self, inputs):
        return self.output(inputs.neighbour_mean @ torch.tanh(super().forward(inputs)))


@pytest.mark.parametrize("make", [Rows, Smooth])
def test_the_slope_falls_to_next_to_nothing(make):
    task = task_of(random_weights(make()))
    before = slope_of(task)
    rest = come_to_rest(task, most_steps=300)
    assert rest.slope < 0.03 < before and rest.steps > 0
    assert rest.slope == pytest.approx(slope_of(task))
    assert come_to_rest(task).steps == 0, "who is at rest takes no step"


def test_a_network_with_corners_comes_nearer_too():
    task = task_of(random_weights(make_network("gcn", 7, 2, hidden=4)))
    before = slope_of(task)
    assert come_to_rest(task).slope < 0.2 * before


@pytest.mark.parametrize(
    ("slopes", "steps"),
    [
        ((1.0, 0.02), 15),
        ((2.0, 1.0, 0.1, 0.1, 0.19), 60),
        ((2.0, 1.0, 0.1, 0.1, 0.7, 2.0, 0.19), 90),
        ((1.4,), 120),
        ((*[1.6] * 9, 1.4), 135),
        ((1.6,), 180),
    ],
)
def test_steps_go_on_as_long_as_much_is_left(slopes, steps, monkeypatch):
    """Sixty until next to nothing is left, as many again where it is still much, and again where it is too much for a step."""
    rest = lambda **how: come_to_rest(task_of(random_weights(Rows())), **how).steps  # noqa: E731
    for gives_up, wanted in ((False, steps), (True, steps if slopes[:5] != (1.6,) * 5 and slopes != (1.6,) else 60)):
        seen = iter([*slopes, *[slopes[-1]] * 13])
        monkeypatch.setattr(rest_module, "slope_of", lambda task, seen=seen: next(seen))
        assert rest(gives_up=gives_up) == wanted


def test_it_rests_where_another_solver_does():
    task = task_of(random_weights(Rows()))
    come_to_rest(task, most_steps=300)
    x, y, w = task.inputs.x.numpy()[:25], task.y.numpy(), task.weights.numpy()

    def loss(theta):
        logits = x @ theta[:14].reshape(2, 7).T + theta[14:]
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -(w * log_p[np.arange(25), y]).sum() + 0.5e-2 * theta @ theta

    best = minimize(loss, np.zeros(16), method="BFGS", options={"gtol": 1e-8}).x
    found = torch.cat([value.detach().reshape(-1) for value in task.model.parameters()]).numpy()
    assert loss(found) - loss(best) < 1e-7
    np.testing.assert_allclose(found, best, atol=0.03 * np.linalg.norm(best))


def test_the_slope_is_that_of_the_loss_with_its_penalty():
    task = task_of(random_weights(Rows()), weight_decay=0.1)
    parameters = list(task.model.parameters())
    log_p = task.model(task.inputs)[task.nodes].log_softmax(1)[torch.arange(25), task.y]
    loss = -(task.weights * log_p).sum() + 0.05 * sum(value.square().sum() for value in parameters)
    gradient = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, parameters)])
    size = torch.cat([value.detach().reshape(-1) for value in parameters]).norm()
    assert slope_of(task) == pytest.approx(float(gradient.norm() / (0.1 * size)))


def test_steps_that_leave_the_range_of_numbers_are_taken_back():
    class Cliff(Rows):
        """NaN as soon as the weights have moved far."""

        def forward(self, inputs):
            logits = super().forward(inputs)
            return logits * float("nan") if float(self.linear.weight.detach().abs().max()) > 1.0 else logits

    task = task_of(random_weights(Cliff()), weight_decay=1e-6)
    come_to_rest(task)
    assert all(bool(value.isfinite().all()) for value in task.model.parameters())
