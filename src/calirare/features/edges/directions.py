"""In which directions the edges of a node are looked at."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from calirare.data.edge_table import EdgeTable

Direction = Literal["outgoing", "incoming", "edges"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


def directions_of(directed: bool) -> tuple[Direction, ...]:
    """Outgoing and incoming apart, where edges have a direction."""
    return DIRECTIONS[:2] if directed else DIRECTIONS[2:]


def ends_of_edges(table: EdgeTable, which: str) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and their other ends; of edges without direction each edge twice."""
    if which == "edges":
        return np.concatenate([table.source, table.target]), np.concatenate([table.target, table.source])
    return (table.source, table.target) if which == "outgoing" else (table.target, table.source)


def at_ends(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """What edges say, twice where they count at both ends."""
    return values if len(values) == len(ends) else np.concatenate([values, values])
