"""The queue: which nodes, in which order, with which action, from stored probabilities alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.decisions.costs import ACTIONS, Costs, Decisions, decide
from calirare.decisions.forecast import Group, forecast
from calirare.decisions.wording import write_reasons
from calirare.review.book import STATES, DecisionBook
from calirare.review.snapshot import COVERAGE, Snapshot
from calirare.review.store import OPEN
from calirare.review.view import View

LARGEST_PAGE = 1_000
_KEPT = 32


@dataclass(frozen=True, eq=False)
class Judgement:
    """Every listed node under one set of costs.

    Args:
        action: `(N,)` index into `ACTIONS`; -1 for a node that is not listed.
        decisions: Of the listed nodes, in their order.
        groups: The forecast by action.
    """

    action: np.ndarray
    decisions: Decisions
    groups: dict[str, Group]


@dataclass(frozen=True)
class Progress:
    """How far the looks are: of `total` nodes to review, `done` are decided; `decided` counts all decisions."""

    done: int
    total: int
    decided: int


class Queue:
    """Answers the page's questions about one snapshot.

    Args:
        snapshot: The model's scores.
        book: The decisions.
    """

    def __init__(self, snapshot: Snapshot, book: DecisionBook) -> None:
        self.snapshot = snapshot
        self.book = book
        self._cache: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def judge(self, costs: Costs, budget: int | None) -> Judgement:
        """Action of every node; no model is asked."""
        return self._remember(("judge", costs, budget), lambda: self._judge(costs, budget))  # type: ignore[no-any-return]

    def order(self, view: View) -> np.ndarray:
        """The nodes of a view, first to last."""
        uses_decisions = view.status is not None or any(column == "decision" for column, _ in view.sort)
        stamp = self.book.stamp if uses_decisions else 0
        return self._remember(("order", view, stamp), lambda: self._order(view))  # type: ignore[no-any-return]

    def rows(self, view: View, start: int, stop: int) -> tuple[list[dict[str, Any]], int]:
        """(rows `start` to `stop` for the page, number of rows in all)."""
        order = self.order(view)
        start = max(start, 0)
        nodes = order[start : min(stop, start + LARGEST_PAGE)]
        return self.describe(nodes, view), len(order)

    def describe(self, nodes: np.ndarray, view: View) -> list[dict[str, Any]]:
        """What the page shows of these nodes."""
        columns = self.columns(nodes, view)
        keys = list(columns)
        return [dict(zip(keys, row, strict=True)) for row in zip(*(columns[key] for key in keys), strict=True)]

    def columns(self, nodes: np.ndarray, view: View) -> dict[str, list[Any]]:
        """The queue's columns for these nodes, as plain values."""
        snapshot, scores = self.snapshot, self.snapshot.scores
        judgement = self.judge(view.costs, view.budget)
        place = np.searchsorted(snapshot.listed, nodes)
        parts = judgement.decisions
        picked = Decisions(*(getattr(parts, name)[place] for name in Decisions.__dataclass_fields__))
        p, lower, upper = (column[nodes] for column in (scores.probability, scores.lower, scores.upper))
        stands = [self.book.standing(name) for name in snapshot.ids[nodes]]
        return {
            "id": snapshot.ids[nodes].tolist(),
            "probability": p.tolist(),
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "action": picked.action.tolist(),
            "saves": picked.gain.tolist(),
            "reason": write_reasons(snapshot.wording, p, lower, upper, picked, view.costs).tolist(),
            "decision": [OPEN if one is None else one.decision for one in stands],
            "reviewer": ["" if one is None else one.reviewer for one in stands],
        }

    def position(self, view: View, node: int) -> tuple[int | None, int | None, int | None, int]:
        """(place of a node in a view, the node before, the node after, number of nodes)."""
        order = self.order(view)
        places = np.flatnonzero(order == node)
        if not places.size:
            return None, None, int(order[0]) if order.size else None, len(order)
        place = int(places[0])
        before = int(order[place - 1]) if place > 0 else None
        after = int(order[place + 1]) if place + 1 < order.size else None
        return place, before, after, len(order)

    def action_of(self, view: View, node: int) -> str | None:
        """The action for a node; None for one that is not listed, as its label is known."""
        code = int(self.judge(view.costs, view.budget).action[node])
        return ACTIONS[code] if code >= 0 else None

    def progress(self, view: View) -> Progress:
        judgement = self.judge(view.costs, view.budget)
        decided = self.book.codes > 0
        looks = judgement.action == ACTIONS.index("review")
        return Progress(int((decided & looks).sum()), int(looks.sum()), int(decided.sum()))

    def _judge(self, costs: Costs, budget: int | None) -> Judgement:
        listed, scores = self.snapshot.listed, self.snapshot.scores
        probability = scores.probability[listed]
        decisions = decide(probability, costs, budget)
        action = np.full(self.snapshot.graph.num_nodes, -1, dtype=np.int8)
        action[listed] = np.select([decisions.action == name for name in ACTIONS], range(len(ACTIONS)))
        groups = forecast(probability, decisions.action, costs, scores.draws, coverage=COVERAGE)
        return Judgement(action, decisions, groups)

    def _order(self, view: View) -> np.ndarray:
        snapshot = self.snapshot
        listed = snapshot.listed
        judgement = self.judge(view.costs, view.budget)
        keep = np.ones(listed.size, dtype=bool)
        if view.action is not None:
            keep &= judgement.action[listed] == ACTIONS.index(view.action)
        if view.status is not None:
            codes = self.book.codes[listed]
            keep &= codes > 0 if view.status == "decided" else codes == STATES.index(view.status)
        for condition in view.conditions:
            keep &= condition.holds(self._numbers(condition.column, judgement))
        if view.search:
            wanted = view.search.casefold()
            keep[keep] = [wanted in name.casefold() for name in snapshot.ids[listed[keep]]]
        kept = np.flatnonzero(keep)
        return np.asarray(listed[kept[self._sorted(kept, view, judgement)]])

    def _sorted(self, kept: np.ndarray, view: View, judgement: Judgement) -> np.ndarray:
        """The order of the kept rows; ties go by urgency, then by P(rare), then by node."""
        nodes = self.snapshot.listed[kept]
        keys = [nodes, -self.snapshot.scores.probability[nodes], judgement.action[nodes]]
        for column, descending in reversed(view.sort):
            values = self._sort_key(column, nodes, kept, judgement)
            keys.append(-values if descending else values)
        return np.lexsort(keys)

    def _sort_key(self, column: str, nodes: np.ndarray, kept: np.ndarray, judgement: Judgement) -> np.ndarray:
        if column == "id":
            values = self._id_ranks()[nodes]
        elif column == "action":
            values = judgement.action[nodes]
        elif column == "decision":
            values = self.book.codes[nodes]
        else:
            values = self._numbers(column, judgement)[kept]
        return np.asarray(values)

    def _numbers(self, column: str, judgement: Judgement) -> np.ndarray:
        """A column of numbers for the listed nodes."""
        if column == "saves":
            return judgement.decisions.gain
        return np.asarray(getattr(self.snapshot.scores, column)[self.snapshot.listed])

    def _id_ranks(self) -> np.ndarray:
        """`(N,)` place of each node's name in the alphabet."""

        def rank() -> np.ndarray:
            ranks = np.empty(self.snapshot.ids.size, dtype=np.int64)
            ranks[np.argsort(self.snapshot.ids, kind="stable")] = np.arange(ranks.size)
            return ranks

        return self._remember("ranks", rank)  # type: ignore[no-any-return]

    def _remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        value = compute()
        with self._lock:
            self._cache[key] = value
            while len(self._cache) > _KEPT:
                self._cache.popitem(last=False)
        return value
