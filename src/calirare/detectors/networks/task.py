"""One training problem: a model, a graph, and the labels it may read."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.base import LabelledNodes


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
