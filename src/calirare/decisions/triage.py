"""Alert, review or clear: every node decided at the least expected cost, with the reason and a forecast."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calirare.data.arrays import as_nodes
from calirare.data.checks import check_count
from calirare.data.graph import RareGraph, require_graph
from calirare.data.named_columns import NamedColumns
from calirare.decisions.costs import ACTIONS, Costs, Decisions, Price, decide, worth
from calirare.decisions.forecast import Group, forecast, groups_frame
from calirare.decisions.node_prices import costs_of
from calirare.decisions.why import Reasons
from calirare.decisions.wording import Wording, sets_beside, wording_of, write_pulls
from calirare.detectors.base import Progress
from calirare.errors import InputError
from calirare.estimator.classifier import RareCategoryClassifier
from calirare.estimator.evidence import answered_nodes, labels_read, read_nodes
from calirare.estimator.fitted import Fitted
from calirare.estimator.known_again import is_graph_of_fit
from calirare.uncertainty.calibration_maps import CalibrationDraws
from calirare.uncertainty.conformal import name_sets
from calirare.uncertainty.pulls import Pulls

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger(__name__)
_SAID = ("node", "id", "probability", "lower", "upper", "disagreement", "member")
"""Columns that do not depend on the prices."""


@dataclass(frozen=True, eq=False)
class Triage:
    """A table with one row per node: alerts first, then reviews, then the cleared, the most valuable first in each.

    Alerts are worth what they save against clearing; reviews, and what is cleared, what a review saves.

    Args:
        node: `(n,)` index in the graph.
        id: `(n,)` the user's name for it.
        probability: `(n,)` natural P(rare).
        lower, upper: `(n,)` interval of P(rare).
        disagreement: `(n,)` how far the detectors lie apart; 0 where there is one.
        member: `(n, C)` bool: the classes in its conformal set.
        decisions: Action, expected cost, and what a review saves.
        costs: The prices.
        budget: Most reviews, or None.
        coverage: Of intervals, sets and forecast.
        groups: The forecast by action, and `"all"`: expected rare nodes and cost, with intervals.
        wording: The names that sentences use.
        draws: What the labels leave open of the calibration; see `calirare.decisions.forecast`.
        rare_share: That the probabilities are at, where it is another than at the fit; else None.
        why: Makes the reasons.
        cutoff: What a review saves at least, with this budget; `costs.thresholds(cutoff)` are the thresholds in force.
        num_pulls: How many labelled nodes `pulls` names for each.
    """

    node: np.ndarray
    id: np.ndarray
    probability: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    disagreement: np.ndarray
    member: np.ndarray
    decisions: Decisions
    costs: Costs
    budget: int | None
    coverage: float
    groups: dict[str, Group]
    wording: Wording
    draws: CalibrationDraws = field(repr=False)
    why: Reasons = field(repr=False)
    rare_share: float | None = None
    cutoff: float = 0.0
    num_pulls: int = 3

    @property
    def action(self) -> np.ndarray:
        """`(n,)` of `"alert"`, `"review"`, `"clear"`."""
        return self.decisions.action

    @cached_property
    def set(self) -> np.ndarray:
        """`(n,)` the classes that the coverage does not rule out, in words."""
        shown = sets_beside(self.member, self.action, self.wording.rare_class)
        return name_sets(shown, np.array(self.wording.class_names, dtype=object))

    @cached_property
    def reason(self) -> np.ndarray:
        """`(n,)` what speaks for and against each node, in the words and units of the tables; see `Reasons.write`."""
        return self.why.write(self.node, self.action.tolist(), self.decisions.waiting)

    @cached_property
    def pulls(self) -> Pulls:
        """The labelled nodes that pull each P(rare) most, found when first asked for; see `Reasons.pulls`."""
        return self.why.pulls(self.node, self.action.tolist(), self.decisions.waiting, self.num_pulls)

    @property
    def mostly_alerted(self) -> str:
        """Why most nodes are alerted though few of them are rare, and what to look at; empty where that is not so."""
        alert = self.groups["alert"]
        if 2 * alert.num_nodes <= len(self) or 5 * alert.rare.value >= alert.num_nodes:
            return ""
        times = float(np.median(np.divide(self.costs.miss, np.maximum(self.costs.alarm, 1e-12))))
        return (
            f"{alert.num_nodes:,} of {len(self):,} nodes are alerted, about {alert.rare.value:,.0f} of them rare: a miss costs "
            f"{times:,.0f} times a false alarm. Are all prices in one unit (--cost-miss, --cost-alarm, --cost-review)?"
        )

    def __len__(self) -> int:
        return len(self.node)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, one dict each."""
        return self.frame().rows()

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.groups[name].num_nodes:,} {name}" for name in ACTIONS)
        cost = self.groups["all"].cost
        return f"Triage({len(self):,} nodes: {counts}; expected cost {cost.value:.6g}, {cost.lower:.6g} to {cost.upper:.6g})"

    def frame(self) -> NamedColumns:
        """The table as columns by name."""
        columns = {
            "node": self.node,
            "id": self.id,
            "probability": self.probability,
            "lower": self.lower,
            "upper": self.upper,
            "disagreement": self.disagreement,
            "set": self.set,
            "action": self.action,
            "reason": self.reason,
            "expected_cost": self.decisions.cost,
            "review_saves": self.decisions.gain,
            "pulls": write_pulls(self.wording, self.pulls),
            **({} if self.rare_share is None else {"rare_share": np.full(len(self), self.rare_share)}),
        }
        return NamedColumns(columns)

    def groups_frame(self) -> NamedColumns:
        """The forecast as columns: nodes, rare nodes and cost of each group, with intervals."""
        return groups_frame(self.groups)

    def to_polars(self) -> pl.DataFrame:
        """The table as a polars frame."""
        return self.frame().to_polars()

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        return self.frame().to_pandas()

    def take(self, rows: Any) -> Triage:
        """Some rows, by mask or position; the forecast stays that of the whole."""
        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in _SAID},
            costs=self.costs.take(rows),
            decisions=self.decisions.take(rows),
        )

    def rejudge(self, costs: Costs, budget: int | None = None) -> Triage:
        """The same nodes under other costs or another budget, without asking the model again.

        Prices per node are in the order of the node indices of this table.
        """
        by_node = np.argsort(self.node, kind="stable")
        return _judged(replace(self.take(by_node), costs=costs, budget=budget))


def triage(
    clf: RareCategoryClassifier,
    graph: RareGraph,
    cost_miss: Price | str = Costs.miss,
    cost_alarm: Price | str = Costs.alarm,
    cost_review: Price | str = Costs.review,
    budget: int | None = None,
    *,
    review_error: float = Costs.review_error,
    coverage: float = 0.9,
    nodes: Any = None,
    num_pulls: int = 3,
    progress: Progress | None = None,
) -> Triage:
    """Decide every node at the least expected cost: alert, review by a person, or clear.

    With p = P(rare), clearing costs `cost_miss`·p, an alert `cost_alarm`·(1 − p), and a review `cost_review`, after
    which the person knows (or is wrong in `review_error` of the cases). The cheapest is taken. With a `budget` at most
    so many nodes are reviewed, those where a review saves most; the others are decided alone at Bayes' threshold.

    Args:
        clf: Fitted, with `prior="natural"`: expected costs need probabilities at the population's shares.
        graph: The graph whose nodes are decided.
        cost_miss: Of a rare node that is cleared; each cost is a number, the name of a column of the nodes, or one per
            node of the graph.
        cost_alarm: Of an alert on a node that is not rare; likewise.
        cost_review: Of a review of one node.
        budget: Most reviews; None: wherever one pays.
        review_error: Share of reviews that end in the wrong call.
        coverage: Of the intervals, the conformal sets and the forecast.
        nodes: The nodes to decide, indices or a mask; default: all but those whose answer is known, because the model has
            read their labels, or they came since. Labels that a split keeps for testing do not count as known.
        num_pulls: How many labelled nodes to name that pull each probability.
        progress: Called while reasons and pulls are found, which is when they are first asked for; see `fit`.

    >>> import calirare as cr
    >>> graph = cr.make_transactions(num_nodes=600, seed=0)
    >>> split = cr.split_labels(graph, train_fraction=0.3, val_fraction=0.0, test_fraction=0.7, seed=0)
    >>> table = triage(cr.RareCategoryClassifier(detector="linear").fit(graph, split), graph, budget=10)
    >>> len(table), int((table.action == "review").sum()) <= 10
    (420, True)
    """
    require_graph(graph)
    num_pulls = check_count(num_pulls, "num_pulls", least=0)
    costs = costs_of(graph, cost_miss, cost_alarm, cost_review, review_error=review_error)
    if budget is not None:
        budget = check_count(budget, "budget", least=0)
    require_natural(clf)
    read = read_nodes(clf, graph)
    chosen = _choose_nodes(graph, nodes, answered_nodes(clf, graph, read))
    wording = wording_of(clf, coverage, graph.ids if is_graph_of_fit(clf, graph) else None)
    draws = clf.calibration_draws()
    return _judged(
        Triage(
            **_said_of(clf, graph, chosen, coverage, draws),
            decisions=decide(np.empty(0), Costs()),
            costs=costs.take(chosen),
            budget=budget,
            coverage=coverage,
            groups={},
            wording=wording,
            draws=draws,
            rare_share=clf.moved_share,
            why=Reasons(clf, graph, labels_read(graph, read), wording, progress),
            num_pulls=num_pulls,
        )
    )


def _said_of(
    clf: RareCategoryClassifier, graph: RareGraph, nodes: np.ndarray, coverage: float, draws: CalibrationDraws
) -> dict[str, Any]:
    """What the model says of some nodes, at any price."""
    probability = clf.predict_proba(graph)[:, clf.rare_class_]
    interval = draws.interval(probability, coverage, degree=graph.degree)  # what `predict_interval` says
    of_all = (
        np.arange(graph.num_nodes),
        graph.ids,
        probability,
        interval.lower,
        interval.upper,
        clf.predict_disagreement(graph),
        clf.predict_set(graph, coverage=coverage),
    )
    return {name: values[nodes] for name, values in zip(_SAID, of_all, strict=True)}


def _choose_nodes(graph: RareGraph, nodes: Any, answered: np.ndarray) -> np.ndarray:
    """The nodes that were asked for; else all of kinds that carry labels, without those whose answer is known."""
    if nodes is None:
        return np.setdiff1d(graph.scored, answered)
    return np.unique(as_nodes(nodes, graph.num_nodes))


def _judged(table: Triage) -> Triage:
    """Decide, sort and forecast."""
    decisions = decide(table.probability, table.costs, table.budget)
    groups = forecast(table.probability, decisions.action, table.costs, table.draws, coverage=table.coverage)
    value = worth(decisions, table.costs, table.probability)
    order = np.lexsort((table.node, -table.probability, -value, decisions.urgency))
    return replace(table, decisions=decisions, groups=groups, cutoff=decisions.cutoff).take(order)


def require_natural(clf: RareCategoryClassifier) -> None:
    """Refuse a model whose probabilities are not those of the population."""
    if not isinstance(clf, Fitted):
        raise InputError(f"clf must be a fitted RareCategoryClassifier; got {type(clf).__name__}.")
    _ = clf.state_  # refuses what is not fitted
    if clf.prior != "natural":
        raise InputError(
            f"triage weighs expected costs, which need natural probabilities; this model was fitted with "
            f"prior={clf.prior!r}. Fit it with prior='natural'."
        ).see("guides/costs.md#what-they-decide")
    if clf.calibrator_ is None:
        logger.warning(
            "method %r does not calibrate: its probabilities, and the costs they predict, may be far off.", clf.method
        )
