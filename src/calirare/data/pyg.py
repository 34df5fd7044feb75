"""Graphs from PyTorch Geometric."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from calirare.data.arrays import UNKNOWN, as_indices
from calirare.data.checks import check_count
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.errors import InputError, LabelError

if TYPE_CHECKING:
    from torch_geometric.data import Data

_RENUMBER = "torch.unique or np.unique, with return_inverse=True, numbers them."
_MOST_CLASSES = 10_000
"""Most classes where no label says how many there are."""
_INSTEAD = {
    "x": "Without columns, torch.empty(num_nodes, 0) will do.",
    "edge_index": "torch_geometric.utils.to_edge_index makes it from a sparse matrix; from adj_t it is turned round, .flip(0).",
}


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
            unknown, and without `y` all are. `node_ids`, `node_type` and the masks are used where they exist; of several columns of masks the first.
            A `train_mask` makes a split, which `fit` keeps to. Edges have a direction where `edge_index` is not the same
            both ways and does not list each edge once, from the lower number to the higher; they keep their `edge_type`. `edge_weight`, or an `edge_attr` of one positive number per edge, weighs
            them; any other `edge_attr` becomes columns of theirs.
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
    _require(data)
    y = np.full(len(data.x), UNKNOWN) if data.y is None else _labels(data.y)
    known = np.unique(y[y != UNKNOWN])
    if not known.size:  # nodes to score
        check_count(rare_class, "rare_class", least=0, most=_MOST_CLASSES - 1)
    num_classes = max(2, int(known.max(initial=0 if known.size else rare_class)) + 1)
    if known.size and rare_class not in known.tolist():
        raise LabelError(f"rare_class must be one of the labels {known.tolist()}; got {rare_class!r}.")
    if class_names is None:
        two = ("rare", "normal") if rare_class == 0 else ("normal", "rare")
        class_names = two if num_classes == 2 else tuple(str(c) for c in range(num_classes))
    edge_index, node_ids, kinds = _array(data.edge_index), getattr(data, "node_ids", None), _codes(data, "node_type")
    weight, attributes = _weights_and_attributes(data, edge_index.shape[1])
    return RareGraph(
        x=_features(data.x),
        edge_index=edge_index,
        y=y,
        rare_class=int(rare_class),
        edge_weight=weight,
        class_names=class_names,
        node_ids=None if node_ids is None else _array(node_ids),
        public_split=_public_split(data, len(y)),
        edges=_edge_table(data, edge_index, attributes),
        node_type=None if kinds is None else kinds[0],
        node_type_names=() if kinds is None else kinds[1],
        name=name,
    )


def _features(x: Any) -> np.ndarray | sp.csr_array:
    if not isinstance(x, torch.Tensor):
        return x  # RareGraph takes arrays and SciPy matrices, and refuses the rest
    x = x.detach().cpu()
    if x.is_complex():
        raise InputError(f"data.x must hold real numbers; got {x.dtype}.")
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
    if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all() or not (labels == np.round(labels)).all():
        raise InputError(f"data.y must hold whole numbers, one class per node; got {labels.dtype}. {_RENUMBER}")
    if labels.size and labels.max() >= labels.size:
        raise InputError(f"data.y must number the classes 0, 1, …; got {labels.max():.0f}. {_RENUMBER}")
    labels = labels.astype(np.int64)
    return np.where(labels < 0, UNKNOWN, labels)


def _weights_and_attributes(data: Any, num_edges: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """`(E,)` what the edges weigh, and `(E, K)` what else is said of each."""
    weight, attributes = (getattr(data, name, None) for name in ("edge_weight", "edge_attr"))
    weight = None if weight is None else _array(weight).reshape(-1)
    if attributes is None:
        return weight, None
    attributes = _array(attributes)
    if attributes.ndim not in (1, 2) or attributes.dtype.kind not in "biuf" or len(attributes) != num_edges:
        raise InputError(
            f"data.edge_attr must hold a row of numbers per edge, {num_edges:,} rows; got {attributes.dtype} of shape "
            f"{attributes.shape}."
        )
    attributes = attributes.reshape(len(attributes), -1).astype(np.float64)
    if weight is None and attributes.shape[1] == 1 and (attributes > 0).all():
        return attributes[:, 0], None
    return weight, attributes


def _edge_table(data: Any, edge_index: np.ndarray, attributes: np.ndarray | None) -> EdgeTable | None:
    """What is known of the edges beyond who is joined to whom.

    Edges that are the same both ways have no direction, and stand here once. Nor have those that all lead to nodes of higher
    numbers, or all to lower ones: so are edges listed that were meant to be given once.
    """
    from torch_geometric.utils import is_undirected

    source, target = edge_index
    types = _codes(data, "edge_type")
    if types is not None and types[0].size != source.size:
        raise InputError(f"data.edge_type must hold one type per edge, {source.size:,} in all; got {types[0].size:,}.")
    said = [
        torch.as_tensor(values) for values in (attributes, None if types is None else types[0]) if values is not None
    ]
    twice = is_undirected(torch.as_tensor(edge_index), said)
    once = bool((source <= target).all() or (source >= target).all())
    if not said and (twice or once):
        return None
    kept = source <= target if twice else np.ones(source.size, dtype=bool)
    values = np.empty((source.size, 0)) if attributes is None else attributes
    names = ["edge_attr"] if values.shape[1] == 1 else [f"edge_attr {k}" for k in range(values.shape[1])]
    columns = tuple(EdgeColumn(name, "number", values[kept, k]) for k, name in enumerate(names))
    codes, type_names = (None, ()) if types is None else (types[0][kept], types[1])
    return EdgeTable(source[kept], target[kept], columns, not (twice or once), codes, type_names)


def _codes(data: Any, name: str) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """The types of nodes or edges: codes, and a name for each; those of `to_homogeneous` where it made the data."""
    given = getattr(data, name, None)
    if given is None:
        return None
    found, codes = np.unique(as_indices(_array(given).reshape(-1), f"data.{name}"), return_inverse=True)
    called = dict(enumerate(getattr(data, f"_{name}_names", None) or ()))
    return codes, tuple(_called(called.get(int(code), code)) for code in found)


def _called(name: Any) -> str:
    return " ".join(name) if isinstance(name, tuple) else str(name)


def _public_split(data: Any, num_nodes: int) -> Split | None:
    """The split that the masks make; without a mask for training, none."""
    if getattr(data, "train_mask", None) is None:
        return None
    roles = {}
    for role in ("train", "val", "test"):
        mask = getattr(data, f"{role}_mask", None)
        found = np.zeros(num_nodes, dtype=bool) if mask is None else _array(mask)
        found = found[:, 0] if found.ndim == 2 else found
        if found.shape != (num_nodes,) or not np.isin(found, (0, 1)).all():
            raise InputError(
                f"data.{role}_mask must hold one truth value per node, shape ({num_nodes},); got {found.dtype} of shape "
                f"{found.shape}. Indices of nodes go into a Split."
            )
        roles[role] = found.astype(bool)
    return Split(**roles)


def _array(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().to_dense()
        value = value.float() if value.dtype == torch.bfloat16 else value  # a type that NumPy does not have
        return np.array(value.numpy())
    return np.array(value)


def _require(data: Any) -> None:
    """Refuse what lacks a part, or holds it in another form."""
    from torch_geometric.data import Data, HeteroData

    if not isinstance(data, Data):
        found = "HeteroData; data.to_homogeneous() makes one" if isinstance(data, HeteroData) else type(data).__name__
        raise InputError(f"data must be a torch_geometric.data.Data; got {found}.")
    for part in ("x", "edge_index"):
        if getattr(data, part, None) is None:
            raise InputError(
                f"data must have {part}; this one has {sorted(data.keys())}. {_INSTEAD.get(part, '')}".rstrip()
            )
    layout, shape = getattr(data.edge_index, "layout", torch.strided), tuple(np.shape(data.edge_index))
    if layout != torch.strided or len(shape) != 2 or shape[0] != 2:
        raise InputError(f"data.edge_index must hold node indices, shape (2, E); got {shape}. {_INSTEAD['edge_index']}")
