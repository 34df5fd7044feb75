"""What a reviewer wants to see of the queue: costs, filters, search and order, as the page sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from calirare.decisions.costs import ACTIONS, Costs
from calirare.errors import InputError
from calirare.review.book import STATES

SORTABLE = ("id", "probability", "lower", "upper", "action", "saves", "decision")
NUMBERS = ("probability", "lower", "upper", "saves")
_MOST_CONDITIONS = 8
_LONGEST_SEARCH = 500

_COMPARE = {
    "equals": np.equal,
    "notEqual": np.not_equal,
    "lessThan": np.less,
    "lessThanOrEqual": np.less_equal,
    "greaterThan": np.greater,
    "greaterThanOrEqual": np.greater_equal,
}


@dataclass(frozen=True)
class Condition:
    """A test on a column of numbers: two of them joined by "AND" or "OR", or one."""

    column: str
    tests: tuple[tuple[str, float, float], ...]
    join: str = "AND"

    def holds(self, values: np.ndarray) -> np.ndarray:
        found = [self._holds(values, *test) for test in self.tests]
        joined: np.ndarray = np.logical_or.reduce(found) if self.join == "OR" else np.logical_and.reduce(found)
        return joined

    @staticmethod
    def _holds(values: np.ndarray, kind: str, first: float, second: float) -> np.ndarray:
        if kind == "inRange":
            return np.asarray((values >= first) & (values <= second))
        return np.asarray(_COMPARE[kind](values, first))


@dataclass(frozen=True)
class View:
    """A queue that can be asked for again and gives the same.

    Args:
        costs: The prices.
        budget: Most looks, or None.
        action: Only these: one of `ACTIONS`, or None for all.
        status: `"open"`, `"decided"`, a decision, or None for all.
        search: Text that the node's name holds, in any case.
        conditions: Tests on columns of numbers.
        sort: (column, descending) pairs, the first most important; empty: alerts, reviews, cleared, by P(rare).
    """

    costs: Costs = field(default_factory=Costs)
    budget: int | None = None
    action: str | None = None
    status: str | None = None
    search: str = ""
    conditions: tuple[Condition, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()

    @classmethod
    def parse(cls, data: Any, sort_model: Any = None, filter_model: Any = None) -> Self:
        """From what the page sends, which may be anything.

        >>> View.parse({"miss": 100, "action": "review"}, [{"colId": "probability", "sort": "desc"}]).sort
        (('probability', True),)
        """
        data = data if isinstance(data, dict) else {}
        costs = Costs(**{name: _number(data.get(name), getattr(Costs, name)) for name in Costs.__dataclass_fields__})
        budget = data.get("budget")
        budget = None if budget in (None, "") else int(min(max(_number(budget, 0), 0), 10**9))
        action, status = data.get("action"), data.get("status")
        return cls(
            costs=costs,
            budget=budget,
            action=action if action in ACTIONS else None,
            status=status if status in (*STATES, "decided") else None,
            search=str(data.get("search") or "").strip()[:_LONGEST_SEARCH],
            conditions=tuple(_parse_conditions(filter_model)),
            sort=tuple(_parse_sort(sort_model)),
        )


def _parse_sort(model: Any) -> list[tuple[str, bool]]:
    rows = model if isinstance(model, list) else []
    return [
        (row["colId"], row.get("sort") == "desc")
        for row in rows[: len(SORTABLE)]
        if isinstance(row, dict) and row.get("colId") in SORTABLE
    ]


def _parse_conditions(model: Any) -> list[Condition]:
    """AG Grid's filter model, as far as it speaks of numbers; the page has its own controls for words."""
    found = []
    for column, rule in (model if isinstance(model, dict) else {}).items():
        if column not in NUMBERS or not isinstance(rule, dict):
            continue
        rules = rule.get("conditions") or [rule]
        tests = [_parse_test(one) for one in rules[:_MOST_CONDITIONS] if isinstance(one, dict)]
        kept = tuple(test for test in tests if test is not None)
        if kept:
            found.append(Condition(column, kept, "OR" if rule.get("operator") == "OR" else "AND"))
    return found


def _parse_test(rule: dict[str, Any]) -> tuple[str, float, float] | None:
    kind = rule.get("type")
    if kind not in _COMPARE and kind != "inRange":
        return None
    return str(kind), _number(rule.get("filter"), 0.0), _number(rule.get("filterTo"), 1.0)


def _number(value: Any, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise InputError(f"a number is needed; got {str(value)[:50]!r}.")
    return float(value)
