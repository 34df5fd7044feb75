"""Leave-one-out by the definition: the whole Jacobian, the whole curvature, one solve per label.

Also real retraining: of convex problems to their minimum, and of networks from where a fit left them.
"""

from __future__ import annotations

import copy
from functools import lru_cache

import numpy as np
import pytest
import torch
from torch.func import functional_call, jacrev

from calirare.data.inputs import GraphInputs
from calirare.detectors.base import LabelledNodes
from calirare.detectors.networks.evidence import step_logits
from calirare.detectors.networks.fitting import rest
from calirare.detectors.networks.influence.model import predict_logits
from calirare.detectors.networks.task import Task


def jacobian(model, inputs):
    """∂z/∂θ of every node, `(N, C, P)`, and the logits `(N, C)`."""
    return _jacobian(model, inputs, tuple(value._version for value in model.parameters()))


@lru_cache(maxsize=8)
def _jacobian(model, inputs, versions):
    """Once for as long as the parameters stay."""
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    model.eval()
    blocks = jacrev(lambda values: functional_call(model, values, (inputs,)))(parameters)
    logits = functional_call(model, parameters, (inputs,)).detach()
    flat = [block.reshape(*logits.shape, -1) for block in blocks.values()]
    return torch.cat(flat, dim=2), logits


def centred(logits):
    """Logits up to what softmax does not see."""
    return logits - logits.mean(dim=-1, keepdim=True)


def parameter_steps(model, inputs, nodes, y, weights, damping, step="newton", groups=None):
    """θ₋ᵢ - θ, `(n, P)`: (H - J_iᵀ Λ_i J_i)⁻¹ J_iᵀ ρ_i for Newton, H⁻¹ J_iᵀ ρ_i for plain influence.

    With `groups`, sums over the labels of i's group in the place of both terms.
    """
    full, logits = jacobian(model, inputs)
    p = logits.softmax(dim=1)
    curvatures = [
        weights[i] * full[v].T @ (torch.diag(p[v]) - torch.outer(p[v], p[v])) @ full[v] for i, v in enumerate(nodes)
    ]
    total = sum(curvatures) + damping * torch.eye(full.shape[2], dtype=torch.float64)
    target = torch.eye(p.shape[1], dtype=torch.float64)[torch.as_tensor(y)]
    gradients = [full[v].T @ (weights[i] * (p[v] - target[i])) for i, v in enumerate(nodes)]
    groups, steps = np.arange(len(nodes)) if groups is None else groups, []
    for group in groups:
        mine = np.flatnonzero(groups == group)
        without = total - sum(curvatures[i] for i in mine) if step == "newton" else total
        steps.append(torch.linalg.solve(without, sum(gradients[i] for i in mine)))
    return torch.stack(steps)


def changes(model, inputs, nodes, y, weights, damping, step="newton", groups=None):
    """Change of every node's logits by each removal, `(N, n, C)`."""
    full, _ = jacobian(model, inputs)
    steps = parameter_steps(model, inputs, nodes, y, weights, damping, step, groups)
    return torch.einsum("vcp,ip->vic", full, steps)


def retrain_without(model, inputs, nodes, y, weights, weight_decay, row, steps=60):
    """Logits of all nodes by the model trained anew without one label; the others keep their weights.

    Newton's method on the exact Hessian, for a handful of parameters and a convex loss.
    """
    names, values = zip(*model.named_parameters(), strict=True)
    shapes = [value.shape for value in values]
    theta = torch.cat([value.detach().reshape(-1) for value in values])
    keep = torch.from_numpy(np.delete(np.arange(len(nodes)), row)) if row is not None else torch.arange(len(nodes))

    def logits(flat):
        pieces = flat.split([shape.numel() for shape in shapes])
        named = {name: piece.reshape(shape) for name, piece, shape in zip(names, pieces, shapes, strict=True)}
        return functional_call(model, named, (inputs,))

    def loss(flat):
        log_p = logits(flat)[torch.as_tensor(nodes)].log_softmax(1)[torch.arange(len(nodes)), torch.as_tensor(y)]
        return -(torch.as_tensor(weights) * log_p)[keep].sum() + 0.5 * weight_decay * flat.square().sum()

    for _ in range(steps):
        gradient = torch.func.grad(loss)(theta)
        if float(gradient.abs().max()) < 1e-12:
            break
        theta = theta - torch.linalg.solve(torch.func.hessian(loss)(theta), gradient)
    return logits(theta).detach(), theta


def change_by_refitting(trained, rows):
    """(real, predicted) change of each row's own logit difference: at rest again without its group's labels, and by one step.

    Refitted in double precision, for in single precision L-BFGS stops where a label still pulls. By the step itself: the
    network's own evidence may be of folds.
    """
    network, labels = trained.detector, trained.labels
    tensors = GraphInputs(trained.inputs.graph, dtype=torch.float64)

    def at_rest(weights):
        model = copy.deepcopy(network.model_).double()
        kept = LabelledNodes(labels.nodes, labels.y, weights, labels.num_classes, labels.groups)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rest, "_AT_REST", 1e-3)
            rest.come_to_rest(Task.of(model, tensors, kept, network.weight_decay_), most_steps=300)
        return predict_logits(model, tensors).numpy()

    whole, real = at_rest(labels.weights), []
    for row in rows:
        mine = labels.groups == labels.groups[row]
        change = at_rest(np.where(mine, 0.0, labels.weights)) - whole
        real.append(change[labels.nodes[row]] - change[labels.nodes[~mine]].mean(axis=0))
    predicted = (step_logits(network._engine()) - network.logits(trained.inputs)[labels.nodes])[rows]
    return np.diff(np.stack(real))[:, 0], np.diff(predicted)[:, 0]
