"""Parquet tables larger than memory: one file, a folder of shards or a pattern, read batch by batch.

Any other table that `read_tables` takes is held in memory while it is read, and gives batches too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calirare.data.tables.libraries import import_arrow
from calirare.data.tables.sources.frames import to_frame
from calirare.data.tables.sources.shard_files import find_shards, is_parquet
from calirare.errors import DataError, first_line

if TYPE_CHECKING:
    import polars as pl

_READ_BUFFER = 1 << 20


@dataclass(frozen=True)
class Shards:
    """The shards of one table, in the order of their names.

    Args:
        what: "nodes" or "edges", for messages.
        paths: The files.
        num_rows: Rows of all of them.
        empty: A frame with their columns and no rows.
        held: All rows, of a table that is not Parquet.
    """

    what: str
    paths: tuple[Path, ...]
    num_rows: int
    empty: pl.DataFrame
    held: pl.DataFrame | None = None

    def head(self, size: int) -> pl.DataFrame:
        """The first rows."""
        return next((frame for _, frame in self.batches(self.empty.columns, size)), self.empty)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[tuple[int, pl.DataFrame]]:
        """(place of the first row, frame) with `size` rows each, the last one fewer."""
        if self.held is not None:
            yield from ((at, self.held[at : at + size].select(columns)) for at in range(0, self.num_rows, size))
            return
        pa, _ = import_arrow()
        held: list[Any] = []
        first, rows = 0, 0
        for piece in self._pieces(list(columns), size):
            while rows + piece.num_rows >= size:
                cut = size - rows
                yield first, to_frame(pa.Table.from_batches([*held, piece.slice(0, cut)]), self.what)
                piece, first, held, rows = piece.slice(cut), first + size, [], 0
            if piece.num_rows:
                held.append(piece)
                rows += piece.num_rows
        if rows:
            yield first, to_frame(pa.Table.from_batches(held), self.what)

    def _pieces(self, columns: list[str], size: int) -> Iterator[Any]:
        pa, parquet = import_arrow()
        for path in self.paths:
            try:
                with parquet.ParquetFile(path, buffer_size=_READ_BUFFER) as file:
                    for piece in file.iter_batches(batch_size=min(size, 1 << 18), columns=columns):
                        piece.validate(full=True)
                        yield piece
            except (pa.ArrowException, OSError) as error:
                raise _damaged(path, self.what, error) from error


def open_shards(path: Any, what: str) -> Shards:
    """The table at `path`, after a look at the heads of its files; what is not Parquet is read whole.

    Raises:
        DataError: A file is missing or damaged, or the columns of two shards differ.
    """
    if not is_parquet(path):
        frame = to_frame(path, what)
        return Shards(what, (), frame.height, frame.clear(), frame)
    pa, parquet = import_arrow()
    paths = find_shards(path, what)
    rows, schema = 0, None
    for file in paths:
        try:
            with parquet.ParquetFile(file) as opened:
                rows += opened.metadata.num_rows
                found = opened.schema_arrow.remove_metadata()
        except (pa.ArrowException, OSError) as error:
            raise _damaged(file, what, error) from error
        schema = schema or found
        if not found.equals(schema):
            raise DataError(f"{what}: the columns of {file} differ from those of {paths[0]}; shards must be alike.")
    return Shards(what, paths, rows, to_frame(schema.empty_table(), what))  # type: ignore[union-attr]


def _damaged(path: Path, what: str, error: BaseException) -> DataError:
    said = first_line(error)
    return DataError(f"{what}: {path} cannot be read as its name says; it is truncated or altered ({said}).")
