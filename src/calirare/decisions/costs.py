"""What each call on a node is expected to cost, and the cheapest one.

A probability alone decides nothing. With the price of a missed rare case, of a false alarm and of a review, the
expected costs of the three calls on a node with P(rare) = p are

    clear   c_miss · p
    alert   c_alarm · (1 − p)
    review  c_review + e · (c_miss · p + c_alarm · (1 − p))

where e (`review_error`, 0 by default) is how often the reviewer is wrong. An alert on a rare node costs nothing:
it has to be handled in any case. All three are lines in p, so the cheapest call is clear below one threshold, alert above
another, and review between them. Where more is at stake at some nodes (an amount, a limit), a price is a column, and each
node has thresholds of its own.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calirare.data.arrays import as_array, check_chances
from calirare.data.checks import check_count, is_number
from calirare.decisions.prices import ALARM, MISS, REVIEW, REVIEW_ERROR
from calirare.errors import InputError

ACTIONS = ("alert", "review", "clear")
"""In the order of urgency."""

PRICES = ("miss", "alarm", "review")
"""What has a price."""

Price = float | np.ndarray
"""The same for every node, or one per node."""


@dataclass(frozen=True)
class Thresholds:
    """Where the cheapest call changes.

    Args:
        review: From this P(rare) on a review is cheaper than clearing.
        alert: From this P(rare) on an alert is cheaper than a review. Not above `review`: a review never pays.
        alone: Bayes' threshold c_alarm / (c_alarm + c_miss), from which an alert is cheaper than clearing.
    """

    review: float
    alert: float
    alone: float

    @property
    def review_pays(self) -> bool:
        """Whether any probability makes a review worth its cost."""
        return self.review < self.alert


@dataclass(frozen=True, eq=False)
class Costs:
    """The prices, in one unit: each a number, or one per node `(n,)` where more is at stake at some.

    Args:
        miss: A rare node that was cleared.
        alarm: An alert on a node that is not rare.
        review: A review by a person at one node.
        review_error: Share of the reviews that end in the wrong call, below 0.5; a number.

    >>> Costs(miss=50, alarm=5, review=1).thresholds()
    Thresholds(review=0.02, alert=0.8, alone=0.09090909090909091)
    >>> decide([0.05, 0.05], Costs(miss=[10.0, 1000.0])).action.tolist()
    ['clear', 'review']
    """

    miss: Price = MISS
    alarm: Price = ALARM
    review: Price = REVIEW
    review_error: float = REVIEW_ERROR

    def __post_init__(self) -> None:
        for name in PRICES:
            object.__setattr__(self, name, _check_price(getattr(self, name), name))
        if not is_number(self.review_error) or not 0 <= self.review_error < 0.5:
            raise InputError(f"review_error must lie in [0, 0.5); got {self.review_error!r}.")
        sizes = {np.size(price) for price in self._prices.values() if np.ndim(price)}
        if len(sizes) > 1:
            raise InputError(f"prices per node must speak of the same nodes; got {sorted(sizes)} of them.")

    @property
    def _prices(self) -> dict[str, Price]:
        return {name: getattr(self, name) for name in PRICES}

    def _key(self) -> tuple[object, ...]:
        prices = (price.tobytes() if isinstance(price, np.ndarray) else price for price in self._prices.values())
        return (*prices, self.review_error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Costs) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def per_node(self) -> bool:
        """Whether a price differs from node to node."""
        return any(np.ndim(price) for price in self._prices.values())

    def take(self, rows: Any) -> Costs:
        """The prices of some of the nodes, by mask or position.

        >>> Costs(miss=[10.0, 1000.0]).take([1]).miss
        array([1000.])
        """
        columns = {name: price for name, price in self._prices.items() if isinstance(price, np.ndarray)}
        return replace(self, **{name: column[rows] for name, column in columns.items()})

    def arguments(self) -> dict[str, Any]:
        """As the arguments that `triage` takes: `cost_miss`, `cost_alarm`, `cost_review`, `review_error`."""
        return {f"cost_{name}": price for name, price in self._prices.items()} | {"review_error": self.review_error}

    def at(self, row: int) -> Costs:
        """The prices of one node, as numbers, which like those of a column may be 0.

        >>> Costs(miss=[0.0, 1000.0]).at(1).thresholds().review, Costs(miss=[0.0, 1000.0]).at(0).thresholds().review
        (0.001, inf)
        """
        one = copy(self)
        for name, price in self._prices.items():
            object.__setattr__(one, name, float(price[row]) if isinstance(price, np.ndarray) else price)
        return one

    @property
    def never_reviewed(self) -> str:
        """Why nothing is reviewed at these prices, and the way out; empty where reviews pay, or prices differ by node.

        >>> Costs(miss=1000, alarm=5, review=20).never_reviewed.split(": ")[0], Costs().never_reviewed
        ('No review pays at these prices', '')
        """
        if self.per_node or self.thresholds().review_pays:
            return ""
        return (
            f"No review pays at these prices: it costs {self.review:,g}, a false alarm {self.alarm:,g}, a miss {self.miss:,g}. Is "
            "that what a false alarm costs (--cost-alarm)?"
        )

    def thresholds(self, cutoff: float = 0.0) -> Thresholds:
        """Where the three lines cross. Prices per node have thresholds per node: ask `at(row)` for one of them.

        With a budget a review must save at least `cutoff` (see `Decisions.cutoff`), as if it cost so much more.

        >>> Costs(50, 5, 1).thresholds(cutoff=2.0)
        Thresholds(review=0.06, alert=0.4, alone=0.09090909090909091)
        """
        wrong, miss, alarm, review = self.review_error, self.miss, self.alarm, self.review
        if isinstance(miss, np.ndarray) or isinstance(alarm, np.ndarray) or isinstance(review, np.ndarray):
            raise InputError("prices per node have no common thresholds; ask costs.at(row).thresholds() for one.")
        review += cutoff
        by_clearing, by_alarm = (1 - wrong) * miss + wrong * alarm, (1 - wrong) * alarm + wrong * miss
        return Thresholds(  # where a call costs nothing, nothing can be cheaper
            review=(review + wrong * alarm) / by_clearing if by_clearing else np.inf,
            alert=((1 - wrong) * alarm - review) / by_alarm if by_alarm else -np.inf,
            alone=alarm / (alarm + miss) if alarm + miss else 0.0,
        )

    def expected(self, probability: Any) -> dict[str, np.ndarray]:
        """Expected cost of each action at P(rare); prices per node need a probability for each node.

        >>> {name: cost.tolist() for name, cost in Costs(50, 5, 1).expected([0.0, 0.1]).items()}
        {'alert': [5.0, 4.5], 'review': [1.0, 1.0], 'clear': [0.0, 5.0]}
        """
        p = np.asarray(probability, dtype=np.float64)
        for name, price in self._prices.items():
            if np.ndim(price) and np.shape(price) != p.shape:
                raise InputError(
                    f"cost_{name} must be a number or hold one for each of the {p.size} nodes; got {np.size(price)}."
                )
        alert, clear = self.alarm * (1 - p), self.miss * p
        return {"alert": alert, "review": self.review + self.review_error * (alert + clear), "clear": clear}

    def realised(self, action: Any, y_rare: Any) -> np.ndarray:
        """What each action did cost, `(n,)`, once the truth is known; a reviewer's errors enter by their expectation.

        >>> Costs(50, 5, 1).realised(["alert", "alert", "review", "clear", "clear"], [1, 0, 1, 0, 1])
        array([ 0.,  5.,  1.,  0., 50.])
        """
        taken, rare = check_actions(action), np.asarray(y_rare)
        if rare.shape != taken.shape or not np.isin(rare, (0, 1)).all():
            raise InputError(
                f"y_rare must hold 1 (rare) or 0 for each of the {taken.size} nodes; got shape {rare.shape}."
            )
        table = self.expected(rare)
        return np.select([taken == name for name in ACTIONS], [table[name] for name in ACTIONS])


def _check_price(price: Any, name: str) -> Price:
    """A number, or a column of numbers that nobody can change any more."""
    may_be_zero = name == "review"
    if np.ndim(price) == 0:
        if not is_number(price) or not (price >= 0 if may_be_zero else price > 0):
            rule = "a number of at least 0" if may_be_zero else "a positive number"
            raise InputError(f"cost_{name} must be {rule}; got {price!r}.")
        return float(price)
    try:
        column = np.array(as_array(price, f"cost_{name}"), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"cost_{name} must hold numbers; got {type(price).__name__}.") from None
    if column.ndim != 1:
        raise InputError(f"cost_{name} must be a number, or hold one per node, shape (N,); got shape {column.shape}.")
    bad = ~np.isfinite(column) | (column < 0)
    if bad.any():
        raise InputError(
            f"cost_{name} must hold one number of at least 0 per node; {int(bad.sum()):,} of {column.size:,} are missing, "
            "negative or infinite. Fill them in first."
        )
    column.setflags(write=False)
    return column


@dataclass(frozen=True, eq=False)
class Decisions:
    """The action for each probability, columns of equal length.

    Args:
        action: `"alert"`, `"review"` or `"clear"`.
        cost: Its expected cost.
        gain: What a review saves in expectation against the cheaper call without one; negative where it does not pay.
        waiting: True where a review would pay, but the budget went to nodes that gain more.
    """

    action: np.ndarray
    cost: np.ndarray
    gain: np.ndarray
    waiting: np.ndarray

    @property
    def urgency(self) -> np.ndarray:
        """`(n,)` each action as its place in `ACTIONS`."""
        return np.select([self.action == name for name in ACTIONS], range(len(ACTIONS)))

    def take(self, rows: Any) -> Decisions:
        """Those of some of the nodes, by mask or position."""
        return Decisions(self.action[rows], self.cost[rows], self.gain[rows], self.waiting[rows])

    @property
    def cutoff(self) -> float:
        """What a review saves at least where there is one: 0 where every review that pays is had, ∞ where none is.

        >>> decide([0.01, 0.05, 0.3, 0.9], Costs(50, 5, 1), budget=1).cutoff
        2.5
        """
        if not self.waiting.any():
            return 0.0
        return float(self.gain[self.action == "review"].min(initial=np.inf))


def decide(
    probability: Any, costs: Costs, budget: int | None = None, *, answered: np.ndarray | None = None
) -> Decisions:
    """The cheapest action for each node; with a `budget`, at most that many reviews, where they gain most.

    Args:
        probability: `(n,)` natural P(rare).
        costs: The prices; those per node in the order of `probability`.
        budget: Most reviews that are possible; None: as many as pay. The most valuable come first, equal ones in order.
        answered: `(n,)` bool: nodes that a person has seen already; they are not reviewed again.

    >>> decide([0.01, 0.05, 0.3, 0.9], Costs(50, 5, 1)).action.tolist()
    ['clear', 'review', 'review', 'alert']
    >>> decide([0.01, 0.05, 0.3, 0.9], Costs(50, 5, 1), budget=1).action.tolist()
    ['clear', 'clear', 'review', 'alert']
    """
    p = check_chances(probability)
    expected = costs.expected(p)
    alone = np.minimum(expected["alert"], expected["clear"])
    gain = alone - expected["review"]
    pays = gain > 0 if answered is None else (gain > 0) & ~answered
    looked_at = pays.copy()
    if budget is not None and pays.sum() > check_count(budget, "budget", least=0):
        most_first = np.argsort(np.where(pays, -gain, np.inf), kind="stable")
        looked_at[most_first[budget:]] = False
    alerted = expected["alert"] <= expected["clear"]
    action = np.where(looked_at, "review", np.where(alerted, "alert", "clear"))
    return Decisions(action, np.where(looked_at, expected["review"], alone), gain, pays & ~looked_at)


def worth(decisions: Decisions, costs: Costs, probability: np.ndarray) -> np.ndarray:
    """`(n,)` by which the nodes of one action are ordered: what an alert saves against clearing, else what a review saves.

    >>> worth(decide([0.9, 0.3], Costs(50, 5, 1)), Costs(50, 5, 1), np.array([0.9, 0.3])).round(6).tolist()
    [44.5, 2.5]
    """
    expected = costs.expected(probability)
    return np.where(decisions.action == "alert", expected["clear"] - expected["alert"], decisions.gain)


def check_actions(action: Any) -> np.ndarray:
    """The actions as text, `(n,)`, or an error that names the ones there are."""
    taken = np.asarray(action).astype(str)
    strange = np.setdiff1d(taken, ACTIONS)
    if taken.ndim != 1 or strange.size:
        raise InputError(
            f"action must hold one of {list(ACTIONS)} per node; got {strange[:3].tolist() or taken.shape}."
        )
    return taken
