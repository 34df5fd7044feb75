"""Each node's place in the graph: degree, clustering, core, component, reach.

Only who is joined to whom is read of an adjacency, never its values.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from calirare.data.graph import RareGraph
from calirare.data.sparse.products import small_index
from calirare.features.ends import ends_of, over_ends, starts_of
from calirare.features.triangles import triangles

STRUCTURE = DEGREE, LOG_DEGREE, CLUSTERING, CORE, SIZE, REACH = (
    "degree",
    "log degree",
    "clustering",
    "core number",
    "size of component",
    "two-hop reach (neighbours' degrees added)",
)
"""The columns, in their order."""


def structure_columns(graph: RareGraph) -> dict[str, np.ndarray]:
    """`(N,)` float64 columns by readable name; direction, weights and repeats of edges do not matter here.

    >>> graph = RareGraph(x=np.eye(4), edge_index=np.array([[0, 1, 2, 2], [1, 2, 0, 3]]), y=np.zeros(4, dtype=int))
    >>> {name: column.tolist() for name, column in structure_columns(graph).items() if name != "log degree"}
    {'degree': [2.0, 2.0, 3.0, 1.0], 'clustering': [1.0, 1.0, 0.333..., 0.0], 'core number': [2.0, 2.0, 2.0, 1.0],
     'size of component': [4.0, 4.0, 4.0, 4.0], "two-hop reach (neighbours' degrees added)": [5.0, 5.0, 5.0, 3.0]}
    """
    return structure_of(neighbours(graph))


def structure_of(adjacency: sp.csr_array) -> dict[str, np.ndarray]:
    """The same from the symmetric adjacency of ones."""
    degree = np.diff(adjacency.indptr).astype(np.float64)
    return {
        DEGREE: degree,
        LOG_DEGREE: np.log1p(degree),
        CLUSTERING: clustering(adjacency),
        CORE: core_numbers(adjacency).astype(np.float64),
        SIZE: component_sizes(adjacency).astype(np.float64),
        REACH: over_ends(adjacency, degree),
    }


def neighbours(graph: RareGraph) -> sp.csr_array:
    """The symmetric adjacency of ones; `edge_index` is sorted and free of repeats, so nothing is sorted again."""
    source, target = graph.edge_index
    starts = starts_of(np.bincount(source, minlength=graph.num_nodes))
    index = small_index(source.size)
    parts = (np.ones(source.size), target.astype(index), starts.astype(index))
    return sp.csr_array(parts, shape=(graph.num_nodes, graph.num_nodes))


def component_sizes(adjacency: sp.csr_array) -> np.ndarray:
    """Number of nodes that each node is connected to, itself included."""
    if not adjacency.shape[0]:
        return np.zeros(0, dtype=np.int64)
    # In a symmetric graph strong components are the components, and are found without its transpose.
    _, component = connected_components(adjacency, directed=True, connection="strong")
    return np.bincount(component)[component]


def clustering(adjacency: sp.csr_array) -> np.ndarray:
    """Share of the pairs of a node's neighbours that are neighbours themselves; 0 with fewer than two neighbours."""
    counts, degree = triangles(adjacency), np.diff(adjacency.indptr)
    return np.full(degree.size, np.nan) if counts is None else closed_share(counts, degree)


def closed_share(counts: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """The share of pairs of neighbours that are joined, of nodes with these numbers of triangles and neighbours."""
    pairs = degree * (degree - 1.0) / 2
    return np.divide(counts, pairs, out=np.zeros(degree.size), where=pairs > 0)


def core_numbers(adjacency: sp.csr_array) -> np.ndarray:
    """The largest k such that a node lies in a subgraph where everyone has k neighbours."""
    return peel(adjacency)[0]


def peel(adjacency: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Core numbers, and the wave in which each node was taken away.

    Nodes of the smallest degree are taken away in waves; each edge is touched once from either end.
    """
    left = np.diff(adjacency.indptr).astype(np.int64)
    core, waves = np.zeros(left.size, dtype=np.int64), np.zeros(left.size, dtype=np.int64)
    alive = np.arange(left.size)
    level, number = 0, 0
    while alive.size:
        level = max(level, int(left[alive].min()))
        wave = alive[left[alive] <= level]
        while wave.size:
            core[wave], waves[wave] = level, number
            number += 1
            left[wave] = -1
            reached = [wave[:0]]
            for _, ends in ends_of(adjacency, wave):
                np.subtract.at(left, ends, 1)  # those taken away stay below zero
                now = left[ends]
                reached.append(ends[(now >= 0) & (now <= level)])
            wave = np.unique(np.concatenate(reached))
        alive = alive[left[alive] >= 0]
    return core, waves
