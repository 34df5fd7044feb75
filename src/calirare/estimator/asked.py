"""The graph that was asked about last, and what was answered, so that the same question costs once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from calirare.data.graph import RareGraph
from calirare.detectors.base import DetectorInputs

MOST_KEPT = 2**26
"""Bytes of the largest answer that is kept, whatever the graph."""
KEPT_PER_NODE = 2**8
"""Bytes per node of the largest answer that is kept: logits of every member are, models without each label are not."""


@dataclass(frozen=True, eq=False)
class AskedGraph:
    """A graph as the detector reads it, with answers by name."""

    graph: RareGraph
    inputs: DetectorInputs
    _answers: dict[str, tuple[np.ndarray, ...]] = field(default_factory=dict)

    def answer(self, name: str, find: Callable[[], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        """What `find` gives, found once if it is small; the caller's own, to change as she likes."""
        if name not in self._answers:
            found = find()
            if sum(array.nbytes for array in found) > max(MOST_KEPT, KEPT_PER_NODE * self.graph.num_nodes):
                return found
            self._answers[name] = found
        return tuple(array.copy() for array in self._answers[name])
