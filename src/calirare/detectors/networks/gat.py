"""The two-layer graph attention network of Veličković et al."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.detectors.networks.defaults import DROPOUT, HIDDEN
from calirare.detectors.networks.layers import FeatureLinear


class GAT(nn.Module):
    """Attention over neighbours, `heads` heads of `hidden` units in the first layer, one in the second.

    The features are multiplied by the weights before PyG's attention sees them, so they may be sparse. Attention
    learns its own edge weights; those of the graph are not read. Source: key `velickovic2018`.
    """

    def __init__(
        self, num_features: int, num_classes: int, *, hidden: int = HIDDEN, dropout: float = DROPOUT, heads: int = 4
    ) -> None:
        from torch_geometric.nn import GATConv  # two seconds, which nobody else need wait for

        super().__init__()
        width = hidden * heads
        self.input = FeatureLinear(num_features, width, bias=False)
        self.first = GATConv(width, hidden, heads=heads)
        self.first.lin = nn.Identity()
        self.second = GATConv(width, num_classes, heads=1)
        self.dropout = dropout

    def forward(self, inputs: GraphInputs) -> Tensor:
        hidden = F.elu(self.first(self.input(inputs.x), inputs.edge_index))
        hidden = F.dropout(hidden, self.dropout, self.training)
        logits: Tensor = self.second(hidden, inputs.edge_index)
        return logits
