"""Parts that the backbones share."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import Features
from calirare.data.sparse.products import soon_bound


class FeatureLinear(nn.Linear):
    """A linear layer whose input may be sparse: X W + b with X dense or CSR."""

    def forward(self, x: Features) -> Tensor:
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class _Elu(torch.autograd.Function):
    """Its slope min(y, 0) + 1 comes from its value y, so that an exponential is taken once and nothing else."""

    generate_vmap_rule = True

    @staticmethod
    @soon_bound
    def forward(x: Tensor) -> Tensor:
        return x.clamp(max=0.0).exp_().sub_(1.0).add_(x.relu())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (output,) = ctx.saved_tensors
        return torch.addcmul(gradients[0], gradients[0], output.clamp(max=0.0))


def elu(x: Tensor) -> Tensor:
    """max(x, 0) + exp(min(x, 0)) - 1; on a CPU in half the time of torch's own.

    >>> elu(torch.tensor([-50.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 2.0]
    """
    return _Elu.apply(x) if x.device.type == "cpu" else F.elu(x)  # type: ignore[no-untyped-call]
