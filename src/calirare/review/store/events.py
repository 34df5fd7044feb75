"""What people do at a desk besides deciding: settings, assignments, wishes for a second opinion. A log that only grows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select

from calirare.review.store.database import Database
from calirare.review.store.decisions import check_text, stored_text
from calirare.review.store.tables import EVENTS
from calirare.scoring.service.access import LONGEST_NAME

LONGEST_VALUE = 20_000


@dataclass(frozen=True)
class Event:
    """One row of the log.

    Args:
        id: Grows with time.
        kind: What happened, as `"setting"` or `"assigned"`.
        subject: The setting's name, or the node's.
        value: What it became.
        time: In UTC.
        reviewer: Who did it.
    """

    id: int
    kind: str
    subject: str
    value: str
    time: datetime
    reviewer: str


class EventLog:
    """The log of one network. Of each kind and subject the last row counts.

    >>> from calirare.review.store.decisions import DecisionStore
    >>> log = EventLog(DecisionStore.open("sqlite://").database)
    >>> _ = log.add("assigned", "A7", "bob", reviewer="ada")
    >>> log.add("assigned", "A7", "eve", reviewer="ada").value, log.last("assigned", "A7").value
    ('eve', 'eve')
    """

    def __init__(self, database: Database, network: str = "") -> None:
        self.database, self.network = database, network

    def add(self, kind: str, subject: str, value: str, *, reviewer: str) -> Event:
        """Add a row and give it once it is on disk."""
        values: dict[str, Any] = {
            "network": self.network,
            "kind": kind,
            "subject": stored_text(subject),
            "value": check_text(value, "value", LONGEST_VALUE),
            "time": datetime.now(UTC),
            "reviewer": check_text(reviewer, "reviewer", LONGEST_NAME, needed=True),
        }
        with self.database.connected(writing=True) as connection:
            number = connection.execute(insert(EVENTS).values(values)).inserted_primary_key
        return Event(id=int(number[0]), **{name: value for name, value in values.items() if name != "network"})

    def since(self, number: int = 0) -> list[Event]:
        """Every row with a larger id, oldest first."""
        query = select(EVENTS).where(EVENTS.c.network == self.network, EVENTS.c.id > number).order_by(EVENTS.c.id)
        with self.database.connected() as connection:
            rows = connection.execute(query).all()
        return [_event(row) for row in rows]

    def last(self, kind: str, subject: str) -> Event | None:
        """The last row of a subject; None where there is none."""
        query = select(EVENTS).where(
            EVENTS.c.network == self.network, EVENTS.c.kind == kind, EVENTS.c.subject == subject
        )
        with self.database.connected() as connection:
            row = connection.execute(query.order_by(EVENTS.c.id.desc()).limit(1)).first()
        return None if row is None else _event(row)


def _event(row: Any) -> Event:
    return Event(**{name: getattr(row, name) for name in Event.__dataclass_fields__})
