"""Users of values, against sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calirare.data.cell_users import CellUsers, others_of, uses
from calirare.data.edge_table import EdgeTable
from calirare.data.parts.cell_tally import CellTally, others_in_records
from calirare.data.parts.edge_records import EdgeRecords

EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1.0, 2.0, 3.0, np.nan])), max_size=30)


def of(edges: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    source, target = (np.array([edge[k] for edge in edges], dtype=np.int64) for k in (0, 1))
    return np.array([edge[2] for edge in edges], dtype=np.float64), source, target


@given(EDGES, st.booleans())
def test_others_are_those_of_sets(edges: Any, directed: bool) -> None:
    found = others_of(*of(edges), directed=directed)
    for (source, target, value), others in zip(edges, found, strict=True):
        own = {source} if directed else {source, target}
        users = {node for one in edges if one[2] == value for node in one[: 1 if directed else 2]}
        assert np.isnan(others) if np.isnan(value) else others == len(users - own)


@pytest.mark.parametrize("directed", [True, False])
def test_batches_on_disk_count_as_all_at_once(tmp_path: Any, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calirare.data.parts.cell_tally._AT_ONCE", 300)
    rng = np.random.default_rng(0)
    cells = np.where(rng.random(1000) < 0.1, np.nan, rng.integers(0, 400, 1000).astype(np.float64))
    table = EdgeTable(rng.integers(0, 50, 1000), rng.integers(0, 50, 1000), directed=directed, cells={"ip": cells})
    tally = CellTally("ip", tmp_path / "cells", len(table), directed=directed)
    for start in range(0, 1000, 170):
        tally.add(table.take(slice(start, start + 170)))
    users = tally.users()
    assert users.counts.min() > 1 and not list(tmp_path.iterdir())
    records = EdgeRecords(50, (), directed, (), ("ip",))
    packed = records.pack(table)
    others_in_records(packed, records.cell_field("ip"), users, directed=directed)
    packed.tofile(tmp_path / "rows")
    expected = others_of(cells, table.source, table.target, directed=directed)
    np.testing.assert_array_equal(records.read(tmp_path / "rows").cells["ip"], expected)


def test_nobody_uses_what_is_not_there() -> None:
    nothing = CellUsers.of(*uses(*of([]), directed=True))
    assert nothing.number(np.array([1.0, np.nan])).tolist() == [0, 0]
