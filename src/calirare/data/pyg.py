"""Graphs from PyTorch Geometric."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.arrays import UNKNOWN
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.errors import InputError, LabelError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def from_pyg(
    data: Data,
    rare_class: int = 1,
    *,
    class_names: tuple[str, ...] | None = None,
    name: str = "graph",
) -> RareGraph:
    """A graph from a PyG `Data`; sparse features stay sparse, classes stay as they are.

    Args:
        data: With `x` (dense, or sparse in any of torch's layouts), `edge_index` and `y`; negative or NaN labels are
            unknown. `edge_weight` (or `edge_attr` with one number per edge), `node_ids` and the masks are used where
            they exist; of several columns of masks the first. A `train_mask` makes a split, which `fit` keeps to.
            Several numbers per edge in `edge_attr` become columns of the edges.
        rare_class: The class looked for.
        class_names: One name per class; default: their numbers, or "normal" and "rare" when there are two.
        name: What to call the graph.

    See `RareGraph.against_rest` for one class against all others.

    >>> from torch_geometric.data import Data
    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, -1]))
    >>> graph = from_pyg(data)
    >>> graph.num_edges, graph.known.tolist()
    (2, [0, 1])
    """
    for part in ("x", "edge_index", "y"):
        if getattr(data, part, None) is None:
            raise InputError(f"data must have {part}; this one has {_keys(data)}.")
    y = _labels(data.y)
    num_classes = max(2, int(y.max(initial=0)) + 1)
    if not (y == rare_class).any():
        raise LabelError(
            f"rare_class must be one of the labels {np.unique(y[y != UNKNOWN]).tolist()}; got {rare_class!r}."
        )
    if class_names is None:
        two = ("rare", "normal") if rare_class == 0 else ("normal", "rare")
        class_names = two if num_classes == 2 else tuple(str(c) for c in range(num_classes))
    node_ids = getattr(data, "node_ids", None)
    return RareGraph(
        x=_features(data.x),
        edge_index=_array(data.edge_index),
        y=y,
        rare_class=int(rare_class),
        edge_weight=_edge_weight(data),
        class_names=class_names,
        node_ids=None if node_ids is None else _array(node_ids),
        public_split=_public_split(data),
        edges=_edge_columns(data),
        name=name,
    )


def _features(x: Any) -> np.ndarray | sp.csr_array:
    if not isinstance(x, torch.Tensor):
        return x  # RareGraph takes arrays and SciPy matrices, and refuses the rest
    x = x.detach().cpu()
    if x.layout == torch.strided:
        return np.array(x.float().numpy())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR|CSC|BSR|BSC) tensor support", category=UserWarning)
        coo = x.to_sparse_coo().coalesce()
    row, column = coo.indices().numpy()
    return sp.csr_array((coo.values().float().numpy(), (row, column)), shape=tuple(coo.shape))


def _labels(y: Any) -> np.ndarray:
    labels = _array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InputError(f"data.y must hold one label per node; got shape {labels.shape}.")
    if np.issubdtype(labels.dtype, np.floating):
        labels = np.where(np.isnan(labels), UNKNOWN, labels)
        if not (labels == np.round(labels)).all():
            raise InputError("data.y must hold whole numbers, one class per node.")
    labels = labels.astype(np.int64)
    return np.where(labels < 0, UNKNOWN, labels)


def _edge_weight(data: Any) -> np.ndarray | None:
    weight = getattr(data, "edge_weight", None)
    if weight is None:
        weight = getattr(data, "edge_attr", None)
        if weight is None or (weight.dim() == 2 and weight.size(1) != 1):
            return None  # several numbers per edge are attributes, not a weight
    return _array(weight).reshape(-1)


def _edge_columns(data: Any) -> EdgeTable | None:
    """Several numbers per edge, as columns; an undirected graph has every edge in both directions, and so have these."""
    attributes = getattr(data, "edge_attr", None)
    if attributes is None or attributes.dim() != 2 or attributes.size(1) < 2:
        return None
    source, target = _array(data.edge_index)
    values = _array(attributes).astype(np.float64)
    columns = (EdgeColumn(f"edge_attr {k}", "number", values[:, k]) for k in range(values.shape[1]))
    return EdgeTable(source, target, tuple(columns))


def _public_split(data: Any) -> Split | None:
    """The split that the masks make; without a mask for training, none."""
    if getattr(data, "train_mask", None) is None:
        return None
    roles = {}
    for role in ("train", "val", "test"):
        mask = getattr(data, f"{role}_mask", None)
        found = np.zeros(len(data.y), dtype=bool) if mask is None else _array(mask).astype(bool)
        roles[role] = found[:, 0] if found.ndim == 2 else found
    return Split(**roles)


def _array(value: Any) -> np.ndarray:
    return np.array(value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value)


def _keys(data: Any) -> list[str]:
    keys = data.keys() if callable(getattr(data, "keys", None)) else []
    return sorted(str(key) for key in keys)
