"""The table of decisions, for SQLite and PostgreSQL: rows are added, never changed and never removed."""

from __future__ import annotations

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
from sqlalchemy.schema import CreateTable

NAME = "calirare_decisions"
_SETUP_LOCK = 7_246_301_982  # any number, the same in every process: they create the table one after the other


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets time zones, so it is put back when read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value if value is None else value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


Number = BigInteger().with_variant(Integer, "sqlite")

DECISIONS = Table(
    NAME,
    MetaData(),
    Column("id", Number, primary_key=True, autoincrement=True),
    # Ids of nodes may be longer than an index allows; the sha256 of the text stands for it there.
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
    # A row can be followed by one other only: of two reviewers who saw the same state, the second is refused.
    UniqueConstraint("node_key", "supersedes", name=f"{NAME}_one_successor"),
    UniqueConstraint("action_key", name=f"{NAME}_one_per_action"),
    sqlite_autoincrement=True,
)

_SQLITE_TRIGGERS = [
    f"""CREATE TRIGGER IF NOT EXISTS {NAME}_no_{verb.lower()} BEFORE {verb} ON {NAME}
        BEGIN SELECT RAISE(ABORT, 'decisions are kept as they were made'); END"""
    for verb in ("UPDATE", "DELETE")
]

_POSTGRES_TRIGGERS = [
    f"""CREATE OR REPLACE FUNCTION {NAME}_keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'decisions are kept as they were made'; END $$""",
    f"""CREATE TRIGGER {NAME}_keep_rows BEFORE UPDATE OR DELETE ON {NAME}
        FOR EACH ROW EXECUTE FUNCTION {NAME}_keep()""",
    f"""CREATE TRIGGER {NAME}_keep_table BEFORE TRUNCATE ON {NAME}
        FOR EACH STATEMENT EXECUTE FUNCTION {NAME}_keep()""",
]


def table_exists(connection: Connection) -> bool:
    return bool(inspect(connection).has_table(NAME))


def create_table(connection: Connection) -> None:
    """Create the table and the triggers that keep its rows, unless it is there; safe with many processes at once."""
    if table_exists(connection):
        return
    sqlite = connection.dialect.name == "sqlite"
    execute: Any = connection.exec_driver_sql
    execute("BEGIN IMMEDIATE" if sqlite else "BEGIN")
    try:
        if not sqlite:
            execute(f"SELECT pg_advisory_xact_lock({_SETUP_LOCK})")
        if not table_exists(connection):
            connection.execute(CreateTable(DECISIONS, if_not_exists=True))
            for statement in _SQLITE_TRIGGERS if sqlite else _POSTGRES_TRIGGERS:
                execute(statement)
        execute("COMMIT")
    except BaseException:
        execute("ROLLBACK")
        raise
