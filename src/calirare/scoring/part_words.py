"""Words of a node and of those around it, on a graph in parts: one hop per pass.

Σ_h AʰX W_h is X W_H, carried one hop and added to X W_(H-1), and so on (`calirare.detectors.words.WordHops.everywhere`).
Each hop needs of a part's neighbours the few numbers that the hop before left on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.detectors.base import DetectorInputs
from calirare.detectors.linear import Linear
from calirare.detectors.words import WordColumns, WordHops, over_neighbours
from calirare.features.words import unit_rows, words_of


@dataclass(frozen=True, eq=False)
class PartWords:
    """What the words of a linear model come to, for every node.

    Args:
        member: Place of the model among the detectors; names the files.
        linear: The model; it reads words.
        parts: The graph.
    """

    member: int
    linear: Linear
    parts: Partitions

    @property
    def num_passes(self) -> int:
        return len(self._coefficients)

    def create(self) -> None:
        """Make the files that the parts share."""
        for done in range(self.num_passes):
            self._file(done).clear()

    def write(self, done: int, number: int) -> None:
        """One hop more, for a part: `done` hops are on disk for all parts."""
        part, matrix = self.parts.part(number), self._coefficients[-1 - done]
        found = self._words(part.start, part.stop) @ matrix
        if done:
            found = found + over_neighbours(part.adjacency) @ part.take(self._file(done - 1))
        self._file(done).write(part.start, np.asarray(found))

    def hand_to(self, inputs: DetectorInputs, number: int) -> None:
        """Let the model read what was found for a part instead of the graph, which is not there."""
        start, stop = self.parts.span(number)
        values = self._file(self.num_passes - 1).read(start, stop)
        inputs.word_hops = _Found(values, lambda nodes: self._words(start, stop)[nodes])

    def _words(self, start: int, stop: int) -> sp.csr_array:
        read = words_of(self.parts.features.read(start, stop), self._columns.num_words)
        return unit_rows(sp.csr_array(read)).astype(np.float64)

    @property
    def _columns(self) -> WordColumns:
        assert self.linear.main_.design.words is not None
        return self.linear.main_.design.words

    @cached_property
    def _coefficients(self) -> list[np.ndarray]:
        main = self.linear.main_
        return self._columns.coefficients(main.theta.T[: main.design.num_word_columns])[0]

    def _file(self, done: int) -> RowFile:
        width = self.linear.main_.theta.shape[0]
        return RowFile(self.parts.folder / f"words-{self.member}-{done}", self.parts.num_nodes, width, "<f8")


@dataclass(frozen=True, eq=False)
class _Found(WordHops):
    """`WordHops` whose sum is known; of single nodes, as those without edges are asked about, no hop but their own."""

    values: np.ndarray
    own: Callable[[np.ndarray], sp.csr_array]

    def everywhere(self, _: Any) -> np.ndarray:
        return self.values

    def rows(self, nodes: np.ndarray, hops: int) -> list[sp.csr_array]:
        assert hops == 0
        return [self.own(nodes)]

    def at(self, nodes: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
        assert len(matrices) == 1
        return self.own(nodes) @ matrices[0]
