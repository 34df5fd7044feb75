"""The matrices by which backbones pass messages, of a whole graph or of the nodes of one part of it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.sparse.pattern import SparsePattern
from calirare.data.sparse.products import SparseMatrix


class NeighbourMatrices:
    """Made at first use and kept:

    * `normalized`: Â = D^(-1/2) (A + I) D^(-1/2), the GCN's;
    * `neighbour_sum`: A + I, GIN's (its ε is 0);
    * `neighbour_mean`: D⁻¹ A, GraphSAGE's;
    * `neighbourhoods`: the places of A + I, the GAT's.

    Args:
        adjacency: `(n, m)` weights of the edges of n nodes; the first n columns are the same nodes, the others their
            neighbours elsewhere.
        degree: `(m,)` sum of the weights of each node's edges, in the whole graph.
        device: Where the matrices live.

    >>> pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> NeighbourMatrices(pair, np.ones(2), torch.device("cpu")).normalized.csr.toarray().round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(self, adjacency: sp.csr_array, degree: np.ndarray, device: torch.device) -> None:
        self.adjacency, self.degree, self.device = adjacency, degree, device
        self.num_nodes = int(adjacency.shape[0])
        self._whole = adjacency.shape[0] == adjacency.shape[1]

    @property
    def _looped(self) -> sp.csr_array:
        weights = self.adjacency.astype(np.float64)
        return sp.csr_array(weights + sp.eye_array(*weights.shape, format="csr"))

    @cached_property
    def normalized(self) -> SparseMatrix:
        scale = 1.0 / np.sqrt(self.degree + 1.0)
        return SparseMatrix(_scaled(self._looped, scale[: self.num_nodes], scale), self.device, symmetric=self._whole)

    @cached_property
    def neighbour_sum(self) -> SparseMatrix:
        return SparseMatrix(self._looped, self.device, symmetric=self._whole)

    @cached_property
    def neighbour_mean(self) -> SparseMatrix:
        degree = self.degree[: self.num_nodes]
        scale = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
        return SparseMatrix(_scaled(self.adjacency.astype(np.float64), scale, None), self.device)

    @cached_property
    def neighbourhoods(self) -> SparsePattern:
        return SparsePattern(self.neighbour_sum.csr, self.device)


def _scaled(matrix: sp.csr_array, rows: np.ndarray, columns: np.ndarray | None) -> sp.csr_array:
    """diag(rows) M diag(columns), in place of two sparse products."""
    values = matrix.data * np.repeat(rows, np.diff(matrix.indptr))
    if columns is not None:
        values *= columns[matrix.indices]
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
