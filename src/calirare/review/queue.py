"""The queue: which nodes, in which order, with which action, from stored probabilities alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from calirare.data.arrays import UNKNOWN
from calirare.decisions.costs import ACTIONS, Costs, Decisions, Thresholds, decide, worth
from calirare.decisions.forecast import Group, forecast
from calirare.decisions.wording import write_costs
from calirare.review.beside import OPEN
from calirare.review.records import Records
from calirare.review.snapshot import COVERAGE, Snapshot
from calirare.review.store.book import STATES, DecisionBook
from calirare.review.store.team import Team
from calirare.review.view import HIDDEN_WHEN_BLIND, RECORD, Conditions, View, WordCondition

LARGEST_PAGE = 1_000
_KEPT = 12  # judgements, and orders, that are not worked out again


@dataclass(frozen=True, eq=False)
class Judgement:
    """Every listed node under one set of costs.

    Args:
        action: `(N,)` index into `ACTIONS`; -1 for a node that is not listed.
        decisions: Of the listed nodes, in their order.
        groups: The forecast by action.
        worth: Of the listed nodes; see `calirare.decisions.costs.worth`.
    """

    action: np.ndarray
    decisions: Decisions
    groups: dict[str, Group]
    worth: np.ndarray


@dataclass(frozen=True)
class Workload:
    """How far the reviews are: of `total` nodes to review, `done` are decided; `decided` counts all decisions.

    What was decided since the fit counts as done, whatever the prices ask for now; so does what the model has learned from
    decisions, beside the budget.
    """

    done: int
    total: int
    decided: int


class Queue:
    """Answers the page's questions about one snapshot.

    Args:
        snapshot: The model's scores.
        book: The decisions.
        team: Assignments and second opinions.
        records: The nodes' own columns.
    """

    def __init__(self, snapshot: Snapshot, book: DecisionBook, team: Team, records: Records | None = None) -> None:
        self.snapshot = snapshot
        self.book = book
        self.team = team
        self.records = Records.of(snapshot) if records is None else records
        self._judged = lru_cache(_KEPT)(self._judge)
        self._ordered = lru_cache(_KEPT)(self._order)
        self._narrowed = lru_cache(_KEPT)(self._narrow)

    def judge(self, costs: Costs, budget: int | None) -> Judgement:
        """Action of every node; no model is asked."""
        return self._judged(costs, budget)

    def order(self, view: View) -> np.ndarray:
        """The nodes of a view, first to last."""
        uses_decisions = view.status is not None or any(column == "decision" for column, _ in view.sort)
        stamp = (self.book.stamp, self.team.stamp) if uses_decisions or view.mine else None
        return self._ordered(view, stamp)

    def rows(
        self, view: View, start: int, stop: int, shown: Sequence[str] = (), reviewer: str | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """(rows `start` to `stop` for the page, number of rows in all); see `page_columns`."""
        order = self.order(view)
        start = max(start, 0)
        nodes = order[start : min(stop, start + LARGEST_PAGE)]
        columns = self.page_columns(nodes, view, shown, reviewer)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return rows, len(order)

    def columns(self, nodes: np.ndarray, view: View) -> dict[str, list[Any]]:
        """The queue's columns for these nodes, as plain values; without the reasons, which take longer."""
        snapshot, scores = self.snapshot, self.snapshot.scores
        place, picked = self._decisions(nodes, view)
        said = {name: getattr(scores, name)[nodes] for name in ("probability", "lower", "upper", "disagreement")}
        stands = [self.book.standing(name) for name in snapshot.ids[nodes]]
        return {
            "id": snapshot.ids[nodes].tolist(),
            **{name: values.tolist() for name, values in said.items()},
            "action": picked.action.tolist(),
            "saves": picked.gain.tolist(),
            "costs": write_costs(said["probability"], picked, self._listed_costs(view.costs).take(place)).tolist(),
            "decision": [OPEN if one is None else one.decision for one in stands],
            "reviewer": ["" if one is None else one.reviewer for one in stands],
        }

    def reasons(self, nodes: np.ndarray, view: View) -> list[str]:
        """Why each of these nodes is where it is: a model is asked once per node, so the page asks for what it shows."""
        picked = self._decisions(nodes, view)[1]
        return list(self.snapshot.why.write(nodes, picked.action.tolist(), picked.waiting))

    def _decisions(self, nodes: np.ndarray, view: View) -> tuple[np.ndarray, Decisions]:
        """(places of these nodes among the listed ones, what was decided of them)."""
        place = np.searchsorted(self.snapshot.listed, nodes)
        return place, self.judge(view.costs, view.budget).decisions.take(place)

    def page_columns(
        self, nodes: np.ndarray, view: View, shown: Sequence[str], reviewer: str | None
    ) -> dict[str, list[Any]]:
        """The queue's columns as the page shows them: with what it needs to act, and the chosen columns of the records.

        Args:
            nodes: The rows, in their order.
            view: What the page asks for.
            shown: Names of the columns of the records.
            reviewer: In blind mode, who asks: of cases they have not decided the scores are left out; None: all is shown.
        """
        columns = self.columns(nodes, view)
        names = columns["id"]
        last = [self.book.of(name) for name in names]
        columns["seen"] = [0 if one is None else one.id for one in last]
        columns["assigned"] = [self.team.assigned_to(name) for name in names]
        columns["second"] = [self.team.wish(name) is not None for name in names]
        for name in shown:
            if name in self.records.columns:
                column = self.records.columns[name]
                columns[f"{RECORD}{name}"] = [column.say(node) for node in nodes.tolist()]
        if reviewer is not None:
            hidden = [not self.book.has_decided(reviewer, name) for name in names]
            for name in HIDDEN_WHEN_BLIND:
                columns[name] = [None if hide else value for hide, value in zip(hidden, columns[name], strict=True)]
        return columns

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

    def progress(self, view: View) -> Workload:
        decided = self.book.codes > 0
        action, learned = self._actions(view), self.snapshot.learned
        asked = (action == ACTIONS.index("review")) | ((action >= 0) & decided)
        asked[learned] = (action[learned] >= 0) & decided[learned]
        return Workload(int((decided & asked).sum()), int(asked.sum()), int(decided.sum()))

    @property
    def not_learned(self) -> np.ndarray:
        """`(N,)` codes of the decisions, as `DecisionBook.codes`, without those that this model has read as labels."""
        codes, label = self.book.codes, self.snapshot.label
        rare = label == self.snapshot.graph.rare_class
        as_labelled = np.where(rare, STATES.index("rare"), STATES.index("normal"))
        return np.where((label != UNKNOWN) & (codes == as_labelled), 0, codes)

    def open_counts(self, view: View) -> dict[str, int]:
        """How many nodes of each action nobody has decided yet."""
        waiting = self._actions(view)[self.book.codes == 0]
        return {name: int((waiting == code).sum()) for code, name in enumerate(ACTIONS)}

    def _actions(self, view: View) -> np.ndarray:
        """`(N,)` as `Judgement.action`; -1 too where a filter of the view does not hold."""
        if not view.conditions:
            return self.judge(view.costs, view.budget).action
        return self._narrowed(view.costs, view.budget, view.conditions)

    def _narrow(self, costs: Costs, budget: int | None, conditions: Conditions) -> np.ndarray:
        judgement = self.judge(costs, budget)
        action = judgement.action.copy()
        action[self.snapshot.listed[~self._meets(conditions, judgement)]] = -1
        return action

    def _meets(self, conditions: Conditions, judgement: Judgement) -> np.ndarray:
        """`(n,)` bool: which of the listed nodes meet every filter."""
        keep = np.ones(self.snapshot.listed.size, dtype=bool)
        for condition in conditions:
            values = self._values(condition.column, judgement)
            if isinstance(condition, WordCondition) == (values.dtype.kind == "O"):
                keep &= condition.holds(values)
        return keep

    def thresholds_of(self, view: View, node: int) -> Thresholds:
        """Where the action of one node changes: by its own prices, and as far as the budget goes."""
        costs = view.costs.at(node) if view.costs.per_node else view.costs
        return costs.thresholds(self.judge(view.costs, view.budget).decisions.cutoff)

    def _listed_costs(self, costs: Costs) -> Costs:
        """Prices of the listed nodes; those per node speak of all nodes."""
        return costs.take(self.snapshot.listed) if costs.per_node else costs

    def _judge(self, costs: Costs, budget: int | None) -> Judgement:
        listed, scores = self.snapshot.listed, self.snapshot.scores
        probability = scores.probability[listed]
        costs = self._listed_costs(costs)
        decisions = decide(probability, costs, budget, answered=np.isin(listed, self.snapshot.learned))
        action = np.full(self.snapshot.graph.num_nodes, -1, dtype=np.int8)
        action[listed] = decisions.urgency
        groups = forecast(probability, decisions.action, costs, scores.draws, coverage=COVERAGE)
        return Judgement(action, decisions, groups, worth(decisions, costs, probability))

    def _order(self, view: View, stamp: tuple[int, int] | None) -> np.ndarray:
        """`order`, cached by the `stamp` of the decisions too."""
        snapshot = self.snapshot
        listed = snapshot.listed
        judgement = self.judge(view.costs, view.budget)
        keep = self._meets(view.conditions, judgement)
        if view.action is not None:
            keep &= judgement.action[listed] == ACTIONS.index(view.action)
        if view.status is not None:
            keep &= self._has_status(view.status)
        if view.mine:
            keep &= self._named(self.team.assigned_nodes(view.mine))
        if view.search:
            wanted = view.search.casefold()
            keep[keep] = [wanted in name.casefold() for name in snapshot.ids[listed[keep]]]
        kept = np.flatnonzero(keep)
        return listed[kept[self._sorted(kept, view, judgement)]]

    def _sorted(self, kept: np.ndarray, view: View, judgement: Judgement) -> np.ndarray:
        """The order of the kept rows; ties go by urgency, then by P(rare), then by node."""
        nodes = self.snapshot.listed[kept]
        keys = [nodes, -self.snapshot.scores.probability[nodes], judgement.action[nodes]]
        if view.order == "urgency":
            keys.insert(2, -judgement.worth[kept])
        elif view.order == "value":  # of equal ones those that the budget reaches
            keys += [judgement.action[nodes] != ACTIONS.index("review"), -judgement.decisions.gain[kept]]
        elif view.order == "doubt":
            keys.append(np.abs(self.snapshot.scores.probability[nodes] - 0.5))
        elif view.order == "probability":
            keys.append(-self.snapshot.scores.probability[nodes])
        for column, descending in reversed(view.sort):
            values = self._sort_key(column, nodes, kept, judgement)
            keys.append(-values if descending else values)
        return np.lexsort(keys)

    def _sort_key(self, column: str, nodes: np.ndarray, kept: np.ndarray, judgement: Judgement) -> np.ndarray:
        if column == "id":
            values = self._id_ranks[nodes]
        elif column == "action":
            values = judgement.action[nodes]
        elif column == "decision":
            values = self.book.codes[nodes]
        else:
            values = self._values(column, judgement)[kept]
        if values.dtype.kind == "O":
            values = np.unique(["" if value is None else str(value) for value in values], return_inverse=True)[1]
        return np.nan_to_num(values, nan=-np.inf) if values.dtype.kind == "f" else np.asarray(values)

    def _has_status(self, status: str) -> np.ndarray:
        """`(n,)` bool: which of the listed nodes are in a state."""
        if status == "second":
            return self._named(self.team.wished_nodes())
        codes = self.book.codes[self.snapshot.listed]
        return codes > 0 if status == "decided" else codes == STATES.index(status)

    def _named(self, names: set[str]) -> np.ndarray:
        """`(n,)` bool: which of the listed nodes have one of these stored names."""
        nodes = [node for name in names if (node := self.snapshot.find(name)) is not None]
        return np.isin(self.snapshot.listed, nodes)

    def _values(self, column: str, judgement: Judgement) -> np.ndarray:
        """A column for the listed nodes: numbers, or words as objects."""
        if column.startswith(RECORD):
            found = self.records.columns.get(column.removeprefix(RECORD))
            everything = np.zeros(self.snapshot.graph.num_nodes) if found is None else found.values
            return everything[self.snapshot.listed]
        if column == "saves":
            return judgement.decisions.gain
        return getattr(self.snapshot.scores, column)[self.snapshot.listed]

    @cached_property
    def _id_ranks(self) -> np.ndarray:
        """`(N,)` place of each node's name in the alphabet."""
        ranks = np.empty(self.snapshot.ids.size, dtype=np.int64)
        ranks[np.argsort(self.snapshot.ids, kind="stable")] = np.arange(ranks.size)
        return ranks
