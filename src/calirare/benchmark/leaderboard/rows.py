"""The rows of the leaderboard: of every run the newest, and all of them in one file."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path

from calirare.benchmark.leaderboard.cells import CellTask
from calirare.benchmark.store import Row, RowStore, to_lines
from calirare.benchmark.tasks import RowKey
from calirare.data.storage.archive import write_atomically


def pack(folder: str | Path, path: str | Path) -> Path:
    """The newest row of every run of a store as one compressed file, in order: the same rows give the same bytes."""
    lines = sorted(to_lines(newest(RowStore(folder).read()), sort_keys=True).splitlines(keepends=True))
    with write_atomically(Path(path)) as stream:
        stream.write(gzip.compress("".join(lines).encode(), mtime=0))
    return Path(path)


def newest(rows: Iterable[Row]) -> list[Row]:
    """One row for each run: of the newest calirare, and of its rows the last; a failure counts as much as a success.

    >>> run = {"graph": "cora", "protocol": "few", "size": 3, "seed": 0, "competitor": "our gcn"}
    >>> old, new = {"calirare": "0.9.0"}, {"calirare": "0.10.0"}
    >>> first, second = run | {"versions": new, "nll": 0.2}, run | {"versions": new, "nll": 0.1}
    >>> newest([first, second, run | {"versions": old, "nll": 0.3}]) == [second]
    True
    """
    found: dict[RowKey, Row] = {}
    for row in rows:
        run = tuple(row[name] for name in CellTask.COLUMNS[:-1])
        if run not in found or _version(row) >= _version(found[run]):
            found[run] = row
    return list(found.values())


def _version(row: Row) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", row["versions"]["calirare"]))
