"""Graphs as portable `.npz` files: plain arrays, no pickles, so a file from a stranger is safe to open.

A file holds `edge_index`, `y` and the features, dense (`x`) or as CSR (`x_indptr`, `x_indices`, `x_data`, `x_shape`).
All else is optional: `edge_weight`, `original_y`, `true_probability`, `node_ids`, `feature_names`, `class_names`,
`rare_class`, `name`, `schema` (JSON), `node_type`, `node_type_names`, `node_time`, the masks `train_mask`, `val_mask`, `test_mask`,
`unlabelled_mask`, and the edges as they came:
`edges_ends` `(2, E)`; `edges_numbers` `(k, E)` float64, the numbers, times and texts; `edges_codes` `(c, E)` int32, the
categories; `edges_type` `(E,)` where edges are typed; `edges_columns`, JSON: `directed`, `type_names` and the columns
in order, each with `name`, `kind` and `categories`; `edges_cells` `(s, E)` float64, what stands for whole cells, of which
`edges_columns` names the columns as `cells`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import UNKNOWN
from calirare.data.edge_table import EdgeColumn, EdgeTable
from calirare.data.split import Split
from calirare.data.storage.archive import read_arrays, write_arrays
from calirare.errors import CalirareError, DataError, LabelError

Graph = TypeVar("Graph")
FORMAT = 2
"""Files with an edge table or kinds of node have format 2, so that readers that would drop these refuse them; all others 1."""
_OPTIONAL = ("edge_weight", "original_y", "true_probability", "node_type", "node_time")


def write_graph(graph: Any, path: Path) -> None:
    """Write a `RareGraph` whole or not at all; the same graph gives the same bytes."""
    version = 1 if graph.edges is None and graph.node_type is None else FORMAT
    arrays = {"format": np.array(version), "edge_index": graph.edge_index, "y": graph.y}
    arrays |= features_to_arrays(graph.x) if sp.issparse(graph.x) else {"x": graph.x}
    arrays |= {name: getattr(graph, name) for name in _OPTIONAL if getattr(graph, name) is not None}
    arrays["rare_class"] = np.array(graph.rare_class)
    arrays["class_names"] = np.array(graph.class_names, dtype=str)
    arrays["name"] = np.array(graph.name, dtype=str)
    if graph.node_ids is not None:
        ids = np.asarray(graph.node_ids)
        arrays["node_ids"] = ids.astype(str) if ids.dtype.hasobject else ids
    if graph.feature_names is not None:
        arrays["feature_names"] = np.array(graph.feature_names, dtype=str)
    if graph.schema is not None:
        arrays["schema"] = np.frombuffer(json.dumps(graph.schema).encode(), dtype=np.uint8)
    if graph.node_type is not None:
        arrays["node_type_names"] = np.array(graph.node_type_names, dtype=str)
    if graph.edges is not None:
        arrays |= _edges_to_arrays(graph.edges)
    if graph.public_split is not None:
        arrays |= graph.public_split.masks(graph.num_nodes)
    write_arrays(path, arrays)


def read_graph(path: Path, make: Callable[..., Graph], *, rare_class: int | None, max_bytes: int) -> Graph:
    """Read a graph from a portable file.

    Args:
        path: The file.
        make: Called with what the file says, by the names of `RareGraph`'s arguments.
        rare_class: The class looked for; None: the one the file names, else the class with the fewest nodes.
        max_bytes: Most bytes that the unpacked arrays may take.

    Raises:
        DataError: The file is missing, truncated or altered, too large when unpacked, or holds Python objects.
    """
    arrays = read_arrays(path, max_bytes)
    version = int(arrays["format"]) if arrays.get("format", np.array("?")).dtype.kind in "iu" else FORMAT
    if version > FORMAT:
        raise DataError(f"{path} is of format {version}; this calirare reads up to {FORMAT}. Install a newer one.")
    try:
        return make(**_arguments(arrays, rare_class, path.stem))
    except (CalirareError, ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path} holds no graph that can be used: {reason}") from error


def _arguments(arrays: dict[str, np.ndarray], rare_class: int | None, stem: str) -> dict[str, Any]:
    y = arrays["y"]
    if "unlabelled_mask" in arrays:
        y = np.where(arrays["unlabelled_mask"], UNKNOWN, y)
    if rare_class is None:
        rare_class = int(arrays["rare_class"]) if "rare_class" in arrays else _rarest(y)
    if "class_names" in arrays:
        class_names = tuple(arrays["class_names"].tolist())
    else:
        class_names = tuple(str(c) for c in range(max(2, int(y.max()) + 1)))
    options: dict[str, Any] = {name: arrays[name] for name in _OPTIONAL if name in arrays}
    if "schema" in arrays:
        options["schema"] = json.loads(arrays["schema"].astype(np.uint8).tobytes().decode())
    if "feature_names" in arrays:
        options["feature_names"] = tuple(arrays["feature_names"].tolist())
    if "node_type_names" in arrays:
        options["node_type_names"] = tuple(arrays["node_type_names"].tolist())
    if "edges_ends" in arrays:
        options["edges"] = _edges_from_arrays(arrays)
    if "train_mask" in arrays:
        roles = {role: arrays[f"{role}_mask"].astype(bool) for role in ("train", "val", "test")}
        options["public_split"] = Split(**roles)
    return options | {
        "x": arrays["x"] if "x" in arrays else features_from_arrays(arrays),
        "edge_index": arrays["edge_index"],
        "y": y,
        "rare_class": rare_class,
        "class_names": class_names,
        "node_ids": arrays.get("node_ids"),
        "name": str(arrays["name"]) if "name" in arrays else stem,
    }


def features_to_arrays(x: sp.csr_array) -> dict[str, np.ndarray]:
    """The parts of a CSR matrix under the names of the portable format."""
    return {
        "x_indptr": x.indptr.astype(np.int64),
        "x_indices": x.indices.astype(np.int32),
        "x_data": x.data.astype(np.float32),
        "x_shape": np.array(x.shape, dtype=np.int64),
    }


def features_from_arrays(arrays: dict[str, np.ndarray]) -> sp.csr_array:
    """The CSR matrix stored under the names of the portable format, its indices checked."""
    rows, columns = (int(size) for size in arrays["x_shape"])
    x = sp.csr_array((arrays["x_data"], arrays["x_indices"], arrays["x_indptr"]), shape=(rows, columns))
    x.check_format(full_check=True)
    return x


def _rarest(y: np.ndarray) -> int:
    known = y[y != UNKNOWN]
    if not known.size:
        raise LabelError("no node has a label; pass rare_class.")
    classes, counts = np.unique(known, return_counts=True)
    return int(classes[counts.argmin()])


def _edges_to_arrays(table: EdgeTable) -> dict[str, np.ndarray]:
    """The parts of an edge table under the names of the portable format."""
    columns = [
        {"name": column.name, "kind": column.kind, "categories": list(column.categories)} for column in table.columns
    ]
    said = {"directed": table.directed, "type_names": list(table.type_names), "columns": columns}
    said |= {"cells": list(table.cells)} if table.cells else {}
    numbers = [column.values for column in table.columns if column.kind != "category"]
    codes = [column.values for column in table.columns if column.kind == "category"]
    arrays = {
        "edges_ends": np.stack([table.source, table.target]),
        "edges_numbers": np.array(numbers, dtype=np.float64).reshape(len(numbers), len(table)),
        "edges_codes": np.array(codes, dtype=np.int32).reshape(len(codes), len(table)),
        "edges_columns": np.frombuffer(json.dumps(said).encode(), dtype=np.uint8),
    }
    if table.cells:
        arrays["edges_cells"] = np.stack(list(table.cells.values()))
    return arrays if table.type is None else arrays | {"edges_type": table.type}


def _edges_from_arrays(arrays: dict[str, np.ndarray]) -> EdgeTable:
    """The edge table stored under these names; what is wrong raises one of the errors that `read_graph` turns into its own."""
    said: Any = json.loads(arrays["edges_columns"].astype(np.uint8).tobytes().decode())
    numbers, codes = iter(arrays["edges_numbers"]), iter(arrays["edges_codes"])
    columns = []
    for one in said["columns"]:
        values = next(codes if one["kind"] == "category" else numbers, None)
        if values is None:
            raise ValueError(f"edge column {one['name']!r} has no values")
        categories = tuple(str(name) for name in one["categories"])
        columns.append(EdgeColumn(str(one["name"]), one["kind"], values, categories))
    source, target = arrays["edges_ends"]
    type_names = tuple(str(name) for name in said["type_names"])
    cells = {str(name): arrays["edges_cells"][k] for k, name in enumerate(said.get("cells", ()))}
    return EdgeTable(
        source, target, tuple(columns), bool(said["directed"]), arrays.get("edges_type"), type_names, cells
    )
