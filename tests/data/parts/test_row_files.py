"""Rows in files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from calirare.data.parts import row_files
from calirare.data.parts.row_files import RowFile, SparseRowFile


@pytest.fixture(params=[16, 1 << 19])
def window(request, monkeypatch):
    """A window smaller than a few rows, and the usual one."""
    monkeypatch.setattr(row_files, "_WINDOW", request.param)


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i8"])
def test_rows_come_back_wherever_they_are_written(tmp_path, window, dtype):
    rng = np.random.default_rng(0)
    rows = rng.integers(-9, 9, size=(50, 3)).astype(dtype)
    file = RowFile.create(tmp_path / "rows", 50, 3, dtype)
    for start in (30, 0, 10):
        file.write(start, rows[start : start + 20])
    assert (file.read(0, 50) == rows).all()
    for size in (0, 1, 20, 50):
        chosen = np.sort(rng.permutation(50)[:size])
        assert (file.take(chosen) == rows[chosen]).all()
    assert file.take(np.empty(0, dtype=np.int64)).shape == (0, 3)


def test_rows_that_were_never_written_are_zero(tmp_path):
    file = RowFile.create(tmp_path / "rows", 5, 2)
    file.write(3, np.empty((0, 2)))
    assert not file.read(0, 5).any()
    assert RowFile.create(tmp_path / "none", 5, 0).take(np.arange(5)).shape == (5, 0)


def test_a_file_that_was_cut_is_noticed(tmp_path):
    file = RowFile.create(tmp_path / "rows", 5, 2)
    file.path.write_bytes(b"\0" * 20)
    with pytest.raises(EOFError):
        file.take(np.array([4]))


def test_sparse_rows_come_back(tmp_path, window):
    matrix = sp.random_array((40, 7), density=0.2, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    file = SparseRowFile.create(tmp_path / "x", 40, 7)
    file.write(0, matrix[:15])
    file.write(15, matrix[15:15])
    file.write(15, matrix[15:])
    assert (file.read(5, 30).toarray() == matrix[5:30].toarray()).all()
    chosen = np.array([0, 3, 4, 20, 39])
    assert (file.take(chosen).toarray() == matrix[chosen].toarray()).all()
    assert file.take(chosen[:0]).shape == (0, 7)
