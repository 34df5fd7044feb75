"""The tables of a desk, for SQLite and PostgreSQL: rows are added, never changed and never removed.

Several networks may share a database: every row names its network, "" where nobody gave one a name.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    inspect,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable

from calirare.review.beside import DECISIONS_NAME

EVENTS_NAME = "calirare_events"
_SETUP_LOCK = 7_246_301_982  # any number, the same in every process: they create the table one after the other


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets time zones, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Number = BigInteger().with_variant(Integer, "sqlite")
_METADATA = MetaData()

DECISIONS = Table(
    DECISIONS_NAME,
    _METADATA,
    Column("id", Number, primary_key=True, autoincrement=True),
    # Ids of nodes may be longer than an index allows; a sha256 of network and id stands for it there.
    Column("node_key", String(64), nullable=False),
    Column("node_id", Text, nullable=False),
    Column("decision", String(16), nullable=False),
    Column("note", Text, nullable=False),
    Column("time", UtcTime, nullable=False),
    Column("reviewer", Text, nullable=False),
    Column("model_version", String(64), nullable=False),
    Column("supersedes", Number, nullable=False),  # 0: the first of its node. No null, as nulls never count as equal.
    Column("undoes", Number, nullable=False),  # 0: a decision; else the decision that this row takes back
    Column("action_key", String(64), nullable=False),
    Column("network", Text, nullable=False, server_default=""),
    # A row can be followed by one other only: of two reviewers who saw the same state, the second is refused.
    UniqueConstraint("node_key", "supersedes", name=f"{DECISIONS_NAME}_one_successor"),
    UniqueConstraint("action_key", name=f"{DECISIONS_NAME}_one_per_action"),
    sqlite_autoincrement=True,
)

EVENTS = Table(
    EVENTS_NAME,
    _METADATA,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("network", Text, nullable=False),
    Column("kind", String(16), nullable=False),  # what happened: a setting changed, a case was given to someone, …
    Column("subject", Text, nullable=False),  # the setting's name, or the node's
    Column("value", Text, nullable=False),
    Column("time", UtcTime, nullable=False),
    Column("reviewer", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""Everything else that people do at a desk; of each kind and subject the last row counts."""

_KEPT_AS_MADE = "decisions are kept as they were made"


def _sqlite_triggers() -> list[str]:
    def trigger(table: str, verb: str, when: str = "") -> str:
        return f"""CREATE TRIGGER IF NOT EXISTS {table}_no_{verb.split()[-1].lower()} BEFORE {verb.split()[0]} ON {table} {when}
            BEGIN SELECT RAISE(ABORT, '{_KEPT_AS_MADE}'); END"""

    # INSERT OR REPLACE removes the row in its way without asking the triggers on DELETE.
    in_the_way = f"""WHEN EXISTS (SELECT 1 FROM {DECISIONS_NAME} WHERE id = NEW.id)
        OR EXISTS (SELECT 1 FROM {DECISIONS_NAME} WHERE action_key = NEW.action_key)
        OR EXISTS (SELECT 1 FROM {DECISIONS_NAME} WHERE node_key = NEW.node_key AND supersedes = NEW.supersedes)"""
    same_id = f"WHEN EXISTS (SELECT 1 FROM {EVENTS_NAME} WHERE id = NEW.id)"
    changes = [trigger(table, verb) for table in (DECISIONS_NAME, EVENTS_NAME) for verb in ("UPDATE", "DELETE")]
    return [
        *changes,
        trigger(DECISIONS_NAME, "INSERT REPLACE", in_the_way),
        trigger(EVENTS_NAME, "INSERT REPLACE", same_id),
    ]


def _postgres_triggers() -> list[str]:
    statements = [
        f"""CREATE OR REPLACE FUNCTION {DECISIONS_NAME}_keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_KEPT_AS_MADE}'; END $$"""
    ]
    for table in (DECISIONS_NAME, EVENTS_NAME):
        for what, when, each in (("rows", "UPDATE OR DELETE", "ROW"), ("table", "TRUNCATE", "STATEMENT")):
            statements.append(f"DROP TRIGGER IF EXISTS {table}_keep_{what} ON {table}")
            statements.append(
                f"""CREATE TRIGGER {table}_keep_{what} BEFORE {when} ON {table}
                FOR EACH {each} EXECUTE FUNCTION {DECISIONS_NAME}_keep()"""
            )
    return statements


def table_exists(connection: Connection) -> bool:
    """Whether the database holds decisions, of this version or an earlier one."""
    return bool(inspect(connection).has_table(DECISIONS_NAME))


def knows_networks(connection: Connection) -> bool:
    """Whether its decisions name their network; those of an earlier version do not."""
    return any(column["name"] == "network" for column in inspect(connection).get_columns(DECISIONS_NAME))


def create_tables(connection: Connection) -> None:
    """Create what is missing, with the triggers that keep every row; safe with many processes at once."""
    if _is_ready(connection):
        return
    sqlite = connection.dialect.name == "sqlite"
    execute: Any = connection.exec_driver_sql
    execute("BEGIN IMMEDIATE" if sqlite else "BEGIN")
    try:
        if not sqlite:
            execute(f"SELECT pg_advisory_xact_lock({_SETUP_LOCK})")
        if not _is_ready(connection):
            for table in (DECISIONS, EVENTS):
                connection.execute(CreateTable(table, if_not_exists=True))
            if not knows_networks(connection):
                execute(f"ALTER TABLE {DECISIONS_NAME} ADD COLUMN network TEXT NOT NULL DEFAULT ''")
            for statement in _sqlite_triggers() if sqlite else _postgres_triggers():
                execute(statement)
        execute("COMMIT")
    except BaseException:
        with suppress(SQLAlchemyError):  # a full disk has ended the transaction already
            execute("ROLLBACK")
        raise


def _is_ready(connection: Connection) -> bool:
    return table_exists(connection) and bool(inspect(connection).has_table(EVENTS_NAME)) and knows_networks(connection)
