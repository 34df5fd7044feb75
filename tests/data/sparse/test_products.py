"""Sparse products against dense ones in every mode torch may ask for."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from calirare.data.sparse import products as sparse_module
from calirare.data.sparse.products import SparseMatrix, single_product


def _matrix(shape=(9, 6), seed=0):
    return sp.random_array(shape, density=0.4, rng=np.random.default_rng(seed), format="csr")


def _case(columns=4, seed=0):
    csr = _matrix(seed=seed)
    dense = torch.from_numpy(np.random.default_rng(seed + 1).normal(size=(6, columns)))
    return SparseMatrix(csr), torch.from_numpy(csr.toarray()), dense


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_product_and_gradient():
    matrix, reference, dense = _case()
    ours, theirs = dense.clone().requires_grad_(), dense.clone().requires_grad_()
    torch.testing.assert_close(matrix @ ours, reference @ theirs, atol=1e-14, rtol=0)
    (matrix @ ours).square().sum().backward()
    (reference @ theirs).square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-13, rtol=0)


def test_gradients_by_finite_differences_first_and_second():
    matrix, _, dense = _case()
    assert torch.autograd.gradcheck(lambda x: matrix @ x, (dense.requires_grad_(),))
    assert torch.autograd.gradgradcheck(lambda x: (matrix @ x).tanh(), (dense,))


def test_forward_mode():
    matrix, reference, dense = _case()
    tangent = torch.randn(dense.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ours = torch.func.jvp(lambda x: (matrix @ x).tanh(), (dense,), (tangent,))
    theirs = torch.func.jvp(lambda x: (reference @ x).tanh(), (dense,), (tangent,))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-13, rtol=0)


@pytest.mark.parametrize("in_dim", [0, 1, 2, -1])
def test_vmap_over_any_axis(in_dim):
    matrix, reference, _ = _case()
    batch = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).movedim(-1, in_dim)
    ours = torch.func.vmap(lambda x: matrix @ x, in_dims=in_dim)(batch)
    theirs = torch.func.vmap(lambda x: reference @ x, in_dims=in_dim)(batch)
    torch.testing.assert_close(ours, theirs, atol=1e-13, rtol=0)


def test_jacobians_through_vmap():
    matrix, reference, dense = _case(columns=2)
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        ours = jacobian(lambda x: (matrix @ x).tanh())(dense)
        theirs = jacobian(lambda x: (reference @ x).tanh())(dense)
        torch.testing.assert_close(ours, theirs, atol=1e-13, rtol=0)


@pytest.mark.parametrize("many", [1, 2])
def test_a_vector(many, threads):
    threads(many)
    matrix, reference, dense = _case()
    torch.testing.assert_close(matrix @ dense[:, 0], reference @ dense[:, 0], atol=1e-14, rtol=0)


def test_both_precisions_from_one_matrix():
    matrix, reference, dense = _case()
    assert (matrix @ dense).dtype == torch.float64
    single = matrix @ dense.float()
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), reference @ dense, atol=1e-5, rtol=0)


def test_threads_do_not_change_a_byte(threads, monkeypatch):
    monkeypatch.setattr(sparse_module, "_MIN_PARALLEL_WORK", 0)
    csr = _matrix((700, 300), seed=3)
    dense = torch.randn(300, 5, generator=torch.Generator().manual_seed(0))
    weights = torch.randn(700, 5, generator=torch.Generator().manual_seed(1))
    answers = []
    for many in (1, 2, 3):
        threads(many)
        x = dense.clone().requires_grad_()
        product = SparseMatrix(csr) @ x
        (product * weights).sum().backward()
        answers.append((product.detach().numpy().tobytes(), x.grad.numpy().tobytes()))
    assert answers[0] == answers[1] == answers[2]


def test_more_threads_than_rows_and_empty_rows(threads, monkeypatch):
    monkeypatch.setattr(sparse_module, "_MIN_PARALLEL_WORK", 0)
    threads(4)
    csr = sp.csr_array(np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    assert (SparseMatrix(csr) @ torch.ones(2, 1)).tolist() == [[0.0], [2.0], [0.0]]
    empty = SparseMatrix(sp.csr_array((3, 2)))
    assert (empty @ torch.ones(2, 1)).tolist() == [[0.0]] * 3


@pytest.mark.parametrize("shape", [(9, 6), (6, 9)])
def test_transposed_products_sum_in_one_order_whatever_the_layout(shape):
    csr = _matrix(shape)
    dense = torch.from_numpy(np.random.default_rng(0).normal(size=(shape[0], 3)))
    ours = SparseMatrix(csr).product(dense, True)
    assert ours.numpy().tobytes() == (csr.T.tocsr() @ dense.numpy()).tobytes()


def test_symmetric_matrices_reuse_themselves_as_transpose():
    csr = _matrix((6, 6))
    symmetric = SparseMatrix(csr + csr.T, symmetric=True)
    assert symmetric.transposed() is symmetric.csr
    dense = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 2)))
    torch.testing.assert_close(symmetric.product(dense, True), torch.from_numpy((csr + csr.T).T @ dense.numpy()))


@pytest.mark.parametrize("with_mkl", [True, False])
@pytest.mark.parametrize("width", [4, 40])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (5, 0), (0, 5)])
def test_products_in_single_precision_are_those_of_dense_matrices(
    shape: tuple[int, int], width: int, with_mkl: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_mkl:
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal(shape) * (rng.random(shape) < 0.3)
    dense = rng.standard_normal((shape[1], width)).astype(np.float32)
    for given in (matrix, sp.csr_array(matrix), sp.csr_array(matrix.T).T):
        found = single_product(given)(dense)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, matrix @ dense, atol=1e-5)
