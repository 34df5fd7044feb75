"""Turn the upstream files of a benchmark into the arrays of the portable format.

The arrays: `edge_index` (both directions), features as CSR (`x_indptr`, `x_indices`, `x_data`, `x_shape`) or dense (`x`), `y`, and
where upstream has them `train_mask`, `val_mask`, `test_mask` and `unlabelled_mask`.
"""

from __future__ import annotations

import csv
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.storage.archive import read_arrays
from calirare.data.storage.portable import features_to_arrays
from calirare.errors import DataError

_CITATION_FULL = tuple(
    f"{part}_{field}" for part in ("adj", "attr") for field in ("data", "indices", "indptr", "shape")
)
_FACEBOOK_CLASSES = ("company", "tvshow", "politician", "government")


def convert(reader: str, name: str, folder: Path) -> dict[str, np.ndarray]:
    """The arrays of benchmark `name` from its upstream files in `folder`.

    `reader` is one of the functions below.
    """
    return _READERS[reader](name, folder)


def _planetoid(name: str, folder: Path) -> dict[str, np.ndarray]:
    from torch_geometric.io import read_planetoid_data

    # These upstream files are pickles. They are opened here only after the download compared their sha256 with the
    # pinned one, so they are known to be the authors' own. PyG's reader also sets a warning filter for the whole
    # process, and old pickles make NumPy warn; both end with this block.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = read_planetoid_data(str(folder), name)
    arrays = _from_pyg(data)
    for mask in ("train_mask", "val_mask", "test_mask"):
        arrays[mask] = data[mask].numpy()
    test = np.sort(np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64))
    unlabelled = np.setdiff1d(np.arange(test[0], test[-1] + 1), test)
    if unlabelled.size:  # CiteSeer: PyG fills the gaps in the test indices with nodes that have no words and no label
        arrays["unlabelled_mask"] = np.isin(np.arange(arrays["y"].size), unlabelled)
    return arrays


def _citation_full(name: str, folder: Path) -> dict[str, np.ndarray]:
    from torch_geometric.io.npz import parse_npz

    # `only`: the file may hold pickled name lists beside the arrays; those are never touched.
    return _from_pyg(parse_npz(read_arrays(folder / f"{name}.npz", only=(*_CITATION_FULL, "labels"))))


def _musae_facebook(name: str, folder: Path) -> dict[str, np.ndarray]:
    with (folder / f"{name}_target.csv").open(encoding="utf-8", newline="") as stream:
        kinds = {int(row["id"]): row["page_type"] for row in csv.DictReader(stream)}
    y = np.array([_FACEBOOK_CLASSES.index(kinds[node]) for node in range(len(kinds))], dtype=np.int64)
    edges = np.loadtxt(folder / f"{name}_edges.csv", dtype=np.int64, delimiter=",", skiprows=1).T
    words = {int(node): bag for node, bag in json.loads((folder / f"{name}.json").read_text(encoding="utf-8")).items()}
    row = np.repeat(np.arange(y.size), [len(words[node]) for node in range(y.size)])
    col = np.concatenate([np.asarray(words[node], dtype=np.int64) for node in range(y.size)])
    x = sp.csr_array((np.ones(row.size, dtype=np.float32), (row, col)), shape=(y.size, int(col.max()) + 1))
    x.sum_duplicates()
    x.data[:] = 1.0  # a word counts once however often a page lists it
    return {"edge_index": np.hstack([edges, edges[::-1]]), "y": y, **features_to_arrays(x)}


def _heterophilous(name: str, folder: Path) -> dict[str, np.ndarray]:
    upstream = read_arrays(folder / f"{name}.npz", only=("node_features", "node_labels", "edges"))
    return _dense_arrays(upstream["node_features"], upstream["node_labels"], upstream["edges"].T)


def _pygod(name: str, folder: Path) -> dict[str, np.ndarray]:
    """A PyG `Data` in torch's format, zipped.

    No sha256 of it is pinned, so nothing in it is executed: torch's restricted reader takes tensors and PyG's own
    containers and refuses all else.
    """
    import torch
    from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    path = folder / f"{name}.pt.zip"
    try:
        with (
            zipfile.ZipFile(path) as packed,
            packed.open(f"{name}.pt") as stream,
            torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]),
        ):
            data = torch.load(stream, weights_only=True)
        return _dense_arrays(data.x.numpy(), data.y.numpy(), data.edge_index.numpy())
    except (OSError, KeyError, zipfile.BadZipFile, UnpicklingError, RuntimeError, AttributeError) as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(
            f"{path} holds no graph that can be read safely ({said}); delete it and fetch again."
        ) from error


def _dense_arrays(x: np.ndarray, y: np.ndarray, edges: np.ndarray) -> dict[str, np.ndarray]:
    """Dense columns as published; every edge once in each direction, sorted, without loops."""
    ends = np.hstack([edges, edges[::-1]]).astype(np.int64)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    return {"edge_index": ends, "y": np.asarray(y).astype(np.int64), "x": np.asarray(x, dtype=np.float32)}


_READERS: dict[str, Callable[[str, Path], dict[str, np.ndarray]]] = {
    "planetoid": _planetoid,
    "citation_full": _citation_full,
    "musae_facebook": _musae_facebook,
    "heterophilous": _heterophilous,
    "pygod": _pygod,
}


def _from_pyg(data: Any) -> dict[str, np.ndarray]:
    x = sp.csr_array(data.x.numpy())
    return {"edge_index": data.edge_index.numpy(), "y": data.y.numpy(), **features_to_arrays(x)}
