"""What goes along the edges, fainter with each step, and what of it every node of the fit passes on to its neighbours.

What lies a dozen steps away still counts, so no neighbourhood is large enough to find it in. So what every node passes on is kept,
by the node's key. What comes to a node is then a sum over its neighbours: in the graph of the fit, and for a node that came since or
has new edges. Another network is told by its edges, whatever its ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.node_keys import places_of
from calirare.data.sparse.products import SparseMatrix
from calirare.detectors.base import DetectorInputs
from calirare.detectors.stored import need, numbers
from calirare.features.ends import inverse_root, row_sums

_PAIRS = 64
"""Number of edges that are kept to recognise the network."""


@dataclass(frozen=True, eq=False)
class Passed:
    """What nodes pass on.

    Args:
        keys: `(n,)` of the nodes, ascending.
        values: `(n, k)` float32.
        pairs: `(E, 2)` keys of the ends of some edges, by which the network is known again.
    """

    keys: np.ndarray
    values: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of(cls, inputs: DetectorInputs, nodes: np.ndarray, values: np.ndarray, seed: int) -> Self:
        """What some nodes pass on, `(len(nodes), k)`."""
        order, edges = np.argsort(inputs.keys[nodes]), inputs.graph.edge_index
        some = np.random.default_rng(seed).permutation(edges.shape[1])[:_PAIRS]
        return cls(inputs.keys[nodes][order], values[order].astype(np.float32), inputs.keys[edges[:, some].T])

    def by(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(what nodes with these keys pass on, `(n, k)`, 0 of strangers; `(n,)` who is none)."""
        at, known = places_of(keys, self.keys)
        sent = np.zeros((len(keys), self.values.shape[1]))
        sent[known] = self.values[at[known]]
        return sent, known

    def state(self) -> dict[str, Any]:
        return {"keys": self.keys, "field": self.values, "pairs": self.pairs}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        keys, pairs = numbers(state, "keys", 1, kind="i"), numbers(state, "pairs", 2, kind="i")
        values = numbers(state, "field", 2, size=len(keys)).astype(np.float32)
        need(bool((keys[1:] > keys[:-1]).all()), "keys must ascend")
        need(pairs.shape[1] == 2, "'pairs' must have two columns")
        return cls(keys, values, pairs)


def spread(adjacency: sp.csr_array, start: np.ndarray, alpha: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """(Σ_s (αS)^s start up to the last step but one, the last), float32, with S = D^-½ A D^-½."""
    scale = torch.from_numpy(scale_of(adjacency).astype(np.float32))[:, None]
    matrix = SparseMatrix(adjacency.astype(np.float32), symmetric=True)
    now = torch.from_numpy(start)
    before = torch.zeros_like(now)
    for step in range(steps):
        if step:
            before += now
        now = (matrix @ (now * scale)) * (alpha * scale)
    return before.numpy(), now.numpy()


def scale_of(adjacency: sp.csr_array) -> np.ndarray:
    """D^-½, its diagonal."""
    return inverse_root(row_sums(adjacency.indptr, adjacency.data))
