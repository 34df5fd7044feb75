"""A model folder that several processes may write and read at once, and that holds one whole model at any moment.

A writer fills a hidden folder inside the model folder, and then, alone for that moment, moves the files to their places,
`model.json` last. Files are named after their sha256, so that two models never share a name. Of what lies there only files
that an earlier `model.json` of ours named are removed, and only while no reader and no other writer is at work.

Who is at work is told by a lock on the folder itself. Where a disk or a system has no such locks, nothing is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from calirare.data.storage.locking import locked
from calirare.errors import ModelFormatError

HEADER = "model.json"
_STAGING = ".saving-"
LARGEST_JSON = 64 * 2**20
ABANDONED = 86_400
"""Seconds after which what somebody began to write is nobody's any more."""


def header_of(folder: Path) -> Path:
    """The file that describes the model in a folder.

    Raises:
        ModelFormatError: There is none.
    """
    file = folder / HEADER
    if not file.is_file():
        what = "is not a calirare model: it has no model.json" if folder.exists() else "does not exist"
        raise ModelFormatError(f"{folder} {what}. Give the folder that `save` or `calirare fit --out` wrote.")
    return file


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """An empty folder to write a model into; when the block ends well, that model is the one in `folder`.

    Each of its files but `model.json` must carry the head of its sha256 in its name and be named by `model.json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        with reading(folder):  # else another writer could take the new folder for an abandoned one
            staging = Path(tempfile.mkdtemp(dir=folder, prefix=_STAGING))
            held.callback(shutil.rmtree, staging, ignore_errors=True)
            held.enter_context(locked(staging, exclusive=True))
        yield staging
        with locked(folder, exclusive=True) as alone:
            _put_in_place(staging, folder, alone)


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """While the block runs, the files that `model.json` names stay where they are. Saving there must wait until it ends."""
    with locked(folder, exclusive=False):
        yield


def own_files(header: Any) -> set[str]:
    """The files that a header names and that carry their sha256 in their name: those that we wrote.

    >>> digest = "0123456789abcdef" * 4
    >>> own_files({"arrays": {"file": "arrays-0123456789abcdef.safetensors", "sha256": digest}})
    {'arrays-0123456789abcdef.safetensors'}
    >>> own_files({"graph": {"file": "graph-january.npz", "sha256": digest}})
    set()
    """
    entries = [entry for entry in header.values() if isinstance(entry, dict)] if isinstance(header, dict) else []
    return {
        entry["file"]
        for entry in entries
        if isinstance(entry.get("file"), str)
        and isinstance(entry.get("sha256"), str)
        and re.fullmatch(rf"[a-z]+-{re.escape(entry['sha256'][:16])}\.[a-z]+", entry["file"])
    }


def name_by_content(kind: str, digest: str, ending: str) -> str:
    """`kind-HASH.ending`, the name of a file whose sha256 is `digest`."""
    return f"{kind}-{digest[:16]}.{ending}"


def header_checksum(header: dict[str, Any]) -> str:
    """sha256 of what `model.json` says, whatever its layout: it tells a damaged file from a whole one."""
    said = {name: value for name, value in header.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _put_in_place(staging: Path, folder: Path, alone: bool) -> None:
    new = {file.name for file in staging.iterdir()} - {HEADER}
    superseded = _files_named_by(folder / HEADER)
    added = {name for name in new if not (folder / name).exists()}
    try:
        for name in new:
            os.replace(staging / name, folder / name)
        _flush(folder)
        os.replace(staging / HEADER, folder / HEADER)
    except BaseException:
        for name in added - _files_named_by(folder / HEADER):
            (folder / name).unlink(missing_ok=True)
        raise
    _flush(folder)
    if alone:
        superseded |= _remove_abandoned(folder, staging)
        for name in superseded - new:
            (folder / name).unlink(missing_ok=True)


def _remove_abandoned(folder: Path, own: Path) -> set[str]:
    """Remove what writers that were killed had begun; gives the files that they may have put in place already."""
    found: set[str] = set()
    for staging in folder.glob(f"{_STAGING}*"):
        if staging == own or not staging.is_dir() or staging.is_symlink():
            continue
        with locked(staging, exclusive=True, wait=False) as free:
            if free or time.time() - staging.stat().st_mtime > ABANDONED:
                found |= _files_named_by(staging / HEADER)
                shutil.rmtree(staging, ignore_errors=True)
    return found


def _files_named_by(file: Path) -> set[str]:
    """Our own files that a `model.json` names; none if it is not ours."""
    try:
        if file.stat().st_size > LARGEST_JSON:
            return set()
        header = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return set()
    ours = isinstance(header, dict) and header.get("checksum") == header_checksum(header)
    return own_files(header) if ours else set()


def _flush(folder: Path) -> None:
    """What was renamed stays renamed after a power cut."""
    with suppress(OSError):  # some disks cannot
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
