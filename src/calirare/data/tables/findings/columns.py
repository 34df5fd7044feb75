"""The attributes of a graph as the columns of the user's table again, for the audit.

Of several kinds of node those that carry labels are looked at: what devices lack says nothing of their users.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import by_column, column_of
from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.data.tables.gathering.same import shared_values
from calirare.data.units import unscaled


@dataclass(frozen=True, eq=False)
class AuditColumn:
    """One column of the nodes.

    Args:
        name: As in the table.
        values: `(n,)` numbers of the nodes that are scored, NaN where missing; None for words.
        missing: `(n,)` where no value is given; None where all are.
        usual: `(n,)` where the commonest value stands; None where every value is met once.
        usual_value: That value, in words.
        usual_share: Share of the nodes that have it.
        time: Whether it says when.
        word: The word of a text that it stands for; its name, if it is one of many sparse attributes that came without a table.
    """

    name: str
    values: np.ndarray | None
    missing: np.ndarray | None
    usual: np.ndarray | None
    usual_value: str
    usual_share: float
    word: str | None = None
    time: bool = False


def audit_columns(graph: RareGraph) -> Iterator[AuditColumn]:
    """Every attribute, in the units of its table where the graph has a schema; of a text the most telling word."""
    x = by_column(graph.x if graph.node_type is None else graph.x[graph.scored])
    if not graph.table_columns:
        for k, name in enumerate(graph.attribute_names):
            one = _of_numbers(name, column_of(x, k), None)
            yield replace(one, word=name if sp.issparse(x) else None)
        return
    for column, places, gap in feature_places(graph.table_columns):
        missing = None if gap is None else column_of(x, gap) > 0
        if column["type"] == "numeric":
            values = unscaled(column_of(x, places.start), column["mean"], column["scale"])
            yield replace(_of_numbers(column["name"], values, missing), time=bool(column.get("days")))
        elif column["type"] == "text":
            most = _most_telling(x[:, places], *labelled_rows(graph))
            has = (column_of(x, places.start + most) > 0).astype(np.float64)
            yield replace(_of_numbers(column["name"], has, missing), word=column["words"][most])
        elif column["categories"]:
            yield _of_words(column["name"], x, places.start, column["categories"], missing)


def joining_columns(graph: RareGraph) -> Iterator[AuditColumn]:
    """Columns that are no attributes, but join the nodes that have the same: of these only who has a value."""
    read = {column["name"] for column in graph.table_columns if column["type"] != "ignore"}
    for name, value_of in shared_values(graph):
        if name not in read:
            yield AuditColumn(name, None, value_of[graph.scored] < 0, None, "", 0.0)


def labelled_rows(graph: RareGraph) -> tuple[np.ndarray, np.ndarray]:
    """Where the labelled nodes stand among those that are scored, and which of them are rare."""
    known = graph.known
    return np.searchsorted(graph.scored, known), graph.y[known] == graph.rare_class


def _most_telling(words: Any, known: np.ndarray, rare: np.ndarray) -> int:
    """Which word the rare labelled nodes and the others have most unequally often."""
    has = words[known] > 0
    shares = (np.asarray(has[some].sum(axis=0)).ravel() / max(1, some.sum()) for some in (rare, ~rare))
    return int(np.abs(next(shares) - next(shares)).argmax())


def _of_numbers(name: str, values: np.ndarray, missing: np.ndarray | None) -> AuditColumn:
    if missing is not None:
        values = np.where(missing, np.nan, values)
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    if not counts.size or (counts.max() < 2 and known.size > 1):
        return AuditColumn(name, values, missing, None, "", 0.0)
    mode = distinct[counts.argmax()]
    # Features were shifted and scaled: what is left of that in place of a zero is no value of the table.
    shown = 0.0 if abs(mode) < 1e-6 * np.abs(known).max() else mode
    return AuditColumn(name, values, missing, values == mode, f"{shown:.6g}", float(counts.max() / values.size))


def _of_words(name: str, x: Any, place: int, categories: list[str], missing: np.ndarray | None) -> AuditColumn:
    block = x[:, place : place + len(categories)]
    counts = np.asarray(block.sum(axis=0)).ravel()
    most = int(counts.argmax())
    usual = column_of(x, place + most) > 0
    return AuditColumn(name, None, missing, usual, repr(categories[most]), float(counts[most] / x.shape[0]))
