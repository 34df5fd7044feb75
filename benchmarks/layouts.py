"""Our layout of networks beside networkx's: seconds, and how far nodes lie from their nearest neighbour on paper.

python benchmarks/layouts.py
"""

from __future__ import annotations

import time

import networkx
import numpy as np
from scipy.spatial import KDTree

import calirare as cr
from calirare.plots.layout import spring_layout


def crowding(position: np.ndarray) -> float:
    """Distance to the nearest node, its tenth percentile, in units of the typical distance; larger is clearer."""
    nearest = KDTree(position).query(position, 2)[0][:, 1]
    return float(np.quantile(nearest, 0.1) / np.linalg.norm(position - position.mean(axis=0), axis=1).mean())


def main() -> None:
    print(f"{'nodes':>6} {'ours, s':>9} {'networkx, s':>12} {'ours, apart':>12} {'networkx, apart':>16}")
    for num_nodes in (40, 200, 600, 1_500):
        edges = cr.make_transactions(num_nodes, average_degree=6, seed=0).edge_index
        started = time.perf_counter()
        ours = spring_layout(num_nodes, edges)
        own_seconds = time.perf_counter() - started
        other = networkx.Graph(edges.T.tolist())
        other.add_nodes_from(range(num_nodes))
        started = time.perf_counter()
        places = networkx.spring_layout(other, seed=0)
        seconds = time.perf_counter() - started
        theirs = np.array([places[node] for node in range(num_nodes)])
        print(f"{num_nodes:>6} {own_seconds:>9.2f} {seconds:>12.2f} {crowding(ours):>12.3f} {crowding(theirs):>16.3f}")


if __name__ == "__main__":
    main()
