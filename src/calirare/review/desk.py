"""The desk behind the pages: one model folder, one database of decisions, the refit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from calirare.decisions.costs import Costs
from calirare.detectors.base import Progress
from calirare.errors import CalirareError, InputError
from calirare.evaluation import DoubtfulLabel, Evaluation, first_lines, look_again
from calirare.evaluation.monitoring.alarms import Watch, watch
from calirare.evaluation.monitoring.series import Series
from calirare.persistence.folder import model_version
from calirare.review import versions
from calirare.review.beside import OPEN
from calirare.review.feed import Feed
from calirare.review.jobs import Job
from calirare.review.links import check_links
from calirare.review.quality import measure
from calirare.review.queue import Queue
from calirare.review.records import Records
from calirare.review.refit import Change, as_labels, compare_models, refit
from calirare.review.settings import DeskSettings, Setting, SettingsBook
from calirare.review.snapshot import Scores, Snapshot, keep_scores
from calirare.review.store.book import DecisionBook
from calirare.review.store.decisions import ConflictError, Decision, DecisionStore
from calirare.review.store.events import EventLog
from calirare.review.store.network import join_network
from calirare.review.store.team import Team
from calirare.review.view import View

logger = logging.getLogger(__name__)
_ON_SCREEN = 20
"""About as many rows as a window shows."""


@dataclass(frozen=True, eq=False)
class RefitOutcome:
    """What the last refit gave: both models, and how they differ."""

    before: Snapshot
    after: Snapshot
    change: Change


class Station:
    """A snapshot with its queue and what is computed from it once. Replaced as a whole by a refit."""

    def __init__(self, snapshot: Snapshot, book: DecisionBook, team: Team, table: Any) -> None:
        self.snapshot = snapshot
        self.records = Records.of(snapshot, table)
        self.queue = Queue(snapshot, book, team, self.records)
        self._costs: dict[DeskSettings, Costs] = {}
        self._lock = threading.Lock()

    def costs(self, settings: DeskSettings) -> Costs:
        """The prices of every node under these settings; a column that this model does not have costs its default."""
        with self._lock:
            if settings not in self._costs:
                try:
                    found = settings.costs(self.records)
                except InputError as error:
                    logger.warning("%s The default price is used.", error)
                    found = Costs()
                self._costs = {settings: found}
            return self._costs[settings]

    @cached_property
    def _quality(self) -> Evaluation:
        return measure(self.snapshot)

    @cached_property
    def beware(self) -> tuple[str, ...]:
        """What must be read before any number of this model."""
        return first_lines(self.snapshot.clf, self.snapshot.graph, self.quality.skill)

    @cached_property
    def look_again(self) -> list[DoubtfulLabel]:
        """Labels that this model would have called otherwise."""
        return look_again(self.snapshot.clf, self.snapshot.graph)

    @property
    def quality(self) -> Evaluation:
        with self._lock:  # ten pages opened at once ask for one computation
            return self._quality


class Desk:
    """Everything that the pages ask for.

    Args:
        model: The model folder, with its graph.
        store: The decisions.
        table: The user's table of nodes, for records with every column; None: what the features tell.
        links: Addresses of other systems, with `{id}` for the node's name.
    """

    def __init__(self, model: str | Path, store: DecisionStore, table: Any = None, links: Sequence[str] = ()) -> None:
        self.model = Path(model)
        self.store = store
        self.links = check_links(links)
        self._table = table
        self.book = DecisionBook(store)
        self.log = EventLog(store.database, store.network)
        self.team = Team(self.log, self.book)
        self._settings = SettingsBook(self.log)
        self._versions: set[str] = set()
        self.feed = Feed(Series(store.database, store.network))
        self.station = self._open(Snapshot.load(self.model))
        join_network(self.log, self.snapshot.graph)
        self.outcome: RefitOutcome | None = None
        self.job = Job(self._refit)
        self._switching = threading.Lock()

    @property
    def snapshot(self) -> Snapshot:
        return self.station.snapshot

    @property
    def queue(self) -> Queue:
        """The queue with the newest decisions."""
        self.book.refresh()
        self.team.refresh()
        return self.station.queue

    @property
    def stamp(self) -> dict[str, Any]:
        """A mark that changes when decisions, assignments or the model do, so that pages know to read again."""
        return {"decisions": self.book.stamp, "team": self.team.stamp, "model": self.snapshot.version}

    @property
    def setting(self) -> Setting:
        """The settings in force, and who made them so."""
        return self._settings.current

    def set(self, data: dict[str, Any], *, reviewer: str) -> Setting:
        """Change some of the desk's settings."""
        return self._settings.change(data, self.station.records, reviewer=reviewer)

    def view(self, data: Any, sort_model: Any = None, filter_model: Any = None, *, reviewer: str = "") -> View:
        """What a page asks for, under the desk's prices, budget, order and filters."""
        asked = dict(data) if isinstance(data, dict) else {}
        mine = reviewer if asked.pop("mine", None) else ""
        settings = self.setting.settings
        view = View.parse(asked, sort_model, filter_model)
        if settings.blind:
            view = view.blind()
        return replace(
            view,
            costs=self.station.costs(settings),
            budget=settings.budget,
            order=settings.order,
            conditions=settings.conditions + view.conditions,
            mine=mine,
        )

    def warm_up(self) -> None:
        """Work out what the first page shows, so that whoever opens the desk first waits no longer than others."""
        view, queue = self.view({}), self.queue
        queue.open_counts(view)
        first = queue.order(view)[:_ON_SCREEN]
        if first.size:
            queue.reasons(first, view)

    def is_hidden(self, node_id: str, reviewer: str) -> bool:
        """Whether blind mode keeps the score of a case from someone who has not decided it yet."""
        return self.setting.settings.blind and not self.book.has_decided(reviewer, node_id)

    def decide_many(
        self, cases: Sequence[tuple[str, int]], decision: str, *, note: str, reviewer: str, action_key: str
    ) -> tuple[list[Decision], list[str]]:
        """Store one decision about several cases, each (name, row seen); (rows stored, names of those refused).

        A case that somebody decided since it was seen is refused and the others are stored.
        """
        self._require_nodes(name for name, _ in cases)
        stored, refused = [], []
        for place, (name, seen) in enumerate(cases):
            key = f"{action_key}-{place}"
            try:
                stored.append(self.decide(name, decision, note=note, reviewer=reviewer, seen=seen, action_key=key))
            except ConflictError:
                refused.append(name)
        return stored, refused

    def undo_many(self, numbers: Sequence[int], *, reviewer: str, action_key: str) -> tuple[list[Decision], int]:
        """Take several decisions back; (rows stored, how many could not be, as somebody decided after them).

        What is not the reviewer's to take back counts among the latter, beside others that are.
        """
        stored: list[Decision] = []
        refused: list[CalirareError] = []
        for place, number in enumerate(numbers):
            try:
                stored.append(self.undo(number, reviewer=reviewer, action_key=f"{action_key}-{place}"))
            except (ConflictError, InputError) as error:
                refused.append(error)
        wrong = [error for error in refused if isinstance(error, InputError)]
        if wrong and not stored:
            raise wrong[0]
        return stored, len(refused)

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
        self._require_nodes([node_id])
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
        if row.model_version == self.snapshot.version:
            self._tell(row.node_id, row.decision)
        return row

    def undo(self, decision_id: int, *, reviewer: str, action_key: str) -> Decision:
        """Take a decision back. See `DecisionStore.undo`."""
        version = self.snapshot.version
        row = self.store.undo(decision_id, reviewer=reviewer, model_version=version, action_key=action_key)
        node = self.snapshot.find(row.node_id)
        name = row.node_id if node is None else str(self.snapshot.ids[node])  # stored names lack odd characters
        for known in self.store.history(name):  # what stands now may have been written elsewhere a moment ago
            self.book.add(known)
        stands = self.book.standing(name)
        self._tell(row.node_id, OPEN if stands is None else stands.decision)
        return row

    def _require_nodes(self, names: Iterable[str]) -> None:
        found = [self.snapshot.find(name) for name in names]
        if None in found:
            raise InputError("node must be one of this graph.")
        graph = self.snapshot.graph
        if graph.node_type is not None and not set(found) <= set(graph.scored.tolist()):
            raise InputError("node must be of a kind that carries labels; others have no score.")

    def go_back_to(self, version: str) -> None:
        """Make a kept model the current one again."""
        with self._switching:
            versions.make_current(self.model, version)
            self.station = self._open(Snapshot.load(self.model))
            self.outcome = None

    def watch(self, days: float = 7.0) -> Watch:
        """What runs and decisions say about the model in use."""
        return watch(self.feed.series, self.snapshot.version, self.snapshot.scores.draws, days=days)

    def _tell(self, node_id: str, decision: str) -> None:
        """Take a decision into the series."""
        settings, station = self.setting.settings, self.station
        self.feed.decision(station.queue, node_id, decision, station.costs(settings), settings.budget)

    def close(self) -> None:
        """Stop the refit, if one runs, and let go of the database."""
        self.job.stop()
        self.store.close()

    def _open(self, snapshot: Snapshot) -> Station:
        station = Station(snapshot, self.book, self.team, self._table)
        self._versions.add(snapshot.version)
        self.book.attach(snapshot.index, snapshot.graph.num_nodes)
        self.book.refresh()
        self.feed.run(snapshot)
        return station

    def _refit(self, progress: Progress) -> None:
        before = self.snapshot
        progress(0.0, "Reading the decisions")
        decided = as_labels(self.store.current().values(), before.index, before.graph.scored)

        clf, graph = refit(
            before, decided, progress=lambda share, what: progress(0.05 + 0.6 * share, f"Fitting, {what}")
        )
        progress(0.7, "Scoring every node with the new model")
        after = Snapshot("", clf, graph, before.base, Scores.of(clf, graph))
        progress(0.9, "Comparing the models")
        change = compare_models(before, after, decided.nodes.size)
        progress(0.95, "Writing the new model beside the old one")
        with self._switching:  # from here on nothing asks for more than disk space, and that only before the switch
            after = replace(after, version=versions.install(clf, graph, before.base, self.model))
            logger.info("model %s follows %s, with %d decisions", after.version, before.version, decided.nodes.size)
            keep_scores(self.model, after.scores)
            self.station = self._open(after)  # takes seconds, and what the refit changed is told by the new queue
            self.outcome = RefitOutcome(before, after, change)

    def is_current(self) -> bool:
        """Whether the folder still holds the model that the pages show, or will in a moment."""
        return self._switching.locked() or model_version(self.model) == self.snapshot.version
