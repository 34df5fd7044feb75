"""Read tables from databases and write them back, whole or not at all. See `calirare.data.tables.sources.addresses`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from sys import getsizeof
from typing import Any

from calirare.data.tables.libraries import pl
from calirare.data.tables.sources.addresses import Address, hide_passwords
from calirare.data.tables.sources.limits import check_bytes, check_width
from calirare.errors import DataError, InputError, MissingDependencyError, first_line, optional

_CHUNK = 5_000
"""Rows that are sent to a database at a time."""


def read_address(text: str, what: str) -> pl.DataFrame:
    """The table or the answer to the query at an address.

    Args:
        text: `URL#TABLE` or `URL#SELECT …`.
        what: "nodes" or "edges", for messages.

    Raises:
        DataError: The database cannot be reached, or has no such table.
    """
    address = Address.parse(text, what)
    if address.is_duckdb:
        return _read_duckdb(address, what)
    with _speaking(address, what, "read") as engine, engine.connect() as connection:
        found = connection.execution_options(stream_results=True).execute(_statement(address))
        names = list(found.keys())
        check_width(names, str(address))
        if len(set(names)) < len(names):
            raise InputError(f"{what}: the columns of {address} must have different names; got {names}.")
        rows = _fetch(found, address)
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    made = [pl.Series(name, _plain(list(values)), strict=False) for name, values in zip(names, columns, strict=True)]
    return pl.DataFrame(made)


def write_address(frame: pl.DataFrame, text: str) -> None:
    """Put a frame in place of what a table holds, in one transaction: readers see the old rows or the new ones.

    The table is made where there is none; one that is there must have these columns.
    """
    address = Address.parse(text, "out")
    check_writable(text)
    if address.is_duckdb:
        return _write_duckdb(frame, address)
    from sqlalchemy import delete, insert

    with _speaking(address, "out", "written") as engine, _transaction(engine) as connection:
        table = _table(address, frame)
        table.create(connection, checkfirst=True)
        _check_columns(connection, table, address)
        connection.execute(delete(table))
        for start in range(0, frame.height, _CHUNK):
            connection.execute(insert(table), frame[start : start + _CHUNK].to_dicts())


def check_writable(text: str) -> None:
    """Refuse an address that rows cannot be written to, before long work."""
    address = Address.parse(text, "out")
    if address.is_query:
        raise InputError(f"out: {address} is a query; give a table to write to: #TABLE.")


def _read_duckdb(address: Address, what: str) -> pl.DataFrame:
    duckdb = optional("duckdb", "warehouse")
    try:
        with duckdb.connect(address.duckdb_file, read_only=True) as connection:
            query = address.target if address.is_query else f"SELECT * FROM {_quoted(address.target)}"
            return pl.DataFrame(_gather(connection.sql(query), address))
    except duckdb.Error as error:
        raise _failed(address, what, "read", error) from error


def _fetch(found: Any, address: Address) -> list[Any]:
    """All rows, as long as they fit: a query can make any number of them."""
    rows: list[Any] = []
    size = 0
    for part in found.partitions(_CHUNK):
        size += sum(map(getsizeof, part)) + sum(getsizeof(value) for row in part for value in row)
        check_bytes(2 * size, str(address))  # as rows, and as columns
        rows += part
    return rows


def _gather(relation: Any, address: Address) -> Any:
    """The same for DuckDB, which gives batches of columns."""
    import pyarrow as pa

    reader, batches, size = pa.RecordBatchReader.from_stream(relation), [], 0
    check_width(reader.schema.names, str(address))
    for batch in reader:
        size += batch.nbytes
        check_bytes(2 * size, str(address))
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _write_duckdb(frame: pl.DataFrame, address: Address) -> None:
    duckdb = optional("duckdb", "warehouse")
    try:
        with duckdb.connect(address.duckdb_file) as connection:
            connection.register("calirare_new_rows", frame.to_arrow())
            # One statement is one transaction.
            connection.execute(f"CREATE OR REPLACE TABLE {_quoted(address.target)} AS FROM calirare_new_rows")
    except duckdb.Error as error:
        raise _failed(address, "out", "written", error) from error


def _quoted(name: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


@contextmanager
def _speaking(address: Address, what: str, verb: str) -> Iterator[Any]:
    """An engine for the database; its errors become ours, without the password."""
    try:
        from sqlalchemy import create_engine
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    except ModuleNotFoundError:
        raise MissingDependencyError("SQLAlchemy", "warehouse") from None
    try:
        url = make_url(address.url)
        if url.get_backend_name() in ("postgresql", "postgres") and "+" not in url.drivername:
            url = url.set(drivername="postgresql+psycopg")
        engine = create_engine(url)
    except (ArgumentError, NoSuchModuleError):
        raise InputError(f"{what}: {address} is no address of a database that SQLAlchemy knows.") from None
    except ModuleNotFoundError as error:
        raise InputError(f"{what}: {address} needs the driver {error.name!r}; install it with pip.") from None
    try:
        yield engine
    except SQLAlchemyError as error:
        raise _failed(address, what, verb, getattr(error, "orig", None) or error) from None
    finally:
        engine.dispose()


@contextmanager
def _transaction(engine: Any) -> Iterator[Any]:
    """One transaction, the making of a table included, which Python's SQLite leaves out of one unless told."""
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            yield connection
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            with suppress(Exception):  # a full disk has ended the transaction already
                connection.exec_driver_sql("ROLLBACK")
            raise


def _statement(address: Address) -> Any:
    from sqlalchemy import select, text

    if address.is_query:
        return text(address.target.replace(":", r"\:"))  # a colon is no parameter here
    schema, _, name = address.target.rpartition(".")
    from sqlalchemy import table

    return select(text("*")).select_from(table(name, schema=schema or None))


def _table(address: Address, frame: pl.DataFrame) -> Any:
    from sqlalchemy import BigInteger, Boolean, Column, DateTime, Float, MetaData, Table, Text

    def kind(dtype: Any) -> Any:
        plain = {pl.Boolean: Boolean(), pl.Datetime: DateTime()}
        return Float(53) if dtype.is_float() else BigInteger() if dtype.is_integer() else plain.get(dtype, Text())

    schema, _, name = address.target.rpartition(".")
    made: list[Any] = [Column(key, kind(dtype)) for key, dtype in frame.schema.items()]
    return Table(name, MetaData(), *made, schema=schema or None)


def _check_columns(connection: Any, table: Any, address: Address) -> None:
    from sqlalchemy import inspect

    there = [column["name"] for column in inspect(connection).get_columns(table.name, schema=table.schema)]
    wanted = [column.name for column in table.columns]
    if sorted(there) != sorted(wanted):
        raise InputError(
            f"out: {address} is there with the columns {there}; these rows have {wanted}. Name another table."
        )


def _plain(values: list[Any]) -> list[Any]:
    """Exact decimals as whole numbers or floats, and what a database knows and tables do not (ids, addresses) as text."""
    from decimal import Decimal
    from uuid import UUID

    exact = [value for value in values if isinstance(value, Decimal)]
    if exact:
        into = _whole_or_float(exact)
        values = [into(value) if isinstance(value, Decimal) else value for value in values]
    if any(isinstance(value, UUID) for value in values):
        values = [None if value is None else str(value) for value in values]
    return values


def _whole_or_float(exact: list[Any]) -> Callable[[Any], Any]:
    """What exact decimals become: numbers without a point may be ids, and keep every digit."""
    if not all(value.is_finite() and value.as_tuple().exponent >= 0 for value in exact):
        return float
    return int if all(abs(value) < 2**63 for value in exact) else lambda value: str(int(value))


def _failed(address: Address, what: str, verb: str, error: BaseException) -> DataError:
    return DataError(f"{what}: {address} cannot be {verb}: {hide_passwords(first_line(error))}.")
