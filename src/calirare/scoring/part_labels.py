"""What nodes pass on of the labels of the fit, on a graph in parts: kept on disk for every node, added up over neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calirare.data.node_keys import keys_of_ids
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.detectors.spreading import Spreading
from calirare.features.ends import over_root


@dataclass(frozen=True, eq=False)
class PartLabels:
    """As `DetectorInputs.from_neighbours`, for one detector.

    Args:
        member: Place of the detector among the others; names the file.
        spreading: The detector.
        parts: The graph.
    """

    member: int
    spreading: Spreading
    parts: Partitions

    def create(self) -> None:
        """Make the file that the parts share."""
        self._file.clear()

    def write(self, number: int) -> None:
        """What the nodes of a part pass on."""
        degree = np.diff(self.parts.ends(number))
        sent = self.spreading.passes_on(keys_of_ids(self.parts.ids(number)), degree)
        self._file.write(self.parts.cuts[number], sent)

    def arrived(self, number: int) -> np.ndarray:
        """`(n, C)` what comes to the nodes of a part, once all are written."""
        part = self.parts.part(number)
        return over_root(part.adjacency, part.take(self._file))

    @property
    def _file(self) -> RowFile:
        width = len(self.spreading.shares_)
        return RowFile(self.parts.folder / f"labels-{self.member}", self.parts.num_nodes, width, "<f8")
