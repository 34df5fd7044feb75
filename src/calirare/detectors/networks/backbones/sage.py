"""The two-layer GraphSAGE network with mean aggregation of Hamilton et al."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.backbones.layers import FeatureLinear
from calirare.detectors.networks.defaults import DROPOUT, HIDDEN


class SAGEBackbone(nn.Module):
    """Two layers of h ← W_self h + W_neighbours mean(h of neighbours) + b. Source: key `hamilton2017`."""

    steady: ClassVar[bool] = True

    def __init__(self, num_features: int, num_classes: int, *, hidden: int = HIDDEN, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.input_self = FeatureLinear(num_features, hidden)
        self.input_neighbours = FeatureLinear(num_features, hidden, bias=False)
        self.output_self = FeatureLinear(hidden, num_classes)
        self.output_neighbours = FeatureLinear(hidden, num_classes, bias=False)
        self.dropout = dropout

    def forward(self, inputs: GraphInputs) -> Tensor:
        hidden = self.input_self(inputs.x) + inputs.neighbour_mean @ self.input_neighbours(inputs.x)
        hidden = F.dropout(torch.relu(hidden), self.dropout, self.training)
        return self.output_self(hidden) + inputs.neighbour_mean @ self.output_neighbours(hidden)
