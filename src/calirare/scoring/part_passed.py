"""What nodes pass on of the fit, on a graph in parts: kept on disk for every node, added up over neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from calirare.data.node_keys import is_known_by, keys_of_ids
from calirare.data.parts.partitions import Partitions
from calirare.data.parts.row_files import RowFile
from calirare.detectors.base import Sender
from calirare.features.ends import over_root, row_sums
from calirare.features.relations import Relation
from calirare.scoring.part_edges import PartEdges


@dataclass(frozen=True, eq=False)
class PartPassed:
    """`DetectorInputs.from_neighbours` for one detector.

    Args:
        member: Place of the detector among the others; names the file.
        sender: The detector.
        parts: The graph.
    """

    member: int
    sender: Sender
    parts: Partitions

    def create(self) -> None:
        """Make the files that the parts share: who is who, and place for what they pass on, which is nothing in another network."""
        self._file.clear()
        keys = np.concatenate([keys_of_ids(self.parts.ids(number)) for number in range(len(self.parts))])
        self._keys.clear()
        if is_known_by(self.sender.pairs, keys, _Joined(self.parts)):
            self._keys.write(0, keys[:, None])

    def write(self, number: int) -> None:
        """What the nodes of a part pass on."""
        start, stop = self.parts.span(number)
        if self.sender.over == Relation():
            degree = np.diff(self.parts.ends(number))
        else:
            joined = PartEdges.of(self.parts, number).joined(self.sender.over)
            degree = row_sums(joined.indptr, joined.data)
        self._file.write(start, self.sender.passes_on(self._keys.read(start, stop)[:, 0], degree))

    def arrived(self, number: int) -> np.ndarray:
        """`(n, C)` what comes to the nodes of a part, once all are written."""
        if self.sender.over != Relation():
            edges = PartEdges.of(self.parts, number)
            return over_root(edges.joined(self.sender.over), self._file.take(edges.near))
        part = self.parts.part(number)
        starts, ends = part.adjacency.indptr, part.adjacency.indices  # its entries are weights of the graph's edges
        ones = sp.csr_array((np.ones(len(ends)), ends, starts), shape=part.adjacency.shape)
        return over_root(ones, part.take(self._file))

    @property
    def _file(self) -> RowFile:
        width = self.sender.passes_on(np.empty(0, dtype=np.int64), np.empty(0)).shape[1]
        return RowFile(self.parts.folder / f"passed-on-{self.member}", self.parts.num_nodes, width, "<f8")

    @property
    def _keys(self) -> RowFile:
        return RowFile(self.parts.folder / f"keys-{self.member}", self.parts.num_nodes, 1, "<i8")


class _Joined:
    """Whether two nodes are joined; the part that was read last is kept."""

    def __init__(self, parts: Partitions) -> None:
        self.parts, self.number = parts, -1

    def __call__(self, one: int, other: int) -> bool:
        number = int(np.searchsorted(self.parts.cuts, one, side="right")) - 1
        if number != self.number:
            self.number, self.part = number, self.parts.part(number)
        starts, row = self.part.adjacency.indptr, one - self.part.start
        return other in self.part.places[self.part.adjacency.indices[starts[row] : starts[row + 1]]]
