"""Arrays larger than memory: rows in a plain file, read where they are wanted.

Files are read, not mapped into memory: what a process holds is what it asked for, and network storage works too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

_WINDOW = 1 << 19
"""Bytes read at once where scattered rows are gathered."""


@dataclass(frozen=True)
class RowFile:
    """`(num_rows, width)` numbers in a file. Processes may write disjoint rows at the same time.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = RowFile.create(Path(folder) / "a", num_rows=4, width=2)
    ...     file.write(1, np.array([[1.0, 2.0], [3.0, 4.0]]))
    ...     file.take(np.array([0, 2])).tolist(), file.read(1, 2).tolist()
    ([[0.0, 0.0], [3.0, 4.0]], [[1.0, 2.0]])
    """

    path: Path
    num_rows: int
    width: int
    dtype: str = "<f4"

    @classmethod
    def create(cls, path: Path, num_rows: int, width: int, dtype: str = "<f4") -> RowFile:
        """A file of zeros."""
        file = cls(path, num_rows, width, dtype)
        file.clear()
        return file

    def clear(self) -> None:
        """Make it a file of zeros, whether it is there or not."""
        with self.path.open("wb") as stream:
            stream.truncate(self.num_rows * self.row_bytes)

    @property
    def row_bytes(self) -> int:
        return self.width * np.dtype(self.dtype).itemsize

    def write(self, start: int, rows: np.ndarray) -> None:
        """Put rows at `start` and after."""
        content = np.ascontiguousarray(rows, dtype=self.dtype)
        with self.path.open("r+b", buffering=0) as stream:
            stream.seek(start * self.row_bytes)
            left = _bytes_of(content)
            while left:
                left = left[stream.write(left) :]

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` to `stop`."""
        values = np.fromfile(self.path, self.dtype, (stop - start) * self.width, offset=start * self.row_bytes)
        return values.reshape(stop - start, self.width)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The given rows, which must be sorted."""
        result = np.empty((len(rows), self.width), dtype=self.dtype)
        window = max(1, _WINDOW // max(1, self.row_bytes))
        with self.path.open("rb", buffering=0) as stream:
            for begin, end in _runs(rows, window):
                first, last = int(rows[begin]), int(rows[end - 1])
                span = np.empty((last + 1 - first, self.width), dtype=self.dtype)
                _read_into(stream.fileno(), span, first * self.row_bytes)
                result[begin:end] = span[rows[begin:end] - first]
        return result


@dataclass(frozen=True)
class SparseRowFile:
    """`(num_rows, width)` mostly zeros: CSR in three files. Rows are appended in order, then read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = SparseRowFile.create(Path(folder) / "x", num_rows=3, width=4)
    ...     file.write(0, sp.csr_array(np.eye(3, 4)))
    ...     file.take(np.array([0, 2])).toarray().tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    path: Path
    num_rows: int
    width: int

    @classmethod
    def create(cls, path: Path, num_rows: int, width: int) -> SparseRowFile:
        """An empty file."""
        file = cls(path, num_rows, width)
        RowFile.create(file._part("ends"), num_rows + 1, 1, "<i8")
        for name in ("columns", "values"):
            file._part(name).write_bytes(b"")
        return file

    def _part(self, name: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{name}")

    @property
    def _ends(self) -> RowFile:
        return RowFile(self._part("ends"), self.num_rows + 1, 1, "<i8")

    def write(self, start: int, rows: sp.csr_array) -> None:
        """Put rows at `start`, the end of what was written so far."""
        before = int(self._ends.read(start, start + 1)[0, 0])
        self._ends.write(start + 1, before + rows.indptr[1:].astype(np.int64))
        for name, values in (("columns", rows.indices.astype("<i4")), ("values", rows.data.astype("<f4"))):
            with self._part(name).open("ab") as stream:
                stream.write(values.tobytes())

    def read(self, start: int, stop: int) -> sp.csr_array:
        """Rows `start` to `stop`."""
        ends = self._ends.read(start, stop + 1)[:, 0]
        first, count = int(ends[0]), int(ends[-1] - ends[0])
        columns = np.fromfile(self._part("columns"), "<i4", count, offset=4 * first)
        values = np.fromfile(self._part("values"), "<f4", count, offset=4 * first)
        return sp.csr_array((values, columns, ends - first), shape=(stop - start, self.width))

    def take(self, rows: np.ndarray) -> sp.csr_array:
        """The given rows, which must be sorted."""
        pieces = []
        for begin, end in _runs(rows, max(1, _WINDOW // 64)):
            first = int(rows[begin])
            pieces.append(self.read(first, int(rows[end - 1]) + 1)[rows[begin:end] - first])
        if not pieces:
            return sp.csr_array((0, self.width), dtype=np.float32)
        return sp.csr_array(sp.vstack(pieces, format="csr"))


def _runs(rows: np.ndarray, window: int) -> list[tuple[int, int]]:
    """Slices of sorted rows whose members lie in the same window of the file."""
    if not len(rows):
        return []
    edges = np.flatnonzero(np.diff(rows // window)) + 1
    ends = [0, *edges.tolist(), len(rows)]
    return list(zip(ends[:-1], ends[1:], strict=True))


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.data.cast("B") if array.size else memoryview(b"")


def _read_into(handle: int, array: np.ndarray, offset: int) -> None:
    left = _bytes_of(array)
    while left:
        got = os.preadv(handle, [left], offset)
        if got == 0:
            raise EOFError("a file of rows is shorter than it was made")
        left, offset = left[got:], offset + got
