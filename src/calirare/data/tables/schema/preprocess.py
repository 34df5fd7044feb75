"""Apply a schema to a node table: the same numbers at fit and at scoring."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.tables.cells.columns import count_rare, count_strange, to_codes, to_numbers, to_texts
from calirare.data.tables.cells.prose import find_words
from calirare.data.tables.gathering.outside import kinds_with_tables
from calirare.data.tables.gathering.rows import NodeRows
from calirare.data.tables.libraries import pl
from calirare.data.tables.schema.node_columns import refuse_proportion
from calirare.data.tables.sources.frames import check_fitted_columns

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EmptyCells:
    """How many cells are empty: gaps that are filled in, and what a kind of node does not have, as a shop has no age.

    Args:
        rows: How many rows there are of each kind of node.
        columns: Per column, how many of them have no value there.
    """

    rows: Counter[str] = field(default_factory=Counter)
    columns: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: EmptyCells) -> None:
        """Count the empty cells of more rows."""
        self.rows.update(other.rows)
        for name, empty in other.columns.items():
            self.columns.setdefault(name, Counter()).update(empty)

    def counts(self) -> dict[str, dict[str, int]]:
        """`imputed`: gaps per column; `lacking`: empty cells of kinds that never have a value there, where others do.

        >>> found = EmptyCells(Counter(person=3, shop=2), {"age": Counter(person=1, shop=2), "height": Counter(shop=2)})
        >>> found.counts()
        {'imputed': {'age': 1}, 'lacking': {'age': 2, 'height': 2}}
        """
        imputed, lacking = {}, {}
        for name, empty in self.columns.items():
            lack = sum(count for kind, count in empty.items() if count == self.rows[kind])
            lack = 0 if lack == self.rows.total() else lack  # nobody has a value, which is no matter of kinds
            imputed[name], lacking[name] = empty.total() - lack, lack
        return {"imputed": _some(imputed), "lacking": _some(lacking)}


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _lacking(rows: NodeRows, at_fit: Mapping[str, Any]) -> list[str]:
    """Kinds of node that had a table of their own at the fit, and have none here.

    >>> import polars as pl
    >>> _lacking(NodeRows(pl.DataFrame({"id": [1]}), "id"), {"types": ["claims", "garages"], "labelled": ["claims"]})
    ['garages']
    """
    there = rows.type_names or at_fit.get("labelled", ())  # a single table may have any name
    return [kind for kind in kinds_with_tables(at_fit) if kind not in there]


def apply_columns(
    rows: NodeRows, schema: Mapping[str, Any]
) -> tuple[np.ndarray | sp.csr_array, dict[str, dict[str, int]], EmptyCells]:
    """Features of every row, per column how many values are unreadable, infinite, rare or never seen, and what is missing.

    Numbers: (value - mean) / scale, the median where one is missing. Categories: one column each, all 0 for a category
    that the schema does not know. Texts: one column for each word, behind all others. An indicator column says where a
    value was missing.
    """
    frame, columns = rows.frame, [column for column in schema["columns"] if column["type"] != "ignore"]
    check_fitted_columns(
        frame, [column["name"] for column in columns], "nodes", _lacking(rows, schema.get("nodes", {}))
    )
    counts: dict[str, dict[str, int]] = {"unseen": {}, "rare": {}, "unreadable": {}, "infinite": {}}
    empty = EmptyCells(rows.kinds_of(np.ones(frame.height, dtype=bool)))
    blocks, words = list[Any](), list[Any]()
    for column in columns:
        block, missing = _READ[column["type"]](frame[column["name"]], column, counts)
        (words if column["type"] == "text" else blocks).append(block)
        empty.columns[column["name"]] = rows.kinds_of(missing)
        if column["indicator"]:
            blocks.append(missing.astype(np.float32)[:, None])
    blocks += words
    if not blocks:
        return np.zeros((frame.height, 0), dtype=np.float32), counts, empty
    if schema["sparse"]:
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr")), counts, empty
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks]), counts, empty


def warn_of_values(nodes: Mapping[str, Mapping[str, int]], edges: Mapping[str, Mapping[str, int]]) -> None:
    """Log how many values of each column are infinite, and how many of categories that the fit did not know."""
    for whose, counts in (("", nodes), (" of edges", edges)):
        for name, number in counts["infinite"].items():
            logger.warning("column %r%s: infinite values count as missing, %d of them.", name, whose, number)
        for name, number in counts["unseen"].items():
            logger.warning(
                "column %r%s: %d values of categories never seen at fit; they count as none of them.",
                name, whose, number,
            )  # fmt: skip


def _numeric(
    series: pl.Series, column: Mapping[str, Any], counts: dict[str, dict[str, int]]
) -> tuple[np.ndarray, np.ndarray]:
    values = to_numbers(series, column.get("text"), counts["infinite"])
    strange = count_strange(series, column.get("text"))
    if strange:
        counts["unreadable"][series.name] = strange
    missing = np.isnan(values)
    values[missing] = column["median"]
    with np.errstate(over="ignore"):
        scaled = ((values - column["mean"]) / column["scale"]).astype(np.float32)
    if not np.isfinite(scaled).all():
        refuse_proportion(series.name, values, ~np.isfinite(scaled))
    return scaled[:, None], missing


def _categorical(
    series: pl.Series, column: Mapping[str, Any], counts: dict[str, dict[str, int]]
) -> tuple[sp.csr_array, np.ndarray]:
    categories = column["categories"]
    text, place = to_codes(series, categories)
    known = place.is_not_null().to_numpy()
    missing = text.is_null().to_numpy()
    for word, number in count_rare(text.filter(place.is_null() & text.is_not_null()), column.get("rare")).items():
        counts[word][series.name] = number
    rows = np.flatnonzero(known)
    ones = np.ones(rows.size, dtype=np.float32)
    shape = (series.len(), len(categories))
    return sp.csr_array((ones, (rows, place.drop_nulls().to_numpy())), shape=shape), missing


def _text(
    series: pl.Series, column: Mapping[str, Any], _: dict[str, dict[str, int]]
) -> tuple[sp.csr_array, np.ndarray]:
    text = to_texts(series)
    return find_words(text, column["words"], column.get("form", "")), text.is_null().to_numpy()


_READ: dict[str, Callable[..., tuple[Any, np.ndarray]]] = {
    "numeric": _numeric,
    "categorical": _categorical,
    "text": _text,
}
