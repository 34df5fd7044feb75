"""One training problem: a model, a graph, and the labels it may read."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.data.threads import torch_on_one_thread
from calirare.detectors.base import LabelledNodes

_FEW_NODES = 2**15
"""Nodes up to which training has one thread of torch; the seven graphs have fewer."""


@dataclass(frozen=True)
class Task:
    """What an objective sees. `nodes`, `y`, `weights` belong together; nothing else is read from the labels."""

    model: nn.Module
    inputs: GraphInputs
    nodes: Tensor
    y: Tensor
    weights: Tensor
    num_classes: int
    weight_decay: float

    @classmethod
    def of(cls, model: nn.Module, inputs: GraphInputs, labels: LabelledNodes, weight_decay: float) -> Task:
        """The training problem of these labels."""
        nodes, y, weights = (
            torch.from_numpy(one).to(inputs.device) for one in (labels.nodes, labels.y, labels.weights)
        )
        return cls(model, inputs, nodes, y, weights.to(inputs.dtype), labels.num_classes, weight_decay)


def in_one_order(inputs: GraphInputs) -> AbstractContextManager[None]:
    """Training that reads few nodes, on one thread of torch; sparse products keep theirs.

    With another number of threads torch adds in another order, and training magnifies what rounding makes of it. Of many
    nodes it takes the threads it has.
    """
    few = inputs.device.type == "cpu" and inputs.num_nodes <= _FEW_NODES
    return torch_on_one_thread() if few else nullcontext()
