"""The decisions that lie beside a model, as far as commands must know of them; that needs no SQLAlchemy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

FILE = "decisions.sqlite"
"""The SQLite file beside a model."""
DECISIONS_NAME = "calirare_decisions"
"""Their table, in any database."""
OPEN = "open"
"""The state of a node that nobody has decided, or whose only decision was taken back."""
_DECIDED = f"""SELECT node_id, decision FROM {DECISIONS_NAME} WHERE decision != '{OPEN}'
    AND id IN (SELECT MAX(id) FROM {DECISIONS_NAME} GROUP BY node_key) ORDER BY id"""
"""Nodes with a decision that stands; of one whose decision was taken back, the last row says open."""


def read_decided(folder: Path) -> dict[str, str]:
    """The decision that stands on each node that has one, in the file of this model folder; none where there is none of ours."""
    file = folder / FILE
    if not file.is_file():
        return {}
    try:
        # Read-only it would leave its files for others to read along, -wal and -shm, behind.
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True)) as connection:
            return dict(connection.execute(_DECIDED).fetchall())
    except sqlite3.Error:
        return {}
