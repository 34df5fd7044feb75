"""Nodes for which everything that detectors read has been computed already, wherever their neighbours are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calirare.data.graph import RareGraph
from calirare.detectors.base import DetectorInputs, Sender
from calirare.features.columns import Columns
from calirare.features.recipe import ColumnRecipe


class FoundInputs(DetectorInputs):
    """Some nodes of a graph in parts.

    Args:
        graph: The nodes without their edges.
        recipe: Of the columns.
        degree: `(n,)` how many edges each has in the whole graph.
        found: The columns; None where no detector reads any.
        arrived: What comes to them from their neighbours, by who reads it.
    """

    def __init__(
        self,
        graph: RareGraph,
        recipe: ColumnRecipe | None,
        degree: np.ndarray,
        found: Columns | None,
        arrived: Mapping[Any, np.ndarray],
    ) -> None:
        super().__init__(graph, recipe)
        self.alone, self.found, self.arrived = degree == 0, found, arrived

    @property
    def columns(self) -> Columns:
        assert self.found is not None
        return self.found

    def from_neighbours(self, sender: Sender) -> np.ndarray:
        return self.arrived[sender]
