"""A graph in parts on disk, for graphs larger than memory.

The nodes are cut into ranges of the node table. Each range, a *part*, holds all edges of its nodes and the names of its
*halo*, the neighbours that live in other parts. Degrees are counted over the whole graph, so a part knows those of its
halo too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from calirare.data.edge_table import EdgeTable
from calirare.data.parts.edge_records import EdgeRecords
from calirare.data.parts.row_files import RowFile, SparseRowFile


@dataclass(frozen=True, eq=False)
class Part:
    """One range of nodes with all their edges.

    Args:
        start, stop: The range.
        halo: Neighbours in other parts, sorted.
        adjacency: `(own, own + halo)` CSR of edge weights; columns are the part's own nodes, then its halo.
        degree: `(own + halo,)` weighted degrees in the whole graph.
        weighted: Whether the edges carry weights.
    """

    start: int
    stop: int
    halo: np.ndarray
    adjacency: sp.csr_array
    degree: np.ndarray
    weighted: bool

    @property
    def num_nodes(self) -> int:
        return self.stop - self.start

    @property
    def places(self) -> np.ndarray:
        """`(own + halo,)` where its nodes, then those of its halo, stand in the whole graph."""
        return np.concatenate([np.arange(self.start, self.stop), self.halo])

    def take(self, file: RowFile | SparseRowFile) -> Any:
        """Rows of the part's own nodes, then of its halo."""
        own, halo = file.read(self.start, self.stop), file.take(self.halo)
        if isinstance(file, SparseRowFile):
            return sp.csr_array(sp.vstack([own, halo], format="csr"))
        return np.concatenate([own, halo])


@dataclass(frozen=True)
class Partitions:
    """A graph cut into parts, each in a file of its own.

    Args:
        folder: Where the files are.
        cuts: `(parts + 1)` first nodes of the parts, and the number of nodes.
        features: `(nodes, features)` on disk.
        degree: `(nodes, 1)` on disk.
        weighted: Whether edges carry weights.
        read: What was merged and imputed, as in `graph.schema["read"]`.
        marks: Per node whether its score is written and whether its label is known (`calirare.data.parts.node_reading`).
        kinds: `(nodes, 1)` codes of the kinds of node on disk; None where there is one.
        kind_names: Of the codes.
        profile: What the columns of both tables look like (`calirare.data.tables.schema.profile`); None where the fit kept none.
        records: How rows of the edge table are written; None where they are not kept.
    """

    folder: Path
    cuts: tuple[int, ...]
    features: RowFile | SparseRowFile
    degree: RowFile
    weighted: bool
    read: dict[str, Any]
    marks: RowFile
    kinds: RowFile | None = None
    kind_names: tuple[str, ...] = ()
    profile: dict[str, dict[str, Any]] | None = None
    records: EdgeRecords | None = None

    def __len__(self) -> int:
        return len(self.cuts) - 1

    @property
    def num_nodes(self) -> int:
        return self.cuts[-1]

    def span(self, number: int) -> tuple[int, int]:
        """Which nodes belong to a part: the first, and the first behind them."""
        return self.cuts[number], self.cuts[number + 1]

    def part(self, number: int) -> Part:
        """A part by its number, read from its file."""
        start, stop = self.span(number)
        with np.load(self.file(number), allow_pickle=False) as arrays:
            halo, ends, columns = arrays["halo"], arrays["ends"], arrays["columns"]
            weights = arrays["weights"] if self.weighted else np.ones(len(columns), dtype=np.float32)
        shape = (stop - start, stop - start + len(halo))
        degree = np.concatenate([self.degree.read(start, stop), self.degree.take(halo)])[:, 0]
        return Part(start, stop, halo, sp.csr_array((weights, columns, ends), shape=shape), degree, self.weighted)

    def ends(self, number: int) -> np.ndarray:
        """`(own + 1,)` where the edges of a part's nodes end, and 0."""
        with np.load(self.file(number), allow_pickle=False) as arrays:
            return arrays["ends"]

    def rows(self, number: int) -> EdgeTable:
        """Rows of the edge table that touch the part, in their order, with the places of the whole graph."""
        assert self.records is not None
        return self.records.read(rows_file(self.folder, number))

    def kinds_of(self, number: int) -> dict[str, Any]:
        """The kinds of a part's nodes, as a graph takes them."""
        if self.kinds is None:
            return {}
        codes = self.kinds.read(*self.span(number))[:, 0]
        return {"node_type": codes, "node_type_names": self.kind_names}

    def marked(self, mark: int, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Mask of the nodes in a range, default all, that have a mark."""
        return self.marks.read(start, self.num_nodes if stop is None else stop)[:, 0] & mark > 0

    def ids(self, number: int) -> np.ndarray:
        """Ids of the part's nodes, in the order of the table."""
        import pyarrow as pa

        start, stop = self.span(number)
        with pa.memory_map(str(self.folder / "ids.arrow")) as source:
            column = pa.ipc.open_file(source).read_all().column(0).slice(start, stop - start)
            return np.array(column.to_pylist(), dtype=object if pa.types.is_large_string(column.type) else np.int64)

    def file(self, number: int) -> Path:
        """Where a part is kept."""
        return self.folder / f"part-{number:05d}.npz"


def rows_file(folder: Path, number: int) -> Path:
    """Where the rows of a part are kept."""
    return folder / f"rows-{number:05d}"
