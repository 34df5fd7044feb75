"""What lies in a folder."""

from __future__ import annotations

from pathlib import Path


def content_of(folder):
    """The bytes of every file, by its path below the folder."""
    return {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
