"""What a node's edges say that its neighbours are not asked about: many columns, and an edge may change those of others too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from calirare.data.edge_table import EdgeTable
from calirare.features.edge_columns import OUTGOING_SHARE, RELATIVE_SPREAD, as_stored
from calirare.features.edges.again import AGAIN, again_columns
from calirare.features.edges.alike import ALIKE, LATER, alike_columns
from calirare.features.edges.by_category import NEIGHBOURS_WITH, category_columns
from calirare.features.edges.customs import CUSTOM, custom_columns
from calirare.features.edges.dates import BESIDE, dated_columns
from calirare.features.edges.likes import LIKE, like_columns
from calirare.features.edges.meeting import MEETING, meeting_columns
from calirare.features.edges.multiples import OF_ENDS, multiple_columns
from calirare.features.edges.pairs import EQUAL, UNLIKE
from calirare.features.edges.plan import EdgePlan
from calirare.features.edges.rhythm import CHANGE, LEAST_GAP, UNEVENNESS, WAIT, rhythm_columns
from calirare.features.edges.shared import FEW_WITH_SAME, OTHERS_HAVE, shared_columns
from calirare.features.edges.trend import TREND, trend_columns
from calirare.features.edges.usual import AGAINST_USUAL, compared_columns
from calirare.features.edges.varied import NEW, VARIED, varied_columns
from calirare.features.edges.within import SAME_CATEGORY, SAME_EDGE, within_columns

_ALONE = (
    RELATIVE_SPREAD,
    NEIGHBOURS_WITH,
    *BESIDE,
    *OF_ENDS,
    AGAINST_USUAL,
    MEETING,
    UNEVENNESS,
    LEAST_GAP,
    WAIT,
    CHANGE,
    TREND,
    AGAIN,
    SAME_EDGE,
    SAME_CATEGORY,
    EQUAL,
    ALIKE,
    LATER,
    LIKE,
    f"{OTHERS_HAVE}, share of ",
    FEW_WITH_SAME,
    UNLIKE,
    OUTGOING_SHARE,
    CUSTOM,
    VARIED,
    NEW,
)


@dataclass(frozen=True, eq=False)
class OtherEnds:
    """What is known where a node's edges lead.

    Args:
        usual: `usual_of` all nodes that the edges name.
        beside: `OwnPlan.beside` of all nodes that the edges name, `(M,)` each.
        met: `meetings` of the nodes themselves.
        sharers: `sharers_of` the edges.
    """

    usual: np.ndarray
    beside: Mapping[str, np.ndarray]
    met: np.ndarray
    sharers: Mapping[str, np.ndarray]


def is_alone(name: str) -> bool:
    """Whether a column is one of these, or of those of `edge_columns` about which neighbours are not asked, by its name."""
    return any(part in name for part in _ALONE)


def alone_columns(
    table: EdgeTable, plan: EdgePlan, num_nodes: int, others: OtherEnds
) -> Iterator[tuple[str, np.ndarray]]:
    """`(N,)` float32 columns by readable name, NaN where a node has nothing to say.

    Args:
        table: All edges of N nodes; others may be named from N on.
        plan: What is told.
        num_nodes: N.
        others: Of the edges' other ends.
    """
    for found in (
        category_columns(table, plan, num_nodes),
        rhythm_columns(table, plan, num_nodes).items(),
        compared_columns(table, plan, num_nodes, others.usual),
        dated_columns(table, plan, num_nodes, others.beside),
        multiple_columns(table, plan, num_nodes, others.beside),
        meeting_columns(others.met, plan),
        trend_columns(table, plan, num_nodes),
        again_columns(table, plan, num_nodes),
        like_columns(table, plan, num_nodes),
        alike_columns(table, plan, num_nodes, others.beside),
        within_columns(table, plan, num_nodes),
        custom_columns(table, plan, num_nodes, others.beside),
        varied_columns(table, plan, num_nodes),
        shared_columns(table, plan, num_nodes, others.sharers),
    ):
        for name, column in found:
            yield name, as_stored(column)
