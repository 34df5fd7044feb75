"""How much a table may take, checked before the memory is taken.

A few kilobytes of compressed table can claim any size. What reading would take is estimated from the file's own claims
and refused, in one line, where it exceeds `budget()`.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from calirare.data.storage.archive import MAX_BYTES
from calirare.data.storage.memory import usable_memory
from calirare.errors import DataError, InputError

MAX_COLUMNS = 5_000
MAX_COLUMN_NAME = 500
BYTES_PER_CELL = 40
"""What a cell of text takes at the peak of reading, beside its letters, which are held twice."""
_CHUNK = 1 << 24
_SMALL = 1 << 24
"""Smaller files take a few hundred megabytes at most, so their cells are not counted first."""


def budget() -> int:
    """Bytes that a table may take: most of the memory that is free, and at most four times `MAX_BYTES`."""
    return min(4 * MAX_BYTES, usable_memory())


def check_bytes(needed: int, what: str) -> None:
    """Refuse what would take more than the budget.

    Raises:
        DataError: With what it would take and what there is.
    """
    most = budget()
    if needed > most:
        raise DataError(
            f"{what} would take about {needed:,} bytes to read, and {most:,} are free for it. "
            "Read fewer rows or columns, or score Parquet files in parts (--partitions)."
        )


def check_width(names: list[str], what: str) -> None:
    """Refuse tables with too many columns: each is learned, described and stored by itself."""
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"{what} must have at most {MAX_COLUMNS:,} columns; got {len(names):,}. Pass wide data as a sparse matrix: "
            "RareGraph(x=…)."
        )
    longest = max((len(name) for name in names), default=0)
    if longest > MAX_COLUMN_NAME:
        raise InputError(f"{what} must have column names of at most {MAX_COLUMN_NAME} characters; one has {longest:,}.")


def unpack(path: Path) -> bytes:
    """The content of a gzip file, as long as a table of it fits.

    Raises:
        DataError: It would not.
    """
    content = bytearray()
    with gzip.open(path) as stream:
        cells = 0
        for chunk in _chunks(stream):
            content += chunk
            cells += _count_cells(chunk)
            check_bytes(3 * len(content) + BYTES_PER_CELL * cells, str(path))
    return bytes(content)


def check_text_file(path: Path) -> None:
    """Refuse a text file whose cells would not fit, after a count of them."""
    size = path.stat().st_size
    if size * BYTES_PER_CELL < min(budget(), _SMALL * BYTES_PER_CELL):
        return
    with path.open("rb") as stream:
        cells = sum(_count_cells(chunk) for chunk in _chunks(stream))
    check_bytes(2 * size + BYTES_PER_CELL * cells, str(path))


def _chunks(stream: IO[bytes] | Any) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _count_cells(chunk: bytes) -> int:
    return chunk.count(b"\n") + max(chunk.count(sign) for sign in (b",", b";", b"\t", b"|"))


def check_parquet(path: Path, metadata: Any) -> None:
    """Refuse a Parquet file that claims too much, in bytes or in repeats of one value."""
    check_width([metadata.schema.column(k).name for k in range(min(metadata.num_columns, MAX_COLUMNS + 1))], str(path))
    claimed = 0
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        columns = (group.column(j) for j in range(group.num_columns))
        claimed += sum(max(column.total_uncompressed_size, 16 * column.num_values) for column in columns)
    check_bytes(2 * max(claimed, 16 * metadata.num_rows), str(path))


def unpacked_bytes(table: Any) -> int:
    """Bytes that an Arrow table takes once its dictionaries of text are written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    needed: int = table.nbytes
    for column in table.columns:
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
            needed += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
    return needed
