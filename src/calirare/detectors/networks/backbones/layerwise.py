"""Backbones one layer at a time, on one part of a graph.

A layer needs a part's own nodes and their neighbours, the halo. With the outputs of the layer before kept for all nodes,
each layer runs part by part, and the logits are those of the whole graph: a halo of one step does, however many layers.

What passes between the layers is as narrow as the backbone allows, because it is kept for every node.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from calirare.data.inputs import Features
from calirare.data.parts.partitions import Part
from calirare.data.sparse.neighbour_matrices import NeighbourMatrices
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.networks.backbones.gat import GATBackbone
from calirare.detectors.networks.backbones.gcn import GCNBackbone
from calirare.detectors.networks.backbones.gin import GINBackbone
from calirare.detectors.networks.backbones.layers import elu
from calirare.detectors.networks.backbones.sage import SAGEBackbone
from calirare.errors import InputError


class PartInputs(NeighbourMatrices):
    """A part as a layer sees it: the rows of the matrices that belong to its own nodes."""

    def __init__(self, part: Part, device: torch.device | str = "cpu") -> None:
        super().__init__(part.adjacency, part.degree, torch.device(device))

    def tensor(self, rows: np.ndarray | sp.csr_array) -> Features:
        """Features as a model takes them."""
        if sp.issparse(rows):
            return SparseMatrix(rows, self.device)
        return torch.from_numpy(rows).to(self.device)


class Layers(nn.Module):
    """The two layers of a backbone. Each is a linear step without parameters, `gather`, and `forward` on what it gave."""

    gathers = True
    """Whether `gather` sums over neighbours; else `forward` does, and wants the halo as it is."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def passes(self) -> int:
        """Numbers per node that the first layer passes to the second."""
        raise NotImplementedError

    def gather(self, inputs: PartInputs, local: Features) -> Features:
        """What the own nodes get from rows of `local`, which are own nodes and halo."""
        matrix = self.matrix(inputs)
        return (
            SparseMatrix(matrix.csr @ local.csr, inputs.device) if isinstance(local, SparseMatrix) else matrix @ local
        )

    def matrix(self, inputs: PartInputs) -> SparseMatrix:
        raise NotImplementedError

    def forward(self, layer: int, own: Features, near: Features, inputs: PartInputs) -> Tensor:
        """Output of the own nodes, from their own rows and the gathered ones."""
        raise NotImplementedError


class GCNLayers(Layers):
    """u = relu(s W₁ᵀ + b₁) W₂ᵀ with s = Â X, then Â u + b₂."""

    model: GCNBackbone

    @property
    def passes(self) -> int:
        return self.model.output.out_features

    def matrix(self, inputs: PartInputs) -> SparseMatrix:
        return inputs.normalized

    def forward(self, layer: int, own: Features, near: Features, inputs: PartInputs) -> Tensor:
        if layer == 0:
            return torch.relu(self.model.input(near) + self.model.input_bias) @ self.model.output.weight.T
        return near + self.model.output.bias  # type: ignore[operator]


class GINLayers(Layers):
    """h = the first MLP of (A + I) X, then the second MLP of (A + I) h."""

    model: GINBackbone

    @property
    def passes(self) -> int:
        return self.model.first.out_features

    def matrix(self, inputs: PartInputs) -> SparseMatrix:
        return inputs.neighbour_sum

    def forward(self, layer: int, own: Features, near: Features, inputs: PartInputs) -> Tensor:
        if layer == 0:
            hidden = torch.relu(self.model.input(near) + self.model.input_bias)
            return torch.relu(self.model.first(hidden))
        return self.model.second(near)


class SAGELayers(Layers):
    """Both linear maps of the hidden layer side by side; then the self part of the node, the other of its neighbours."""

    model: SAGEBackbone

    @property
    def passes(self) -> int:
        return 2 * self.model.output_self.out_features

    def matrix(self, inputs: PartInputs) -> SparseMatrix:
        return inputs.neighbour_mean

    def forward(self, layer: int, own: Features, near: Features, inputs: PartInputs) -> Tensor:
        if layer == 0:
            hidden = torch.relu(self.model.input_self(own) + self.model.input_neighbours(near))
            return torch.cat([self.model.output_self(hidden), self.model.output_neighbours(hidden)], dim=1)
        classes = self.model.output_self.out_features
        return own[:, :classes] + near[:, classes:]  # type: ignore[index]


class GATLayers(Layers):
    """Attention needs its neighbours one by one; the second layer's linear map is taken before the halo is crossed."""

    gathers = False
    model: GATBackbone

    @property
    def passes(self) -> int:
        return self.model.second.lin.out_features

    def gather(self, inputs: PartInputs, local: Features) -> Features:
        return local

    def forward(self, layer: int, own: Features, near: Features, inputs: PartInputs) -> Tensor:
        if layer == 0:
            return self.model.second.lin(elu(self.model.first(self.model.input(near), inputs.neighbourhoods)))
        return self.model.second.attend(near, inputs.neighbourhoods)  # type: ignore[arg-type]


_LAYERS: dict[type[nn.Module], type[Layers]] = {
    GCNBackbone: GCNLayers,
    GINBackbone: GINLayers,
    SAGEBackbone: SAGELayers,
    GATBackbone: GATLayers,
}


def layers_of(model: nn.Module) -> Layers:
    """The layers of a backbone, or an error where its depth is not known."""
    if type(model) not in _LAYERS:
        raise InputError(
            "scoring in partitions knows the layers of the backbones 'gcn', 'sage', 'gin' and 'gat'; this model has "
            "another. Read the tables and use predict_proba."
        )
    return _LAYERS[type(model)](model).eval()


def run_layer(
    layers: Layers, number: int, part: Part, rows: np.ndarray | sp.csr_array, device: torch.device | str
) -> np.ndarray:
    """What a layer gives for a part's own nodes, from the rows of these and of its halo."""
    inputs = PartInputs(part, device)
    own, local = inputs.tensor(rows[: inputs.num_nodes]), inputs.tensor(rows)
    return layers(number, own, layers.gather(inputs, local), inputs).detach().cpu().numpy()
