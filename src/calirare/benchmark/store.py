"""Finished rows on disk: a file of JSON lines for each task; a line is whole or not counted.

Lines are only added, so a run that is killed at any moment leaves every finished row readable.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calirare.data.storage.archive import write_atomically
from calirare.data.tables.libraries import import_arrow
from calirare.errors import DataError

Row = dict[str, Any]


class RowStore:
    """The rows under a folder: those computed here in `rows`, and packed ones that somebody put there."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise DataError(f"{self.folder} is a file; the results need a folder.")

    def add(self, file: str, rows: Sequence[Row]) -> None:
        """Append rows to the file of their task; no rows, no file."""
        if not rows:
            return
        path = self.folder / "rows" / f"{file}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        torn = path.exists() and not path.read_bytes().endswith(b"\n")  # a machine stopped while a line was written
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n" * torn + to_lines(rows))

    def read(self) -> list[Row]:
        """Every whole row: packed files first, which are older than what lies beside them, then in the order of the names.

        Numbers that are missing are NaN.
        """
        packed = sorted((self.folder / "rows").glob("*.parquet"))
        rows = [row for path in packed for row in read_parquet(path)]
        for path in [*sorted(self.folder.rglob("*.jsonl.gz")), *sorted(self.folder.rglob("*.jsonl"))]:
            raw = path.read_bytes()
            text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
            for line in text.splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:  # the machine stopped while it was written
                    continue
                rows.append({name: math.nan if value is None else value for name, value in row.items()})
        return rows


def to_lines(rows: Sequence[Row], sort_keys: bool = False) -> str:
    """A line of JSON for each row, null where a number is not finite."""
    plain = (
        {name: None if isinstance(one, float) and not math.isfinite(one) else one for name, one in row.items()}
        for row in rows
    )
    return "".join(f"{json.dumps(row, sort_keys=sort_keys)}\n" for row in plain)


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write rows as one Parquet file, for other programs."""
    arrow, parquet = import_arrow()
    with write_atomically(path) as stream:
        parquet.write_table(arrow.Table.from_pylist(rows), stream)


def read_parquet(path: Path) -> list[Row]:
    """The rows of one Parquet file."""
    arrow, parquet = import_arrow()
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); delete it and run again.") from error
    return rows
