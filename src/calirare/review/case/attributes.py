"""A node's attributes beside those of normal nodes, in the units of the user's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import UNKNOWN, as_dense, column_of
from calirare.data.feature_places import feature_places
from calirare.data.tables.schema.node_columns import is_moment, truth_words
from calirare.data.units import unscaled
from calirare.decisions.facts import some_others
from calirare.decisions.numbers import say_day, say_number, teller_of
from calirare.review.snapshot import Snapshot

_FEWEST_NORMAL = 20
_MOST_SHOWN = 12
_MOST_WORDS = 6


@dataclass(frozen=True)
class Attribute:
    """One attribute of a node.

    Args:
        name: The column's name.
        value: The node's value, in the table's units.
        usual: What normal nodes have: their median, or their most frequent category; "" for texts.
        percentile: Share of normal nodes with a smaller value, counting half of the equal ones; None for words.
        share: Share of normal nodes with the same value, for words and for marks that a node has or lacks.
        surprise: 0 for what is usual to 1 for what no normal node has.
        is_moment: Whether it says when.
    """

    name: str
    value: str
    usual: str
    percentile: float | None
    share: float | None
    surprise: float
    is_moment: bool = False


@dataclass(frozen=True)
class Comparison:
    """The attributes, most unusual first, and the nodes they are compared with, in words."""

    attributes: list[Attribute]
    against: str
    left_out: int


def compare(snapshot: Snapshot, node: int) -> Comparison:
    """The node's attributes against those of normal nodes; of a kind that carries no labels, against its like."""
    graph = snapshot.graph
    reference, against = _reference(snapshot, node)
    others = graph.x[reference]
    own = graph.x[[node]]
    if graph.table_columns:
        found = _by_schema(graph.table_columns, own, others)
    else:
        found = _by_feature(graph.attribute_names, own, others)
    found.sort(key=lambda one: -one.surprise)
    return Comparison(found[:_MOST_SHOWN], against, max(len(found) - _MOST_SHOWN, 0))


def _reference(snapshot: Snapshot, node: int) -> tuple[np.ndarray, str]:
    label, graph, probability = snapshot.label, snapshot.graph, snapshot.scores.probability
    scored = np.isin(np.arange(graph.num_nodes), graph.scored)
    normal = np.flatnonzero((label != UNKNOWN) & (label != graph.rare_class))
    words = "labelled normal nodes"
    if graph.node_type is not None and not scored[node]:
        normal, words = np.flatnonzero(graph.node_type == graph.node_type[node]), "nodes of its kind"
    elif normal.size < _FEWEST_NORMAL:
        likely = scored & (probability <= np.median(probability[scored]))
        normal = np.flatnonzero(likely & (label != graph.rare_class))
        words = "nodes with a low P(rare), for too few normal ones are labelled"
    return some_others(normal), f"{normal.size:,} {words}"


def _by_schema(columns: list[dict[str, Any]], own: Any, others: Any) -> list[Attribute]:
    found = []
    for column, places, gap in feature_places(columns):
        missing = gap is not None and bool(column_of(own, gap)[0])
        if missing and gap is not None and (column_of(others, gap) > 0).all():
            continue  # a column of another kind of node
        if column["type"] == "text":
            found.append(_text(column, own[:, places], others[:, places], missing))
            continue
        if column["type"] == "numeric":  # in float64: days since 1970 in float32 are minutes off
            known = slice(None) if gap is None else column_of(others, gap) <= 0
            value, theirs = float(column_of(own, places.start)[0]), column_of(others, places.start)
            found.append(_numeric(column, value, theirs[known], missing))
        else:
            mine, theirs = as_dense(own[:, places])[0], as_dense(others[:, places])
            found.append(_categorical(column, mine, theirs, missing))
    return found


def _median(others: np.ndarray, *, among: bool) -> float:
    """The median; `among` the values where it must be one of them, as between two days lies noon, which no cell says."""
    return float(np.quantile(others, 0.5, method="lower") if among else np.median(others))


def _numeric(column: Mapping[str, Any], value: float, others: np.ndarray, missing: bool) -> Attribute:
    scale, mean = column["scale"], column["mean"]
    say = say_day if is_moment(column) else teller_of(others * scale + mean)

    def units(x: float) -> str:
        return say(float(unscaled(np.array(x), mean, scale)))

    if (mark := _truth(column, value, others)) is not None and not missing:
        return mark
    usual = units(_median(others, among=is_moment(column))) if others.size else "–"
    if missing or not others.size:
        return Attribute(column["name"], "missing" if missing else units(value), usual, None, None, 0.0)
    rank = float((others < value).mean() + (others == value).mean() / 2)
    return Attribute(column["name"], units(value), usual, rank, None, abs(2 * rank - 1), is_moment(column))


def _truth(column: Mapping[str, Any], value: float, others: np.ndarray) -> Attribute | None:
    """An attribute that is 0 or 1 everywhere, in words; None for one that is not."""
    own, theirs = (np.round(x * column["scale"] + column["mean"], 6) for x in (np.array([value]), others))
    if not theirs.size or not np.isin(np.concatenate([own, theirs]), (0.0, 1.0)).all():
        return None
    names, mine = truth_words(column), bool(own[0] > 0.5)
    share = float(((theirs > 0.5) == mine).mean())
    return Attribute(column["name"], names[mine], names[bool(theirs.mean() > 0.5)], None, share, 1 - share)


def _categorical(column: Mapping[str, Any], own: np.ndarray, others: np.ndarray, missing: bool) -> Attribute:
    names = [*column["categories"], "missing" if missing else "another word"]
    mine = int(own.argmax()) if own.size and own.max() > 0 else len(names) - 1
    theirs = (
        np.where(others.max(axis=1, initial=0) > 0, others.argmax(axis=1), len(names) - 1) if own.size else np.zeros(0)
    )
    counts = np.bincount(theirs.astype(np.int64), minlength=len(names))
    share = float(counts[mine] / max(counts.sum(), 1))
    return Attribute(column["name"], str(names[mine]), str(names[int(counts.argmax())]), None, share, 1 - share)


def _text(column: Mapping[str, Any], own: Any, others: Any, missing: bool) -> Attribute:
    """The words of a text, those first that the fewest normal nodes have; its share is that of the first."""
    share = np.asarray((others > 0).mean(axis=0)).ravel()
    has = np.flatnonzero(as_dense(own)[0])
    has = has[np.argsort(share[has], kind="stable")]
    if missing or not has.size:
        return Attribute(column["name"], "missing" if missing else "no known words", "", None, None, 0.0)
    words = ", ".join(column["words"][k] for k in has[:_MOST_WORDS]) + (", …" if has.size > _MOST_WORDS else "")
    rarest = float(share[has[0]])
    return Attribute(column["name"], words, "", None, rarest, 1 - rarest)


def _by_feature(names: tuple[str, ...], own: Any, others: Any) -> list[Attribute]:
    """Without a schema: marks that the node has if most are zero, else plain numbers."""
    mine = as_dense(own)[0]
    if sp.issparse(others):
        return _marks(names, mine, np.asarray((others > 0).mean(axis=0)).ravel())
    if set(np.unique(others[:500])) <= {0.0, 1.0}:
        return _marks(names, mine, np.asarray((others > 0).mean(axis=0)))
    plain = {"scale": 1.0, "mean": 0.0}
    return [_numeric({"name": name, **plain}, mine[k], others[:, k], False) for k, name in enumerate(names)]


def _marks(names: tuple[str, ...], own: np.ndarray, share: np.ndarray) -> list[Attribute]:
    return [
        Attribute(
            names[k],
            say_number(float(own[k])),
            "has it" if share[k] > 0.5 else "lacks it",
            None,
            float(share[k]),
            1 - float(share[k]),
        )
        for k in np.flatnonzero(own)
    ]
