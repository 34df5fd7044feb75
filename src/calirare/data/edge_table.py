"""The edges as they came: directed, typed, repeated, each with its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from calirare.data.arrays import all_below, as_array, as_indices
from calirare.data.feature_places import EQUALS
from calirare.data.sparse.products import small_index
from calirare.errors import InputError

ColumnKind = Literal["number", "time", "category", "text"]
EARLIEST_CLOCK = 1e8
"""Times before March 1973, in seconds, are taken for steps (1, 2, 3, … of a simulation), not for a clock."""
MISSING = -1
"""The code of a category that is missing."""
MOST_EDGE_WORDS = 40
"""Most words of a column of texts; a float64 has bits for 52."""
MOST_CATEGORIES = 20
"""Categories of a column that get a share of their own; the most frequent ones."""
MOST_KINDS = 8
"""Most types of edges, and categories, that are looked at separately."""

EITHER = " | "
"""Stands between the names of kinds of edges that are looked at together."""


@dataclass(frozen=True, eq=False)
class EdgeColumn:
    """One column of the edges.

    Args:
        name: As in the user's table.
        kind: `"number"`, `"time"` (seconds since 1970, UTC), `"category"` or `"text"`.
        values: `(E,)` float64 with NaN where missing; of a category int32 codes, `MISSING` (-1) where missing; of a text
            the sum of 2ᵏ over the words k that it has.
        categories: Names of the codes, for a category; for a text, the words.

    >>> EdgeColumn("reference", "text", np.array([3.0, np.nan, 2.0]), ("crypto", "rent")).has("crypto").tolist()
    [True, False, False]
    """

    name: str
    kind: ColumnKind
    values: np.ndarray
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "category":
            codes = as_indices(self.values, self.name).astype(np.int32)
            if codes.size and not (MISSING <= codes.min() and codes.max() < len(self.categories)):
                raise InputError(
                    f"edge column {self.name!r} must hold codes -1…{len(self.categories) - 1}, one per category."
                )
            object.__setattr__(self, "values", codes)
        elif self.kind in ("number", "time", "text"):
            values = np.asarray(as_array(self.values, self.name), dtype=np.float64)
            if np.isinf(values).any():
                raise InputError(f"edge column {self.name!r} must be finite or missing; it holds infinite values.")
            object.__setattr__(self, "values", values)
            if self.kind == "text":
                self._check_words()
        else:
            raise InputError(f"kind must be 'number', 'time', 'category' or 'text'; got {self.kind!r}.")

    def _check_words(self) -> None:
        known, words = self.values[~np.isnan(self.values)], len(self.categories)
        if words > MOST_EDGE_WORDS or (known < 0).any() or (known >= 2.0**words).any() or (known % 1 != 0).any():
            raise InputError(
                f"edge column {self.name!r} must say by one bit each which of at most {MOST_EDGE_WORDS} words it has."
            )

    def has(self, word: str) -> np.ndarray:
        """`(E,)` which texts have a word; none has one that is not known."""
        if word not in self.categories:
            return np.zeros(self.values.size, dtype=bool)
        bits = np.nan_to_num(self.values).astype(np.int64)
        return np.asarray(bits >> self.categories.index(word) & 1, dtype=bool)

    def by_category(self, told: Mapping[str, float], other: float, missing: float) -> np.ndarray:
        """`(E,)` what is told of each edge's category: `other` where nothing is, `missing` where it has none.

        >>> EdgeColumn("channel", "category", np.array([1, -1, 0]), ("card", "wire")).by_category({"wire": 5}, 0, -1).tolist()
        [5, -1, 0]
        """
        return np.array([*(told.get(name, other) for name in self.categories), missing])[self.values]

    def words(self, edge: int) -> str | None:
        """The known words of one text; None where it is missing."""
        if np.isnan(self.values[edge]):
            return None
        bits = int(self.values[edge])
        return " ".join(word for k, word in enumerate(self.categories) if bits >> k & 1)


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Every row of the edge table, nothing merged.

    Args:
        source: `(E,)` node index of one end; the payer, the rater, the caller.
        target: `(E,)` node index of the other end.
        columns: What each edge says.
        directed: Whether source and target differ in meaning.
        type: `(E,)` int codes into `type_names`, or None where all edges are of one type.
        type_names: Names of the edge types.
        cells: `(E,)` by column: numbers that stand for whole cells, NaN where missing, of columns with very many values of
            which it is asked whether others have the same (`calirare.data.cell_users`).

    >>> table = EdgeTable(np.array([0, 0]), np.array([1, 1]), (EdgeColumn("value", "number", np.array([5.0, -1.0])),))
    >>> len(table), [column.name for column in table.columns]
    (2, ['value'])
    """

    source: np.ndarray
    target: np.ndarray
    columns: tuple[EdgeColumn, ...] = ()
    directed: bool = True
    type: np.ndarray | None = None
    type_names: tuple[str, ...] = field(default_factory=tuple)
    cells: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "source", as_indices(self.source, "source"))
        put(self, "target", as_indices(self.target, "target"))
        put(self, "columns", tuple(self.columns))
        put(self, "type_names", tuple(str(name) for name in self.type_names))
        size = self.source.shape
        if len(size) != 1 or self.target.shape != size:
            raise InputError(f"source and target must hold one node per edge; got {size} and {self.target.shape}.")
        for column in self.columns:
            if column.values.shape != size:
                raise InputError(
                    f"edge column {column.name!r} must hold one value per edge, shape {size}; got {column.values.shape}."
                )
        put(self, "cells", {name: np.asarray(values, dtype=np.float64) for name, values in self.cells.items()})
        for name, values in self.cells.items():
            if values.shape != size:
                raise InputError(f"cells of {name!r} must hold one value per edge, shape {size}; got {values.shape}.")
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise InputError(f"edge columns must have different names; got {names}.")
        if self.type is not None:
            codes = as_indices(self.type, "type")
            if codes.shape != size or not all_below(codes, len(self.type_names)):
                raise InputError(f"type must hold one of 0…{len(self.type_names) - 1} per edge.")
            put(self, "type", codes)

    def __len__(self) -> int:
        return len(self.source)

    def check_nodes(self, num_nodes: int) -> None:
        """Refuse ends that are no node of the graph."""
        for name, ends in (("source", self.source), ("target", self.target)):
            if not all_below(ends, num_nodes):
                raise InputError(
                    f"edges.{name} must name nodes 0…{num_nodes - 1}; got {int(ends.min())}…{int(ends.max())}."
                )

    def column(self, name: str, kind: ColumnKind) -> EdgeColumn | None:
        """The column of this name, if it is there and of this kind."""
        return next((one for one in self.columns if (one.name, one.kind) == (name, kind)), None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the most frequent types of edges and categories of columns; those that most edges have first."""
        codes = [] if self.type is None else [("", self.type, self.type_names)]
        codes += [(one.name + EQUALS, one.values, one.categories) for one in self.columns if one.kind == "category"]
        counts: dict[str, int] = {}
        for of, values, names in codes:
            found = most_frequent(values, names, MOST_KINDS)
            if len(found) > 1:
                counts |= {of + name: count for name, count in found.items()}
        return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:MOST_KINDS])

    def of_type(self, name: str) -> np.ndarray:
        """`(E,)` which edges are of a type."""
        codes = [code for code, one in enumerate(self.type_names) if one == name]
        return np.zeros(len(self), dtype=bool) if self.type is None else np.isin(self.type, codes)

    def of_kind(self, name: str) -> np.ndarray:
        """`(E,)` which edges are of a type, or have a category: one of `kinds`, or several with `EITHER` between them.

        >>> columns = (EdgeColumn("channel", "category", np.array([0, 1, 2]), ("card", "wire", "cash")),)
        >>> table = EdgeTable(np.array([0, 0, 1]), np.array([1, 2, 2]), columns)
        >>> table.of_kind("channel = card").tolist(), table.of_kind("channel = card | channel = cash").tolist()
        ([True, False, False], [True, False, True])
        """
        found = np.zeros(len(self), dtype=bool)
        if EITHER in name:
            return np.logical_or.reduce([self.of_kind(one) for one in name.split(EITHER)], out=found)
        found |= self.of_type(name)
        for column in self.columns:
            codes = [code for code, one in enumerate(column.categories) if column.name + EQUALS + one == name]
            found |= np.isin(column.values, codes) if codes and column.kind == "category" else False
        return found

    def in_order_of(self, name: str) -> np.ndarray:
        """Rows in the order of a column, without those where it is missing; found once, for sorting takes long.

        >>> column = EdgeColumn("time", "time", np.array([5.0, np.nan, 3.0]))
        >>> EdgeTable(np.array([0, 0, 1]), np.array([1, 2, 2]), (column,)).in_order_of("time").tolist()
        [2, 0]
        """
        if name not in self._orders:
            values = next(column.values for column in self.columns if column.name == name)
            # The stable kind is quick where runs of edges are in order already.
            rows = np.argsort(values, kind="stable")[: len(values) - int(np.isnan(values).sum())]
            self._orders[name] = rows.astype(small_index(len(values)))
        return self._orders[name]

    @cached_property
    def _orders(self) -> dict[str, np.ndarray]:
        return {}

    def take(self, rows: Any) -> EdgeTable:
        """Some edges, by mask or position."""
        return replace(
            self,
            source=self.source[rows],
            target=self.target[rows],
            columns=tuple(replace(column, values=column.values[rows]) for column in self.columns),
            type=None if self.type is None else self.type[rows],
            cells={name: values[rows] for name, values in self.cells.items()},
        )

    def joined(self, other: EdgeTable) -> EdgeTable:
        """These edges, then those of another table with the same columns.

        >>> one = EdgeTable(np.array([0]), np.array([1]), (EdgeColumn("value", "number", np.array([5.0])),))
        >>> one.joined(one).columns[0].values.tolist()
        [5.0, 5.0]
        """
        said = [(column.name, column.kind, column.categories) for column in self.columns]
        if said != [(column.name, column.kind, column.categories) for column in other.columns]:
            raise InputError(f"edges must have the columns {[name for name, _, _ in said]}, to be joined to these.")
        if set(self.cells) != set(other.cells):
            raise InputError(f"edges must have the cells of {list(self.cells)}, to be joined to these.")
        if (self.type is None) != (other.type is None):
            raise InputError("edges must say their type, or not, as those that they are joined to.")
        codes, names = None, self.type_names
        if self.type is not None and other.type is not None:
            names = tuple(dict.fromkeys([*self.type_names, *other.type_names]))
            place = np.array([names.index(name) for name in other.type_names], dtype=np.int64)
            codes = np.concatenate([self.type, place[other.type]])
        columns = tuple(
            replace(mine, values=np.concatenate([mine.values, theirs.values]))
            for mine, theirs in zip(self.columns, other.columns, strict=True)
        )
        ends = (np.concatenate([self.source, other.source]), np.concatenate([self.target, other.target]))
        cells = {name: np.concatenate([values, other.cells[name]]) for name, values in self.cells.items()}
        return EdgeTable(*ends, columns, self.directed, codes, names, cells)


def most_frequent(codes: np.ndarray, names: tuple[str, ...], most: int) -> dict[str, int]:
    """How often each name occurs, the most frequent first, without those that do not occur.

    Ties go by name, so that the order of codes does not matter.

    >>> most_frequent(np.array([2, 0, 2, 1, -1]), ("wire", "card", "cash", "app"), 2)
    {'cash': 2, 'card': 1}
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], names[code]))
    return {names[code]: int(counts[code]) for code in order[:most]}
