"""The files that a folder or a pattern stands for, all of one format."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from calirare.data.tables.sources.addresses import is_address
from calirare.errors import DataError, InputError

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
ARROW = (".arrow", ".feather", ".ipc")
LINES = (".jsonl", ".ndjson")
FORMATS = (PARQUET, CSV, ARROW, LINES)
"""How the names of table files end, by format."""
ENDINGS = tuple(ending for endings in FORMATS for ending in endings)


def is_sharded(path: Any) -> bool:
    """Whether a path names several files: a folder, or a pattern with * ? or [ ]."""
    return Path(path).is_dir() or (not Path(path).exists() and glob.has_magic(str(path)))


def is_parquet(table: Any) -> bool:
    """Whether a table is a path to Parquet: a file, a folder or a pattern.

    >>> is_parquet("nodes.parquet"), is_parquet("nodes.csv"), is_parquet("nodes-*.parquet"), is_parquet({"id": [1]})
    (True, False, True, False)
    """
    if not isinstance(table, (str, os.PathLike)) or is_address(table):
        return False
    names = [Path(table), *_files(Path(table))] if is_sharded(table) else [Path(table)]
    return any(name.name.lower().endswith(PARQUET) for name in names)


def find_shards(path: Any, what: str) -> tuple[Path, ...]:
    """The files that a path names: itself, the tables of a folder, or those of a pattern, in the order of their names.

    Raises:
        DataError: There are none.
        InputError: They are of several formats.
    """
    given = Path(path)
    if given.exists() and not given.is_dir():
        return (given,)
    if not is_sharded(path):
        raise DataError(f"{what}: {path} does not exist.")
    found = _files(given)
    if not found:
        why = f"none of its files ends in one of {list(ENDINGS)}" if given.is_dir() else "no file has such a name"
        raise DataError(f"{what}: {path} has no shards: {why}.")
    strange = [file for file in found if not file.name.lower().endswith(_format_of(found[0]))]
    if strange:
        raise InputError(
            f"{what}: shards must be of one format; {path} holds {found[0].name} and {strange[0].name}. "
            f"Name those that you mean by a pattern in quotes, such as '{found[0].parent}/*{found[0].suffix}'."
        )
    return found


def _files(path: Path) -> tuple[Path, ...]:
    """All files of a pattern; of a folder those that end as tables do, without notes such as README.txt."""
    if not path.is_dir():
        return tuple(sorted(Path(name) for name in glob.glob(str(path), recursive=True)))
    tables = tuple(ending for ending in ENDINGS if ending != ".txt")
    named = (file for file in path.rglob("*") if file.name.lower().endswith(tables) and not file.name.startswith("."))
    return tuple(sorted(file for file in named if file.is_file()))


def _format_of(file: Path) -> tuple[str, ...]:
    """The endings of its format; those of Parquet where it is none that we read."""
    return next((endings for endings in FORMATS if file.name.lower().endswith(endings)), PARQUET)
