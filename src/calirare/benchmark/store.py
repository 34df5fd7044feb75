"""Finished rows on disk: one small Parquet file for each task, whole or not there.

Nothing is ever changed in place, so a run that is killed at any moment leaves every finished row readable.
"""

from __future__ import annotations

from pathlib import Path

from calirare.benchmark.grid import GridTask, RowKey
from calirare.benchmark.work import Row
from calirare.data.archive import write_atomically
from calirare.data.tables.libraries import import_arrow
from calirare.errors import DataError


class RowStore:
    """The rows under `folder/rows`."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.rows_folder = self.folder / "rows"
        if self.folder.exists() and not self.folder.is_dir():
            raise DataError(f"{self.folder} is a file; the results need a folder.")

    def add(self, task: GridTask, rows: list[Row]) -> None:
        """Store what a task computed."""
        if rows:
            self._write(rows, self.rows_folder / f"{task.name}.parquet")

    def read(self) -> list[Row]:
        """Every stored row, in no promised order; a row stored twice is given once."""
        rows: dict[RowKey, Row] = {}
        for path in sorted(self.rows_folder.glob("*.parquet")):
            rows.update({key_of(row): row for row in read_rows(path)})
        return list(rows.values())

    def merge(self, rows: list[Row]) -> None:
        """Write rows as one Parquet file, for other programs."""
        self._write(rows, self.folder / "runs.parquet")

    def _write(self, rows: list[Row], path: Path) -> None:
        arrow, parquet = import_arrow()
        with write_atomically(path) as stream:
            parquet.write_table(arrow.Table.from_pylist(rows), stream)


def read_rows(path: Path) -> list[Row]:
    """The rows of one Parquet file."""
    arrow, parquet = import_arrow()
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); delete it and run again.") from error
    return rows


def key_of(row: Row) -> RowKey:
    """What tells one row from another."""
    return (row["dataset"], row["labels_per_class"], row["seed"], row["entry"], row["fingerprint"])
