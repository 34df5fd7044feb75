"""What a reviewer wants to see of the queue: costs, filters, search and order, as the page sends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from calirare.data.checks import is_number
from calirare.decisions.costs import ACTIONS, Costs
from calirare.decisions.numbers import say_number
from calirare.errors import InputError
from calirare.review.store.book import STATES
from calirare.review.store.decisions import CHOICES

SORTABLE = ("id", "probability", "lower", "upper", "action", "saves", "decision")
RECORD = "record:"
"""Prefix that marks a column of the nodes' records among the columns of the queue."""
NUMBERS = ("probability", "lower", "upper", "saves")
HIDDEN_WHEN_BLIND = (
    "probability", "lower", "upper", "disagreement", "action", "saves", "costs", "decision", "reviewer",
)  # fmt: skip
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


_WORDS: dict[str, Callable[[str, str], bool]] = {
    "contains": lambda word, wanted: wanted in word,
    "notContains": lambda word, wanted: wanted not in word,
    "equals": lambda word, wanted: word == wanted,
    "notEqual": lambda word, wanted: word != wanted,
    "startsWith": lambda word, wanted: word.startswith(wanted),
    "endsWith": lambda word, wanted: word.endswith(wanted),
    "blank": lambda word, wanted: not word,
    "notBlank": lambda word, wanted: bool(word),
}


@dataclass(frozen=True)
class WordCondition:
    """A test on a column of words, in any case."""

    column: str
    kind: str
    text: str

    def holds(self, values: np.ndarray) -> np.ndarray:
        test, wanted = _WORDS[self.kind], self.text.casefold()
        words = ("" if value is None else str(value).casefold() for value in values.tolist())
        return np.fromiter((test(word, wanted) for word in words), dtype=bool, count=len(values))


@dataclass(frozen=True)
class Condition:
    """A test on a column of numbers: two of them joined by "AND" or "OR", or one."""

    column: str
    tests: tuple[tuple[str, float, float], ...]
    join: str = "AND"

    def holds(self, values: np.ndarray) -> np.ndarray:
        found = [self._holds(values, *test) for test in self.tests]
        return np.logical_or.reduce(found) if self.join == "OR" else np.logical_and.reduce(found)

    @staticmethod
    def _holds(values: np.ndarray, kind: str, first: float, second: float) -> np.ndarray:
        if kind == "inRange":
            return (values >= first) & (values <= second)
        return np.asarray(_COMPARE[kind](values, first))


Conditions = tuple[Condition | WordCondition, ...]


@dataclass(frozen=True)
class View:
    """A queue that can be asked for again and gives the same.

    Args:
        costs: The prices.
        budget: Most reviews, or None.
        action: Only these: one of `ACTIONS`, or None for all.
        status: `"open"`, `"decided"`, `"second"` for a second opinion wanted, a decision, or None for all.
        mine: Only cases given to this reviewer; "": everybody's.
        search: Text that the node's name holds, in any case.
        conditions: Tests on columns.
        sort: (column, descending) pairs, the first most important; empty: as `order` says.
        order: One of `calirare.review.settings.ORDERS`.
    """

    costs: Costs = field(default_factory=Costs)
    budget: int | None = None
    action: str | None = None
    status: str | None = None
    search: str = ""
    conditions: Conditions = ()
    sort: tuple[tuple[str, bool], ...] = ()
    order: str = "value"
    mine: str = ""

    @classmethod
    def parse(cls, data: Any, sort_model: Any = None, filter_model: Any = None) -> Self:
        """From what the page sends, which may be anything; prices, budget and order are the desk's own.

        >>> View.parse({"action": "review"}, [{"colId": "probability", "sort": "desc"}]).sort
        (('probability', True),)
        """
        data = data if isinstance(data, dict) else {}
        action, status = data.get("action"), data.get("status")
        return cls(
            action=action if action in ACTIONS else None,
            status=status if status in (*STATES, "decided", "second") else None,
            search=str(data.get("search") or "").strip()[:_LONGEST_SEARCH],
            conditions=parse_conditions(filter_model),
            sort=tuple(_parse_sort(sort_model)),
        )

    def blind(self) -> Self:
        """Without what would tell, case by case, what blind mode hides: tests and orders of hidden columns.

        >>> asked = View.parse({"status": "rare"}, [{"colId": "probability", "sort": "desc"}, {"colId": "id", "sort": "asc"}])
        >>> asked.blind().sort, asked.blind().status
        ((('id', False),), None)
        """
        return replace(
            self,
            status=None if self.status in CHOICES else self.status,
            conditions=tuple(one for one in self.conditions if one.column not in HIDDEN_WHEN_BLIND),
            sort=tuple((column, descending) for column, descending in self.sort if column not in HIDDEN_WHEN_BLIND),
        )


def _parse_sort(model: Any) -> list[tuple[str, bool]]:
    rows = model if isinstance(model, list) else []
    return [
        (row["colId"], row.get("sort") == "desc")
        for row in rows[: len(SORTABLE)]
        if isinstance(row, dict) and (row.get("colId") in SORTABLE or _is_record(row.get("colId")))
    ]


def parse_conditions(model: Any) -> Conditions:
    """AG Grid's filter model, which may be anything; what is not understood is left out.

    >>> say_conditions(parse_conditions({"record:city": {"filterType": "text", "type": "equals", "filter": "Oslo"},
    ...                                  "probability": {"type": "greaterThan", "filter": 0.2}}))
    'city is “Oslo”; P(rare) above 0.2'
    """
    found: list[Condition | WordCondition] = []
    for column, rule in (model if isinstance(model, dict) else {}).items():
        if not (column in NUMBERS or _is_record(column)) or not isinstance(rule, dict):
            continue
        if rule.get("filterType") == "text":
            found += _parse_words(column, rule)
            continue
        rules = rule.get("conditions")
        rules = rules if isinstance(rules, list) and rules else [rule]
        tests = [_parse_test(one) for one in rules[:_MOST_CONDITIONS] if isinstance(one, dict)]
        kept = tuple(test for test in tests if test is not None)
        if kept:
            found.append(Condition(column, kept, "OR" if rule.get("operator") == "OR" else "AND"))
    return tuple(found)


_SAID = {
    **{"equals": "is", "notEqual": "is not", "contains": "holds", "notContains": "does not hold"},
    **{"startsWith": "begins with", "endsWith": "ends with", "blank": "is empty", "notBlank": "is not empty"},
    **{"lessThan": "below", "lessThanOrEqual": "at most", "greaterThan": "above", "greaterThanOrEqual": "at least"},
}
_CALLED = {"probability": "P(rare)", "lower": "lower end of the interval", "upper": "upper end of the interval"}


def say_conditions(conditions: Sequence[Condition | WordCondition]) -> str:
    """Filters in words; see `parse_conditions`."""
    return "; ".join(f"{_CALLED.get(one.column, one.column.removeprefix(RECORD))} {_say(one)}" for one in conditions)


def _say(one: Condition | WordCondition) -> str:
    if isinstance(one, WordCondition):
        return _SAID[one.kind] if one.kind in ("blank", "notBlank") else f"{_SAID[one.kind]} “{one.text}”"
    tests = [
        f"from {say_number(first)} to {say_number(second)}"
        if kind == "inRange"
        else f"{_SAID[kind]} {say_number(first)}"
        for kind, first, second in one.tests
    ]
    return f" {one.join.lower()} ".join(tests)


def _parse_words(column: str, rule: dict[str, Any]) -> list[WordCondition]:
    """Tests on words; several are joined by "AND", whatever the rule says, as the page offers one."""
    rules = rule.get("conditions")
    rules = rules if isinstance(rules, list) else [rule]
    return [
        WordCondition(column, kind, str(one.get("filter") or "")[:_LONGEST_SEARCH])
        for one in rules[:_MOST_CONDITIONS]
        if isinstance(one, dict) and (kind := str(one.get("type"))) in _WORDS
    ]


def _is_record(column: Any) -> bool:
    return isinstance(column, str) and column.startswith(RECORD)


def _parse_test(rule: dict[str, Any]) -> tuple[str, float, float] | None:
    kind = str(rule.get("type"))
    if kind not in _COMPARE and kind != "inRange":
        return None
    return kind, _number(rule.get("filter"), 0.0), _number(rule.get("filterTo"), 1.0)


def _number(value: Any, default: float) -> float:
    if value is None:
        return default
    if not is_number(value):
        raise InputError(f"a number is needed; got {str(value)[:50]!r}.")
    return float(value)
