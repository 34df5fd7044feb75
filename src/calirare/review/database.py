"""Which database keeps the decisions, and how it is spoken to."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from calirare.errors import InputError, MissingDependencyError

FILE = "decisions.sqlite"
"""The SQLite file beside a model."""
_LONGEST_WAIT = 30.0
"""Seconds that a statement waits for another desk's lock on an SQLite file."""


def database_url(where: str | Path) -> URL:
    """The database that a URL, a model folder or a file names.

    >>> str(database_url("postgresql://desk@db.local/cases"))
    'postgresql+psycopg://desk@db.local/cases'
    """
    text = str(where)
    if "://" not in text:
        path = Path(where)
        if path.is_dir() and not (path / "model.json").is_file():
            raise InputError(f"{path} is neither a model folder nor a database; give a model folder, a file or a URL.")
        return URL.create("sqlite", database=str(path / FILE if path.is_dir() else path))
    try:
        url = make_url(text)
    except ArgumentError:
        raise InputError(
            "the database must be given as sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."
        ) from None
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InputError(f"the database must be SQLite or PostgreSQL; got {kind!r}.")
    return url


def make_engine(url: URL) -> Engine:
    """An engine in which every statement is its own transaction: nothing is held open while a reviewer thinks."""
    if url.get_backend_name() != "sqlite":
        try:
            return create_engine(url, isolation_level="AUTOCOMMIT", pool_size=16, max_overflow=48, pool_pre_ping=True)
        except ModuleNotFoundError:
            raise MissingDependencyError("psycopg", "review") from None
    engine = create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"timeout": _LONGEST_WAIT})

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        write_ahead(cursor)
        cursor.execute("PRAGMA synchronous=FULL")  # an acknowledged decision survives a power cut
        cursor.close()

    return engine


def write_ahead(cursor: sqlite3.Cursor) -> None:
    """WAL, in which readers do not wait for writers. SQLite does not wait for the lock of this one statement."""
    give_up = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
