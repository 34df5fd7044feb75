"""Which database keeps the decisions, and how it is spoken to."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from calirare.errors import DataError, InputError, MissingDependencyError, first_line
from calirare.persistence.writing import HEADER
from calirare.review.beside import FILE

_PAGE = 4_096
"""Bytes of an SQLite file that holds no table."""
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
        if path.is_dir() and not (path / HEADER).is_file():
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
    if url.database == "":
        raise InputError("the database names no file; give sqlite:///FILE, with three slashes and a path.")
    if url.query:
        raise InputError("an SQLite database takes no options; give sqlite:///FILE, without a question mark.")
    return url


class Database:
    """A database, and the certainty that what was written to it can be found where it was said to be.

    An SQLite file that is renamed or removed while it is open goes on taking rows, and they vanish with it. So the file at
    the path is compared with the one that was opened, before and after every use.

    Args:
        url: From `database_url`.
    """

    def __init__(self, url: URL) -> None:
        self.engine = make_engine(url)
        is_file = url.get_backend_name() == "sqlite" and url.database not in (None, ":memory:")
        self.file = Path(str(url.database)).absolute() if is_file else None
        self._opened: tuple[int, int] | None = None
        self._is_new = self.file is not None and not self.file.exists()

    @property
    def name(self) -> str:
        """The address without the password."""
        return self.engine.url.render_as_string(hide_password=True)

    def settle(self) -> None:
        """Remember which file was opened; call once its tables are there."""
        if self.file is not None:
            self._opened = _identity(self.file) or (0, 0)  # none: it is gone already

    @contextmanager
    def connected(self, *, writing: bool = False) -> Iterator[Any]:
        """A connection whose every statement stands on its own; the database's errors become ours.

        Raises:
            DataError: It cannot be reached, or its file is no longer the one that was opened. What the block wrote is then
                not acknowledged.
        """
        self._check_file(writing=False)
        try:
            with self.engine.connect() as connection:
                yield connection
                self._check_file(writing)
        except SQLAlchemyError as error:
            if self._is_new and _is_full(getattr(error, "orig", None)):
                self._remove_beginnings()
            reason = first_line(getattr(error, "orig", None) or error)
            raise DataError(f"the decisions in {self.name} cannot be read or written: {reason}.") from error

    def close(self) -> None:
        self.engine.dispose()

    def _remove_beginnings(self) -> None:
        """Remove what SQLite began on a full disk: a file of our own, of one page at most, without a table."""
        self.engine.dispose()
        assert self.file is not None
        own = [self.file.with_name(f"{self.file.name}{ending}") for ending in ("", "-wal", "-shm", "-journal")]
        sizes = [file.stat().st_size if file.exists() else 0 for file in own]
        if sizes[0] <= _PAGE and not sizes[1]:
            for file in own:
                file.unlink(missing_ok=True)

    def _check_file(self, writing: bool) -> None:
        if self.file is None or self._opened is None:
            return
        log = self.file.with_name(f"{self.file.name}-wal")  # where a row is until the file itself takes it in
        if _identity(self.file) != self._opened or (writing and self._writes_ahead and not log.exists()):
            raise DataError(
                f"{self.file} was moved, removed or replaced while the desk was open; nothing more is stored there. "
                "Put it back, or start the desk again."
            )

    @cached_property
    def _writes_ahead(self) -> bool:
        with self.engine.connect() as connection:
            return connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_full(error: Any) -> bool:
    """Whether a disk without room would say this."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


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
