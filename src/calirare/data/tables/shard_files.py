"""The Parquet files that a folder or a pattern stands for."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from calirare.data.tables.addresses import is_address
from calirare.errors import DataError, InputError

PARQUET = (".parquet", ".pq")


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
    return is_sharded(table) or Path(table).name.lower().endswith(PARQUET)


def find_shards(path: Any, what: str) -> tuple[Path, ...]:
    """The Parquet files that a path names: itself, those of a folder, or those of a pattern.

    Raises:
        DataError: There are none.
        InputError: One is not Parquet.
    """
    given = Path(path)
    if given.is_dir():
        found = sorted(file for ending in PARQUET for file in given.rglob(f"*{ending}"))
    elif given.exists():
        found = [given]
    else:
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    if not found:
        raise DataError(f"{what}: {path} does not exist." if not is_sharded(path) else f"{what}: {path} has no shards.")
    strange = [file for file in found if not file.name.lower().endswith(PARQUET)]
    if strange:
        raise InputError(
            f"{what}: a folder or a pattern must hold Parquet ({' or '.join(PARQUET)}); got {strange[0].name}."
        )
    return tuple(found)
