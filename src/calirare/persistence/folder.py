"""A fitted model as a folder that is safe to load: JSON and safetensors, no pickle.

`model.json` names the arrays file and its sha256, and holds a checksum of itself against damage. How it is written, so
that a crash or a second writer at any moment leaves one whole model: see `calirare.persistence.writing`.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.storage.archive import file_sha256, write_atomically
from calirare.errors import CalirareError, DataError, InputError, ModelFormatError
from calirare.persistence.writing import (
    HEADER,
    LARGEST_JSON,
    header_checksum,
    header_of,
    name_by_content,
    reading,
    staged,
)

FORMAT_VERSION = 4
_ARRAY = {"array": True}
"""Stands in the JSON where an array belongs."""


@dataclass(frozen=True, eq=False)
class Record:
    """What is kept of a fitted model: plain data for the JSON, and named arrays."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def put(self, name: str, state: dict[str, Any] | None) -> None:
        """Add a state of plain values, arrays and mappings of such under a name; None: there is none."""
        if state is None:
            self.header[name] = None
            return
        self.header[name] = {}
        for key, value in state.items():
            if isinstance(value, np.ndarray):
                self.arrays[f"{name}/{key}"] = np.ascontiguousarray(value)
                self.header[name][key] = _ARRAY
            elif isinstance(value, dict):
                inner = Record({}, {})
                inner.put(key, value)
                self.header[name] |= inner.header
                self.arrays.update({f"{name}/{path}": array for path, array in inner.arrays.items()})
            else:
                self.header[name][key] = value

    def get(self, name: str) -> dict[str, Any] | None:
        """What `put` was given."""
        plain = self.header[name]
        return None if plain is None else self._filled(plain, f"{name}/")

    def _filled(self, plain: dict[str, Any], prefix: str) -> dict[str, Any]:
        """Plain data with the arrays in their places."""
        found = {}
        for key, value in plain.items():
            if value == _ARRAY:
                value = self.arrays[prefix + key]
            elif isinstance(value, dict):
                value = self._filled(value, f"{prefix}{key}/")
            found[key] = value
        return found


def write_folder(path: str | Path, record: Record, graph: RareGraph | None = None) -> None:
    """Write a record to the folder `path`; with `graph`, the graph beside it.

    Raises:
        DataError: The folder cannot be written to, or the disk is full; a model that was there is as it was.
    """
    if not str(path).strip():
        raise InputError("path must name a folder to save the model in; it is empty. For the current folder give '.'.")
    folder = _as_path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"path must be a folder to save the model in; {folder} is a file.")
    try:
        with staged(folder) as staging:
            _write(staging, record, graph)
    except CalirareError as error:
        if isinstance(error, DataError) and isinstance(error.__cause__, OSError):
            cause = error.__cause__  # name the folder that was asked for, not the hidden one inside it
            raise DataError(f"{folder} cannot be written: {cause.strerror or cause}.") from cause
        raise
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must name a folder; got {path!r}.")
    try:
        if b"\0" in os.fsencode(path):
            raise InputError(f"path must name a folder; got {path!r}, which holds a null.")
    except UnicodeEncodeError:
        raise InputError(f"path must name a folder; got {path!r}, which is no text.") from None
    return Path(path)


def _write(folder: Path, record: Record, graph: RareGraph | None) -> None:
    from safetensors.numpy import save as to_bytes

    import calirare

    header = {
        "format": "calirare model",
        "format_version": FORMAT_VERSION,
        "calirare": calirare.__version__,
        **record.header,
    }
    content = to_bytes(record.arrays)
    digest = hashlib.sha256(content).hexdigest()
    header["arrays"] = {"file": name_by_content("arrays", digest, "safetensors"), "sha256": digest}
    replace_file(folder / header["arrays"]["file"], content)
    if graph is not None:
        header["graph"] = _save_graph(graph, folder)
    header["checksum"] = header_checksum(header)
    replace_file(folder / HEADER, json.dumps(header, indent=1, allow_nan=True).encode())


def read_folder(path: str | Path) -> Record:
    """Read a folder written by `write_folder`. Nothing in it is executed."""
    folder = _as_path(path)
    with reading(folder):
        header = _read_header(folder)
        return Record(header, _read_arrays(folder, header))


def load_graph(path: str | Path) -> RareGraph:
    """The graph stored beside a model by `save(…, graph)`."""
    folder = Path(path)
    with reading(folder):
        entry = _read_header(folder).get("graph")
        if entry is None:
            raise ModelFormatError(
                f"{folder} holds no graph; fit with `calirare fit`, or save with clf.save(path, graph)."
            )
        return RareGraph.load(_checked_file(folder, entry))


def model_version(path: str | Path) -> str:
    """A short name for exactly this model: the head of its arrays' sha256."""
    entry = _read_header(Path(path)).get("arrays")
    if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
        raise ModelFormatError(f"{path} names no arrays; the model is incomplete. Save it again.")
    return str(entry["sha256"][:12])


@dataclass(frozen=True)
class Fingerprint:
    """Which model, of which data: heads of the sha256 of its arrays and of its graph (None: it was not kept)."""

    model: str
    data: str | None
    made_by: str


def fingerprint_of(path: str | Path) -> Fingerprint:
    """The fingerprint of the model in a folder; `made_by` is the version of calirare that wrote it."""
    header = _read_header(Path(path))
    graph = header.get("graph")
    data = str(graph["sha256"])[:12] if isinstance(graph, dict) and "sha256" in graph else None
    return Fingerprint(model_version(path), data, str(header.get("calirare")))


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that it is either whole or not there: temporary name, flush to disk, rename."""
    with write_atomically(path) as stream:
        stream.write(content)


def _save_graph(graph: RareGraph, folder: Path) -> dict[str, str]:
    temporary = folder / "graph.npz"
    graph.save(temporary)
    digest = file_sha256(temporary)
    final = name_by_content("graph", digest, "npz")
    os.replace(temporary, folder / final)
    return {"file": final, "sha256": digest}


def _read_header(folder: Path) -> dict[str, Any]:
    file = header_of(folder)
    if file.stat().st_size > LARGEST_JSON:
        raise ModelFormatError(f"{file} is larger than {LARGEST_JSON >> 20} MiB and is not read.")
    try:
        header = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(
            f"{file} is not valid JSON ({error}); it was truncated or edited. Save the model again."
        ) from error
    if not isinstance(header, dict) or header.get("format") != "calirare model":
        raise ModelFormatError(f"{file} does not describe a calirare model.")
    if header.get("format_version") != FORMAT_VERSION:
        raise ModelFormatError(
            f"{file} has format version {header.get('format_version')!r}; this calirare reads {FORMAT_VERSION}. Fit the model again."
        )
    if header.get("checksum") != header_checksum(header):
        raise ModelFormatError(f"{file} was damaged or edited: its checksum differs. Save the model again.")
    return header


def _checked_file(folder: Path, entry: Any) -> Path:
    """The file an entry names, inside the folder and with the sha256 it was written with."""
    name, digest = (entry.get("file"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    if not isinstance(name, str) or Path(name).name != name or not isinstance(digest, str):
        raise ModelFormatError(f"{folder / HEADER} names a file outside its folder, or none.")
    file = folder / name
    if not file.is_file() or file.is_symlink():
        raise ModelFormatError(f"{folder} lacks {name}; the model is incomplete. Save it again.")
    if file_sha256(file) != digest:
        raise ModelFormatError(
            f"{file} was truncated or edited: its sha256 differs from the one in model.json. Save the model again."
        )
    return file


def _read_arrays(folder: Path, header: dict[str, Any]) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    file = _checked_file(folder, header.get("arrays"))
    try:
        return from_bytes(file.read_bytes())
    except (SafetensorError, ValueError) as error:
        raise ModelFormatError(f"{file} is not a safetensors file ({error}).") from error
