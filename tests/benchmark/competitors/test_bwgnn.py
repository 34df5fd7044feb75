"""Filters that were moved past the weights are those of the Laplacian's spectrum."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import beta

from calirare.benchmark.competitors.bwgnn import BWGNN, around
from calirare.data.sparse.products import SparseMatrix


@pytest.mark.parametrize("order", [1, 2, 4])
def test_logits_equal_filters_of_the_spectrum(order):
    draw = np.random.default_rng(order)
    upper = np.triu(draw.random((12, 12)) < 0.3, 1)
    adjacency = (upper | upper.T).astype(np.float64)
    scale = 1 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1))
    dense = np.eye(12) - scale[:, None] * adjacency * scale
    values, vectors = np.linalg.eigh(dense)
    torch.manual_seed(order)
    model = BWGNN(5, hidden=3, order=order)
    x, nodes = torch.from_numpy(draw.normal(size=(12, 5))).float(), np.array([7, 0, 11])
    h = model.before(x).detach().double().numpy()
    filters = [
        (values / 2) ** i * (1 - values / 2) ** (order - i) / (2 * beta(i + 1, order - i + 1)) for i in range(order + 1)
    ]
    filtered = np.hstack([vectors @ (response[:, None] * (vectors.T @ h)) for response in filters])
    expected = model.output(torch.relu(model.mix(torch.from_numpy(filtered).float())))[nodes]
    laplacian = SparseMatrix(sp.csr_array(dense), symmetric=True)
    found = model(x, laplacian, torch.from_numpy(nodes), SparseMatrix(laplacian.csr[nodes]))
    assert torch.allclose(found, expected, atol=1e-5)
    near = around(x, laplacian, nodes[:1], order)
    assert order > 1 or len(near[0]) < len(x)
    assert torch.allclose(model(*near), expected[:1], atol=1e-5)
