"""Earlier models kept beside the current one.

    MODEL/                       the current model: what every command reads
    MODEL/versions/VERSION/      each model that was current once, whole, with its graph; loads like any model folder
    MODEL/versions/VERSION/base.npz   the labels and the split before decisions were added, for a refitted model
    MODEL_CARD.md                in each of them: what it was made from and how good it is

A model is written whole under a temporary name and renamed; see `calirare.persistence.writing` for how it becomes the
current one. A crash at any moment leaves the model that was current.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from calirare.data.graph import RareGraph
from calirare.data.split import Split
from calirare.data.storage.archive import read_arrays, write_arrays
from calirare.errors import DataError, InputError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.persistence.folder import fingerprint_of, model_version, replace_file
from calirare.persistence.writing import ABANDONED, HEADER, reading, staged
from calirare.report import card

FOLDER = "versions"
_BASE = "base.npz"


@dataclass(frozen=True, eq=False)
class Base:
    """What was known before any decision: labels `(N,)`, and the split of the first fit."""

    y: np.ndarray
    split: Split | None


@dataclass(frozen=True)
class Version:
    """A model that can be gone back to."""

    version: str
    time: datetime
    is_current: bool
    data: str | None
    """Fingerprint of the graph it was fitted on."""


def load_base(model: Path, clf: RareCategoryClassifier, graph: RareGraph) -> Base:
    """The base of the current model; for one that was never refitted, its own labels and split."""
    file = model / FOLDER / model_version(model) / _BASE
    if not file.is_file():
        return Base(graph.y, clf.split_)
    arrays = read_arrays(file)
    y = arrays.get("y")
    if y is None or y.shape != graph.y.shape or not np.issubdtype(y.dtype, np.integer):
        raise DataError(f"{file} does not belong to this model; remove the folder {file.parent} to go on without it.")
    roles = {name: arrays[name] for name in Split.__dataclass_fields__ if name in arrays}
    return Base(y.astype(np.int64), Split(**roles) if roles else None)


def install(clf: RareCategoryClassifier, graph: RareGraph, base: Base, model: Path) -> str:
    """Make a model fitted with decisions the current one, keep the one before it, and give the new version."""
    if (model / HEADER).is_file():
        archive_current(model)
    (model / FOLDER).mkdir(parents=True, exist_ok=True)
    remove_leftovers(model)
    staging = Path(tempfile.mkdtemp(dir=model / FOLDER, prefix=".new-"))
    try:
        clf.save(staging, graph=graph)
        card.write_card(staging, clf, graph)
        write_arrays(staging / _BASE, {"y": base.y} | ({} if base.split is None else base.split.roles))
        version = model_version(staging)
        _rename_folder(staging, model / FOLDER / version)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    make_current(model, version)
    return version


def archive_current(model: Path) -> str:
    """Keep a whole copy of the current model under its version; files are linked where the disk allows it."""
    version = model_version(model)
    target = model / FOLDER / version
    if (target / HEADER).is_file():
        return version
    (model / FOLDER).mkdir(exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=model / FOLDER, prefix=".new-"))
    try:
        with reading(model):
            _link_model(model, staging)
        _rename_folder(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return version


def make_current(model: Path, version: str) -> None:
    """Put a kept model in place; the one that was current stays in `versions`."""
    chosen = model / FOLDER / version
    if Path(version).name != version or not (chosen / HEADER).is_file():
        raise InputError(f"version must be one of {[one.version for one in list_versions(model)]}; got {version!r}.")
    if (model / HEADER).is_file():
        archive_current(model)
    with staged(model) as staging:
        _link_model(chosen, staging)


def remove_leftovers(model: Path) -> None:
    """Remove what a crash left half-written a day or longer ago."""
    for folder in (model / FOLDER).glob(".new-*"):
        if time.time() - folder.stat().st_mtime > ABANDONED:
            shutil.rmtree(folder, ignore_errors=True)


def list_versions(model: Path) -> list[Version]:
    """The kept models, newest first."""
    current = model_version(model)
    found = []
    for folder in (model / FOLDER).glob("[!.]*"):
        file = folder / HEADER
        if file.is_file():
            made = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            found.append(Version(folder.name, made, folder.name == current, fingerprint_of(folder).data))
    return sorted(found, key=lambda one: one.time, reverse=True)


def version_before(model: Path) -> str:
    """The newest kept model that is older than the current one."""
    found = list_versions(model)
    current = next((one for one in found if one.is_current), None)
    older = [one for one in found if current is not None and one.time < current.time]
    if not older:
        raise InputError(f"{model} keeps no earlier model to go back to.")
    return older[0].version


def _files_of(folder: Path) -> set[str]:
    """The files that `model.json` names."""
    header = json.loads((folder / HEADER).read_bytes())
    names = {str(header[part]["file"]) for part in ("arrays", "graph") if part in header}
    if any(Path(name).name != name for name in names):
        raise DataError(f"{folder / HEADER} names a file outside its folder.")
    return names


def _link_model(source: Path, target: Path) -> None:
    for name in _files_of(source):
        _link(source / name, target / name)
    if (source / card.FILE).is_file():
        shutil.copy2(source / card.FILE, target / card.FILE)
    # Its time says when the model was made, so it is kept.
    shutil.copy2(source / HEADER, target / HEADER)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        replace_file(target, source.read_bytes())


def _rename_folder(source: Path, target: Path) -> None:
    os.chmod(source, 0o755)
    try:
        source.rename(target)
    except OSError:
        if not (target / HEADER).is_file():  # else the very same model was kept before
            raise
