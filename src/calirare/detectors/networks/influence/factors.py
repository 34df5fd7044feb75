"""Cholesky factors and products of a matrix with itself, by the routines that make one half only, in place."""

from __future__ import annotations

import torch
from scipy.linalg import blas, lapack
from torch import Tensor

from calirare.errors import NumericalError


def factorised(matrix: Tensor, damping: float) -> Tensor:
    """The lower Cholesky factor, or an error that says why there is none; `matrix` may be written over."""
    factor: Tensor
    if matrix.device.type == "cpu":  # its transpose is the same matrix, laid out as LAPACK wants it
        (potrf,) = lapack.get_lapack_funcs(("potrf",), (matrix.numpy(),))
        array, info = potrf(matrix.numpy().T, lower=1, overwrite_a=1)
        factor = torch.from_numpy(array)
    else:
        factor, info = torch.linalg.cholesky_ex(matrix)
    if bool(factor.diagonal().isfinite().all()) and not int(info):  # what is not finite spreads to the diagonal
        return factor
    if not bool(factor.isfinite().all() and matrix.isfinite().all()):
        raise NumericalError("the curvature is NaN or infinite; scale the features and the edge weights.")
    raise NumericalError(
        f"the curvature is not positive definite with damping {damping:g}; "
        "train with a larger weight_decay, or scale the features and the edge weights."
    )


def inverted(factor: Tensor) -> Tensor:
    """The inverse of a lower factor, which is lower too; `factor` may be written over."""
    if factor.device.type == "cpu":  # a third of a solve's time
        (trtri,) = lapack.get_lapack_funcs(("trtri",), (factor.numpy(),))
        return torch.from_numpy(trtri(factor.numpy(), lower=1, overwrite_c=1)[0])
    identity = torch.eye(len(factor), dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, identity, upper=False)


def with_itself(rows: Tensor) -> Tensor:
    """Rᵀ R."""
    if rows.device.type != "cpu":
        return rows.T @ rows
    array = rows.numpy()
    return torch.from_numpy(array.T @ array)  # NumPy asks BLAS for one half, torch for both


def transposed_times(factor: Tensor, columns: Tensor) -> Tensor:
    """Lᵀ C of a lower factor L; `columns` may be written over."""
    if factor.device.type != "cpu":
        return factor.T @ columns
    (trmm,) = blas.get_blas_funcs(("trmm",), (factor.numpy(),))  # leaves the zeros out
    return torch.from_numpy(trmm(1.0, factor.numpy(), columns.numpy(), lower=1, trans_a=1, overwrite_b=1))
