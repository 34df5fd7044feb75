"""The current decision of every node in memory, kept up with a database that others write to as well."""

from __future__ import annotations

import threading
import time

import numpy as np

from calirare.review.beside import OPEN
from calirare.review.store.decisions import CHOICES, Decision, DecisionStore, standing, stored_text

STATES = (OPEN, *CHOICES)
FRESH = 0.25  # seconds for which what was read stands
_SETTLING = 10.0
"""Seconds after which no row with a smaller id can still appear: with many writers, numbers are given before commits."""
_READ_ALL_EVERY = 300.0


class DecisionBook:
    """Reads the rows that are new, at most a few times a second, whatever the number of pages asking.

    Args:
        store: The database.
    """

    def __init__(self, store: DecisionStore) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._current: dict[str, Decision] = {}
        self._rows: dict[int, Decision] = {}
        self._deciders: dict[str, set[str]] = {}
        self._index: dict[str, int] = {}
        self._codes = np.zeros(0, dtype=np.int8)
        self._settled = 0
        self._pending: dict[int, float] = {}
        self._read_at = -np.inf
        self._read_all_at = -np.inf
        self.stamp = 0
        """Changes whenever a decision does."""

    def attach(self, index: dict[str, int], num_nodes: int) -> None:
        """Say which nodes there are: node by stored name."""
        with self._lock:
            self._index = index
            self._codes = np.zeros(num_nodes, dtype=np.int8)
            for decision in self._current.values():
                self._mark(decision)
            self.stamp += 1

    def refresh(self) -> None:
        """Read what others have written since the last time."""
        now = time.monotonic()
        if now - self._read_at < FRESH:
            return
        with self._lock:
            if now - self._read_at < FRESH:
                return
            if now - self._read_all_at > _READ_ALL_EVERY:
                self._settled, self._pending, self._read_all_at = 0, {}, now
            for decision in self.store.since(self._settled):
                self._pending.setdefault(decision.id, now)
                self._take(decision)
            old = [number for number, seen in self._pending.items() if now - seen > _SETTLING]
            if old:
                self._settled = max(old)
                self._pending = {number: seen for number, seen in self._pending.items() if number > self._settled}
            self._read_at = now

    def add(self, decision: Decision) -> None:
        """Take in a row that was just written here."""
        with self._lock:
            self._take(decision)

    def of(self, node_id: str) -> Decision | None:
        """The last row of a node."""
        return self._current.get(stored_text(node_id))

    def standing(self, node_id: str) -> Decision | None:
        """The decision of a node that is in force, after an undo the one that it brought back; None if there is none."""
        last = self.of(node_id)
        return None if last is None else standing(last, self._rows)

    def has_decided(self, reviewer: str, node_id: str) -> bool:
        """Whether someone has ever decided a node, taken back or not."""
        return reviewer in self._deciders.get(stored_text(node_id), ())

    @property
    def codes(self) -> np.ndarray:
        """`(N,)` index into `STATES`."""
        return self._codes

    @property
    def current(self) -> dict[str, Decision]:
        """The last row of every node that has one, by stored name."""
        with self._lock:
            return dict(self._current)

    def _take(self, decision: Decision) -> None:
        self._rows[decision.id] = decision
        if not decision.undoes:
            self._deciders.setdefault(decision.node_id, set()).add(decision.reviewer)
        known = self._current.get(decision.node_id)
        if known is None or known.id < decision.id:
            self._current[decision.node_id] = decision
            self._mark(decision)
            self.stamp += 1

    def _mark(self, decision: Decision) -> None:
        node = self._index.get(decision.node_id)
        if node is not None:
            self._codes[node] = STATES.index(decision.decision) if decision.decision in STATES else 0
