"""How large an Arrow (Feather, IPC) file becomes when its buffers are unpacked, by what its messages claim.

Arrow's reader unpacks before it can be asked. The sizes stand in the file: its footer lists the record batches, a batch
lists its buffers, and a compressed buffer begins with its unpacked length. The layout is that of Arrow's `File.fbs` and
`Message.fbs`; a flatbuffer table at `p` finds field k through the vtable at p - int32(p).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import IO

_MAGIC = b"ARROW1"
_DICTIONARY, _RECORD = 2, 3
_NOT_COMPRESSED = -1


def claimed_bytes(path: Path) -> int:
    """Bytes of all buffers, unpacked.

    Raises:
        ValueError: The file is no Arrow file, or its messages cannot be followed.
    """
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size < 32 or _read(stream, 0, 6) != _MAGIC or _read(stream, size - 6, 6) != _MAGIC:
            raise ValueError("it is not in Arrow's format")
        try:
            return sum(_of_message(stream, size, *block) for block in _blocks(stream, size))
        except (struct.error, IndexError) as error:
            raise ValueError(f"its messages cannot be followed: {error}") from None


def _read(stream: IO[bytes], offset: int, length: int) -> bytes:
    stream.seek(offset)
    return stream.read(length)


def _blocks(stream: IO[bytes], size: int) -> list[tuple[int, int, int]]:
    """Where the messages with data lie, by the footer: offset, length of the head, length of the body."""
    end = size - len(_MAGIC) - 4
    length = struct.unpack("<i", _read(stream, end, 4))[0]
    if not 0 < length <= end:
        raise IndexError("its footer lies outside of it")
    footer = _read(stream, end - length, length)
    root = _unsigned(footer, 0)
    found: list[tuple[int, int, int]] = []
    for field in (2, 3):  # dictionaries, record batches
        at = _field(footer, root, field)
        if at is None:
            continue
        start = at + _unsigned(footer, at)
        count = _unsigned(footer, start)
        if 24 * count > length:
            raise IndexError(f"it lists {count} messages")
        found += [struct.unpack_from("<qi4xq", footer, start + 4 + 24 * k) for k in range(count)]
    return found


def _of_message(stream: IO[bytes], size: int, offset: int, head: int, body: int) -> int:
    if min(offset, head, body) < 0 or offset + head + body > size:
        raise IndexError("a message lies outside of it")
    meta = _read(stream, offset, head)
    meta = meta[8 if meta[:4] == b"\xff\xff\xff\xff" else 4 :]
    root = _unsigned(meta, 0)
    kind, header = _field(meta, root, 1), _field(meta, root, 2)
    if kind is None or header is None or meta[kind] not in (_DICTIONARY, _RECORD):
        return 0
    batch = header + _unsigned(meta, header)
    if meta[kind] == _DICTIONARY:
        data = _field(meta, batch, 1)
        batch = batch if data is None else data + _unsigned(meta, data)
    buffers = _field(meta, batch, 2)
    if buffers is None:
        return 0
    packed = _field(meta, batch, 3) is not None
    start = buffers + _unsigned(meta, buffers)
    count = _unsigned(meta, start)
    if 16 * count > head:
        raise IndexError(f"a message lists {count} buffers")
    places = (struct.unpack_from("<qq", meta, start + 4 + 16 * k) for k in range(count))
    return sum(_of_buffer(stream, offset + head + place, length, packed) for place, length in places)


def _of_buffer(stream: IO[bytes], place: int, length: int, packed: bool) -> int:
    if place < 0 or length < 0:
        raise IndexError("a buffer lies outside of it")
    if not packed or length == 0:
        return length
    unpacked = int(struct.unpack("<q", _read(stream, place, 8))[0])
    return length if unpacked == _NOT_COMPRESSED else max(unpacked, 0)


def _unsigned(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, k: int) -> int | None:
    """Where field k of a table lies, None where it is left out."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0 or 4 + 2 * k >= struct.unpack_from("<H", data, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * k)[0]
    return table + offset if offset else None
