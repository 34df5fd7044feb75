"""Structure columns of a graph that grew, against making them anew."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.data.graph import RareGraph
from calirare.features.structure import neighbours, structure_columns
from calirare.scoring.live.structure import GrownStructure, Structure


def graph_of(pairs, num_nodes):
    y = np.zeros(num_nodes, dtype=int)
    return RareGraph(x=np.zeros((num_nodes, 1)), edge_index=np.array(pairs).reshape(-1, 2).T, y=y)


@pytest.mark.parametrize("seed", range(6))
def test_every_column_follows(seed):
    rng = np.random.default_rng(seed)
    num_before, num_nodes = 60, 70
    before = rng.integers(0, num_before, (int(rng.integers(0, 150)), 2))
    new = rng.integers(0, num_nodes, (int(rng.integers(0, 60)), 2))
    base = graph_of(before, num_before)
    grown = GrownStructure(Structure(neighbours(base)), *new.T, num_nodes)
    want = structure_columns(graph_of(np.concatenate([before, new]), num_nodes))
    for nodes in (np.arange(num_nodes), np.flatnonzero(rng.random(num_nodes) < 0.3)):
        for name, column in want.items():
            np.testing.assert_allclose(grown.column(name, nodes), column[nodes], rtol=1e-12, err_msg=name)


def test_without_clustering_it_stays_out(monkeypatch):
    from calirare.features import triangles

    monkeypatch.setattr(triangles, "MOST_PATHS", 0)
    base = Structure(neighbours(graph_of([(0, 1), (1, 2), (2, 0)], 3)))
    grown = GrownStructure(base, np.array([0]), np.array([3]), 4)
    assert np.isnan(grown.column("clustering", np.array([0, 1, 3]))).all()
