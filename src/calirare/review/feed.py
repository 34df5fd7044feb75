"""What the desk adds to the series that is monitored: its own scores as a run, and every decision.

A decision is on disk before its row in the series is written. Where that row cannot be, the log says so, and nobody waits.
"""

from __future__ import annotations

import logging

from calirare.decisions.costs import ACTIONS, Costs
from calirare.errors import CalirareError
from calirare.evaluation.monitoring.alarms import OWN
from calirare.evaluation.monitoring.feeding import reference_for, take_decision, take_run
from calirare.evaluation.monitoring.series import Series
from calirare.review.queue import Queue
from calirare.review.snapshot import Snapshot

logger = logging.getLogger(__name__)


class Feed:
    """Writes to the series of one desk.

    Args:
        series: In the database of the decisions.
    """

    def __init__(self, series: Series) -> None:
        self.series = series

    def run(self, snapshot: Snapshot) -> None:
        """Add the scores of the desk's queue as a run, once per model."""
        try:
            known = self.series.read("run", snapshot.version)
            if any(row.subject == OWN for row in known):
                return
            reference = reference_for(self.series, snapshot.version, snapshot.clf, snapshot.graph)
            p = snapshot.scores.probability[snapshot.listed]
            draws = snapshot.scores.draws
            take_run(self.series, snapshot.version, snapshot.clf, reference, p, command=OWN, draws=draws)
        except CalirareError as error:
            logger.warning("the desk's scores are not in the series that is monitored: %s", error)

    def decision(self, queue: Queue, node_id: str, decision: str, costs: Costs, budget: int | None) -> None:
        """Add a decision about a listed case, with what the model says of it without its label."""
        snapshot = queue.snapshot
        node = snapshot.find(node_id)
        if node is None:
            return
        action = int(queue.judge(costs, budget).action[node])
        if action < 0:  # its label came with the data; the model has read it
            return
        p = snapshot.without_own_label.get(node, float(snapshot.scores.probability[node]))
        try:
            prices = costs.at(node) if costs.per_node else costs
            take_decision(self.series, snapshot.version, node_id, decision, p, ACTIONS[action], prices)
        except CalirareError as error:
            logger.warning("a decision is not in the series that is monitored: %s", error)
