"""Tables in databases: read as files are, written in one transaction, and passwords stay secret."""

from __future__ import annotations

import sqlite3
import uuid
from datetime import datetime
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pytest
from sqlalchemy import Engine, create_engine, event, text

import calirare as cr
from calirare.data.tables.sources.addresses import Address, hide_passwords, is_address
from calirare.data.tables.sources.export import check_export_path, write_table
from calirare.data.tables.sources.frames import to_frame
from calirare.errors import DataError, InputError

NODES = {"id": ["a", "b", "c", "d"], "age": [30.5, None, 50.0, 1.0], "bad": ["yes", "no", None, "no"]}
EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "d"], "amount": [5.0, -2.0, 1.0]}
SECRET = "hunter2secret"  # pragma: allowlist secret


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def base(request, tmp_path):
    """The address of a database of each kind, without `#`."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"{request.param}:///{tmp_path}/cases.{request.param}"


def test_what_is_written_is_read_and_the_graph_is_the_same(base):
    for name, columns in (("nodes", NODES), ("edges", EDGES)):
        write_table(columns, f"{base}#{name}")
    assert to_frame(f"{base}#nodes", "nodes").equals(pl.DataFrame(NODES))
    read = cr.read_tables(f"{base}#nodes", f"{base}#SELECT * FROM edges WHERE amount > -10", label="bad", rare="yes")
    plain = cr.read_tables(NODES, EDGES, label="bad", rare="yes")
    np.testing.assert_allclose(read.x, plain.x)
    np.testing.assert_array_equal(read.edge_index, plain.edge_index)
    np.testing.assert_array_equal(read.y, plain.y)


def test_rows_are_replaced_whole_or_not_at_all(base):
    table = f"{base}#scores_{uuid.uuid4().hex[:8]}"
    first = {"id": np.arange(12_000), "p": np.linspace(0, 1, 12_000), "sure": np.arange(12_000) % 2 == 0}
    write_table(first, table)
    again = to_frame(table, "scores").sort("id")
    assert again["p"].to_list() == first["p"].tolist() and again["sure"].cast(bool).to_list() == first["sure"].tolist()
    write_table({"id": [1], "p": [0.5], "sure": [True]}, table)
    assert to_frame(table, "scores").height == 1
    if not base.startswith("duckdb"):
        with pytest.raises(InputError, match="is there with the columns"):
            write_table({"other": [1]}, table)
        broken = {"id": [1, 2], "p": [0.5, "no number"], "sure": [True, False]}
        if base.startswith("postgresql"):
            with pytest.raises(DataError, match="cannot be written"):
                write_table(broken, table)
        assert to_frame(table, "scores").height == 1


def test_an_interrupted_write_leaves_the_old_rows(tmp_path, monkeypatch):
    from calirare.data.tables.sources import warehouse

    table = f"sqlite:///{tmp_path}/d.db#scores"
    write_table({"id": [1, 2]}, table)
    monkeypatch.setattr(warehouse, "_CHUNK", 10)
    seen = []

    def stop(connection, table, address):
        seen.append(sqlite3.connect(tmp_path / "d.db").execute("SELECT count(*) FROM scores").fetchone()[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(warehouse, "_check_columns", stop)
    with pytest.raises(KeyboardInterrupt):
        write_table({"id": np.arange(100)}, table)
    assert seen == [2] and to_frame(table, "scores").height == 2
    with pytest.raises(KeyboardInterrupt):
        write_table({"id": np.arange(100)}, f"sqlite:///{tmp_path}/d.db#fresh")
    assert "fresh" not in str(sqlite3.connect(tmp_path / "d.db").execute("SELECT name FROM sqlite_master").fetchall())


def test_what_only_databases_know_becomes_numbers_text_and_times(postgres_url):
    engine = create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS odd"))
        connection.execute(text("CREATE TABLE odd (k uuid, amount numeric(8, 2), at timestamp, c text)"))
        rows = [{"k": uuid.UUID(int=i), "a": Decimal("1.50"), "t": datetime(2026, 1, 1), "c": "a:b"} for i in range(3)]
        connection.execute(text("INSERT INTO odd VALUES (:k, :a, :t, :c)"), rows)
    engine.dispose()
    ids = [2**63 + 5, 2**63 + 7, 123456789012345678901234, 7]
    query = " UNION ALL ".join(f"SELECT {one}::numeric(30, 0) AS id, {one % 9}::numeric(9, 0) AS n" for one in ids)
    whole = to_frame(f"{postgres_url}#{query}", "nodes")
    assert whole["id"].to_list() == [str(one) for one in ids] and whole["n"].to_list() == [one % 9 for one in ids]
    frame = to_frame(f"{postgres_url}#SELECT *, c = 'a:b' AS same FROM odd WHERE at::date > '2020-01-01'", "nodes")
    assert frame.dtypes[:2] == [pl.String, pl.Float64] and frame["at"].dtype == pl.Datetime
    assert frame["same"].to_list() == [True] * 3 and to_frame(f"{postgres_url}#public.odd", "nodes").height == 3


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (f"postgresql://u:{SECRET}@127.0.0.1:1/none#nodes", "cannot be read"),
        (f"postgresql://u:{SECRET}@127.0.0.1:1/none", "must end in #TABLE"),
        (f"nonsense://u:{SECRET}@h/d#t", "no address of a database"),
        (f"postgresql://h/d?password={SECRET}&port=1#t", "cannot be read"),
        ("sqlite:////nowhere/at/all.db#t", "cannot be read"),
        ("duckdb:////nowhere/at/all.duckdb#t", "cannot be read"),
        ("duckdb://#t", "names a file"),
    ],
)
def test_errors_name_the_database_but_not_the_password(address, says):
    with pytest.raises((DataError, InputError), match=says) as caught:
        to_frame(address, "nodes")
    shown = [str(caught.value), repr(caught.value), *(str(note) for note in getattr(caught.value, "__notes__", []))]
    assert SECRET not in " ".join(shown) and caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)


def test_a_missing_table_and_a_query_to_write_to(tmp_path):
    duckdb.connect(str(tmp_path / "d.duckdb")).close()
    for address in (f"duckdb:///{tmp_path}/d.duckdb#none", f"sqlite:///{tmp_path}/d.db#none"):
        with pytest.raises(DataError, match="cannot be read"):
            to_frame(address, "nodes")
    with pytest.raises(InputError, match="is a query"):
        check_export_path(f"sqlite:///{tmp_path}/d.db#SELECT 1")


def test_a_folder_of_parquet_files_is_a_table(tmp_path):
    folder = tmp_path / "nodes"
    (folder / "day=1").mkdir(parents=True)
    pl.DataFrame(NODES)[:2].write_parquet(folder / "day=1" / "a.parquet")
    pl.DataFrame(NODES)[2:].write_parquet(folder / "b.parquet")
    assert to_frame(folder, "nodes")["id"].sort().to_list() == NODES["id"]
    with pytest.raises(DataError, match="no shards"):
        (tmp_path / "empty").mkdir()
        to_frame(tmp_path / "empty", "nodes")


def test_names_and_passwords_of_addresses():
    address = Address.parse(f"postgresql://u:{SECRET}@h/d#public.nodes", "nodes")
    assert address.name == "nodes" and SECRET not in f"{address} {address!r}"
    assert not is_address("C:\\nodes.csv") and not is_address("s3/nodes.parquet") and is_address("duckdb:///x#y")
    tricky = f"postgresql://u:p@{SECRET}@h/d"
    assert SECRET not in hide_passwords(f"first {tricky}, then {tricky} again")
    assert hide_passwords("mail ada@example.org at 10:30") == "mail ada@example.org at 10:30"


@pytest.mark.parametrize("base", ["sqlite", "duckdb"], indirect=True)
def test_a_query_that_makes_more_rows_than_fit_is_stopped(base, monkeypatch):
    """Ten thousand million rows, of which the first few thousand are too many."""
    from calirare.data.tables.sources import limits

    write_table({"id": [1]}, f"{base}#one")
    endless = {
        "sqlite": "WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id FROM c LIMIT 10000000000",
        "duckdb": "SELECT range AS id FROM range(10000000000)",
    }[base.split(":")[0]]
    monkeypatch.setattr(limits, "budget", lambda: 1_000_000)
    with pytest.raises(DataError, match="would take about .* bytes to read, and 1,000,000 are free"):
        to_frame(f"{base}#{'SELECT * FROM (' + endless + ')' if 'WITH' in endless else endless}", "nodes")
    assert to_frame(f"{base}#one", "nodes")["id"].to_list() == [1]


def test_names_of_tables_are_no_statements(tmp_path):
    base = f"sqlite:///{tmp_path}/d.db"
    write_table({"id": [1]}, f"{base}#nodes")
    odd = 'x"; DROP TABLE nodes; --'
    write_table({"id": [2]}, f"{base}#{odd}")
    assert to_frame(f"{base}#{odd}", "nodes")["id"].to_list() == [2] and to_frame(f"{base}#nodes", "nodes").height == 1


def test_a_full_database_says_so(tmp_path):
    """SQLite has ended the transaction by then: there is none to roll back, which is not what went wrong."""

    def leave_no_space(connection, _):
        connection.execute("PRAGMA max_page_count = 3")

    event.listen(Engine, "connect", leave_no_space)
    try:
        with pytest.raises(DataError, match="database or disk is full"):
            write_table({"id": range(20_000)}, f"sqlite:///{tmp_path}/full.sqlite#nodes")
    finally:
        event.remove(Engine, "connect", leave_no_space)
