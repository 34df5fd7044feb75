"""The decisions that lie beside a model, as far as a fit must know of them; it needs no SQLAlchemy for that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

FILE = "decisions.sqlite"
"""The SQLite file beside a model."""
DECISIONS_NAME = "calirare_decisions"
"""Their table, in any database."""
_DECIDED = f"""SELECT COUNT(*) FROM {DECISIONS_NAME} WHERE decision != 'open'
    AND id IN (SELECT MAX(id) FROM {DECISIONS_NAME} GROUP BY node_key)"""
"""Nodes with a decision that stands; of one whose decision was taken back, the last row says open."""


def count_decided(folder: Path) -> int:
    """How many nodes have a decision in the file of this model folder; 0 where there is none of ours."""
    file = folder / FILE
    if not file.is_file():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as connection:
            return int(connection.execute(_DECIDED).fetchone()[0])
    except sqlite3.Error:
        return 0
