"""Read and write `.npz` files that may come from strangers.

An `.npz` is a zip of arrays. NumPy's own loader allocates what an array's header claims before it looks at the data,
and a zip can claim any size, so every claim is checked here before memory is taken. Nothing is ever unpickled.

Graphs stay in this format, which is how the benchmark graphs are handed on, where a model's weights are safetensors: that does
not compress, and the seven graphs take four times the room in it.
"""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from calirare.data.storage.memory import usable_memory
from calirare.errors import DataError

MAX_BYTES = 8 * 2**30
"""Most bytes that the arrays of one file may take, unless the caller allows more."""

MAX_MEMBERS = 256
_CHUNK = 1 << 20
# Only these: a few kilobytes of bzip2 or lzma can claim gigabytes, where deflate stops at about 1000 to 1.
_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OverflowError, KeyError)


def read_arrays(path: Path, max_bytes: int = MAX_BYTES, only: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` by name; with `only`, those of these names.

    Raises:
        DataError: The file is missing, truncated or altered, holds Python objects, or claims more than `max_bytes`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if only is None or m.filename.removesuffix(".npy") in only]
            _check_members(path, members, max_bytes)
            return {member.filename.removesuffix(".npy"): _read_member(path, archive, member) for member in members}
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path} does not exist.") from None
    except _BROKEN as error:
        raise DataError(f"{path} is not an .npz file, or it is truncated or altered ({error}).") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _check_members(path: Path, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
    names = [member.filename for member in members]
    if len(names) > MAX_MEMBERS:
        raise DataError(f"{path} holds {len(names)} arrays; at most {MAX_MEMBERS} are read.")
    if len(set(names)) != len(names):
        raise DataError(f"{path} holds two arrays of the same name.")
    for member in members:
        if not member.filename.endswith(".npy") or "/" in member.filename or "\\" in member.filename:
            raise DataError(f"{path} holds {member.filename!r}; only arrays (.npy) at its top level are read.")
        if member.compress_type not in _COMPRESSION:
            raise DataError(f"{path} holds {member.filename!r} in an unusual compression; it is not read.")
    total = sum(member.file_size for member in members)
    if total > max_bytes:
        raise DataError(
            f"{path} would take {total:,} bytes when unpacked; at most {max_bytes:,} are read. "
            "Pass a larger max_bytes if you trust the file."
        )
    free = usable_memory()
    if total > free:
        raise DataError(
            f"{path} would take {total:,} bytes when unpacked, and {free:,} are free for it. "
            "Close other programs, or use a machine with more memory."
        )


def _read_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read_header(stream)
        if dtype.hasobject:
            raise DataError(
                f"{path}: array {member.filename!r} holds Python objects (a pickle), which are never loaded."
            )
        count = math.prod(int(length) for length in shape)
        empty = count > 0 and not dtype.itemsize  # of which any number fits in no byte
        if empty or member.file_size - stream.tell() != count * dtype.itemsize:  # before memory is taken for it
            raise DataError(f"{path}: array {member.filename!r} is truncated or altered.")
        array = np.empty(count, dtype=dtype)
        _fill(array.view(np.uint8), stream)
    return array.reshape(shape, order="F" if fortran_order else "C")


def _fill(target: np.ndarray, stream: IO[bytes]) -> None:
    """Read to the end, so that the zip's checksum is compared."""
    place = 0
    while chunk := stream.read(_CHUNK):
        target[place : place + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
        place += len(chunk)
    if place != len(target):
        raise EOFError("an array ends early")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as a compressed `.npz`, whole or not at all; the same arrays give the same bytes."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise DataError(f"array {name!r} holds Python objects, which the portable format does not store.")
    with write_atomically(path) as stream:
        np.savez_compressed(stream, **dict(arrays))  # type: ignore[arg-type]


@contextmanager
def write_atomically(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content appears under `path` only when the block ends well.

    Raises:
        DataError: The folder cannot be written to, or the disk is full.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_sha256(arrays: Mapping[str, np.ndarray]) -> str:
    """sha256 of the arrays themselves, whatever the compression of the file they came from.

    >>> content_sha256({"y": np.zeros(2)}) == content_sha256({"y": np.zeros(2)})
    True
    >>> content_sha256({"y": np.zeros(2)}) == content_sha256({"y": np.zeros(2, dtype=np.float32)})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
