"""Small graphs with labels for detectors that read columns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.detectors.base import DetectorInputs, LabelledNodes
from calirare.features.recipe import ColumnRecipe


def inputs_of(graph: RareGraph) -> DetectorInputs:
    return DetectorInputs(graph, ColumnRecipe.learn(graph))


def random_edges(num_nodes: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, num_nodes, (2, 3 * num_nodes))


def dense_graph(num_nodes: int = 300, num_columns: int = 4, num_classes: int = 2, seed: int = 0) -> RareGraph:
    """Classes that depend on the first column and on the neighbours' second."""
    rng = np.random.default_rng(seed)
    x, edges = rng.standard_normal((num_nodes, num_columns)), random_edges(num_nodes, rng)
    score = x[:, 0] + rng.standard_normal(num_nodes)
    y = np.digitize(score, np.quantile(score, 1 - 0.25 * np.arange(num_classes - 1, 0, -1)))
    return RareGraph(x=x, edge_index=edges, y=y, class_names=tuple(f"class {k}" for k in range(num_classes)))


def word_graph(num_nodes: int = 300, num_words: int = 400, seed: int = 0) -> RareGraph:
    """Two classes that use other words, more often joined to their own."""
    rng = np.random.default_rng(seed)
    y = (rng.random(num_nodes) < 0.25).astype(np.int64)
    shares = rng.dirichlet(np.full(num_words, 0.1), 2)
    x = sp.csr_array(np.stack([rng.multinomial(12, 0.6 * shares[label] + 0.4 / num_words) for label in y]))
    edges = random_edges(num_nodes, rng)
    kept = (y[edges[0]] == y[edges[1]]) | (rng.random(edges.shape[1]) < 0.3)
    return RareGraph(x=x.astype(np.float32), edge_index=edges[:, kept], y=y)


def labels_of(
    graph: RareGraph, count: int, *, seed: int = 0, y: np.ndarray | None = None, groups: np.ndarray | None = None
) -> LabelledNodes:
    """Labels of some nodes, with weights inverse to how often a class occurs."""
    nodes = np.sort(np.random.default_rng(seed).permutation(graph.num_nodes)[:count])
    y = graph.y[nodes] if y is None else y
    counts = np.bincount(y, minlength=graph.num_classes)
    weights = 1.0 / counts[y]
    groups = np.arange(count) if groups is None else groups
    return LabelledNodes(nodes, y, weights / weights.sum(), graph.num_classes, groups)
