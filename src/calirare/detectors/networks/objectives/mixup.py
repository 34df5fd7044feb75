"""Two-branch graph MixUp of Wang et al."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.task import Task
from calirare.errors import InputError


@dataclass
class MixUp:
    """Cross-entropy on mixed pairs of labelled nodes, each layer convolved in both nodes' neighbourhoods.

    With partner j = π(i), share t ~ Beta(a, a) and Â the propagation matrix, the mixed state h̃_i of a layer sees the
    *unmixed* states h of its neighbours, once with the topology of i and once with that of j:

        h̃_i ← t (Â_ii h̃_i + Σ_{u≠i} Â_iu h_u) W + (1 - t) (Â_jj h̃_i + Σ_{u≠j} Â_ju h_u) W + b

    and the loss is t ℓ(z̃_i, y_i) + (1 - t) ℓ(z̃_i, y_j). Source: key `wang2021mixup`.
    """

    around_labels: ClassVar[bool] = True

    concentration: float = 1.0

    def loss(self, task: Task, epoch: int) -> Tensor:
        model, inputs = task.model, task.inputs
        if not isinstance(model, GCNBackbone):
            raise InputError("method 'mixup' mixes inside the layers of the GCN; use detector='gcn'.")
        order = torch.randperm(len(task.nodes), device=task.nodes.device)
        share = float(torch.distributions.Beta(self.concentration, self.concentration).sample())
        here, there = task.nodes, task.nodes[order]
        projected = model.input(inputs.x)
        hidden_all = torch.relu(inputs.normalized @ projected + model.input_bias)
        mixed = share * projected[here] + (1 - share) * projected[there]
        hidden = torch.relu(_two_branches(task, projected, mixed, here, there, share) + model.input_bias)
        keep = F.dropout(torch.ones_like(hidden_all), model.dropout, model.training)
        outgoing = (hidden_all * keep) @ model.output.weight.T
        mixed_out = F.dropout(hidden, model.dropout, model.training) @ model.output.weight.T
        logits = _two_branches(task, outgoing, mixed_out, here, there, share) + model.output.bias
        first = F.cross_entropy(logits, task.y, reduction="none")
        second = F.cross_entropy(logits, task.y[order], reduction="none")
        weights = task.weights
        return (share * weights * first + (1 - share) * weights[order] * second).sum()


def _two_branches(task: Task, states: Tensor, mixed: Tensor, here: Tensor, there: Tensor, share: float) -> Tensor:
    """t (Â h + Â_ii (h̃ - h))_i + (1 - t) (Â h + Â_jj (h̃ - h))_j, the states already multiplied by the weights."""
    propagated = task.inputs.normalized @ states
    own = task.inputs.self_weight[:, None]
    branch_here = propagated[here] + own[here] * (mixed - states[here])
    branch_there = propagated[there] + own[there] * (mixed - states[there])
    return share * branch_here + (1 - share) * branch_there
