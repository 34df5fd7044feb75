"""Core numbers of a graph that grew, against peeling it anew."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from calirare.features.structure import core_numbers
from calirare.scoring.live.cores import PeelingOrder
from calirare.scoring.live.links import Links


def symmetric(pairs, num_nodes):
    pairs = np.array([pair for pair in pairs if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    matrix = sp.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(num_nodes, num_nodes))
    matrix.data[:] = 1.0
    return matrix


def check(before, num_before, new, num_nodes):
    base = symmetric(before, num_before)
    new = np.array(new, dtype=np.int64).reshape(-1, 2)
    links = Links.of(base).grown(
        np.concatenate([new[:, 0], new[:, 1]]), np.concatenate([new[:, 1], new[:, 0]]), num_nodes
    )
    found = PeelingOrder.of(base).grown(links)
    want = core_numbers(symmetric([*before, *new.tolist()], num_nodes))
    core = np.concatenate([core_numbers(base), np.full(num_nodes - num_before, -1)])
    nodes, levels = found
    core[nodes] = levels
    np.testing.assert_array_equal(core, want)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_growth(data):
    num_before = data.draw(st.integers(1, 12))
    num_nodes = num_before + data.draw(st.integers(0, 4))
    before = data.draw(st.lists(st.tuples(*[st.integers(0, num_before - 1)] * 2), max_size=40))
    new = data.draw(st.lists(st.tuples(*[st.integers(0, num_nodes - 1)] * 2), max_size=20))
    check(before, num_before, new, num_nodes)


@pytest.mark.parametrize("seed", range(4))
def test_a_few_hundred_nodes(seed):
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 200, (int(rng.integers(200, 1500)), 2)).tolist()
    check(before, 200, rng.integers(0, 230, (int(rng.integers(1, 300)), 2)), 230)


def test_what_does_not_touch_is_not_looked_at(monkeypatch):
    ring = [(k, (k + 1) % 1000) for k in range(1000)]
    base = symmetric(ring, 1000)
    seen = set()
    links = Links.of(base).grown(np.array([1000, 5]), np.array([5, 1000]), 1001)
    from calirare.scoring.live import cores

    kept = cores._Growth._pairs
    monkeypatch.setattr(cores._Growth, "_pairs", lambda self, nodes: seen.update(nodes.tolist()) or kept(self, nodes))
    assert [part.tolist() for part in PeelingOrder.of(base).grown(links)] == [[1000], [1]]
    assert seen <= {5, 1000}
