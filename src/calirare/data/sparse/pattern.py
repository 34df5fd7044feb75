"""Sparse matrices whose places are fixed and whose values are computed, with gradients for values and dense side.

With P the pattern, S(v) the matrix that holds v at its places, and D(L, R) the products L_i·R_j at the places (i, j),

    d S(v) X  =  S(dv) X + S(v) dX ,      ∂(G·S(v) X)/∂v = D(G, X) ,      ∂(G·S(v) X)/∂X = S(v)ᵀ G ,

and likewise for D: the two give each other's gradients, of any order, and neither holds a row of X for each place.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from calirare.data.sparse.products import as_torch_csr, small_index, soon_bound


class SparsePattern:
    """The places of a sparse matrix, on a CPU sorted by row.

    There the products are SciPy's and torch's sparse kernels. A GPU gathers the rows and adds them up.

    >>> pattern = SparsePattern(sp.csr_array([[1, 1], [0, 1]]))
    >>> pattern.multiply(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[1.0], [10.0]])).tolist()
    [[21.0], [30.0]]
    """

    def __init__(self, matrix: sp.csr_array, device: torch.device | str = "cpu") -> None:
        index = small_index(max(matrix.nnz, *matrix.shape))
        self.shape, self.device = matrix.shape, torch.device(device)
        self.starts, self.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        self._copies: dict[int, SparsePattern] = {1: self}
        self._masks: dict[torch.dtype, Tensor] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made again where needed; torch copies no sparse tensor."""
        return vars(self) | {"_copies": {1: self}, "_masks": {}}

    @cached_property
    def row(self) -> Tensor:
        """`(places,)` of each place."""
        rows = np.arange(self.shape[0], dtype=self.indices.dtype)
        return torch.from_numpy(np.repeat(rows, np.diff(self.starts))).to(self.device)

    @cached_property
    def column(self) -> Tensor:
        return torch.from_numpy(self.indices).to(self.device)

    def copies(self, count: int) -> SparsePattern:
        """P ⊗ I: each row and column `count` times, one after the other, each copy beside its own alone."""
        if count not in self._copies:
            ones = self.filled(np.ones(len(self.indices), dtype=np.float32))
            found = SparsePattern(sp.kron(ones, sp.eye_array(count), format="csr"), self.device)
            if self.device.type != "cpu":
                # There threads that add to one number wait for each other: copies stand side by side.
                each = torch.arange(count, device=self.row.device)
                found.row = (count * self.row.long()[:, None] + each).view(-1)
                found.column = (count * self.column.long()[:, None] + each).view(-1)
            self._copies[count] = found
        return self._copies[count]

    def multiply(self, values: Tensor, dense: Tensor) -> Tensor:
        """S(v) X `(rows, C)`, of values `(places,)` and a dense `(columns, C)`."""
        if self.device.type != "cpu":
            none = dense.new_zeros(self.shape[0], dense.shape[1])
            return none.index_add(0, self.row, values[:, None] * dense.index_select(0, self.column))
        return _Multiply.apply(values, dense, self, False)  # type: ignore[no-untyped-call]

    def filled(self, values: np.ndarray) -> sp.csr_array:
        """S(v), of values in the order of the rows."""
        return sp.csr_array((values, self.indices, self.starts), shape=self.shape)

    def mask(self, dtype: torch.dtype) -> Tensor:
        """The places as torch's sparse kernels take them."""
        if dtype not in self._masks:
            self._masks[dtype] = as_torch_csr(self.filled(np.zeros(len(self.indices))), dtype, self.device)
        return self._masks[dtype]


def _one_by_one(function: Any, info: Any, in_dims: tuple[Any, ...], arguments: tuple[Any, ...]) -> tuple[Tensor, int]:
    """A batch as torch's vmap wants it."""
    batch = range(info.batch_size)
    pairs = list(zip(arguments, in_dims, strict=True))
    found = [function.apply(*(a if d is None else a.select(d, one) for a, d in pairs)) for one in batch]
    return torch.stack(found), 0


class _Multiply(torch.autograd.Function):
    """S(v) X, or S(v)ᵀ X, as torch sees it."""

    @staticmethod
    @soon_bound
    def forward(values: Tensor, dense: Tensor, pattern: SparsePattern, transpose: bool) -> Tensor:
        matrix, array = pattern.filled(values.detach().contiguous().numpy()), dense.detach().contiguous().numpy()
        return torch.from_numpy(matrix.T @ array if transpose else matrix @ array)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, SparsePattern, bool], output: Tensor) -> None:
        values, dense, ctx.pattern, ctx.transpose = inputs
        ctx.save_for_backward(values, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        values, dense = ctx.saved_tensors
        sides = (dense, gradients[0]) if ctx.transpose else (gradients[0], dense)
        to_values = _Dots.apply(*sides, ctx.pattern) if ctx.needs_input_grad[0] else None  # type: ignore[no-untyped-call]
        back = (values, gradients[0], ctx.pattern, not ctx.transpose)
        to_dense = _Multiply.apply(*back) if ctx.needs_input_grad[1] else None  # type: ignore[no-untyped-call]
        return to_values, to_dense, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        return _one_by_one(_Multiply, info, in_dims, arguments)


class _Dots(torch.autograd.Function):
    """D(L, R) as torch sees it."""

    @staticmethod
    @soon_bound
    def forward(left: Tensor, right: Tensor, pattern: SparsePattern) -> Tensor:
        sampled: Tensor = torch.sparse.sampled_addmm(
            pattern.mask(left.dtype), left.detach(), right.detach().T, beta=0.0
        )
        return sampled.values()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, SparsePattern], output: Tensor) -> None:
        left, right, ctx.pattern = inputs
        ctx.save_for_backward(left, right)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        left, right = ctx.saved_tensors
        to_left = _Multiply.apply(gradients[0], right, ctx.pattern, False) if ctx.needs_input_grad[0] else None  # type: ignore[no-untyped-call]
        to_right = _Multiply.apply(gradients[0], left, ctx.pattern, True) if ctx.needs_input_grad[1] else None  # type: ignore[no-untyped-call]
        return to_left, to_right, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        return _one_by_one(_Dots, info, in_dims, arguments)
