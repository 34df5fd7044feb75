"""The two-layer graph convolutional network of Kipf and Welling."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.backbones.layers import FeatureLinear
from calirare.detectors.networks.defaults import DROPOUT, HIDDEN


class GCNBackbone(nn.Module):
    """Logits Z = Â relu(Â X W₁ + b₁) W₂ + b₂, with dropout on the hidden layer.

    The first product runs in the cheaper order: Â (X W₁) for sparse features, (Â X) W₁ with Â X kept for dense
    ones. Source: Kipf and Welling, key `kipf2017`.
    """

    steady: ClassVar[bool] = True

    def __init__(self, num_features: int, num_classes: int, *, hidden: int = HIDDEN, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.input = FeatureLinear(num_features, hidden, bias=False)
        self.input_bias = nn.Parameter(torch.zeros(hidden))
        self.output = FeatureLinear(hidden, num_classes)
        self.dropout = dropout

    def hidden_input(self, inputs: GraphInputs) -> Tensor:
        """Â X W₁ + b₁, before the relu."""
        sparse = isinstance(inputs.x, SparseMatrix)
        product = inputs.normalized @ self.input(inputs.x) if sparse else self.input(inputs.propagated_x)
        return product + self.input_bias

    def forward(self, inputs: GraphInputs) -> Tensor:
        hidden = F.dropout(torch.relu(self.hidden_input(inputs)), self.dropout, self.training)
        product = hidden @ self.output.weight.T
        return inputs.normalized @ product + self.output.bias
