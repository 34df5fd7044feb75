"""Attributes as the numbers that the table of nodes says: what edges are told beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from calirare.data.arrays import column_of
from calirare.data.feature_places import feature_places
from calirare.data.graph import RareGraph
from calirare.data.tables.schema.node_columns import is_moment

End = Literal["own", "the other end's"]
"""Of the two ends of an edge, whose number it is told beside."""
_MOST_QUANTITIES = 16


@dataclass(frozen=True)
class NodeNumber:
    """An attribute that is a number or a date.

    Args:
        name: As in the node table.
        at: Its place among the attributes.
        gap: The place of the attribute that says where it is missing; -1 without one.
        mean: The number for which it stands at 0; of a date, in days since 1970.
        scale: The number for which it stands at 1 more.
    """

    name: str
    at: int
    gap: int
    mean: float
    scale: float

    def values(self, x: Any) -> np.ndarray:
        """`(N,)` as in the node table, dates as days since 1970; NaN where it is missing."""
        values = column_of(x, self.at) * self.scale + self.mean
        return values if self.gap < 0 else np.where(column_of(x, self.gap) > 0.5, np.nan, values)


def find_numbers(graph: RareGraph, wanted: Callable[[Mapping[str, Any]], bool]) -> Iterator[NodeNumber]:
    """Those among the attributes whose column of the schema is wanted."""
    names = graph.attribute_names
    for column, place, gap in feature_places(graph.table_columns):
        if column["type"] == "numeric" and column["name"] in names[place] and wanted(column):
            yield NodeNumber(column["name"], place.start, -1 if gap is None else gap, column["mean"], column["scale"])


def find_quantities(
    graph: RareGraph, wanted: Callable[[Mapping[str, Any]], bool] = lambda _: True
) -> tuple[NodeNumber, ...]:
    """The first few that are no dates, of wanted columns."""
    found = find_numbers(graph, lambda column: not is_moment(column) and wanted(column))
    return tuple(islice(found, _MOST_QUANTITIES))


def as_told(number: float, digits: int) -> float:
    """In so many digits: what counts as near or high is what is said."""
    return float(f"{number:.{digits}g}")
