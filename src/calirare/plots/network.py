"""The network with its rare nodes marked (the paper's figure 1b)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.data.checks import check_count
from calirare.data.graph import RareGraph
from calirare.plots.layout import spring_layout
from calirare.plots.style import FAINT, NORMAL, RARE, UNKNOWN_LABEL, figure_of, styled
from calirare.plots.tables import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def frame(graph: RareGraph, *, max_nodes: int = 1500, seed: int = 0) -> Frame:
    """One row for each node drawn: `node`, `x`, `y` (position), `kind` ("rare", "normal", "unknown").

    A larger graph is represented by `max_nodes` nodes collected breadth first from random ones, so that what is drawn
    keeps its neighbourhoods.
    """
    nodes = sample_nodes(graph, check_count(max_nodes, "max_nodes"), seed)
    position = spring_layout(nodes.size, drawn_edges(graph, nodes), seed=seed)
    label = graph.y[nodes]
    kind = np.where(label == graph.rare_class, "rare", np.where(label == UNKNOWN, "unknown", "normal"))
    return {"node": nodes, "x": position[:, 0], "y": position[:, 1], "kind": kind}


def plot(graph: RareGraph, *, max_nodes: int = 1500, seed: int = 0, ax: Axes | None = None) -> Figure:
    """Nodes and edges, rare nodes on top and marked by shape as well as colour. See `frame`."""
    table = frame(graph, max_nodes=max_nodes, seed=seed)
    position = np.column_stack([table["x"], table["y"]])
    with styled():
        from matplotlib.collections import LineCollection

        figure, ax = figure_of(ax, 4.6, 4.6)
        edges = drawn_edges(graph, table["node"])
        once = edges[:, edges[0] < edges[1]].T
        ax.add_collection(LineCollection(list(position[once]), colors=FAINT, linewidths=0.4, zorder=1))
        size = float(np.clip(9000 / max(position.shape[0], 1), 5, 40))
        looks: dict[str, dict[str, Any]] = {
            "unknown": {"color": UNKNOWN_LABEL, "marker": "o", "s": size * 0.7, "zorder": 2},
            "normal": {"color": NORMAL, "marker": "o", "s": size, "zorder": 3},
            "rare": {"color": RARE, "marker": "D", "s": size * 1.6, "zorder": 4},
        }
        for kind, look in looks.items():
            picked = table["kind"] == kind
            if picked.any():
                label = f"{_name(graph, kind)} ({int(picked.sum()):,})"
                ax.scatter(*position[picked].T, linewidths=0.3, edgecolors="white", label=label, **look)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[], yticks=[], aspect="equal")
        for side in ax.spines.values():
            side.set_visible(False)
        drawn = (
            f"{position.shape[0]:,} of {graph.num_nodes:,} nodes"
            if position.shape[0] < graph.num_nodes
            else "all nodes"
        )
        ax.set_title(f"{graph.name}: {drawn}", loc="left")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, handletextpad=0.2, columnspacing=1.2)
    return figure


def sample_nodes(graph: RareGraph, max_nodes: int, seed: int) -> np.ndarray:
    """At most `max_nodes` node indices, ascending: breadth first from random nodes."""
    if graph.num_nodes <= max_nodes:
        return np.arange(graph.num_nodes)
    adjacency = graph.adjacency()
    generator = np.random.default_rng(seed)
    taken = np.zeros(graph.num_nodes, dtype=bool)
    left = max_nodes
    starts = iter(generator.permutation(graph.num_nodes))
    front = np.empty(0, dtype=np.int64)
    while left > 0:
        if front.size == 0:
            front = np.array([next(start for start in starts if not taken[start])])
        front = generator.permutation(front)[:left]
        taken[front] = True
        left -= front.size
        reached = np.unique(adjacency[front].indices)
        front = reached[~taken[reached]]
    return np.flatnonzero(taken)


def drawn_edges(graph: RareGraph, nodes: np.ndarray) -> np.ndarray:
    """Edges among `nodes`, `(2, E)`, both directions, as positions in `nodes`."""
    row = np.full(graph.num_nodes, -1)
    row[nodes] = np.arange(nodes.size)
    edges = row[graph.edge_index]
    return edges[:, (edges >= 0).all(axis=0)]


def _name(graph: RareGraph, kind: str) -> str:
    if kind == "rare":
        return graph.class_names[graph.rare_class]
    if kind == "normal" and graph.num_classes == 2:
        return graph.class_names[1 - graph.rare_class]
    return kind
