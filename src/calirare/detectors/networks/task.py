"""One training problem: a model, a graph, and the labels it may read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs


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
    def make(
        cls,
        model: nn.Module,
        inputs: GraphInputs,
        nodes: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        *,
        num_classes: int,
        weight_decay: float,
    ) -> Task:
        return cls(
            model=model,
            inputs=inputs,
            nodes=torch.from_numpy(np.asarray(nodes, dtype=np.int64)).to(inputs.device),
            y=torch.from_numpy(np.asarray(y, dtype=np.int64)).to(inputs.device),
            weights=torch.from_numpy(np.asarray(weights)).to(inputs.device, inputs.dtype),
            num_classes=num_classes,
            weight_decay=weight_decay,
        )
