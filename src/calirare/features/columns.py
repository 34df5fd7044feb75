"""The columns of every node, with their names and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

ColumnGroup = Literal["own", "neighbours", "edges", "structure", "labels"]
"""The node's own attributes, those of its neighbours, what its edges say, and its place in the graph."""


@dataclass(frozen=True, eq=False)
class Columns:
    """One row per node.

    Args:
        values: `(N, D)` float32, finite; the dense columns, for trees as they are.
        names: One readable name per column: `value, mean of incoming`; `balance, mean over neighbours`.
        groups: Where each column comes from.
        words: `(N, F)` many sparse attributes (words), or None. `values` then holds their leading directions, and a
            linear model reads the words themselves.
        num_spelled: How many of the first columns are words as they are.
    """

    values: np.ndarray
    names: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    words: sp.csr_array | None = None
    num_spelled: int = 0

    def __post_init__(self) -> None:
        assert self.values.shape[1] == len(self.names) == len(self.groups)

    @property
    def num_nodes(self) -> int:
        return int(self.values.shape[0])

    def __iter__(self) -> Iterator[tuple[str, ColumnGroup]]:
        return iter(zip(self.names, self.groups, strict=True))
