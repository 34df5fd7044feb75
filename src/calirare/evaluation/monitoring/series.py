"""The time series of a model in use, in the database that keeps the decisions. Rows are added, never changed.

reference   how a model scores the nodes of its fit, once per model
run         what one scoring run saw: shift of every column, scores, actions, the forecast
decision    one case that a person decided, with what the model had said of it; of a case the last row counts
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from calirare.evaluation.monitoring.stored import fits, need

try:
    from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, String, Table, Text, insert, inspect, select
    from sqlalchemy.exc import DatabaseError
    from sqlalchemy.schema import CreateTable
except ModuleNotFoundError:
    from calirare.errors import MissingDependencyError

    raise MissingDependencyError("SQLAlchemy", "review") from None

NAME = "calirare_monitoring"
Kind = Literal["reference", "run", "decision"]

ROWS = Table(
    NAME,
    MetaData(),
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("network", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("model_version", String(64), nullable=False),
    Column("time", Float(53), nullable=False),  # seconds since 1970, UTC
    Column("subject", Text, nullable=False),  # of a run the command, of a decision the node
    Column("value", Text, nullable=False),  # JSON
    sqlite_autoincrement=True,
)


class Connects(Protocol):
    """A database; `calirare.review.store.database.Database` is one."""

    file: Path | None
    """None where it is no file of its own."""

    def connected(self, *, writing: bool = False) -> AbstractContextManager[Any]: ...


@dataclass(frozen=True)
class Row:
    """One row: when, about which model, what."""

    id: int
    kind: str
    model_version: str
    time: float
    subject: str
    value: dict[str, Any]


class Series:
    """The series of one network.

    Args:
        database: That of the decisions.
        network: Name of the network, where a database holds several.
    """

    def __init__(self, database: Connects, network: str = "") -> None:
        self.database, self.network = database, network
        self._ready = False

    def add(
        self, kind: Kind, model_version: str, subject: str, value: Mapping[str, Any], *, time: float | None = None
    ) -> None:
        """Add a row; it is on disk when this returns."""
        self._create()
        row = {
            "network": self.network,
            "kind": kind,
            "model_version": model_version,
            "time": clock.time() if time is None else time,
            "subject": subject,
            "value": json.dumps(value),
        }
        with self.database.connected(writing=True) as connection:
            connection.execute(insert(ROWS).values(row))

    def read(self, kind: Kind, model_version: str | None = None) -> list[Row]:
        """The rows of a kind, oldest first; of one model, or of all."""
        if not self._ready and not self.is_there:
            return []
        query = select(ROWS).where(ROWS.c.network == self.network, ROWS.c.kind == kind)
        if model_version is not None:
            query = query.where(ROWS.c.model_version == model_version)
        with self.database.connected() as connection:
            rows = connection.execute(query.order_by(ROWS.c.time, ROWS.c.id)).all()
        return [_checked(row) for row in rows]

    @property
    def is_there(self) -> bool:
        """Whether anything was ever added; asking makes no file."""
        if self.database.file is not None and not self.database.file.exists():
            return False
        with self.database.connected() as connection:
            return bool(inspect(connection).has_table(NAME))

    def _create(self) -> None:
        if self._ready:
            return
        with self.database.connected() as connection:
            try:
                connection.execute(CreateTable(ROWS, if_not_exists=True))
            except DatabaseError:
                # Two processes that create it at once: PostgreSQL refuses one of them although it asked politely.
                if not inspect(connection).has_table(NAME):
                    raise
        self._ready = True


def _checked(row: Any) -> Row:
    try:
        value = json.loads(row.value)
    except (TypeError, ValueError, RecursionError):
        value = None
    whole = isinstance(value, dict) and fits(row.time, float) and row.time >= 0 and isinstance(row.subject, str)
    need(whole, f"a row (number {row.id})")
    return Row(row.id, row.kind, row.model_version, float(row.time), row.subject, value)
