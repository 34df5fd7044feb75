"""Decisions in a database: who decided what, when, about which node, with which model before their eyes.

The table only grows. A decision names the row it follows (`supersedes`), and a row can be followed once, so of two
reviewers who saw the same state one is told what the other decided. Taking a decision back is a new row as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

try:
    from sqlalchemy import func, insert, select
    from sqlalchemy.exc import IntegrityError
except ModuleNotFoundError:
    from calirare.errors import MissingDependencyError

    raise MissingDependencyError("SQLAlchemy", "review") from None

from calirare.errors import CalirareError, DataError, InputError
from calirare.review.beside import OPEN
from calirare.review.store.database import Database, database_url
from calirare.review.store.tables import DECISIONS, create_tables, knows_networks, table_exists
from calirare.scoring.service.access import LONGEST_NAME

CHOICES = ("rare", "normal", "unsure")
LONGEST_NOTE = 4_000


@dataclass(frozen=True)
class Decision:
    """One row of the table.

    Args:
        id: Grows with time.
        node_id: The user's name for the node, as text.
        decision: `"rare"`, `"normal"`, `"unsure"`, or `"open"` where an undo left none.
        note: The reviewer's words.
        time: In UTC.
        reviewer: Who.
        model_version: The model whose probabilities the reviewer saw.
        supersedes: The row of this node before it, 0 if none.
        undoes: The row it takes back, 0 for a decision.
    """

    id: int
    node_id: str
    decision: str
    note: str
    time: datetime
    reviewer: str
    model_version: str
    supersedes: int
    undoes: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"time": self.time.isoformat(timespec="seconds")}


class ConflictError(CalirareError):
    """Someone else has decided since the page was loaded; `current` is what they decided."""

    def __init__(self, current: Decision | None) -> None:
        self.current = current
        if current is None:
            message = "the decision seen is not one of this node; reload the page."
        else:
            what = "took a decision back" if current.undoes else f"decided “{current.decision}”"
            message = f"{current.reviewer} {what} at {current.time:%H:%M:%S} UTC, after this page was loaded."
        super().__init__(message)


def node_key(node_id: str, network: str = "") -> str:
    """What stands for a node of a network in an index.

    >>> len(node_key("A0000001")), node_key("a") == node_key("b"), node_key("a") == node_key("a", "cards")
    (64, False, False)
    """
    text = f"{network}\0{node_id}" if network else node_id
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def standing(row: Decision, rows: Mapping[int, Decision]) -> Decision | None:
    """The decision in force after `row`: itself, or what an undo brought back; None if nothing is decided.

    `rows`: the rows of its node by id.
    """
    last: Decision | None = row
    while last is not None and last.undoes:
        taken_back = rows.get(last.undoes)
        last = None if taken_back is None else rows.get(taken_back.supersedes)
    return last


class DecisionStore:
    """The decisions of one network.

    Args:
        database: Made by `open`.
        network: Name of the network, where a database holds several.

    >>> store = DecisionStore.open("sqlite://")
    >>> first = store.record("A7", "rare", reviewer="ada", model_version="m1", seen=0, action_key="click-1")
    >>> store.current()["A7"].decision
    'rare'
    >>> store.undo(first.id, reviewer="ada", model_version="m1", action_key="click-2").decision
    'open'
    """

    def __init__(self, database: Database, network: str = "") -> None:
        self.database = database
        self.network = network
        self._rows = DECISIONS.c.network == network

    @classmethod
    def open(cls, where: str | Path, *, network: str = "", create: bool = True) -> Self:
        """Open a database: a URL (`sqlite:///…`, `postgresql://…`), a model folder, or an SQLite file.

        Args:
            where: A model folder keeps its decisions in `decisions.sqlite`.
            network: Only the decisions of this network are seen.
            create: Make the tables where there are none, or bring those of an earlier version up to date; else that is
                an error.
        """
        url = database_url(where)
        if url.get_backend_name() == "sqlite" and url.database and not create and not Path(url.database).is_file():
            raise DataError(f"{url.database} does not exist: no decision has been made yet.")
        store = cls(Database(url), check_text(network, "network", LONGEST_NAME))
        try:
            with store.database.connected() as connection:
                if create:
                    create_tables(connection)
                elif not table_exists(connection):
                    raise DataError(f"{store.name} holds no decisions: it has no table of them.")
                elif not knows_networks(connection):
                    raise DataError(f"{store.name} is of an earlier version; open it once with `calirare review`.")
        except BaseException:
            store.close()
            raise
        store.database.settle()
        return store

    @property
    def name(self) -> str:
        """The address without the password."""
        return self.database.name

    def close(self) -> None:
        self.database.close()

    # Writing

    def record(
        self,
        node_id: str,
        decision: str,
        *,
        reviewer: str,
        model_version: str,
        seen: int,
        action_key: str,
        note: str = "",
    ) -> Decision:
        """Add a decision and give its row once it is on disk.

        Args:
            node_id: The node.
            decision: One of `CHOICES`.
            reviewer: Who decides.
            model_version: The model shown.
            seen: `id` of the node's last row that the reviewer saw; 0 if they saw none.
            action_key: A fresh random text per click. The same key again gives the same row, not a second one.
            note: Free text.

        Raises:
            ConflictError: Another row came in between.
        """
        if decision not in CHOICES:
            raise InputError(f"decision must be one of {list(CHOICES)}; got {decision!r}.")
        return self._add(node_id, decision, note, reviewer, model_version, seen, 0, action_key)

    def undo(self, decision_id: int, *, reviewer: str, model_version: str, action_key: str) -> Decision:
        """Take a decision back: a new row that repeats what stood before it.

        Raises:
            ConflictError: Someone decided after it.
            InputError: There is no such decision, or it is another reviewer's.
        """
        with self.database.connected() as connection:
            row = connection.execute(select(DECISIONS).where(DECISIONS.c.id == decision_id, self._rows)).one_or_none()
            if row is None:
                raise InputError(f"there is no decision {decision_id}.")
            if row.reviewer != stored_text(reviewer):
                raise InputError(f"this decision is {row.reviewer}'s; make your own instead of taking it back.")
            before = connection.execute(select(DECISIONS).where(DECISIONS.c.id == row.supersedes)).one_or_none()
        decision, note = (OPEN, "") if before is None else (before.decision, before.note)
        return self._add(row.node_id, decision, note, reviewer, model_version, row.id, row.id, action_key, row.node_key)

    def _add(
        self,
        node_id: str,
        decision: str,
        note: str,
        reviewer: str,
        model_version: str,
        seen: int,
        undoes: int,
        action_key: str,
        key: str | None = None,
    ) -> Decision:
        key = node_key(node_id, self.network) if key is None else key
        values = {
            "node_key": key,
            "node_id": stored_text(node_id),
            "decision": decision,
            "note": check_text(note, "note", LONGEST_NOTE),
            "time": datetime.now(UTC),
            "reviewer": check_text(reviewer, "reviewer", LONGEST_NAME, needed=True),
            "model_version": check_text(model_version, "model_version", 64),
            "supersedes": seen,
            "undoes": undoes,
            "action_key": check_text(action_key, "action_key", 64, needed=True),
            "network": self.network,
        }
        with self.database.connected(writing=True) as connection:
            if seen and not _is_row_of(connection, seen, key):
                raise ConflictError(None)
            try:
                # One statement, so it is there whole or not at all, and the constraints decide every race.
                number = connection.execute(insert(DECISIONS).values(values)).inserted_primary_key
            except IntegrityError:
                return self._explain_refusal(connection, key, values["action_key"])
        shown = {name: value for name, value in values.items() if name in Decision.__dataclass_fields__}
        return Decision(id=int(number[0]), **shown)  # type: ignore[arg-type]

    def _explain_refusal(self, connection: Any, key: str, action_key: Any) -> Decision:
        """The row of the same click, if it was stored before; else who was faster."""
        same = connection.execute(select(DECISIONS).where(DECISIONS.c.action_key == action_key)).one_or_none()
        if same is not None and same.node_key == key:
            return _to_decision(same)
        last = select(DECISIONS).where(DECISIONS.c.node_key == key).order_by(DECISIONS.c.id.desc()).limit(1)
        row = connection.execute(last).one_or_none()
        raise ConflictError(None if row is None else _to_decision(row))

    # Reading

    def current(self) -> dict[str, Decision]:
        """The last row of every node that has one, by node id."""
        last = select(func.max(DECISIONS.c.id)).where(self._rows).group_by(DECISIONS.c.node_key)
        return {row.node_id: row for row in self._read(select(DECISIONS).where(DECISIONS.c.id.in_(last)))}

    def history(self, node_id: str) -> list[Decision]:
        """Every row of a node, oldest first."""
        return self._read(
            select(DECISIONS).where(DECISIONS.c.node_key == node_key(node_id, self.network)).order_by(DECISIONS.c.id)
        )

    def since(self, number: int = 0) -> list[Decision]:
        """Every row with a larger id, oldest first; without a number, all of them."""
        return self._read(select(DECISIONS).where(DECISIONS.c.id > number, self._rows).order_by(DECISIONS.c.id))

    def _read(self, query: Any) -> list[Decision]:
        with self.database.connected() as connection:
            return [_to_decision(row) for row in connection.execute(query)]


def _is_row_of(connection: Any, number: int, key: str) -> bool:
    query = select(DECISIONS.c.id).where(DECISIONS.c.id == number, DECISIONS.c.node_key == key)
    return connection.execute(query).first() is not None


def _to_decision(row: Any) -> Decision:
    return Decision(**{name: getattr(row, name) for name in Decision.__dataclass_fields__})


def stored_text(text: str) -> str:
    """The text without what databases refuse: halves of characters, and the character 0."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\u2400")


def check_text(text: Any, what: str, longest: int, *, needed: bool = False) -> str:
    """The text as it is stored, if it is text and not too long."""
    if not isinstance(text, str) or len(text) > longest or (needed and not text.strip()):
        got = f"{len(text):,} characters" if isinstance(text, str) else type(text).__name__
        raise InputError(f"{what} must be text of {'1 to' if needed else 'at most'} {longest:,} characters; got {got}.")
    return stored_text(text)
