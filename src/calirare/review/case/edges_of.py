"""The edges of a case as a table: who, which way, when, how much; and its neighbours with what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import UNKNOWN
from calirare.data.edge_rows import pairs_of
from calirare.data.edge_table import MISSING, EdgeColumn, EdgeTable
from calirare.decisions.numbers import say_time, teller_of
from calirare.review.snapshot import Snapshot
from calirare.review.store.book import DecisionBook

MOST = 50


@dataclass(frozen=True)
class EdgeRow:
    """One edge: the node at its other end, the direction in words, and its columns as text."""

    other: int
    direction: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class EdgesOfNode:
    """Some edges of a node.

    Args:
        names: Of the columns.
        numbers: Whether each holds numbers.
        rows: At most `MOST`, the latest first, or the largest where there is no time.
        total: How many there are.
    """

    names: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: tuple[EdgeRow, ...]
    total: int


@dataclass(frozen=True)
class Neighbour:
    """A neighbour: P(rare), what a person said of it ("" if nobody did), how many edges join it, and what to call it.

    One of another kind than those that are looked at has no P(rare).
    """

    node: int
    node_id: str
    probability: float | None
    state: str
    num_edges: int
    called: str = ""


def edges_of(snapshot: Snapshot, node: int) -> EdgesOfNode:
    """The edges of a node, each as it came; where only pairs are known, one row per neighbour."""
    table = _table(snapshot)
    at = _places(table, node, snapshot.graph.num_nodes)
    order = _order(table, at)[:MOST]
    shown = table.take(at[order])
    names = [column.name for column in table.columns]
    numbers = [column.kind == "number" for column in table.columns]
    said = [_said(column, tell) for column, tell in zip(shown.columns, _tellers(table), strict=True)]
    if table.type is not None:
        names.insert(0, "type")
        numbers.insert(0, False)
    rows = []
    for k in range(len(shown)):
        outgoing = int(shown.source[k]) == node
        other = int(shown.target[k] if outgoing else shown.source[k])
        cells = [say(k) for say in said]
        if shown.type is not None:
            cells.insert(0, shown.type_names[int(shown.type[k])])
        way = ("to" if outgoing else "from") if shown.directed else "with"
        rows.append(EdgeRow(other, "itself" if other == node else way, tuple(cells)))
    return EdgesOfNode(tuple(names), tuple(numbers), tuple(rows), at.size)


def likeliest_neighbours(snapshot: Snapshot, book: DecisionBook, node: int) -> tuple[list[Neighbour], int]:
    """(the most probable neighbours, how many there are)."""
    near = snapshot.neighbours(node)
    told = [one not in snapshot.other_kind for one in near.tolist()]
    best = near[np.argsort(-np.where(told, snapshot.scores.probability[near], -1.0), kind="stable")[:MOST]]
    table = _table(snapshot)
    at = _places(table, node, snapshot.graph.num_nodes)
    other = np.where(table.source[at] == node, table.target[at], table.source[at])
    counts = dict(zip(*(part.tolist() for part in np.unique(other, return_counts=True)), strict=True))
    found = [
        Neighbour(
            one,
            snapshot.ids[one],
            None if one in snapshot.other_kind else float(snapshot.scores.probability[one]),
            decision_or_label(snapshot, book, one),
            counts.get(one, 1),
            snapshot.call(one),
        )
        for one in best.tolist()
    ]
    return found, near.size


def decision_or_label(snapshot: Snapshot, book: DecisionBook, node: int) -> str:
    """What a person has said of a node: its decision, else "labelled …", else ""."""
    stands = book.standing(snapshot.ids[node])
    if stands is not None:
        return f"decided {stands.decision}"
    label = int(snapshot.label[node])
    return "" if label == UNKNOWN else f"labelled {snapshot.graph.class_names[label]}"


def _table(snapshot: Snapshot) -> EdgeTable:
    return _pairs(snapshot) if snapshot.graph.edges is None else snapshot.graph.edges


@lru_cache(maxsize=2)
def _pairs(snapshot: Snapshot) -> EdgeTable:
    return pairs_of(snapshot.graph)


def _places(table: EdgeTable, node: int, num_nodes: int) -> np.ndarray:
    """Positions of the node's edges."""
    ends = _by_ends(table, num_nodes)
    return np.unique(np.concatenate([at.indices[at.indptr[node] : at.indptr[node + 1]] for at in ends]))


@lru_cache(maxsize=2)
def _by_ends(table: EdgeTable, num_nodes: int) -> list[sp.csr_array]:
    """(node, position of an edge), by source and by target; in a tenth of the time of sorting."""
    marks, places, shape = np.ones(len(table), dtype=bool), np.arange(len(table)), (num_nodes, len(table))
    return [sp.coo_array((marks, (ends, places)), shape=shape).tocsr() for ends in (table.source, table.target)]


def _order(table: EdgeTable, at: np.ndarray) -> np.ndarray:
    """Latest first; without a time, largest first; else as they came."""
    for kind in ("time", "number"):
        column = next((one for one in table.columns if one.kind == kind), None)
        if column is not None:
            return np.argsort(-np.nan_to_num(column.values[at], nan=-np.inf), kind="stable")
    return np.arange(at.size)


@lru_cache(maxsize=2)
def _tellers(table: EdgeTable) -> list[Callable[[float], str]]:
    """What says the numbers of each column: by all of them, so that every case shows them alike."""
    return [teller_of(one.values) if one.kind == "number" else say_time for one in table.columns]


def _said(column: EdgeColumn, tell: Callable[[float], str]) -> Callable[[int], str]:
    """What says the cells of a column."""
    if column.kind == "category":
        return lambda k: "" if column.values[k] == MISSING else column.categories[int(column.values[k])]
    if column.kind == "text":
        return lambda k: column.words(k) or ""
    return lambda k: "" if np.isnan(column.values[k]) else tell(float(column.values[k]))
