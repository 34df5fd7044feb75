"""What the columns of a graph looked like, in a few numbers each: shares of their values, range, gaps.

A profile is plain data. Numbers are kept in the units of the features (standardised with what the fit learned), so that the
same table gives the same shares to the last digit.

    number      {"count", "cuts", "shares", "least", "greatest", "middle"}: shares of the values between the cuts, which
                are the deciles of the fit. Texts are profiled by how many known words each has
    category    {"count", "names", "shares"}: shares of the names, and last of all others

A column of the edges says besides in which `types` of edges it had values at the fit, and how many `rows` these have: what
is not among the `count` is a gap. Where all edges are of one type, `types` is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import by_column, column_of
from calirare.data.edge_table import MISSING, EdgeColumn, EdgeTable
from calirare.data.feature_places import feature_places

BINS = 10
EDGES_PER_NODE = "(edges per node)"
_MOST = 1_000_000
"""Most values from which cuts and the median are taken; more would change nothing that matters."""


def profile_tables(
    x: Any,
    plan: Mapping[str, Any],
    edges: EdgeTable | None,
    seen: Mapping[str, Any] | None = None,
    described: int | None = None,
) -> dict[str, dict[str, Any]]:
    """A profile of every attribute, of every column of the edges but times, and of the number of edges of a node.

    Args:
        x: Features.
        plan: The schema that made them.
        edges: The edges as they came.
        seen: A profile to take the cuts and names from, so that both can be compared.
        described: How many of the first nodes have attributes; default: all.
    """
    known = seen or {"nodes": {}, "edges": {}}
    nodes = {name: _whole(values, known["nodes"].get(name)) for name, values in _node_values(x[:described], plan)}
    if edges is None:
        return {"nodes": nodes, "edges": {}}
    found = {}
    for name, values in _edge_values(edges.columns):
        like = known["edges"].get(name)
        types = _types_of(edges, name) if like is None else like.get("types", [])
        found[name] = _whole(values, like) | {"types": types, "rows": _rows_of(edges, types)}
    degree = np.bincount(np.concatenate([edges.source, edges.target]), minlength=x.shape[0])
    found[EDGES_PER_NODE] = of_numbers(degree.astype(np.float64), known["edges"].get(EDGES_PER_NODE))
    return {"nodes": nodes, "edges": found}


class TablesTally:
    """`profile_tables` batch by batch, for tables too large to hold at once.

    Args:
        plan: The schema.
        seen: The profile of the fit.
        num_nodes, num_edges: Rows of the tables.
    """

    def __init__(self, plan: Mapping[str, Any], seen: Mapping[str, Any], num_nodes: int, num_edges: int) -> None:
        self._plan, self._seen = plan, seen
        self._rows = {"nodes": num_nodes, "edges": num_edges}
        self._found: dict[str, dict[str, NumberTally | Counted]] = {"nodes": {}, "edges": {}}
        self._of_types = Counter[str]()

    def add_nodes(self, first: int, x: Any) -> None:
        """Features of some nodes, `first` the place of the first one."""
        self._add("nodes", first, _node_values(x, self._plan))

    def add_edges(self, first: int, edges: EdgeTable) -> None:
        """Some edges."""
        self._add("edges", first, _edge_values(edges.columns))
        for column in edges.columns:
            if column.name in self._seen["edges"]:
                self._of_types[column.name] += _rows_of(edges, self._seen["edges"][column.name].get("types", []))

    def add_degrees(self, degree: np.ndarray) -> None:
        """How many edges each node has."""
        tally = NumberTally(self._seen["edges"][EDGES_PER_NODE], degree.size)
        tally.add(degree.astype(np.float64))
        self._found["edges"][EDGES_PER_NODE] = tally

    def _add(self, table: str, first: int, values: Iterator[tuple[str, np.ndarray | Counted]]) -> None:
        found, seen = self._found[table], self._seen[table]
        for name, some in values:
            if name not in seen:
                continue
            before = found.get(name)
            if isinstance(some, Counted):
                found[name] = some if not isinstance(before, Counted) else before.and_then(some)
            else:
                tally = before if isinstance(before, NumberTally) else NumberTally(seen[name], self._rows[table])
                tally.add(some, first)
                found[name] = tally

    def profile(self) -> dict[str, dict[str, Any]]:
        """As `profile_tables` gives it."""
        found = {table: {name: one.profile() for name, one in these.items()} for table, these in self._found.items()}
        for name, rows in self._of_types.items():
            found["edges"][name] |= {"types": self._seen["edges"][name].get("types", []), "rows": rows}
        return found


@dataclass(frozen=True, eq=False)
class Counted:
    """How often each category stands in a column, and how many cells are filled."""

    counts: np.ndarray
    names: Sequence[str]
    filled: int

    def and_then(self, other: Counted) -> Counted:
        return Counted(self.counts + other.counts, self.names, self.filled + other.filled)

    def profile(self) -> dict[str, Any]:
        """What is none of the names counts as other."""
        other = max(self.filled - float(self.counts.sum()), 0.0)
        shares = np.append(self.counts, other) / max(self.filled, 1)
        return {"kind": "category", "count": self.filled, "names": list(self.names), "shares": shares.tolist()}


class NumberTally:
    """The profile of numbers between given cuts, batch after batch; the middle is the median of a million of them.

    Args:
        like: The profile whose cuts and range are taken.
        rows: How many values there will be, missing ones included.
    """

    def __init__(self, like: Mapping[str, Any], rows: int) -> None:
        self._like, self._stride = like, max(1, rows // _MOST)
        self._cuts = np.asarray(like["cuts"], dtype=np.float64)
        self._counts = np.zeros(self._cuts.size + 1, dtype=np.int64)
        self._least, self._greatest, self._outside = np.inf, -np.inf, 0
        self._some: list[np.ndarray] = []

    def add(self, values: np.ndarray, first: int = 0) -> None:
        """Some values, `first` the place of the first one."""
        self._some.append(_known(values[-first % self._stride :: self._stride]))
        known, like = _known(values), self._like
        self._counts += np.bincount(np.searchsorted(self._cuts, known, side="left"), minlength=self._cuts.size + 1)
        self._least = min(self._least, float(known.min(initial=np.inf)))
        self._greatest = max(self._greatest, float(known.max(initial=-np.inf)))
        if "least" in like:
            self._outside += int(((known < like["least"]) | (known > like["greatest"])).sum())

    def profile(self) -> dict[str, Any]:
        count, some = int(self._counts.sum()), np.concatenate([np.empty(0), *self._some])
        return {
            "kind": "number",
            "count": count,
            "cuts": self._cuts.tolist(),
            "shares": (self._counts / max(count, 1)).tolist(),
            "least": self._least if count else 0.0,
            "greatest": self._greatest if count else 0.0,
            "middle": float(np.median(some)) if some.size else 0.0,
            "outside": self._outside,
        }


def _whole(values: np.ndarray | Counted, like: Mapping[str, Any] | None) -> dict[str, Any]:
    return values.profile() if isinstance(values, Counted) else of_numbers(values, like)


def _node_values(x: Any, plan: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray | Counted]]:
    x = by_column(x)
    for column, places, gap in feature_places(plan["columns"]):
        missing = np.zeros(x.shape[0], dtype=bool) if gap is None else column_of(x, gap) > 0
        if column["type"] == "numeric":
            yield column["name"], np.where(missing, np.nan, column_of(x, places.start))
        elif column["type"] == "text":
            yield column["name"], np.where(missing, np.nan, known_words(x[:, places]))
        else:
            counts = np.asarray(x[:, places].sum(axis=0)).ravel()
            yield column["name"], Counted(counts, column["categories"], x.shape[0] - int(missing.sum()))


def known_words(block: Any) -> np.ndarray:
    """`(N,)` how many words each text has that the fit knew."""
    if not sp.issparse(block):
        return np.asarray(np.count_nonzero(block, axis=1), dtype=np.float64)
    return np.bincount(block.indices, minlength=block.shape[0]).astype(np.float64)  # by column


def _edge_values(columns: Sequence[EdgeColumn]) -> Iterator[tuple[str, np.ndarray | Counted]]:
    for column in columns:
        if column.kind == "number":
            yield column.name, column.values
        elif column.kind == "category":
            codes = column.values[column.values >= 0]
            counts = np.bincount(codes, minlength=len(column.categories))
            yield column.name, Counted(counts, column.categories, int(counts.sum()))
        elif column.kind == "text":
            known = np.zeros(column.values.size)
            for word in column.categories:
                known += column.has(word)
            yield column.name, np.where(np.isnan(column.values), np.nan, known)


def _types_of(edges: EdgeTable, name: str) -> list[int]:
    """The types of edges that have values in a column; empty where all edges are of one type."""
    if edges.type is None:
        return []
    values = next(column.values for column in edges.columns if column.name == name)
    known = values != MISSING if values.dtype == np.int32 else ~np.isnan(values)
    return [int(one) for one in np.unique(edges.type[known])]


def _rows_of(edges: EdgeTable, types: Sequence[int]) -> int:
    return len(edges) if edges.type is None or not types else int(np.isin(edges.type, types).sum())


def of_numbers(values: np.ndarray, like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The profile of numbers, with the cuts of another where one is given.

    >>> of_numbers(np.arange(100.0))["shares"]
    [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """
    if like is None:
        known = _known(values)
        some = known[:: max(1, known.size // _MOST)]
        levels = np.arange(1, BINS) / BINS
        like = {"cuts": np.unique(np.quantile(some, levels, method="lower")) if some.size else ()}
    tally = NumberTally(like, values.size)
    tally.add(values)
    return tally.profile()


def _known(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]


def check_profile(seen: Any) -> bool:
    """Whether this is what `profile_tables` gives."""
    good = isinstance(seen, Mapping)
    for table in ("nodes", "edges"):
        for one in seen[table].values():
            cells = len(one["cuts"]) + 1 if one["kind"] == "number" else len(one["names"]) + 1
            good &= len(one["shares"]) == cells and all(0 <= float(share) <= 1 + 1e-9 for share in one["shares"])
            good &= int(one["count"]) >= 0 and int(one.get("rows", 0)) >= 0
            good &= all(int(code) >= 0 for code in one.get("types", ()))
            if one["kind"] == "number":
                numbers = [*one["cuts"], one["least"], one["greatest"], one["middle"]]
                good &= bool(np.isfinite(np.asarray(numbers, dtype=np.float64)).all())
    return bool(good)
