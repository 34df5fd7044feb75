"""Parts that the backbones share."""

from __future__ import annotations

from torch import Tensor, nn

from calirare.data.inputs import Features


class FeatureLinear(nn.Linear):
    """A linear layer whose input may be sparse: X W + b with X dense or CSR."""

    def forward(self, x: Features) -> Tensor:
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
