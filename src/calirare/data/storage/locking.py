"""Folders that a process holds while it works in them, and that are known to be abandoned when it died.

A lock on the folder itself (`flock`) leaves no file behind, and the system drops it when a process ends, however it ends.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    fcntl: Any = import_module("fcntl")
except ModuleNotFoundError:  # Windows
    fcntl = None

_NOT_NOW = (errno.EWOULDBLOCK, errno.EACCES)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.EBADF)


@contextmanager
def locked(folder: Path, *, exclusive: bool, wait: bool = True) -> Iterator[bool]:
    """Hold the folder's lock; gives whether it is held: without `wait`, or where a disk has no locks, it may not be."""
    if fcntl is None:
        yield False
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # not there, or not ours to open: whoever uses it will say so
        yield False
        return
    try:
        yield _take(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    finally:
        os.close(handle)  # and with it the lock


def _take(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind)
    except OSError as error:
        if error.errno not in _NOT_NOW + _NO_LOCKS:
            raise
        return False
    return True


@contextmanager
def working_folder(base: Path, prefix: str) -> Iterator[Path]:
    """A new folder inside `base`, gone when the block ends; those that killed processes of this machine left go too."""
    prefix = f"{prefix}{socket.gethostname()}-"  # other machines may share the disk, but not always their locks
    remove_abandoned(base, prefix)
    with ExitStack() as held:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        held.enter_context(locked(folder, exclusive=True))
        yield folder


def remove_abandoned(base: Path, prefix: str) -> None:
    """Remove the folders of this prefix that nobody holds."""
    for folder in base.glob(f"{prefix}*"):
        if folder.is_dir() and not folder.is_symlink():
            with locked(folder, exclusive=True, wait=False) as free:
                # Of an empty one the maker may be about to take the lock; it costs nothing to leave it.
                if free and any(folder.iterdir()):
                    shutil.rmtree(folder, ignore_errors=True)
