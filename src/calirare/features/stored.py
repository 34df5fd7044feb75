"""A stored recipe, read back with suspicion: a file can hold anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, TypeGuard, get_args

import numpy as np

from calirare.data.arrays import LARGEST
from calirare.data.edge_table import ColumnKind
from calirare.errors import ModelFormatError
from calirare.features.columns import ColumnGroup
from calirare.features.edges.alike import NodeCategory
from calirare.features.edges.amount_parts import is_amount_part
from calirare.features.edges.day_parts import DAY_PARTS
from calirare.features.edges.directions import DIRECTIONS
from calirare.features.edges.groups import LARGEST_EDGE_VALUE
from calirare.features.edges.node_numbers import End, NodeNumber
from calirare.features.edges.plan import (
    BesideCategory,
    DatedEdges,
    EdgePlan,
    Leaning,
    Multiple,
    Pair,
    PlannedColumn,
    WithinPlan,
)
from calirare.features.own import OwnPlan
from calirare.features.propagation import Aggregate, Statistic, Whose
from calirare.features.relations import RELATIONS


def read_state(state: Any) -> dict[str, Any]:
    """The arguments of a `ColumnRecipe`.

    Raises:
        ModelFormatError: Something is missing or not of its type.
    """
    _need(isinstance(state, dict), "it must be a mapping")
    try:
        names, groups = state["names"], state["groups"]
        _need(_texts(names) and len(set(names)) == len(names) > 0, "names must be different texts")
        _need(_texts(groups) and len(groups) == len(names), "groups must name one group per column")
        _need(set(groups) <= set(get_args(ColumnGroup)), f"groups must be among {get_args(ColumnGroup)}")
        _need(sorted(groups, key="neighbours".__eq__) == list(groups), "the neighbours' columns must come last")
        own = _own(state["own"])
        return {
            "own": own,
            "edges": None if state["edges"] is None else _edges(state["edges"], own),
            "names": tuple(names),
            "groups": tuple(groups),
            "means": _numbers(state["means"], (len(names),), "means"),
            "aggregates": tuple(
                _aggregate(one) for one in _list(state["parts"], "parts")
            ),  # so they are called on disk
            "spreads": _spreads(state, len(groups) - groups.count("neighbours")),
        }
    except KeyError as error:
        raise ModelFormatError(f"the stored columns lack {error}. Save the model again.") from None


def _spreads(state: dict[str, Any], count: int) -> np.ndarray:
    """Of as many columns; models of earlier versions tell no distances."""
    spreads = _numbers(state.get("spreads", np.ones(count)), (count,), "spreads")
    _need(bool((spreads > 0).all()), "spreads must be above 0")
    return spreads


def _own(state: Any) -> OwnPlan:
    _need(isinstance(state, dict), "own must be a mapping")
    names, basis = state["feature_names"], state["basis"]
    _need(_texts(names) and len(set(names)) == len(names), "feature_names must be different texts")
    # Models of earlier versions say whether all attributes are words.
    num_words, spelled = state.get("num_words", len(names) * bool(state.get("words"))), state["spelled"]
    _need(isinstance(num_words, int) and 0 <= num_words <= len(names), "num_words must count attributes")
    _need(isinstance(spelled, bool), "spelled must be a flag")
    _need(_texts(state["kinds"]), "kinds must be texts")
    if basis is not None:
        basis = _numbers(basis, (num_words or len(names), None), "basis").astype(np.float32)
    _need(not num_words or basis is not None, "words must have a basis")
    # Models of earlier versions have neither.
    dates, sizes = (
        tuple(_node_number(one, len(names)) for one in _list(state.get(what, ()), what)) for what in ("dates", "sizes")
    )
    categories = tuple(_node_category(one, len(names)) for one in _list(state.get("categories", ()), "categories"))
    told = [*(one.name for one in dates + sizes), *(one.name for one in categories)]
    _need(len(set(told)) == len(told), "dates, sizes and categories must have different names")
    return OwnPlan(tuple(names), num_words, spelled, basis, tuple(state["kinds"]), dates, sizes, categories)


def _node_category(state: Any, width: int) -> NodeCategory:
    _need(isinstance(state, dict) and isinstance(state["name"], str), "a category must have a name")
    at, size = state["at"], state["size"]
    right = type(at) is int and type(size) is int and 0 <= at < at + size <= width
    _need(right, "a category must be of attributes")
    return NodeCategory(state["name"], at, size)


def _node_number(state: Any, width: int) -> NodeNumber:
    _need(isinstance(state, dict) and isinstance(state["name"], str), "a date or size must have a name")
    at, gap = state["at"], state["gap"]
    right = type(at) is int and type(gap) is int and 0 <= at < width and -1 <= gap < width
    _need(right, "a date or size must be an attribute")
    mean, scale = (float(_numbers(state[name], (), name)) for name in ("mean", "scale"))
    return NodeNumber(state["name"], at, gap, mean, scale)


def _edges(state: Any, own: OwnPlan) -> EdgePlan:
    _need(isinstance(state, dict), "edges must be a mapping")
    flags = (state["directed"], state["brief"])
    _need(all(isinstance(flag, bool) for flag in flags), "directed and brief must be flags")
    _need(_texts(state["types"]), "types must be texts")
    columns = tuple(_column(column) for column in _list(state["columns"], "edges.columns"))
    _need(len({column.name for column in columns}) == len(columns), "edges.columns must have different names")
    told = {one.date for column in columns for one in column.dated}
    _need(told <= {date.name for date in own.dates}, "times must be told beside dates of nodes")
    # Models of earlier versions say nothing of these.
    alike, pairs, apart = state.get("alike", ()), state.get("pairs", False), state.get("apart", ())
    _need(_texts(apart) and set(apart) <= {date.name for date in own.dates}, "ends must be apart in dates of nodes")
    _need(_texts(alike) and len(set(alike)) == len(alike), "alike must be different texts")
    _need(set(alike) <= {one.name for one in own.categories}, "ends must be alike in categories of nodes")
    _need(isinstance(pairs, bool), "pairs must be a flag")
    within = _within(state.get("within", {}))
    plan = EdgePlan(flags[0], columns, tuple(state["types"]), flags[1], within, tuple(alike), pairs, tuple(apart))
    _need(plan.sizes <= {size.name for size in own.sizes}, "numbers must be divided by sizes of nodes")
    return plan


def _within(state: Any) -> WithinPlan:
    """Models of earlier versions tell nothing."""
    _need(isinstance(state, dict), "within must be a mapping")
    times, ratios, beside = (_list(state.get(what, ()), what) for what in ("times", "ratios", "beside"))
    _need(all(isinstance(one, dict) for one in times + ratios + beside), "each of within must be a mapping")
    for one in times + ratios + beside:
        _need(_texts([one["name"], one["other"], one.get("category", "")]), "columns of within must have names")
    kinds = [
        tuple(Pair(one["name"], one["other"], float(_numbers(one["near"], (), "near"))) for one in some)
        for some in (times, ratios)
    ]
    numbers = (BesideCategory(one["name"], one["other"], one["category"], _weights(one, "usual")) for one in beside)
    return WithinPlan(kinds[0], kinds[1], tuple(numbers))


def _weights(state: dict[str, Any], what: str) -> tuple[tuple[str, float], ...]:
    """Categories, and a number of each."""
    pairs = [_list(one, what) for one in _list(state[what], what)]
    _need(
        all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs), f"{what} must hold categories and numbers"
    )
    return tuple((name, float(_numbers(number, (), what))) for name, number in pairs)


def _column(state: Any) -> PlannedColumn:
    _need(isinstance(state, dict), "an edge column must be a mapping")
    _need(isinstance(state["name"], str), "an edge column must have a name")
    _among(state["kind"], get_args(ColumnKind), "the kind of an edge column")
    signed = state.get("signed", False)  # models of earlier versions say nothing
    categories, flags = state["categories"], (state["diverse"], state["missing"], state["in_days"], signed)
    _need(_texts(categories) and len(set(categories)) == len(categories), "categories must be different texts")
    _need(all(isinstance(flag, bool) for flag in flags), "diverse, missing, in_days and signed must be flags")
    known = state["kind"] != "time" or set(categories) <= set(DAY_PARTS)
    _need(known, f"the parts of a time must be among {DAY_PARTS}")
    _need(state["kind"] != "number" or all(map(is_amount_part, categories)), "the parts of a number must be known ones")
    pairs, balanced = (
        state.get(what, False) for what in ("pairs", "balanced")
    )  # models of earlier versions say nothing
    _need(all(isinstance(flag, bool) for flag in (pairs, balanced)), "pairs and balanced must be flags")
    origin = float(_numbers(state["origin"], (), "origin"))
    column = PlannedColumn(state["name"], state["kind"], tuple(categories), *flags[:2], origin, *flags[2:])
    compared, size, middle = _comparison(state)
    span = float(_numbers(state.get("span", 0.0), (), "span"))  # not known in models of earlier versions
    _need(span >= 0, "the span of times must not be negative")
    column = replace(column, compared=compared, size=size, middle=middle, span=span, pairs=pairs, balanced=balanced)
    dated = tuple(DatedEdges(*one) for one in _beside(state, "dated", "date", "near"))
    multiples = tuple(Multiple(*one) for one in _beside(state, "multiples", "number", "high"))
    changing, again = (_directions(state, what) for what in ("changing", "again"))
    column = replace(column, likes=tuple(_leaning(one) for one in _list(state.get("likes", ()), "likes")))
    return replace(column, near=_near(state), dated=dated, multiples=multiples, changing=changing, again=again)


def _leaning(state: Any) -> Leaning:
    _need(isinstance(state, dict) and isinstance(state["name"], str), "each of likes must have a name")
    _among(state["which"], DIRECTIONS, "the direction of each of likes")
    return Leaning(state["name"], state["which"], _weights(state, "weights"))


def _comparison(state: dict[str, Any]) -> tuple[tuple[str, ...], float, float]:
    """Directions, size and middle; models of earlier versions compare nothing."""
    size = float(_numbers(state.get("size", 1.0), (), "size", LARGEST_EDGE_VALUE))
    middle = float(_numbers(state.get("middle", 1.0), (), "middle"))
    _need(size > 0, "size must be above 0")
    return _directions(state, "compared"), size, middle


def _directions(state: dict[str, Any], what: str) -> tuple[str, ...]:
    """Models of earlier versions name none."""
    found = _list(state.get(what, ()), what)
    for one in found:
        _among(one, DIRECTIONS, f"a direction in {what}")
    _need(len(set(found)) == len(found), f"the directions in {what} must be different")
    return tuple(found)


def _near(state: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """Directions, and what is near in each."""
    pairs = [_list(one, "near") for one in _list(state.get("near", ()), "near")]
    _need(all(len(pair) == 2 for pair in pairs), "near must hold directions and times")
    for which, _ in pairs:
        _among(which, DIRECTIONS, "a direction in which others are near")
    _need(len({which for which, _ in pairs}) == len(pairs), "directions must be different")
    return tuple((which, float(_numbers(close, (), "near"))) for which, close in pairs)


def _beside(state: dict[str, Any], what: str, name: str, limit: str) -> Iterator[tuple[str, End, str, float]]:
    """(name of a number of nodes, whose it is, edges in which direction, limit) of all that is told beside one.

    Models of earlier versions tell nothing.
    """
    for one in _list(state.get(what, ()), what):
        _need(isinstance(one, dict) and isinstance(one[name], str), f"each of {what} must have a {name}")
        _among(one["end"], get_args(End), f"the end of each of {what}")
        _among(one["which"], DIRECTIONS, f"the direction of each of {what}")
        yield one[name], one["end"], one["which"], float(_numbers(one[limit], (), limit))


def _aggregate(state: Any) -> Aggregate:
    _need(isinstance(state, dict), "an aggregate must be a mapping")
    _among(state["relation"], RELATIONS, "an aggregate's relation")
    _among(state["statistic"], get_args(Statistic), "an aggregate's statistic")
    _among(state["whose"], get_args(Whose), "an aggregate's columns")
    _need(isinstance(state["type"], str), "an aggregate's type must be a text")
    return Aggregate(state["relation"], state["type"], state["statistic"], state["whose"])


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


def _among(value: Any, choices: Collection[str], name: str) -> None:
    _need(isinstance(value, str) and value in choices, f"{name} must be among {tuple(choices)}")


def _list(value: Any, name: str) -> list[Any]:
    _need(isinstance(value, list | tuple), f"{name} must be a list")
    return list(value)


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise ModelFormatError(f"the stored columns were edited or are incomplete: {what}. Save the model again.")
