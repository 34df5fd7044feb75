"""The nodes' records as the user knows them: every column of the node table, in its own words and units.

With the user's table at hand (`calirare review --nodes`) these are its cells, those of columns that the model ignores too.
Without it they are read back from the features, as far as the schema allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.arrays import as_dense, column_of
from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.data.tables.cells.text import read_styled, understand
from calirare.data.tables.libraries import pl
from calirare.data.tables.schema.node_columns import is_moment, truth_words
from calirare.data.units import unscaled
from calirare.decisions.numbers import say_day, say_money, teller_of
from calirare.errors import InputError, nearest
from calirare.review.snapshot import Snapshot

_PLAIN = re.compile(r"[+-]?\d*\.?\d+")
"""A number without a currency, a unit, or signs that group its digits."""


@dataclass(frozen=True)
class RecordCell:
    """One value of a record: column, value as text, and why the model does not read it, or "" where it does."""

    name: str
    value: str
    unused: str


class RecordColumn:
    """A column over all nodes.

    Args:
        name: As in the table.
        is_number: Whether it holds numbers; else words.
        make: Gives `(N,)` float64 with NaN where missing, or objects with None where missing.
        unused: Why the model does not read it, or "".
        texts: Gives `(N,)` the cells as they are written, where that is known.
    """

    def __init__(
        self,
        name: str,
        is_number: bool,
        make: Callable[[], np.ndarray],
        unused: str = "",
        texts: Callable[[], np.ndarray] | None = None,
    ) -> None:
        self.name, self.is_number, self._make, self.unused = name, is_number, make, unused
        self._make_texts = texts

    @cached_property
    def values(self) -> np.ndarray:
        return self._make()

    @cached_property
    def _tell(self) -> Callable[[float], str]:
        return teller_of(self.values)

    @cached_property
    def _texts(self) -> np.ndarray | None:
        return None if self._make_texts is None else self._make_texts()

    @cached_property
    def known(self) -> np.ndarray:
        """`(N,)` bool: where there is a value."""
        if self._texts is None and self.is_number:
            return np.isfinite(self.values)
        cells = self.values if self._texts is None else self._texts
        return np.array([one is not None for one in cells.tolist()], dtype=bool)

    def say(self, node: int) -> str:
        """The value as text: plain amounts as amounts, all else as written, without digits beyond reason; "" where missing."""
        text = None if self._texts is None else self._texts[node]
        plain = text is None or _PLAIN.fullmatch(text) is not None
        if self.is_number and plain and self._tell is say_money and np.isfinite(self.values[node]):
            return say_money(float(self.values[node]))
        if self._texts is not None:
            return "" if text is None else shorten(text)
        value = self.values[node]
        if self.is_number:
            return "" if np.isnan(value) else self._tell(float(value))
        return "" if value is None else str(value)


def shorten(text: str) -> str:
    """A cell as written; of a number with more than six decimals, six significant digits.

    >>> shorten("2.1498006382258095"), shorten("0.25"), shorten("007"), shorten("2026-01-05 10:00:00.123456789")
    ('2.1498', '0.25', '007', '2026-01-05 10:00:00.123456789')
    """
    if re.fullmatch(r"[+-]?\d+\.\d{7,}", text):
        return f"{float(text):.6g}"
    return text


class Records:
    """All columns by name.

    Args:
        columns: In the order of the table.
        from_table: Whether they are the table's own cells.
        graph: The nodes.
        read: What the model read, for the kinds of node that are not in the table.
    """

    def __init__(
        self, columns: list[RecordColumn], from_table: bool, graph: RareGraph, read: Records | None = None
    ) -> None:
        self.columns = {column.name: column for column in columns}
        self.from_table = from_table
        self._scored, self._kind, self._read = graph.scored, graph.node_type, read
        self._kinds: dict[str, np.ndarray] = {}

    @classmethod
    def of(cls, snapshot: Snapshot, table: Any = None) -> Records:
        """From the user's table of nodes, or from the features."""
        read = cls(_from_features(snapshot), False, snapshot.graph)
        return read if table is None else cls(_from_table(snapshot, table), True, snapshot.graph, read)

    def record(self, node: int) -> list[RecordCell]:
        """The whole record of a node, of several kinds the columns that its own kind has."""
        own = [column for column in self.columns.values() if self._kind is None or self._kind[node] in self._of(column)]
        if not own and self._read is not None:
            return self._read.record(node)
        return [RecordCell(column.name, column.say(node), column.unused) for column in own]

    def _of(self, column: RecordColumn) -> np.ndarray:
        """The kinds of node that have a value in a column."""
        if column.name not in self._kinds:
            self._kinds[column.name] = np.unique(self._kind[column.known])  # type: ignore[index]
        return self._kinds[column.name]

    def find(self, name: str, argument: str) -> RecordColumn:
        """A column by name."""
        if name not in self.columns:
            raise InputError(
                f"{argument} must be a number or a column of the nodes; got {name!r}.{nearest(name, self.columns)}"
            )
        return self.columns[name]

    def price(self, name: str, argument: str) -> np.ndarray:
        """A column of numbers as a price per node: gaps count with the median, as in `triage`, negative ones as nothing."""
        column = self.find(name, argument)
        if not column.is_number:
            raise InputError(f"{argument} must be a number or a column of numbers; {name!r} holds words.")
        known = np.isfinite(column.values)
        if not known[self._scored].any():
            raise InputError(f"{argument}: column {name!r} is empty at every node that is scored.")
        return np.maximum(np.where(known, column.values, np.median(column.values[known])), 0.0)


def _from_features(snapshot: Snapshot) -> list[RecordColumn]:
    x, known = snapshot.graph.x, snapshot.graph.table_columns
    if not known:
        names = enumerate(snapshot.graph.attribute_names)
        return [RecordColumn(name, True, partial(column_of, x, k)) for k, name in names]
    found = []
    for column, places, gap in feature_places(known):
        if column["type"] == "numeric":
            numbers, words = _numbers_back(x, column, places.start, gap), truth_words(column)
            if is_moment(column):
                found.append(RecordColumn(column["name"], False, _in_words(numbers, say_day)))
            elif words != ("0", "1"):
                found.append(RecordColumn(column["name"], False, _in_words(numbers, _yes_or_no(*words))))
            else:
                found.append(RecordColumn(column["name"], True, numbers))
        elif column["type"] == "text":
            found.append(RecordColumn(column["name"], False, _texts_back(x, column, places, gap)))
        else:
            found.append(RecordColumn(column["name"], False, _words_back(x, column, places, gap)))
    return found


def _numbers_back(x: Any, column: Mapping[str, Any], place: int, gap: int | None) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        values = unscaled(column_of(x, place), column["mean"], column["scale"])
        if gap is not None:
            values[column_of(x, gap) > 0] = np.nan
        return values

    return make


def _in_words(numbers: Callable[[], np.ndarray], say: Callable[[float], str]) -> Callable[[], np.ndarray]:
    """Each number in words, None where missing."""
    return lambda: np.array([None if np.isnan(one) else say(one) for one in numbers().tolist()], dtype=object)


def _yes_or_no(no: str, yes: str) -> Callable[[float], str]:
    return lambda one: yes if one > 0.5 else no


def _words_back(x: Any, column: Mapping[str, Any], places: slice, gap: int | None) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        names = np.array([*column["categories"], "another", None], dtype=object)
        block = as_dense(x[:, places])
        code = np.where(block.max(axis=1, initial=0) > 0, block.argmax(axis=1), len(names) - 2) if block.size else 0
        if gap is not None:
            code = np.where(column_of(x, gap) > 0, len(names) - 1, code)
        return np.asarray(names[code])

    return make


def _texts_back(x: Any, column: Mapping[str, Any], places: slice, gap: int | None) -> Callable[[], np.ndarray]:
    """The known words of each text, None where it is missing."""

    def make() -> np.ndarray:
        words, block = np.array(column["words"], dtype=object), sp.csr_array(x[:, places])
        missing = np.zeros(block.shape[0], dtype=bool) if gap is None else column_of(x, gap) > 0
        found = np.empty(block.shape[0], dtype=object)
        for row, (start, stop) in enumerate(pairwise(block.indptr)):
            found[row] = None if missing[row] else ", ".join(words[block.indices[start:stop]])
        return found

    return make


def _from_table(snapshot: Snapshot, table: Any) -> list[RecordColumn]:
    from calirare.data.tables.gathering.ids import text_ids
    from calirare.data.tables.sources.frames import pick_column, to_frame

    graph = snapshot.graph
    frame, known = to_frame(table, "nodes"), graph.table_columns
    id_column = pick_column(frame.columns, str((graph.schema or {}).get("id") or frame.columns[0]), "id", "nodes")
    place = {name: row for row, name in enumerate(text_ids(frame[id_column]))}
    rows = np.array([place.get(str(name), -1) for name in snapshot.ids])
    lost = rows[graph.scored] < 0  # other kinds of node have tables of their own
    if lost.mean() > 0.5:
        raise InputError(
            f"--nodes must be the table that the model was fitted on; {lost.sum():,} of the nodes that it scores are not in it."
        )
    learned = {column["name"]: column for column in known}
    unused = {column["name"]: str(column.get("reason", "")) for column in known if column["type"] == "ignore"}
    label, nodes = graph.schema_of("label").get("column"), graph.schema_of("nodes")
    read = learned.keys() | {nodes.get("type"), nodes.get("time")}
    found = []
    for name in frame.columns:
        if name in (id_column, label):
            continue
        why = unused.get(name, "" if name in read else "not an attribute")
        numbers = _numbers_of(frame[name], learned.get(name, {}))
        texts = None if frame[name].dtype.is_numeric() else _cells(frame[name], rows, False)
        values = _cells(frame[name] if numbers is None else numbers, rows, numbers is not None)
        found.append(RecordColumn(name, numbers is not None, values, why, texts))
    return found


def _numbers_of(series: Any, learned: Mapping[str, Any]) -> Any:
    """The numbers of a column as the model reads them, those that it does not read by what all of them mean; None: words."""
    if series.dtype.is_numeric():
        return series
    if series.dtype != pl.String:
        return None
    if learned.get("type") == "numeric":
        is_number, style = True, learned.get("text", {})
    else:
        meant = understand(series)
        is_number, style = meant.kind == "number", meant.style
    return read_styled(series, style)[0] if is_number and not style.keys() & {"date", "truth"} else None


def _cells(series: Any, rows: np.ndarray, is_number: bool) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        if is_number:
            whole = series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
            return np.where(rows >= 0, whole[np.maximum(rows, 0)], np.nan)
        words = np.array([*(None if one is None else str(one) for one in series.to_list()), None], dtype=object)
        return words[rows]

    return make
