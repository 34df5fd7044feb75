"""Graphs as PyGOD publishes them: a PyG `Data` in torch's format, zipped."""

from __future__ import annotations

import zipfile
from pathlib import Path
from pickle import UnpicklingError

import numpy as np

from calirare.data.catalogue.convert import dense_arrays
from calirare.errors import DataError


def read(name: str, folder: Path) -> dict[str, np.ndarray]:
    """The arrays of `<name>.pt.zip`.

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
        return dense_arrays(data.x.numpy(), data.y.numpy(), data.edge_index.numpy())
    except (OSError, KeyError, zipfile.BadZipFile, UnpicklingError, RuntimeError, AttributeError) as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(
            f"{path} holds no graph that can be read safely ({said}); delete it and fetch again."
        ) from error
