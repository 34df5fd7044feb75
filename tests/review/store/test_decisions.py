"""Decisions in SQLite and in a real PostgreSQL: nothing lost, nothing doubled, nothing overwritten, nothing edited."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from calirare.errors import DataError, InputError
from calirare.review.store.book import DecisionBook
from calirare.review.store.database import database_url, write_ahead
from calirare.review.store.decisions import CHOICES, ConflictError, DecisionStore, node_key, standing
from calirare.review.store.events import EventLog


def record(store, node="A1", decision="rare", reviewer="ada", seen=0, key=None, note=""):
    key = key or f"{random.getrandbits(120):x}"
    return store.record(node, decision, reviewer=reviewer, model_version="m1", seen=seen, action_key=key, note=note)


def test_a_decision_is_kept_with_all_that_belongs_to_it(store):
    row = record(store, note="paid at night")
    [kept] = store.history("A1")
    assert kept == row
    assert (kept.node_id, kept.decision, kept.note, kept.reviewer) == ("A1", "rare", "paid at night", "ada")
    assert (kept.model_version, kept.supersedes, kept.undoes) == ("m1", 0, 0)
    assert kept.time.tzinfo is not None and abs(kept.time - datetime.now(UTC)) < timedelta(minutes=1)
    assert store.current() == {"A1": row}
    assert store.since() == [row] and store.since(row.id) == []


def test_the_last_row_of_a_node_counts(store):
    first = record(store)
    second = record(store, decision="normal", seen=first.id)
    other = record(store, node="A2", decision="unsure")
    assert store.current() == {"A1": second, "A2": other}
    assert [row.decision for row in store.history("A1")] == ["rare", "normal"]
    assert second.supersedes == first.id


def test_two_reviewers_who_saw_the_same_do_not_overwrite_each_other(store):
    first = record(store, reviewer="ada")
    with pytest.raises(ConflictError, match="ada decided “rare”") as refused:
        record(store, decision="normal", reviewer="bob")
    assert refused.value.current == first
    assert store.current()["A1"].decision == "rare"
    second = record(store, decision="normal", reviewer="bob", seen=first.id)
    with pytest.raises(ConflictError, match="bob decided “normal”"):
        record(store, decision="unsure", reviewer="ada", seen=first.id)
    assert store.history("A1") == [first, second]


_FULL = """
import resource, signal, sys
from calirare.review.store.decisions import DecisionStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for largest in (0, 2_048, 4_096, 12_288):
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    try:
        DecisionStore.open(sys.argv[1])
    except OSError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_a_full_disk_leaves_no_empty_file(tmp_path):
    command = [sys.executable, "-c", _FULL, str(tmp_path / "decisions.sqlite")]
    settings = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=settings).stdout
    assert said.count("cannot be read or written: ") == 4 and "rollback" not in said
    assert list(tmp_path.iterdir()) == []


def test_the_same_click_twice_is_one_decision(store):
    first = record(store, key="click")
    assert record(store, key="click") == first
    assert len(store.since()) == 1


def test_a_key_of_another_node_does_not_pass_for_a_repeat(store):
    record(store, key="click")
    with pytest.raises(ConflictError):
        record(store, node="A2", key="click")
    assert "A2" not in store.current()


def test_a_row_of_another_node_cannot_be_followed(store):
    first = record(store)
    with pytest.raises(ConflictError, match="not one of this node"):
        record(store, node="A2", seen=first.id)
    with pytest.raises(ConflictError):
        record(store, node="A2", seen=10**9)


def test_undo_adds_a_row_with_what_stood_before(store):
    first = record(store, note="sure")
    second = record(store, decision="normal", seen=first.id)
    back = store.undo(second.id, reviewer="ada", model_version="m2", action_key="u1")
    assert (back.decision, back.note, back.undoes, back.supersedes) == ("rare", "sure", second.id, second.id)
    assert store.undo(second.id, reviewer="ada", model_version="m2", action_key="u1") == back
    assert len(store.history("A1")) == 3
    only = record(store, node="A2")
    assert store.undo(only.id, reviewer="ada", model_version="m2", action_key="u2").decision == "open"


def test_undo_of_what_is_not_yours_or_not_last_is_refused(store):
    first = record(store)
    with pytest.raises(InputError, match="ada's"):
        store.undo(first.id, reviewer="bob", model_version="m1", action_key="u1")
    record(store, decision="normal", reviewer="bob", seen=first.id)
    with pytest.raises(ConflictError, match="bob"):
        store.undo(first.id, reviewer="ada", model_version="m1", action_key="u2")
    with pytest.raises(InputError, match="no decision"):
        store.undo(999, reviewer="ada", model_version="m1", action_key="u3")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE calirare_decisions SET decision = 'normal'",
        "DELETE FROM calirare_decisions",
    ],
)
def test_even_sql_cannot_change_what_was_decided(store, statement):
    row = record(store)
    with store.database.engine.connect() as connection, pytest.raises(DatabaseError, match="kept as they were made"):
        connection.execute(text(statement))
    assert store.since() == [row]


@pytest.mark.parametrize("node", ["x" * 100_000, "a\0b", "\ud800 half", "naïve ✓ 漢字 🦊", " ", "'; DROP TABLE x; --"])
def test_any_name_of_a_node_can_be_stored(store, node):
    row = record(store, node=node)
    assert [one.id for one in store.history(node)] == [row.id]
    assert len(store.current()) == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"decision": "maybe"}, "one of"),
        ({"note": "x" * 5000}, "at most 4,000"),
        ({"reviewer": " "}, "1 to 100"),
        ({"reviewer": "x" * 101}, "1 to 100"),
        ({"key": "k" * 65}, "1 to 64"),
    ],
)
def test_bad_values_are_refused_in_words(store, change, says):
    with pytest.raises(InputError, match=says):
        record(store, **change)
    assert store.since() == []


def test_many_reviewers_at_once_lose_and_double_nothing(database):
    """Every thread decides nodes that all others decide too, sends some clicks twice, and learns of each conflict."""
    nodes = [f"N{i}" for i in range(8)]
    acknowledged, conflicts = [], Counter()
    lock = threading.Lock()

    def review(who):
        store, rng = DecisionStore.open(database), random.Random(who)
        for turn in range(8):
            node = rng.choice(nodes)
            history = store.history(node)
            seen = history[-1].id if history else 0
            key = f"{who}-{turn}"
            try:
                for _ in range(rng.choice([1, 1, 2])):
                    row = record(store, node, rng.choice(CHOICES), f"r{who}", seen, key)
            except ConflictError as error:
                assert error.current is not None
                with lock:
                    conflicts[who] += 1
            else:
                with lock:
                    acknowledged.append((row.id, key))
        store.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(review, range(8)))
    store = DecisionStore.open(database)
    rows = store.since()
    assert sorted(row.id for row in rows) == sorted(number for number, _ in acknowledged)
    assert len(rows) + sum(conflicts.values()) == 8 * 8
    for node in nodes:
        chain = store.history(node)
        assert [row.supersedes for row in chain] == [0, *(row.id for row in chain[:-1])][: len(chain)]
    store.close()


def test_many_desks_may_create_the_table_at_once(database):
    def open_one(_):
        store = DecisionStore.open(database)
        record(store, node=f"{threading.get_ident()}-{random.random()}")
        store.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_one, range(16)))
    store = DecisionStore.open(database)
    assert len(store.since()) == 16
    store.close()


@pytest.mark.parametrize(
    ("codes", "tries"),
    [([], 1), ([sqlite3.SQLITE_BUSY] * 2, 3), ([sqlite3.SQLITE_BUSY_RECOVERY], 2), ([sqlite3.SQLITE_READONLY], None)],
)
def test_a_desk_that_opens_waits_while_another_sets_the_file_up(codes, tries):
    """SQLite says "locked" at once when two connections switch one file to WAL, whatever the timeout."""
    asked = []

    class Cursor:
        def execute(self, statement):
            asked.append(statement)
            if len(asked) <= len(codes):
                error = sqlite3.OperationalError("no")
                error.sqlite_errorcode = codes[len(asked) - 1]
                raise error

    if tries is None:
        with pytest.raises(sqlite3.OperationalError):
            write_ahead(Cursor())
    else:
        write_ahead(Cursor())
        assert len(asked) == tries


@pytest.mark.parametrize(
    "where", ["mysql://a/b", "nonsense://", "://", "postgresql+nothing://a/b:x", "sqlite:///a.db?mode=ro"]
)
def test_other_addresses_are_refused(where):
    with pytest.raises((InputError, DataError)):
        DecisionStore.open(where)


def test_what_is_no_database_is_said_in_one_line(tmp_path):
    (tmp_path / "text.sqlite").write_text("this is no database, but long enough to be read as one " * 20)
    with pytest.raises(DataError, match="not a database"):
        DecisionStore.open(tmp_path / "text.sqlite")
    with pytest.raises(DataError, match="does not exist"):
        DecisionStore.open(tmp_path / "none.sqlite", create=False)
    with pytest.raises(DataError, match="unable to open"):
        DecisionStore.open(tmp_path / "no" / "such" / "folder.sqlite")
    with pytest.raises(InputError, match="neither a model folder"):
        DecisionStore.open(tmp_path)


def test_a_database_without_decisions_is_not_created_by_reading(tmp_path):
    import sqlite3

    sqlite3.connect(tmp_path / "empty.sqlite").close()
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(DataError, match="no table"):
        DecisionStore.open(tmp_path / "empty.sqlite", create=False)


def test_passwords_stay_out_of_messages():
    with pytest.raises(DataError) as error:
        DecisionStore.open("postgresql://desk:hunter2secret@127.0.0.1:1/none")
    assert "hunter2secret" not in str(error.value)
    assert database_url("postgres://u@h/d").drivername == "postgresql+psycopg"


def test_after_an_undo_the_decision_that_stands_is_named(store):
    first = record(store, decision="normal", reviewer="bob")
    second = record(store, decision="rare", reviewer="ada", seen=first.id)
    back = store.undo(second.id, reviewer="ada", model_version="m2", action_key="z")
    rows = {row.id: row for row in store.since()}
    assert standing(back, rows) == first and standing(second, rows) == second
    book = DecisionBook(store)
    book.refresh()
    assert book.of("A1") == back and book.standing("A1") == first
    again = store.undo(back.id, reviewer="ada", model_version="m2", action_key="zz")
    assert standing(again, {row.id: row for row in store.since()}) == second


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO calirare_decisions SELECT id, node_key, node_id, 'normal', note, time, reviewer, "
        "model_version, supersedes, undoes, action_key, network FROM calirare_decisions",
        "REPLACE INTO calirare_decisions SELECT id + 7, node_key, node_id, 'normal', note, time, reviewer, "
        "model_version, supersedes, undoes, 'fresh', network FROM calirare_decisions",
        "INSERT INTO calirare_decisions SELECT id, node_key, node_id, 'normal', note, time, reviewer, model_version, "
        "supersedes, undoes, action_key, network FROM calirare_decisions WHERE 1 ON CONFLICT DO UPDATE SET decision='x'",
        "UPDATE OR REPLACE calirare_events SET value = 'x'",
        "DELETE FROM calirare_events",
        "INSERT OR REPLACE INTO calirare_events SELECT id, network, kind, subject, 'x', time, reviewer FROM calirare_events",
    ],
)
def test_nothing_replaces_a_row(tmp_path, statement):
    store = DecisionStore.open(tmp_path / "d.sqlite")
    row, event = record(store), EventLog(store.database).add("setting", "budget", "5", reviewer="ada")
    with (
        sqlite3.connect(tmp_path / "d.sqlite") as raw,
        pytest.raises(sqlite3.IntegrityError, match="as they were made"),
    ):
        raw.execute(statement)
    raw.close()
    assert store.since() == [row] and EventLog(store.database).since() == [event]
    store.close()


@pytest.mark.parametrize("how", ["rename", "unlink", "replace", "wal"])
def test_no_decision_is_acknowledged_by_a_database_that_has_gone(tmp_path, how):
    file = tmp_path / "d.sqlite"
    store = DecisionStore.open(file)
    kept = record(store, node="before")
    if how == "wal":
        (tmp_path / "d.sqlite-wal").unlink()
    else:
        file.rename(tmp_path / "away") if how != "unlink" else file.unlink()
        if how == "replace":
            DecisionStore.open(file).close()
    for turn in range(18):
        with pytest.raises(DataError, match="moved, removed or replaced"):
            record(store, node=f"N{turn}")
    if how == "rename":
        (tmp_path / "away").rename(file)
        assert [row.id for row in store.since()] == [kept.id]
        assert record(store, node="after").id > kept.id
    store.close()


def test_a_database_of_the_earlier_version_is_brought_up_to_date(tmp_path):
    file = tmp_path / "d.sqlite"
    with sqlite3.connect(file) as raw:
        raw.execute(
            "CREATE TABLE calirare_decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, node_key VARCHAR(64) NOT NULL, "
            "node_id TEXT NOT NULL, decision VARCHAR(16) NOT NULL, note TEXT NOT NULL, time DATETIME NOT NULL, "
            "reviewer TEXT NOT NULL, model_version VARCHAR(64) NOT NULL, supersedes INTEGER NOT NULL, "
            "undoes INTEGER NOT NULL, action_key VARCHAR(64) NOT NULL, UNIQUE (node_key, supersedes), UNIQUE (action_key))"
        )
        raw.execute(
            "INSERT INTO calirare_decisions VALUES (1, ?, 'A1', 'rare', '', '2026-01-01 00:00:00', 'ada', 'm', 0, 0, 'k')",
            [node_key("A1")],
        )
    raw.close()
    with pytest.raises(DataError, match="earlier version"):
        DecisionStore.open(file, create=False)
    store = DecisionStore.open(file)
    assert store.current()["A1"].reviewer == "ada"
    assert record(store, seen=1, decision="normal").supersedes == 1
    store.close()


def test_a_database_without_a_file_is_refused():
    with pytest.raises(InputError, match="names no file"):
        DecisionStore.open("sqlite:///")
