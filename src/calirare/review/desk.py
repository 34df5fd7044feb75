"""The desk behind the pages: one model folder, one database of decisions, the refit."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from calirare.errors import InputError
from calirare.evaluation import Evaluation
from calirare.persistence.folder import model_version
from calirare.review import versions
from calirare.review.book import DecisionBook
from calirare.review.events import EventLog
from calirare.review.jobs import Job, Report
from calirare.review.network import join_network
from calirare.review.quality import measure
from calirare.review.queue import Queue
from calirare.review.refit import Change, as_labels, compare_models, refit
from calirare.review.snapshot import Scores, Snapshot, keep_scores
from calirare.review.store import Decision, DecisionStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the last refit gave: both models, and how they differ."""

    before: Snapshot
    after: Snapshot
    change: Change


class Station:
    """A snapshot with its queue and what is computed from it once. Replaced as a whole by a refit."""

    def __init__(self, snapshot: Snapshot, book: DecisionBook) -> None:
        self.snapshot = snapshot
        self.queue = Queue(snapshot, book)
        self._lock = threading.Lock()

    @cached_property
    def _quality(self) -> Evaluation:
        return measure(self.snapshot)

    @property
    def quality(self) -> Evaluation:
        with self._lock:  # ten pages opened at once ask for one computation
            return self._quality


class Desk:
    """Everything that the pages ask for.

    Args:
        model: The model folder, with its graph.
        store: The decisions.
    """

    def __init__(self, model: str | Path, store: DecisionStore) -> None:
        self.model = Path(model)
        self.store = store
        self.book = DecisionBook(store)
        self.log = EventLog(store.database, store.network)
        self._versions: set[str] = set()
        self.station = self._open(Snapshot.load(self.model))
        join_network(self.log, self.snapshot.graph)
        self.outcome: Outcome | None = None
        self.job = Job(self._refit)
        self._switching = threading.Lock()

    @property
    def snapshot(self) -> Snapshot:
        return self.station.snapshot

    @property
    def queue(self) -> Queue:
        """The queue with the newest decisions."""
        self.book.refresh()
        return self.station.queue

    def decide(
        self,
        node_id: str,
        decision: str,
        *,
        note: str,
        reviewer: str,
        seen: int,
        action_key: str,
        shown: str | None = None,
    ) -> Decision:
        """Store a decision about a node of this graph. See `DecisionStore.record`.

        `shown`: version of the model whose probabilities were on the page, which a refit may have replaced since;
        default: the current one.
        """
        if self.snapshot.find(node_id) is None:
            raise InputError("node must be one of this graph.")
        if shown is not None and shown not in self._versions:
            raise InputError("the page shows a model that this desk does not know; reload it.")
        row = self.store.record(
            node_id,
            decision,
            note=note,
            reviewer=reviewer,
            model_version=self.snapshot.version if shown is None else shown,
            seen=seen,
            action_key=action_key,
        )
        self.book.add(row)
        return row

    def undo(self, decision_id: int, *, reviewer: str, action_key: str) -> Decision:
        """Take a decision back. See `DecisionStore.undo`."""
        version = self.snapshot.version
        row = self.store.undo(decision_id, reviewer=reviewer, model_version=version, action_key=action_key)
        node = self.snapshot.find(row.node_id)
        name = row.node_id if node is None else str(self.snapshot.ids[node])  # stored names lack odd characters
        for known in self.store.history(name):  # what stands now may have been written elsewhere a moment ago
            self.book.add(known)
        return row

    def go_back_to(self, version: str) -> None:
        """Make a kept model the current one again."""
        with self._switching:
            versions.make_current(self.model, version)
            self.station = self._open(Snapshot.load(self.model))
            self.outcome = None

    def close(self) -> None:
        """Stop the refit, if one runs, and let go of the database."""
        self.job.stop()
        self.store.close()

    def _open(self, snapshot: Snapshot) -> Station:
        station = Station(snapshot, self.book)
        self._versions.add(snapshot.version)
        self.book.attach(snapshot.index, snapshot.graph.num_nodes)
        self.book.refresh()
        return station

    def _refit(self, report: Report) -> Change:
        before = self.snapshot
        report("Reading the decisions", 0.0)
        decided = as_labels(self.store.current().values(), before.index)

        clf, graph = refit(before, decided, progress=lambda share, what: report(f"Fitting, {what}", 0.05 + 0.6 * share))
        report("Scoring every node with the new model", 0.7)
        after = Snapshot("", clf, graph, before.base, Scores.of(clf, graph))
        report("Comparing the models", 0.9)
        change = compare_models(before, after, decided.nodes.size)
        report("Writing the new model beside the old one", 0.95)
        with self._switching:  # from here on nothing asks for more than disk space, and that only before the switch
            after = replace(after, version=versions.install(clf, graph, before.base, self.model))
            logger.info("model %s follows %s, with %d decisions", after.version, before.version, decided.nodes.size)
            keep_scores(self.model, after.scores)
            self.outcome = Outcome(before, after, change)
            self.station = self._open(after)
        return change

    def is_current(self) -> bool:
        """Whether the folder still holds the model that the pages show."""
        return model_version(self.model) == self.snapshot.version
