"""Graphs as NetworkX graphs, as pandas or polars frames, and in PyTorch Geometric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import UNKNOWN, as_dense
from calirare.data.edge_rows import edges_as_columns
from calirare.data.named_columns import NamedColumns

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars
    from torch_geometric.data import Data

    from calirare.data.graph import RareGraph


def to_pyg(graph: RareGraph) -> Data:
    """A PyG `Data` with copies of the arrays; sparse features become a torch CSR tensor, masks the public split."""
    import torch
    from torch_geometric.data import Data

    from calirare.data.sparse.products import as_torch_csr

    data = Data(edge_index=torch.tensor(graph.edge_index), y=torch.tensor(graph.y))
    sparse = sp.issparse(graph.x)
    data.x = as_torch_csr(graph.x, torch.float32, torch.device("cpu")) if sparse else torch.tensor(graph.x)
    for name in ("edge_weight", "original_y", "true_probability"):
        if getattr(graph, name) is not None:
            data[name] = torch.tensor(getattr(graph, name))
    if graph.node_ids is not None:
        data.node_ids = np.array(graph.node_ids)
    if graph.public_split is not None:
        for name, mask in graph.public_split.masks(graph.num_nodes).items():
            data[name] = torch.tensor(mask)
    return data


def to_networkx(graph: RareGraph) -> networkx.Graph:
    """The graph in NetworkX: features by name, `label` where it is known; every row of the edges with its columns.

    Rows of a table make a `MultiDiGraph`; a graph that knows only who is joined to whom makes a plain `Graph`.
    """
    import networkx as nx

    names = graph.ids.tolist()
    network = nx.Graph() if graph.edges is None else nx.MultiDiGraph()
    features = NamedColumns(_features(graph)).rows() if graph.num_features else ({} for _ in names)
    for node, row, y in zip(names, features, graph.y.tolist(), strict=True):
        network.add_node(node, **(row if y == UNKNOWN else row | {"label": graph.class_names[y]}))
    for row in NamedColumns(edges_as_columns(graph)).rows():
        source, target = row.pop("source"), row.pop("target")
        network.add_edge(source, target, **row)
    return network


def to_polars(graph: RareGraph) -> tuple[polars.DataFrame, polars.DataFrame]:
    """Nodes and edges as polars frames: `id`, the features by name, `label`; `source`, `target`, the edges' columns."""
    nodes, edges = _tables(graph)
    return nodes.to_polars(), edges.to_polars()


def to_pandas(graph: RareGraph) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The same as pandas frames."""
    nodes, edges = _tables(graph)
    return nodes.to_pandas(), edges.to_pandas()


def _tables(graph: RareGraph) -> tuple[NamedColumns, NamedColumns]:
    names = np.array([*graph.class_names, None], dtype=object)  # the last is that of UNKNOWN, -1
    nodes = {"id": graph.ids, **_features(graph), "label": names[graph.y]}
    return NamedColumns(nodes), NamedColumns(edges_as_columns(graph))


def _features(graph: RareGraph) -> dict[str, Any]:
    names = graph.feature_names or tuple(f"feature_{k}" for k in range(graph.num_features))
    return dict(zip(names, as_dense(graph.x).T, strict=True))
