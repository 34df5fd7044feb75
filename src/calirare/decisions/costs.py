"""What each call on a node is expected to cost, and the cheapest one.

A probability alone decides nothing. With the price of a missed rare case, of a false alarm and of a human look, the
expected costs of the three calls on a node with P(rare) = p are

    clear   c_miss · p
    alert   c_alarm · (1 − p)
    review  c_review + e · (c_miss · p + c_alarm · (1 − p))

where e (`review_error`, 0 by default) is how often the person who looks is wrong. An alert on a rare node costs nothing:
it has to be handled in any case. All three are lines in p, so the cheapest call is clear below one threshold, alert above
another, and review between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calirare.data.checks import check_count, is_number
from calirare.errors import InputError
from calirare.metrics.inputs import check_rare_scores

ACTIONS = ("alert", "review", "clear")
"""In the order of urgency."""


@dataclass(frozen=True)
class Thresholds:
    """Where the cheapest call changes.

    Args:
        review: From this P(rare) on a look is cheaper than clearing.
        alert: From this P(rare) on an alert is cheaper than a look. Not above `review`: a look never pays.
        alone: Bayes' threshold c_alarm / (c_alarm + c_miss), from which an alert is cheaper than clearing.
    """

    review: float
    alert: float
    alone: float

    @property
    def review_pays(self) -> bool:
        """Whether any probability makes a look worth its cost."""
        return self.review < self.alert


@dataclass(frozen=True)
class Costs:
    """The prices, in one unit.

    Args:
        miss: A rare node that was cleared.
        alarm: An alert on a node that is not rare.
        review: A human look at one node.
        review_error: Share of the looks that end in the wrong call, below 0.5.

    >>> costs = Costs(miss=50, alarm=5, review=1)
    >>> costs.thresholds()
    Thresholds(review=0.02, alert=0.8, alone=0.09090909090909091)
    """

    miss: float = 50.0
    alarm: float = 5.0
    review: float = 1.0
    review_error: float = 0.0

    def __post_init__(self) -> None:
        for name, least_allowed in (("miss", False), ("alarm", False), ("review", True)):
            value = getattr(self, name)
            fine = is_number(value) and (value >= 0 if least_allowed else value > 0)
            if not fine:
                rule = "a number of at least 0" if least_allowed else "a positive number"
                raise InputError(f"cost_{name} must be {rule}; got {value!r}.")
        if not is_number(self.review_error) or not 0 <= self.review_error < 0.5:
            raise InputError(f"review_error must lie in [0, 0.5); got {self.review_error!r}.")

    def thresholds(self) -> Thresholds:
        """Where the three lines cross."""
        wrong = self.review_error
        return Thresholds(
            review=(self.review + wrong * self.alarm) / ((1 - wrong) * self.miss + wrong * self.alarm),
            alert=((1 - wrong) * self.alarm - self.review) / ((1 - wrong) * self.alarm + wrong * self.miss),
            alone=self.alarm / (self.alarm + self.miss),
        )

    def expected(self, probability: Any) -> dict[str, np.ndarray]:
        """Expected cost of each action at P(rare).

        >>> {name: cost.tolist() for name, cost in Costs(50, 5, 1).expected([0.0, 0.1]).items()}
        {'alert': [5.0, 4.5], 'review': [1.0, 1.0], 'clear': [0.0, 5.0]}
        """
        p = np.asarray(probability, dtype=np.float64)
        alert, clear = self.alarm * (1 - p), self.miss * p
        return {"alert": alert, "review": self.review + self.review_error * (alert + clear), "clear": clear}

    def realised(self, action: Any, y_rare: Any) -> np.ndarray:
        """What each action did cost, `(n,)`, once the truth is known; a look's errors enter by their expectation.

        >>> Costs(50, 5, 1).realised(["alert", "alert", "review", "clear", "clear"], [1, 0, 1, 0, 1])
        array([ 0.,  5.,  1.,  0., 50.])
        """
        taken = check_actions(action)
        rare, _ = check_rare_scores(y_rare, np.zeros(taken.shape))
        table = self.expected(rare)
        return np.select([taken == name for name in ACTIONS], [table[name] for name in ACTIONS])


@dataclass(frozen=True, eq=False)
class Decisions:
    """The action for each probability, columns of equal length.

    Args:
        action: `"alert"`, `"review"` or `"clear"`.
        cost: Its expected cost.
        gain: What a look saves in expectation against the cheaper call without one; negative where it does not pay.
        waiting: True where a look would pay, but the budget went to nodes that gain more.
    """

    action: np.ndarray
    cost: np.ndarray
    gain: np.ndarray
    waiting: np.ndarray


def decide(probability: Any, costs: Costs, budget: int | None = None) -> Decisions:
    """The cheapest action for each node; with a `budget`, at most that many looks, where they gain most.

    Args:
        probability: `(n,)` natural P(rare).
        costs: The prices.
        budget: Most looks that can be had; None: as many as pay. Equal gains go to the earlier node.

    >>> decide([0.01, 0.05, 0.3, 0.9], Costs(50, 5, 1)).action.tolist()
    ['clear', 'review', 'review', 'alert']
    >>> decide([0.01, 0.05, 0.3, 0.9], Costs(50, 5, 1), budget=1).action.tolist()
    ['clear', 'clear', 'review', 'alert']
    """
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("probability must hold one number in [0, 1] per node.")
    expected = costs.expected(p)
    alone = np.minimum(expected["alert"], expected["clear"])
    gain = alone - expected["review"]
    pays = gain > 0
    looked_at = pays.copy()
    if budget is not None and pays.sum() > check_count(budget, "budget", least=0):
        looked_at[:] = False
        worth = np.flatnonzero(pays)
        looked_at[worth[np.argsort(-gain[worth], kind="stable")[:budget]]] = True
    alerted = expected["alert"] <= expected["clear"]
    action = np.where(looked_at, "review", np.where(alerted, "alert", "clear"))
    return Decisions(action, np.where(looked_at, expected["review"], alone), gain, pays & ~looked_at)


def check_actions(action: Any) -> np.ndarray:
    """The actions as text, `(n,)`, or an error that names the ones there are."""
    taken = np.asarray(action).astype(str)
    strange = np.setdiff1d(taken, ACTIONS)
    if taken.ndim != 1 or strange.size:
        raise InputError(
            f"action must hold one of {list(ACTIONS)} per node; got {strange[:3].tolist() or taken.shape}."
        )
    return taken
