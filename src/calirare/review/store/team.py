"""Who is to look at which case, and which cases want a second pair of eyes; kept up with a log that others write to too."""

from __future__ import annotations

import threading
import time

import numpy as np

from calirare.review.store.book import FRESH, DecisionBook
from calirare.review.store.decisions import check_text, stored_text
from calirare.review.store.events import Event, EventLog
from calirare.scoring.service.access import LONGEST_NAME

ASSIGNED, SECOND = "assigned", "second"


class Team:
    """Assignments and wishes for a second opinion.

    Args:
        log: Where they are kept.
        book: The decisions, which end a wish.
    """

    def __init__(self, log: EventLog, book: DecisionBook) -> None:
        self.log, self.book = log, book
        self._lock = threading.Lock()
        self._assigned: dict[str, Event] = {}
        self._second: dict[str, Event] = {}
        self._names: set[str] = set()
        self._last = 0
        self._read_at = -np.inf
        self.stamp = 0
        """Changes whenever an assignment or a wish does."""

    def refresh(self) -> None:
        """Read what others have written since the last time."""
        now = time.monotonic()
        with self._lock:
            if now - self._read_at < FRESH:
                return
            self._read_at = now
            # A number may be given before its row can be read, so a few are read again.
            for event in self.log.since(max(self._last - 100, 0)):
                self._take(event)

    def assign(self, node_id: str, to: str, *, reviewer: str) -> Event:
        """Give a case to someone; "" takes it from everybody."""
        name = " ".join(check_text(to, "to", LONGEST_NAME).split())
        return self._add(ASSIGNED, node_id, name, reviewer)

    def ask(self, node_id: str, wanted: bool, *, reviewer: str) -> Event:
        """Wish for a second opinion on a case, or take the wish back."""
        return self._add(SECOND, node_id, "wanted" if wanted else "", reviewer)

    def assigned_to(self, node_id: str) -> str:
        """Whose case it is; "" for nobody's."""
        event = self._assigned.get(stored_text(node_id))
        return "" if event is None else event.value

    def wish(self, node_id: str) -> Event | None:
        """The wish for a second opinion that nobody has answered, or None.

        It is answered by a decision of somebody else than who wished, made after it.
        """
        event = self._second.get(stored_text(node_id))
        if event is None or not event.value:
            return None
        answer = self.book.standing(node_id)
        answered = answer is not None and answer.reviewer != event.reviewer and answer.time >= event.time
        return None if answered else event

    def assigned_nodes(self, to: str) -> set[str]:
        """Stored names of the cases of one reviewer."""
        return {name for name, event in list(self._assigned.items()) if event.value == to and to}

    def wished_nodes(self) -> set[str]:
        """Stored names of the cases that want a second opinion."""
        return {name for name in list(self._second) if self.wish(name) is not None}

    @property
    def names(self) -> list[str]:
        """Everybody who was seen at this desk, in the order of the alphabet."""
        return sorted(self._names | {row.reviewer for row in self.book.current.values()}, key=str.casefold)

    def meet(self, name: str) -> None:
        """Remember someone who has come to the desk."""
        if name:
            self._names.add(name)

    def _add(self, kind: str, node_id: str, value: str, reviewer: str) -> Event:
        event = self.log.add(kind, node_id, value, reviewer=reviewer)
        with self._lock:
            self._take(event)
        return event

    def _take(self, event: Event) -> None:
        kept = {ASSIGNED: self._assigned, SECOND: self._second}.get(event.kind)
        self._last = max(self._last, event.id)
        if kept is None:
            return
        before = kept.get(event.subject)
        if before is None or before.id < event.id:
            kept[event.subject] = event
            self._names.update(name for name in (event.reviewer, event.value) if name and event.kind == ASSIGNED)
            self.stamp += 1
