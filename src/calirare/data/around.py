"""The nodes around one as a network of two layers reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.inputs import Features, GraphInputs
from calirare.data.sparse.neighbour_matrices import NeighbourMatrices
from calirare.data.sparse.products import SparseMatrix


class InputsAround(GraphInputs):
    """A node, its neighbours, and theirs: what two layers say of the first row is what they say in the whole graph.

    Rows of the matrices are whole for the node and its neighbours; those further out have none.

    Args:
        adjacency: `(n, m)` weights of the edges of the node, which comes first, and its neighbours; columns are these,
            then the neighbours of the neighbours.
        degree: `(m,)` weighted degrees in the whole graph.
        x: `(m, F)` attributes.
        dtype: Of what is computed.
    """

    def __init__(
        self, adjacency: sp.csr_array, degree: np.ndarray, x: Features, dtype: torch.dtype = torch.float32
    ) -> None:
        self._near = NeighbourMatrices(adjacency, degree, x.device)
        self.device, self.dtype, self.x = x.device, dtype, x
        self.num_nodes, self.num_features = x.shape
        self.edge_weight = None

    @cached_property
    def normalized(self) -> SparseMatrix:
        return self._square(self._near.normalized)

    @cached_property
    def neighbour_sum(self) -> SparseMatrix:
        return self._square(self._near.neighbour_sum)

    @cached_property
    def neighbour_mean(self) -> SparseMatrix:
        return self._square(self._near.neighbour_mean)

    def _square(self, matrix: SparseMatrix) -> SparseMatrix:
        csr = matrix.csr
        starts = np.concatenate([csr.indptr, np.full(self.num_nodes - csr.shape[0], csr.indptr[-1])])
        whole = sp.csr_array((csr.data, csr.indices, starts), shape=(self.num_nodes, self.num_nodes))
        return SparseMatrix(whole, self.device)


@dataclass(frozen=True, eq=False)
class Around:
    """What lies around some nodes of a graph, each with surroundings of its own, even where these overlap.

    Args:
        inputs: Its first rows are the nodes that were asked for.
        nodes: `(m,)` which node of the graph each row is.
        centre: `(m,)` around which of the nodes asked for it lies, as their position.
    """

    inputs: InputsAround
    nodes: np.ndarray
    centre: np.ndarray


def inputs_around(whole: GraphInputs, asked: np.ndarray) -> Around:
    """The surroundings of some nodes side by side: a gradient of the sum of their logits is that of each.

    >>> from calirare.data.synthetic import make_transactions
    >>> whole = GraphInputs(make_transactions(num_nodes=200, seed=0))
    >>> near = inputs_around(whole, np.array([7, 3, 7]))
    >>> near.nodes[:3].tolist(), near.centre[:3].tolist()
    ([7, 3, 7], [0, 1, 2])
    >>> bool(torch.allclose((whole.normalized @ whole.x)[[7, 3, 7]], (near.inputs.normalized @ near.inputs.x)[:3]))
    True
    """
    if isinstance(whole, InputsAround):
        return Around(whole, np.arange(whole.num_nodes), np.zeros(whole.num_nodes, dtype=np.int64))
    asked, count = np.asarray(asked, dtype=np.int64), np.int64(whole.num_nodes)
    first, to = _ends(whole.adjacency, asked)
    others = first * count + to  # one number for a centre and a node
    centres = np.arange(len(asked)) * count + asked
    near = np.concatenate([centres, np.setdiff1d(others, centres)])
    rows = whole.adjacency[near % count]
    ends = np.repeat(near // count, np.diff(rows.indptr)) * count + rows.indices
    keys = np.concatenate([near, np.setdiff1d(ends, near)])
    order = np.argsort(keys)
    columns = order[np.searchsorted(keys, ends, sorter=order)]
    nodes = keys % count
    return Around(_inputs(whole, rows, columns, nodes), nodes, keys // count)


def inputs_around_all(whole: GraphInputs, asked: np.ndarray) -> InputsAround:
    """The surroundings of some nodes together, every node once; its first rows are the nodes asked for.

    >>> from calirare.data.synthetic import make_transactions
    >>> whole = GraphInputs(make_transactions(num_nodes=200, seed=0))
    >>> near = inputs_around_all(whole, np.array([7, 3]))
    >>> bool(torch.allclose((whole.normalized @ whole.x)[[7, 3]], (near.normalized @ near.x)[:2]))
    True
    """
    nodes = np.asarray(asked, dtype=np.int64)
    seen = np.zeros(whole.num_nodes, dtype=bool)
    for _ in range(2):
        seen[nodes] = True
        rows = whole.adjacency[nodes]
        further = np.zeros(whole.num_nodes, dtype=bool)
        further[rows.indices] = True
        nodes = np.concatenate([nodes, np.flatnonzero(further & ~seen)])
    place = np.empty(whole.num_nodes, dtype=rows.indices.dtype)
    place[nodes] = np.arange(nodes.size)
    return _inputs(whole, rows, place[rows.indices], nodes)


def _inputs(whole: GraphInputs, rows: sp.csr_array, columns: np.ndarray, nodes: np.ndarray) -> InputsAround:
    """The inputs of `nodes`. `rows` are the adjacency rows of the first of them, their entries moved to `columns`."""
    adjacency = sp.csr_array((rows.data, columns, rows.indptr), shape=(rows.shape[0], nodes.size))
    x: Features = (
        SparseMatrix(whole.x.csr[nodes], whole.device)
        if isinstance(whole.x, SparseMatrix)
        else whole.x[torch.from_numpy(nodes)]
    )
    return InputsAround(adjacency, whole.degree[nodes], x, whole.dtype)


def size_around(whole: GraphInputs, nodes: np.ndarray) -> np.ndarray:
    """`(n,)` how many edges `inputs_around` looks at for each node."""
    if isinstance(whole, InputsAround):
        return np.zeros(len(nodes), dtype=np.int64)
    degree = np.diff(whole.adjacency.indptr)
    row, to = _ends(whole.adjacency, nodes)
    return degree[nodes] + np.bincount(row, weights=degree[to], minlength=len(nodes)).astype(np.int64)


def _ends(adjacency: sp.csr_array, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(position of the node, its neighbour) of each edge of the nodes."""
    rows = adjacency[nodes]
    return np.repeat(np.arange(len(nodes)), np.diff(rows.indptr)), rows.indices.astype(np.int64)
