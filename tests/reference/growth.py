"""Tables cut in two: what was there, and what came since."""

from __future__ import annotations

import numpy as np

from calirare.data.tables.files import edges_as_columns, nodes_as_columns


def rows(table, keep):
    return {name: np.asarray(values, dtype=object)[keep].tolist() for name, values in table.items()}


def as_rows(table):
    """One dict a row, as a request has them."""
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def join(one, other):
    return {name: [*one[name], *other[name]] for name in one}


def split(graph, num_new, seed=0):
    """(tables before, tables that came since): new nodes with all their edges, and some edges between known ones."""
    nodes, edges = nodes_as_columns(graph), edges_as_columns(graph)
    rng = np.random.default_rng(seed)
    new = np.zeros(graph.num_nodes, dtype=bool)
    new[rng.permutation(graph.num_nodes)[:num_new]] = True
    fresh = new[graph.edges.source] | new[graph.edges.target] | (rng.random(len(graph.edges)) < 0.02)
    return (rows(nodes, ~new), rows(edges, ~fresh)), (rows(nodes, new), rows(edges, fresh))
