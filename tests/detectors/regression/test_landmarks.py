"""Likeness to landmarks gives the columns whose products are those of the words themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

from calirare.data.graph import RareGraph
from calirare.detectors.regression import landmarks as landmarks_module
from calirare.detectors.regression.landmarks import LikenessToLandmarks, _inverse_root
from calirare.detectors.words import WordHops


@pytest.mark.parametrize("alike", [False, True])
def test_the_inverse_root_turns_the_table_into_one(alike):
    rows = np.random.default_rng(0).normal(size=(6, 9))
    if alike:
        rows[5] = rows[4]
    table = rows @ rows.T
    turn = _inverse_root(table)
    assert turn.shape == (6, 5 if alike else 6)
    np.testing.assert_allclose(turn.T @ table @ turn, np.eye(turn.shape[1]), atol=1e-8)
    np.testing.assert_allclose(table @ turn @ turn.T @ table, table, atol=1e-8)


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_columns_have_the_products_of_the_words_of_all_hops(hops):
    """Of up to two hops; the third is likeness to the landmarks' words of two, and varies twice as much."""
    rng = np.random.default_rng(1)
    words = sp.csr_array((rng.random((30, 200)) < 0.1).astype(np.float32))
    graph = RareGraph(x=words, edge_index=rng.integers(0, 30, (2, 60)), y=np.arange(30) % 2)
    nodes = np.arange(12)  # all of them landmarks
    likeness = LikenessToLandmarks(WordHops(graph, words), nodes, np.arange(12))
    _, found = likeness.columns(hops)
    mean = graph.adjacency().toarray()
    mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1)
    rows = words.toarray() / np.linalg.norm(words.toarray(), axis=1, keepdims=True)
    said, tables, products = rows[nodes], [], []
    for hop in range(hops + 1):
        said = rows[nodes] if hop < 3 else said
        table = rows[nodes] @ said.T
        spread = table.diagonal().mean() - table.mean() if hop < 3 else table.std(axis=0) @ table.std(axis=0)
        factor = 1 / spread if hop < 3 else 2 * np.sqrt((tables[2].var(axis=0)).sum() / spread)
        tables.append(table * factor)
        products.append(tables[-1] if hop < 3 else products[2])
        rows = mean @ rows
    centred = (np.eye(12) - 1 / 12) @ sum(tables)
    wanted = centred @ np.linalg.solve(sum(products), centred.T) / (hops + 1)
    np.testing.assert_allclose(found @ found.T, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("hops", [0, 2, 3])
@pytest.mark.parametrize("tried", [(), (3,)], ids=["first", "after three hops"])
@pytest.mark.parametrize("at_once", [3, 96], ids=["a few at a time", "all at once"])
def test_more_landmarks_are_seen_on_the_scales_of_a_few(hops, tried, at_once, monkeypatch):
    monkeypatch.setattr(landmarks_module, "_COLUMNS_AT_ONCE", at_once)
    rng = np.random.default_rng(2)
    words = sp.csr_array((rng.random((40, 150)) < 0.1).astype(np.float32))
    graph = RareGraph(x=words, edge_index=rng.integers(0, 40, (2, 50)), y=np.arange(40) % 2)
    landmarks, few = np.array([2, 8, 18, 11, 0, 9, 5, 17]), 4
    likeness = LikenessToLandmarks(WordHops(graph, words), np.arange(20), landmarks, few)
    alone = LikenessToLandmarks(WordHops(graph, words), np.arange(20), landmarks[:few])
    for hop in tried:
        (seen, here), (lone, there) = likeness.columns(hop, few), alone.columns(hop)
        np.testing.assert_allclose(here, there, atol=1e-5)
        np.testing.assert_allclose(seen.rows[-1].toarray(), lone.rows[-1].toarray(), atol=1e-6)
        np.testing.assert_allclose(likeness.scales, alone.scales, rtol=1e-5)
    found, said = likeness.columns(hops)
    mean = graph.adjacency().toarray()
    mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1)
    rows = [words.toarray() / np.linalg.norm(words.toarray(), axis=1, keepdims=True)]
    for _ in range(hops):
        rows.append(mean @ rows[-1])
    seen = [rows[min(hop, 2)][landmarks] for hop in range(hops + 1)]
    table = sum(s * one[:20] @ other.T for s, one, other in zip(likeness.scales, rows, seen, strict=False))
    among = sum(likeness.scales[min(hop, 2)] * one @ one.T for hop, one in enumerate(seen))
    centred = table - table.mean(axis=0)
    wanted = centred @ np.linalg.solve(among, centred.T) / (hops + 1)
    np.testing.assert_allclose(said @ said.T, wanted, atol=1e-5 * np.abs(wanted).max())
    np.testing.assert_allclose(found.middle, table.mean(axis=0) / (hops + 1), atol=1e-6)
    for one, s, other in zip(found.rows, likeness.scales, seen, strict=False):
        np.testing.assert_allclose(one.toarray(), s * other / (hops + 1), atol=1e-6)
