"""Finished rows on disk: one file of JSON lines for each task; a line is whole or not counted."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from calirare.data.archive import write_atomically
from calirare.errors import DataError

Row = dict[str, Any]
RUN = ("graph", "protocol", "size", "seed", "competitor")
"""What tells one run from another; with its fingerprint, one row from another."""


def add_row(folder: str | Path, file: str, row: Row) -> None:
    """Append one row to the file of its task."""
    path = Path(folder) / "rows" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }
    torn = path.exists() and not path.read_bytes().endswith(b"\n")  # a machine stopped while a line was written
    with path.open("a", encoding="utf-8") as stream:
        stream.write(("\n" if torn else "") + json.dumps(plain, sort_keys=True) + "\n")


def pack(folder: str | Path, path: str | Path) -> Path:
    """The newest row of every run of a store as one compressed file, in order: the same rows give the same bytes."""
    lines = sorted(
        json.dumps({name: None if value != value else value for name, value in row.items()}, sort_keys=True)
        for row in newest(read_rows(folder))
    )
    with write_atomically(Path(path)) as stream:
        stream.write(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    return Path(path)


def read_rows(folder: str | Path) -> list[Row]:
    """Every whole row: packed files first, which are older than what lies beside them, then in the order of the names.

    Numbers that are missing are NaN.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder of results; run the leaderboard first.")
    rows = []
    for path in [*sorted(folder.rglob("*.jsonl.gz")), *sorted(folder.rglob("*.jsonl"))]:
        opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
        with opened as stream:
            lines = stream.read().splitlines()
        for line in lines:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:  # the machine stopped while it was written
                continue
            rows.append({name: math.nan if value is None else value for name, value in row.items()})
    return rows


def newest(rows: Iterable[Row]) -> list[Row]:
    """One row for each run: of the newest calirare, and of its rows the last; a failure counts as much as a success.

    >>> run = {"graph": "cora", "protocol": "few", "size": 3, "seed": 0, "competitor": "our gcn"}
    >>> old, new = {"calirare": "0.9.0"}, {"calirare": "0.10.0"}
    >>> first, second = run | {"versions": new, "nll": 0.2}, run | {"versions": new, "nll": 0.1}
    >>> newest([first, second, run | {"versions": old, "nll": 0.3}]) == [second]
    True
    """
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        run = tuple(row[name] for name in RUN)
        if run not in found or _version(row) >= _version(found[run]):
            found[run] = row
    return list(found.values())


def _version(row: Row) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", row["versions"]["calirare"]))
