"""Small graphs with edge tables of every kind: typed, repeated, missing values, loops, nodes without edges."""

import numpy as np

from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph


def odd_table(seed=0, num_nodes=12, num_edges=60, directed=True, typed=True):
    generator = np.random.default_rng(seed)
    source = generator.integers(0, max(1, num_nodes - 2), num_edges)
    target = generator.integers(0, max(1, num_nodes - 3), num_edges)
    value = np.where(generator.random(num_edges) < 0.1, np.nan, generator.normal(10.0, 50.0, num_edges).round(1))
    time = 1.6e9 + generator.integers(0, 20, num_edges) * 3600.0
    time[generator.random(num_edges) < 0.1] = np.nan
    channel = generator.integers(-1, 3, num_edges)
    device = generator.integers(0, 25, num_edges)
    columns = (
        EdgeColumn("value", "number", value),
        EdgeColumn("time", "time", time),
        EdgeColumn("channel", "category", channel, ("web", "shop", "phone")),
        EdgeColumn("device", "category", device, tuple(f"d{k}" for k in range(25))),
    )
    if not typed:
        return EdgeTable(source, target, columns, directed)
    return EdgeTable(source, target, columns, directed, generator.integers(0, 2, num_edges), ("wire", "card"))


def typed_graph(seed=0, num_nodes=30, num_edges=150, **options):
    generator = np.random.default_rng(seed)
    table = odd_table(seed, num_nodes, num_edges, **options)
    return RareGraph(
        x=generator.normal(size=(num_nodes, 2)),
        feature_names=("balance", "age"),
        edge_index=np.stack([table.source, table.target]),
        y=generator.integers(0, 2, num_nodes),
        edges=table,
        node_type=generator.integers(0, 2, num_nodes),
        node_type_names=("person", "shop"),
    )
