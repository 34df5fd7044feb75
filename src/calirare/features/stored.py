"""A stored recipe, read back with suspicion: a file can hold anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from calirare.data.arrays import LARGEST
from calirare.data.checks import are_texts
from calirare.errors import ModelFormatError
from calirare.features.columns import ColumnGroup
from calirare.features.edges.amount_parts import is_amount_part
from calirare.features.edges.day_parts import DAY_PARTS
from calirare.features.edges.groups import LARGEST_EDGE_VALUE
from calirare.features.edges.plan import Custom, EdgePlan, PlannedColumn
from calirare.features.edges.shared import PARTS
from calirare.features.own import OwnPlan
from calirare.features.propagation import Aggregate
from calirare.features.relations import RELATIONS

Told = TypeVar("Told")


def read_state(state: Any) -> dict[str, Any]:
    """The arguments of a `ColumnRecipe`.

    Raises:
        ModelFormatError: Something is missing or not of its type.
    """
    _need(isinstance(state, dict), "it must be a mapping")
    try:
        names, groups = state["names"], state["groups"]
        _need(are_texts(names) and len(set(names)) == len(names) > 0, "names must be different texts")
        _need(are_texts(groups) and len(groups) == len(names), "groups must name one group per column")
        _need(set(groups) <= set(get_args(ColumnGroup)), f"groups must be among {get_args(ColumnGroup)}")
        _need(sorted(groups, key="neighbours".__eq__) == list(groups), "the neighbours' columns must come last")
        own = _own(state["own"])
        return {
            "own": own,
            "edges": None if state["edges"] is None else _edges(state["edges"], own),
            "names": tuple(names),
            "groups": tuple(groups),
            "means": _numbers(state["means"], (len(names),), "means"),
            "aggregates": _aggregates(state["parts"]),  # so they are called on disk
            "spreads": _spreads(state, len(groups) - groups.count("neighbours")),
        }
    except KeyError as error:
        raise ModelFormatError(f"the stored columns lack {error}. Save the model again.") from None


def _spreads(state: dict[str, Any], count: int) -> np.ndarray:
    """Of as many columns; models of earlier versions tell no distances."""
    spreads = _numbers(state.get("spreads", np.ones(count)), (count,), "spreads")
    _need(bool((spreads > 0).all()), "spreads must be above 0")
    return spreads


def _aggregates(state: Any) -> tuple[Aggregate, ...]:
    found: tuple[Aggregate, ...] = _plain(state, tuple[Aggregate, ...], "parts")
    _need(all(one.relation in RELATIONS for one in found), f"an aggregate's relation must be among {RELATIONS}")
    _need(not any(one.type and one.weight for one in found), "weights are not told by type")
    return found


def _own(state: Any) -> OwnPlan:
    _need(isinstance(state, dict), "own must be a mapping")
    own = _read(OwnPlan, {"num_words": 0} | state, "own")
    names, basis = own.feature_names, own.basis
    # Models of earlier versions say whether all attributes are words.
    if "num_words" not in state and state.get("words"):
        own = replace(own, num_words=len(names))
    _different(names, "feature_names")
    _need(set(own.apart) <= set(names), "what is apart must be attributes")
    _need(0 <= own.num_words <= len(names), "num_words must count attributes")
    if basis is not None:
        own = replace(own, basis=_numbers(basis, (own.num_words or len(names), None), "basis").astype(np.float32))
    _need(not own.num_words or basis is not None, "words must have a basis")
    beside = tuple(one.number for one in own.round + own.peers)
    for number in own.dates + own.sizes + own.hours + own.weekdays + own.bursts + beside:
        right = 0 <= number.at < len(names) and -1 <= number.gap < len(names)
        _need(right, "a date or size must be an attribute")
        _need(max(abs(number.mean), abs(number.scale)) <= LARGEST, "dates and sizes must be finite")
    for category in own.categories + tuple(one.category for one in own.peers):
        right = 0 <= category.at < category.at + category.size <= len(names)
        _need(right, "a category must be of attributes")
    for one in own.peers:
        _need(len(one.usual) == one.category.size, "peers must have a usual number per category")
        usual = np.array([*one.usual, one.elsewhere])
        _need(bool((usual > 0).all()) or not one.times, "what numbers are divided by must be above 0")
    _need(all(one.unit > 0 for one in own.round), "units must be above 0")
    _different([one.name for one in own.told_beside], "dates, sizes and categories")
    return own


def _edges(state: Any, own: OwnPlan) -> EdgePlan:
    plan = _read(EdgePlan, state, "edges")
    for column in plan.columns:
        _check_column(column)
    _different([column.name for column in plan.columns], "edges.columns")
    _different(plan.alike, "alike")
    _different([f"{one.which} {one.name}" for one in plan.shared], "shared")
    for one in plan.shared:
        _different(one.parts, "parts")
        _need(set(one.parts) <= set(PARTS), f"how many others have a value must be among {PARTS}")
    dates = {date.name for date in own.dates}
    told = {one.date for column in plan.columns for one in column.dated}
    _need(told <= dates, "times must be told beside dates of nodes")
    _need(set(plan.apart) <= dates, "ends must be apart in dates of nodes")
    sizes = {one.name: one.size for one in own.categories}
    _need(set(plan.alike) <= set(sizes), "ends must be alike in categories of nodes")
    for custom in plan.customs:
        _check_custom(custom, sizes)
    _need(plan.sizes <= {size.name for size in own.sizes}, "numbers must be divided by sizes of nodes")
    return plan


def _check_column(column: PlannedColumn) -> None:
    _different(column.categories, "categories")
    known = column.kind != "time" or set(column.categories) <= set(DAY_PARTS)
    _need(known, f"the parts of a time must be among {DAY_PARTS}")
    parts = column.kind != "number" or all(map(is_amount_part, column.categories))
    _need(parts, "the parts of a number must be known ones")
    _need(column.span >= 0, "the span of times must not be negative")
    _need(column.size > 0, "size must be above 0")
    for what in ("compared", "changing", "again", "varied"):
        _different(getattr(column, what), what)
    _different([which for which, _ in column.near], "near")


def _check_custom(custom: Custom, sizes: dict[str, int]) -> None:
    known = custom.own in sizes and (custom.of in sizes or not custom.at_end)
    _need(known, "what is usual must be told of categories of nodes")
    _different(custom.categories, "categories")
    width, rows = len(custom.usual[0]) if custom.usual else 0, len(custom.usual)
    right = 0 < rows <= sizes[custom.own] and 0 < width and all(len(row) == width for row in custom.usual)
    right = right and (width <= sizes[custom.of] if custom.at_end else width == len(custom.categories))
    _need(right, "what is usual must be told for each two categories")


def _read(kind: type[Told], state: Any, name: str) -> Told:
    """A dataclass from what `asdict` made of it; models of earlier versions lack fields that have a default."""
    _need(isinstance(state, dict), f"{name} must be a mapping")
    hints = get_type_hints(kind)
    there = [one.name for one in fields(kind) if one.name in state or one.default is MISSING]  # type: ignore[arg-type]
    return kind(**{one: _plain(state[one], hints[one], one) for one in there})


def _plain(value: Any, hint: Any, name: str) -> Any:
    """A value of the type that a field is annotated with; arrays are left to `_numbers`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is UnionType:  # an array or None
        return value
    if origin is Literal:
        _need(isinstance(value, str) and value in args, f"{name} must be among {args}")
        return value
    if origin is tuple:
        _need(isinstance(value, list | tuple), f"{name} must be a list")
        kinds = args[:1] * len(value) if args[-1] is ... else args
        _need(len(value) == len(kinds), f"each of {name} must hold {len(kinds)} values")
        return tuple(_plain(one, kind, name) for one, kind in zip(value, kinds, strict=True))
    if isinstance(hint, type) and is_dataclass(hint):
        return _read(hint, value, name)
    if hint is float:
        return float(_numbers(value, (), name, LARGEST_EDGE_VALUE))
    right = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    _need(right, f"{name} must be of type {hint.__name__}")
    return value


def _numbers(value: Any, shape: tuple[int | None, ...], name: str, largest: float = LARGEST) -> np.ndarray:
    """Of this shape, None for any length."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.array("?")
    right = array.ndim == len(shape) and all(b in (a, None) for a, b in zip(array.shape, shape, strict=True))
    finite = right and array.dtype.kind in "iuf" and bool((np.abs(array.astype(np.float64)) <= largest).all())
    _need(finite, f"{name} must hold finite numbers of shape {shape}")
    return array.astype(np.float64)


def _different(names: Sequence[str], what: str) -> None:
    _need(len(set(names)) == len(names), f"{what} must have different names")


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise ModelFormatError(f"the stored columns were edited or are incomplete: {what}. Save the model again.")
