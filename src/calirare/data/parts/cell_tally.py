"""The users of each value of a column of edges, counted batch by batch.

What users use which values lies on disk, dealt by value, and is counted file by file. In memory stay the values that several
nodes use.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calirare.data.cell_users import CellUsers, others_than_own, uses
from calirare.data.edge_table import EdgeTable

_AT_ONCE = 1 << 23
"""Uses that are counted at once, about."""
_MOST_FILES = 256
_USE = np.dtype([("value", "<f8"), ("node", "<u8")])


class CellTally:
    """Users of the values of one column.

    Args:
        name: The column.
        folder: For the files, which go when the users are counted.
        num_edges: How many there will be, about.
        directed: Whether the source alone uses a value.
    """

    def __init__(self, name: str, folder: Path, num_edges: int, *, directed: bool) -> None:
        self.name, self.directed, self._folder = name, directed, folder
        self._num_files = min(_MOST_FILES, 1 + (num_edges if directed else 2 * num_edges) // _AT_ONCE)
        folder.mkdir()

    def add(self, edges: EdgeTable) -> None:
        """Some edges."""
        values, nodes = uses(edges.cells[self.name], edges.source, edges.target, directed=self.directed)
        found = np.empty(values.size, dtype=_USE)
        found["value"], found["node"] = values, nodes
        place = values % self._num_files
        for number in np.unique(place).tolist():
            with (self._folder / f"{int(number)}").open("ab") as stream:
                stream.write(found[place == number].tobytes())

    def users(self) -> CellUsers:
        """How many nodes use each value that several use."""
        values, counts = [np.empty(0)], [np.empty(0, dtype=np.int64)]
        for file in self._folder.iterdir():
            found = np.fromfile(file, _USE)
            users = CellUsers.of(found["value"], found["node"].astype(np.int64))
            several = users.counts > 1
            values.append(users.values[several])
            counts.append(users.counts[several])
            file.unlink()
        self._folder.rmdir()
        every = np.concatenate(values)
        order = np.argsort(every)
        return CellUsers(every[order], np.concatenate(counts)[order])


def others_in_records(records: np.ndarray, field: str, users: CellUsers, *, directed: bool) -> None:
    """Write how many others use each row's value in place of what stands for it."""
    cells, ends = records[field], [records[end].astype(np.int64) for end in ("source", "target")]
    records[field] = others_than_own(users.number(cells), cells, *ends, directed=directed)
