"""Sparse products of computed values against dense ones, with gradients of two orders."""

import copy
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from calirare.data.sparse.pattern import SparsePattern


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    csr = sp.random_array((5, 7), density=0.4, rng=rng, format="csr")
    csr.sort_indices()
    values, dense, left = (torch.from_numpy(rng.normal(size=size)) for size in (csr.nnz, (7, 3), (5, 3)))
    return csr, *(one.requires_grad_() for one in (values, dense, left))


def _filled(csr, values):
    row, column = (torch.from_numpy(one.astype(np.int64)) for one in csr.nonzero())
    return torch.zeros(csr.shape, dtype=values.dtype).index_put((row, column), values)


def _dots(pattern, left, dense):
    """L_i·R_j at the places: the gradient of the product in its values."""
    values = torch.zeros(len(pattern.indices), dtype=dense.dtype, requires_grad=True)
    return torch.autograd.grad(pattern.multiply(values, dense), values, left, create_graph=True)[0]


def test_products_are_those_of_the_dense_matrix(case):
    csr, values, dense, left = case
    pattern, row, column = SparsePattern(csr), *csr.nonzero()
    whole = _filled(csr, values)
    torch.testing.assert_close(pattern.multiply(values, dense), whole @ dense)
    torch.testing.assert_close(_dots(pattern, left, dense), (left @ dense.T)[row, column])


def test_gradients_of_two_orders_by_finite_differences(case):
    csr, values, dense, left = case
    pattern = SparsePattern(csr)
    for product, given in ((pattern.multiply, (values, dense)), (partial(_dots, pattern), (left, dense))):
        assert torch.autograd.gradcheck(product, given, fast_mode=True)
        assert torch.autograd.gradgradcheck(
            lambda *given, product=product: product(*given).tanh(), given, fast_mode=True
        )


def test_jacobians_through_vmap(case):
    csr, values, dense, _ = case
    ours = torch.func.jacrev(lambda v: SparsePattern(csr).multiply(v, dense))(values)
    torch.testing.assert_close(ours, torch.func.jacrev(lambda v: _filled(csr, v) @ dense)(values))


def test_copies_lie_side_by_side_and_see_their_own_alone(case):
    csr, values, dense, _ = case
    pattern = SparsePattern(csr)
    twice = pattern.copies(2)
    both = torch.stack([dense, -dense], dim=1).reshape(14, 3)
    weights = values[torch.from_numpy(np.searchsorted(_keys(csr, 1), _keys(twice, 2)))]
    expected = pattern.multiply(values, dense)
    found = twice.multiply(weights, both).view(5, 2, 3)
    torch.testing.assert_close(found[:, 0], expected)
    torch.testing.assert_close(found[:, 1], -expected)
    assert pattern.copies(2) is twice


def _keys(pattern, count):
    """Row and column of each place, before it was copied, as one number."""
    starts, rows = getattr(pattern, "starts", getattr(pattern, "indptr", None)), pattern.shape[0]
    return 7 * (np.repeat(np.arange(rows), np.diff(starts)) // count) + pattern.indices // count


def test_a_used_pattern_can_be_copied(case):
    csr, _, dense, left = case
    pattern = SparsePattern(csr)
    before = _dots(pattern, left, dense), pattern.copies(2)
    again = copy.deepcopy(pattern)
    torch.testing.assert_close(_dots(again, left, dense), before[0])
