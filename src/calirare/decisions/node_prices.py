"""The prices of a graph's nodes: numbers, columns of its table, or one per node."""

from __future__ import annotations

import logging

import numpy as np

from calirare.data.graph import RareGraph
from calirare.decisions.costs import Costs, Price
from calirare.errors import InputError

logger = logging.getLogger(__name__)


def costs_of(
    graph: RareGraph,
    cost_miss: Price | str = Costs.miss,
    cost_alarm: Price | str = Costs.alarm,
    cost_review: Price | str = Costs.review,
    *,
    review_error: float = Costs.review_error,
) -> Costs:
    """The prices of every node of a graph, each a number, the name of a column, or one per node.

    Raises:
        InputError: A column is empty at every node that is scored; where it has gaps, a warning says how they are priced.
    """
    given = {"miss": cost_miss, "alarm": cost_alarm, "review": cost_review}
    prices = {name: _column(graph, one, name) if isinstance(one, str) else one for name, one in given.items()}
    costs = Costs(**prices, review_error=review_error)
    costs.expected(np.zeros(graph.num_nodes))  # prices per node must speak of the nodes of this graph
    return costs


def _column(graph: RareGraph, column: str, name: str) -> np.ndarray:
    """A column of the nodes as prices."""
    price, scored = graph.column(column), graph.scored
    gaps = graph.column(f"{column} is missing")[scored] > 0 if f"{column} is missing" in graph.attribute_names else None
    if gaps is not None and gaps.any():
        if gaps.all():
            raise InputError(f"cost_{name}: column {column!r} is empty at every node that is scored.")
        logger.warning(
            "cost_%s: column %r is empty at %d of %d nodes that are scored; they count with its median, %.4g.",
            name, column, int(gaps.sum()), scored.size, float(price[scored][gaps][0]),
        )  # fmt: skip
    return price
