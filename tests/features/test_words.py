"""The directions of words are the leading singular vectors of the smoothed, weighted rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from calirare.features.words import directions, learn_directions, unit_rows


def topics(sparse, seed=0, nodes=90, width=150, many=4):
    """Nodes of a few topics, joined mostly within; each topic prefers words of its own."""
    generator = np.random.default_rng(seed)
    topic = generator.integers(0, many, nodes)
    prefers = generator.integers(0, many, width)
    x = (generator.random((nodes, width)) < np.where(topic[:, None] == prefers, 0.3, 0.03)).astype(np.float32)
    x[0] = 0.0
    joined = generator.random((nodes, nodes)) < np.where(topic[:, None] == topic, 0.15, 0.01)
    joined = np.triu(joined, 1)
    return sp.csr_array(x) if sparse else x, sp.csr_array((joined | joined.T).astype(float)), topic


@pytest.mark.parametrize("sparse", [True, False])
def test_directions_are_singular_vectors(sparse):
    x, adjacency, _ = topics(sparse)
    dense = x.toarray() if sparse else x
    length = np.linalg.norm(dense, axis=1, keepdims=True)
    rows = dense / np.where(length > 0, length, 1)
    weights = np.log((1 + len(rows)) / (1 + (dense != 0).sum(axis=0))) if sparse else np.ones(dense.shape[1])
    smooth = adjacency.toarray() + np.eye(len(rows))
    smooth /= smooth.sum(axis=1, keepdims=True)
    _, values, right = np.linalg.svd(smooth @ smooth @ (rows * weights))
    basis = learn_directions(x, adjacency, seed=3)
    leading = weights[:, None] * right[:6].T
    assert values[5] > 1.02 * values[6]
    for k in range(6):
        np.testing.assert_allclose(np.abs(basis[:, k]), np.abs(leading[:, k]), atol=2e-3)
    np.testing.assert_allclose(directions(x, basis), rows @ basis, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_the_order_of_nodes_does_not_matter():
    x, adjacency, _ = topics(True)
    basis = learn_directions(x, adjacency, seed=1)
    assert basis.tobytes() == learn_directions(x, adjacency, seed=1).tobytes()
    order = np.random.default_rng(0).permutation(x.shape[0])
    other = learn_directions(x[order], adjacency[order][:, order], seed=1)
    np.testing.assert_allclose(other[:, :4], basis[:, :4], atol=1e-4)


def test_the_leading_directions_tell_topics_apart():
    x, adjacency, topic = topics(True)
    found = directions(x, learn_directions(x, adjacency, seed=0))[1:, :4]
    centres = np.stack([found[topic[1:] == one].mean(axis=0) for one in range(4)])
    nearest = ((found[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == topic[1:]).mean() > 0.9


def test_rows_of_zeros_and_nothing_but_zeros():
    assert unit_rows(np.zeros((2, 3))).tolist() == [[0.0] * 3] * 2
    assert learn_directions(sp.csr_array((5, 200)), sp.csr_array((5, 5)), seed=0).shape == (200, 0)
    assert learn_directions(np.zeros((2, 200)), sp.csr_array((2, 2)), seed=0).shape == (200, 0)


@pytest.mark.parametrize("nodes", [3, 10, 40])
def test_few_nodes_exhaust_the_space(nodes):
    x, adjacency, _ = topics(False, nodes=nodes)
    smooth = adjacency.toarray() + np.eye(nodes)
    smooth /= smooth.sum(axis=1, keepdims=True)
    values, right = np.linalg.svd(smooth @ smooth @ unit_rows(x))[1:]
    basis = learn_directions(x, adjacency, seed=0)
    assert basis.shape[1] == min(32, (values[: nodes - 1] > 1e-3 * values[0]).sum())
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-3)
    np.testing.assert_allclose(np.abs(right[0] @ basis[:, 0]), 1, atol=1e-4)
