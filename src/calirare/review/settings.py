"""What is set once for the whole desk: prices, budget, order, filters, blind mode, columns; kept with who set it."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from calirare.data.checks import are_texts
from calirare.decisions.costs import PRICES, Costs
from calirare.errors import InputError
from calirare.review.records import Records
from calirare.review.store.events import EventLog
from calirare.review.view import RECORD, Conditions, parse_conditions

ORDERS = {"value": "what a review saves", "doubt": "doubt", "probability": "P(rare)", "urgency": "alerts first"}
_KIND, _SUBJECT = "setting", "desk"
_GROUPED, _GROUPING = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?"), re.compile(",")
"""Thousands, as in 12,500.00."""
_COMMAS = re.compile(r"[\d.,]+")
_FRESH = 0.5
_MOST_COLUMNS = 12
_MOST_REVIEWS = 10**9
_LONGEST_FILTERS = 4_000

Price = float | str
"""A number, or the name of a column of the nodes."""


@dataclass(frozen=True)
class DeskSettings:
    """The desk's settings.

    Args:
        miss, alarm, review: Prices: numbers, or names of columns.
        review_error: Share of the reviews that end in the wrong call.
        budget: Most reviews, or None.
        order: One of `ORDERS`.
        blind: Whether a reviewer sees the score of a case only after deciding it.
        columns: Columns of the records that the queue shows.
        filters: Tests on columns that hold for everybody's queue, as the grid writes them, in JSON; "": none.

    >>> DeskSettings().changed({"miss": "amount", "budget": 20}).budget
    20
    """

    miss: Price = Costs.miss  # type: ignore[assignment]
    alarm: Price = Costs.alarm  # type: ignore[assignment]
    review: Price = Costs.review  # type: ignore[assignment]
    review_error: float = Costs.review_error
    budget: int | None = None
    order: str = "value"
    blind: bool = False
    columns: tuple[str, ...] = ()
    filters: str = ""

    def changed(self, data: dict[str, Any]) -> Self:
        """With some settings replaced by what a page or the command line sends, which may be anything."""
        known = {field.name for field in fields(self)}
        return replace(self, **{name: _check(name, value) for name, value in data.items() if name in known})

    def costs(self, records: Records) -> Costs:
        """The prices, per node where one is a column."""
        prices: dict[str, float | np.ndarray] = {}
        for name in PRICES:
            price = getattr(self, name)
            prices[name] = records.price(price, f"cost_{name}") if isinstance(price, str) else price
        return Costs(**prices, review_error=self.review_error)

    @property
    def conditions(self) -> Conditions:
        """The filters, as a view has them."""
        return parse_conditions(json.loads(self.filters or "{}"))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"columns": list(self.columns), "filters": json.loads(self.filters or "{}")}


@dataclass(frozen=True)
class Setting:
    """The settings in force, and who made them so: `number` grows with every change; 0 where nobody has made one."""

    settings: DeskSettings
    number: int = 0
    by: str = ""
    time: datetime | None = None


class SettingsBook:
    """Reads the settings from the database, a few times a second at most, and writes changes to it.

    Args:
        log: Where they are kept.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self._lock = threading.Lock()
        self._change = Setting(DeskSettings())
        self._read_at = -np.inf

    @property
    def current(self) -> Setting:
        """The settings in force."""
        now = time.monotonic()
        if now - self._read_at > _FRESH:
            with self._lock:
                if now - self._read_at > _FRESH:
                    self._read()
                    self._read_at = now
        return self._change

    def change(self, data: dict[str, Any], records: Records, *, reviewer: str) -> Setting:
        """Change some; what cannot be is refused and nothing changes. Equal settings make no new row.

        What is kept from before is not asked about again: the table beside this desk may lack a column of another one's.
        """
        wanted, said = self.current.settings.changed(data), DeskSettings().changed(data)
        said.costs(records)
        unknown = [name for name in said.columns if name not in records.columns]
        if unknown:
            raise InputError(f"columns must be columns of the nodes; got {unknown[0]!r}.")
        for condition in said.conditions:
            if condition.column.startswith(RECORD):
                records.find(condition.column.removeprefix(RECORD), "a filter")
        if wanted != self.current.settings:
            value = json.dumps(wanted.as_dict())
            row = self.log.add(_KIND, _SUBJECT, value, reviewer=reviewer)
            with self._lock:
                self._change = Setting(wanted, row.id, row.reviewer, row.time)
        return self._change

    def _read(self) -> None:
        row = self.log.last(_KIND, _SUBJECT)
        if row is not None and row.id > self._change.number:
            try:
                found = DeskSettings().changed(json.loads(row.value))
            except (InputError, ValueError, TypeError, AttributeError):
                return  # of a later version: the last that is understood stays
            self._change = Setting(found, row.id, row.reviewer, row.time)


def _check(name: str, value: Any) -> Any:
    if name in PRICES:
        return _price(name, value)
    if name == "review_error":
        return _number(name, value)
    if name == "budget":
        return None if value in (None, "") else int(min(max(_number(name, value), 0), _MOST_REVIEWS))
    if name == "order":
        if value not in ORDERS:
            raise InputError(f"order must be one of {list(ORDERS)}; got {str(value)[:50]!r}.")
        return value
    if name == "blind":
        return bool(value)
    if name == "filters":
        return _filters(value)
    if not are_texts(value):
        raise InputError("columns must be a list of names.")
    return tuple(dict.fromkeys(value))[:_MOST_COLUMNS]


def _filters(value: Any) -> str:
    if value in (None, "", {}):
        return ""
    if not isinstance(value, dict) or len(text := json.dumps(value, sort_keys=True)) > _LONGEST_FILTERS:
        raise InputError("filters must be those of the queue's columns, and not too many.")
    if len(parse_conditions(value)) < len(value):
        raise InputError("a filter is not understood; clear the filters and set them again.")
    return text


def _price(name: str, value: Any) -> Price:
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(_GROUPING.sub("", text) if _GROUPED.fullmatch(text) else text)
        except ValueError:
            if _COMMAS.fullmatch(text):
                raise InputError(
                    f"cost_{name}: write {text.replace(',', '.')!r} with a point; got {text[:50]!r}."
                ) from None
            if not text:
                raise InputError(f"cost_{name} must be a number or the name of a column.") from None
            return text[:200]
    price = _number(f"cost_{name}", value)
    Costs(**{name: price})  # says what is wrong with it
    return price


def _number(name: str, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise InputError(f"{name} must be a number; got {str(value)[:50]!r}.")
    return number
