"""How the columns of a graph's nodes are made: learned once, stored with the model, repeated on new tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from calirare.data.graph import RareGraph
from calirare.features.columns import Columns


@dataclass(frozen=True, eq=False)
class ColumnRecipe:
    """What must be known to make the same columns again."""

    @classmethod
    def learn(cls, graph: RareGraph, seed: int = 0) -> Self:
        """From a graph, without its labels."""
        raise NotImplementedError

    def apply(self, graph: RareGraph) -> Columns:
        """The columns of every node."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Plain values and NumPy arrays."""
        raise NotImplementedError

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """From what `state` gave, checked."""
        raise NotImplementedError
