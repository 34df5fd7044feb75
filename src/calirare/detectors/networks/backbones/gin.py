"""The two-layer graph isomorphism network of Xu et al."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.backbones.layers import FeatureLinear
from calirare.detectors.networks.defaults import DROPOUT, HIDDEN


class GINBackbone(nn.Module):
    """Two layers of h ← MLP((A + I) h), each MLP with one hidden layer of `hidden` units.

    The first linear map commutes with the sum over neighbours, so the features are multiplied first.
    Source: key `xu2019`.
    """

    steady: ClassVar[bool] = True

    def __init__(self, num_features: int, num_classes: int, *, hidden: int = HIDDEN, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.input = FeatureLinear(num_features, hidden, bias=False)
        self.input_bias = nn.Parameter(torch.zeros(hidden))
        self.first = FeatureLinear(hidden, hidden)
        self.second = nn.Sequential(FeatureLinear(hidden, hidden), nn.ReLU(), FeatureLinear(hidden, num_classes))
        self.dropout = dropout

    def forward(self, inputs: GraphInputs) -> Tensor:
        hidden = torch.relu(inputs.neighbour_sum @ self.input(inputs.x) + self.input_bias)
        hidden = F.dropout(torch.relu(self.first(hidden)), self.dropout, self.training)
        return self.second(inputs.neighbour_sum @ hidden)
