"""Decisions in memory follow a database that others write to."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.review.store import book as module
from calirare.review.store.book import STATES, DecisionBook
from calirare.review.store.decisions import DecisionStore


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch):
    monkeypatch.setattr(module, "FRESH", -1.0)


def record(store, node, decision, seen=0, key="k"):
    return store.record(node, decision, reviewer="ada", model_version="m", seen=seen, action_key=f"{node}{key}")


def test_it_sees_what_another_desk_writes(database):
    mine, theirs = DecisionStore.open(database), DecisionStore.open(database)
    book = DecisionBook(mine)
    book.attach({"A": 0, "B": 1, "C": 2}, 3)
    first = record(theirs, "B", "normal")
    book.refresh()
    assert book.of("B") == first and book.of("A") is None
    assert [STATES[code] for code in book.codes] == ["open", "normal", "open"]
    stamp = book.stamp
    book.refresh()
    assert book.stamp == stamp  # nothing new, nothing to redraw
    record(theirs, "B", "rare", seen=first.id, key="2")
    record(theirs, "unknown node", "rare")
    book.refresh()
    assert [STATES[code] for code in book.codes] == ["open", "rare", "open"]
    assert set(book.current) == {"B", "unknown node"}
    mine.close()
    theirs.close()


class SlowCommits:
    """A database in which row 1 becomes visible after row 2, as numbers are given before commits."""

    def __init__(self, rows):
        self.rows, self.visible = rows, set()

    def since(self, number):
        return [row for row in self.rows if row.id > number and row.id in self.visible]


def test_a_row_that_becomes_visible_late_is_not_missed(tmp_path):
    store = DecisionStore.open(tmp_path / "d.sqlite")
    rows = [record(store, "A", "rare"), record(store, "B", "normal")]
    store.close()
    late = SlowCommits(rows)
    book = DecisionBook(late)
    book.attach({"A": 0, "B": 1}, 2)
    late.visible = {rows[1].id}
    book.refresh()
    assert book.of("A") is None
    late.visible = {row.id for row in rows}
    book.refresh()
    assert book.of("A") == rows[0]


def test_old_rows_are_not_read_again(tmp_path, monkeypatch):
    store = DecisionStore.open(tmp_path / "d.sqlite")
    rows = [record(store, f"N{i}", "rare") for i in range(5)]
    book = DecisionBook(store)
    monkeypatch.setattr(module, "_SETTLING", -1.0)
    book.refresh()
    asked = []
    monkeypatch.setattr(store, "since", lambda number=0: asked.append(number) or [])
    book.refresh()
    assert asked == [rows[-1].id]
    store.close()


def test_an_older_row_does_not_replace_a_newer_one(tmp_path):
    store = DecisionStore.open(tmp_path / "d.sqlite")
    first = record(store, "A", "rare")
    second = record(store, "A", "normal", seen=first.id, key="2")
    book = DecisionBook(store)
    book.attach({"A": 0}, 1)
    book.add(second)
    book.add(first)
    assert book.of("A") == second and np.array_equal(book.codes, [STATES.index("normal")])
    store.close()
