"""The two-layer graph attention network of Veličković et al."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calirare.data.inputs import GraphInputs
from calirare.data.sparse.pattern import SparsePattern
from calirare.detectors.networks.backbones.layers import FeatureLinear, elu
from calirare.detectors.networks.defaults import DROPOUT, HIDDEN


class GATBackbone(nn.Module):
    """Attention over neighbours, `heads` heads of `hidden` units in the first layer, one in the second.

    The features are multiplied by the weights before attention sees them, so they may be sparse. Attention
    learns its own edge weights; those of the graph are not read. Source: key `velickovic2018`.
    """

    steady: ClassVar[bool] = True

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


class Attention(nn.Module):
    """Σ_v α_iv V_v + b, head by head, over i's neighbours v and i itself.

    α is the softmax over v of ℓ(a_src·V_v + a_dst·V_i), ℓ the leaky relu. This is PyG's `GATConv` with the same names of
    weights, of which a seed makes the same.

    A head is a copy of the graph, so that all of them are one sparse product.

    Args:
        size: Columns that come in.
        units: Columns that each head gives.
        heads: How many there are; their columns stand side by side.
    """

    negative_slope = 0.2

    def __init__(self, size: int, units: int, heads: int = 1) -> None:
        super().__init__()
        self.lin = FeatureLinear(size, heads * units, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, units))
        self.att_dst = nn.Parameter(torch.empty(1, heads, units))
        self.bias = nn.Parameter(torch.empty(heads * units))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        bound = math.sqrt(6.0 / sum(self.att_src.shape[1:]))
        nn.init.uniform_(self.att_src, -bound, bound)
        nn.init.uniform_(self.att_dst, -bound, bound)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, neighbours: SparsePattern) -> Tensor:
        return self.attend(self.lin(x), neighbours)

    def attend(self, values: Tensor, neighbours: SparsePattern) -> Tensor:
        """From V `(m, heads * units)`, the first rows of which are the nodes that look at their neighbours."""
        _, heads, units = self.att_src.shape
        count, pattern = neighbours.shape[0], neighbours.copies(heads)
        vectors = [torch.block_diag(*vector[0, :, :, None]) for vector in (self.att_src, self.att_dst)]
        scores = values @ torch.cat(vectors, dim=1)
        toward = scores[:, :heads].reshape(-1).index_select(0, pattern.column)
        back = scores[:count, heads:].reshape(-1).index_select(0, pattern.row)
        weights = softmax_by_row(F.leaky_relu(toward + back, self.negative_slope), pattern)
        return pattern.multiply(weights, values.reshape(-1, units)).view(count, -1) + self.bias


def softmax_by_row(scores: Tensor, pattern: SparsePattern) -> Tensor:
    """exp(s_e) / Σ exp(s) over the places of a row.

    >>> import scipy.sparse as sp
    >>> softmax_by_row(torch.tensor([1.0, 1.0, 5.0]), SparsePattern(sp.csr_array([[1, 1], [0, 1]]))).tolist()
    [0.5, 0.5, 1.0]
    """
    none, row = scores.new_zeros(pattern.shape[0]), pattern.row
    largest = (none - torch.inf).scatter_reduce(0, row.long(), scores.detach(), "amax")
    weights = (scores - largest.index_select(0, row)).exp()
    return weights / none.index_add(0, row, weights).index_select(0, row)
