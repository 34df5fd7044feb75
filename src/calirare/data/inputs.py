"""A graph as a model sees it: tensors on one device, the sparse products prepared once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from calirare.data.graph import RareGraph
from calirare.data.sparse.neighbour_matrices import NeighbourMatrices
from calirare.data.sparse.products import SparseMatrix, as_torch_csr
from calirare.errors import InputError

Features = Tensor | SparseMatrix


class GraphInputs(NeighbourMatrices):
    """The features and the matrices of a graph. Sparse features stay a `SparseMatrix`."""

    def __init__(
        self, graph: RareGraph, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        adjacency = graph.adjacency()
        degree = np.asarray(adjacency.astype(np.float64).sum(axis=1))
        super().__init__(adjacency, degree, torch.device(device))
        self.dtype = dtype
        self.num_features = graph.num_features
        self.edge_index = torch.from_numpy(graph.edge_index).to(self.device)
        weight = graph.edge_weight
        self.edge_weight = None if weight is None else torch.from_numpy(weight).to(self.device, dtype)
        self.x: Features = (
            SparseMatrix(graph.x, self.device)
            if sp.issparse(graph.x)
            else torch.from_numpy(graph.x).to(self.device, dtype)
        )

    @cached_property
    def self_weight(self) -> Tensor:
        """Â_ii of every node, `(N,)`."""
        return torch.from_numpy(self.normalized.csr.diagonal()).to(self.device, self.dtype)

    @cached_property
    def propagated_x(self) -> Tensor:
        """Â X for dense features: one product in advance instead of one an epoch."""
        if isinstance(self.x, SparseMatrix):
            raise TypeError("sparse features are multiplied by the weights first: Â (X W)")
        return self.normalized @ self.x

    @property
    def torch_x(self) -> Tensor:
        """Features as a torch tensor: dense, or sparse CSR where they are sparse."""
        if not isinstance(self.x, SparseMatrix):
            return self.x
        return as_torch_csr(self.x.csr, self.dtype, self.device)


def choose_device(device: str | torch.device) -> torch.device:
    """`"auto"` is a GPU where there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    wrong = f"device must be 'auto', 'cpu' or 'cuda'; got {device!r}."
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InputError(wrong) from error
    if chosen.type not in ("cpu", "cuda"):
        raise InputError(wrong)
    if chosen.type == "cuda" and not (chosen.index or 0) < torch.cuda.device_count():
        raise InputError(
            f"device {device!r} was asked for, but torch sees {torch.cuda.device_count()} GPUs; use device='auto'."
        )
    return chosen
