"""The two-layer graph attention network of Veličković et al."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.backbones.attention import Attention
from calirare.detectors.networks.backbones.layers import FeatureLinear, elu
from calirare.detectors.networks.defaults import DROPOUT, HIDDEN


class GATBackbone(nn.Module):
    """Attention over neighbours, `heads` heads of `hidden` units in the first layer, one in the second.

    The features are multiplied by the weights before attention sees them, so they may be sparse. Attention
    learns its own edge weights; those of the graph are not read. Source: key `velickovic2018`.
    """

    def __init__(
        self, num_features: int, num_classes: int, *, hidden: int = HIDDEN, dropout: float = DROPOUT, heads: int = 4
    ) -> None:
        super().__init__()
        width = hidden * heads
        self.input = FeatureLinear(num_features, width, bias=False)
        self.first = Attention(width, hidden, heads)
        self.first.lin = nn.Identity()  # type: ignore[assignment]  # `input` stands for it
        self.second = Attention(width, num_classes)
        self.dropout = dropout

    def forward(self, inputs: GraphInputs) -> Tensor:
        hidden = elu(self.first(self.input(inputs.x), inputs.neighbourhoods))
        hidden = F.dropout(hidden, self.dropout, self.training)
        return self.second(hidden, inputs.neighbourhoods)
