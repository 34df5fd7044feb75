"""Sparse times dense, as fast as the machine allows, with gradients for the dense side."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from calirare.data.threads import block_threads, pool

Arguments = ParamSpec("Arguments")
Rows: TypeAlias = "sp.csr_array | sp.csc_array"
SPARSE_COST = 7
"""Time of one multiplication in a sparse product, relative to a dense one."""
_WIDE = 16
"""Number of columns from which sums over bags of rows are faster."""
_MIN_PARALLEL_WORK = 2_000_000
"""Multiplications below which handing rows to threads costs more than it saves."""


class SparseMatrix:
    """A constant sparse matrix S; `S @ dense` is differentiable in `dense`.

    On a CPU the product is SciPy's CSR kernel over blocks of rows in threads: torch's own kernel took four to
    eight times as long on the graphs of the benchmark. Each row is summed in one order whatever the number of
    threads, so results do not depend on it. On a GPU the product is torch's (cuSPARSE).

    >>> S = SparseMatrix(sp.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]])))
    >>> (S @ torch.tensor([[1.0], [10.0]])).tolist()
    [[1.0], [32.0]]
    """

    def __init__(self, matrix: sp.csr_array, device: torch.device | str = "cpu", *, symmetric: bool = False) -> None:
        self.csr = sp.csr_array(matrix)
        self.device = torch.device(device)
        self.symmetric = symmetric
        self._products: dict[tuple[torch.dtype, bool], Any] = {}
        self._transposed: Rows | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the prepared products: they are made again where needed, and torch copies no sparse tensor."""
        return vars(self) | {"_products": {}}

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.csr.shape
        return int(rows), int(columns)

    @property
    def nnz(self) -> int:
        return int(self.csr.nnz)

    def __matmul__(self, dense: Tensor) -> Tensor:
        return _Multiply.apply(dense, self, False)  # type: ignore[no-untyped-call]

    def transposed(self) -> Rows:
        """Sᵀ; of a tall matrix column by column, over S's own arrays.

        The product then reads the long side in order and jumps on the short one, which caches hold. Every
        sum is made in the same order as row by row.
        """
        if self._transposed is None:
            rows, columns = self.shape
            turned = self.csr.T if rows > columns else self.csr.T.tocsr()
            self._transposed = self.csr if self.symmetric else turned
        return self._transposed

    def product(self, dense: Tensor, transpose: bool) -> Tensor:
        """S @ dense, or Sᵀ @ dense, without recording a gradient."""
        key = (dense.dtype, transpose and not self.symmetric)
        if key not in self._products:
            matrix = self.transposed() if key[1] else self.csr
            prepare = _as_row_blocks if self.device.type == "cpu" else as_torch_csr
            self._products[key] = prepare(matrix, dense.dtype, self.device)
        if self.device.type == "cpu":
            return _multiply_blocks(self._products[key], dense)
        return self._products[key] @ dense


def soon_bound(forward: Callable[Arguments, Tensor]) -> Callable[Arguments, Tensor]:
    """`forward` of an autograd function with its signature at hand: `apply` binds the arguments again at every call, and a
    tenth of a small graph's epoch went into finding out what they are called."""
    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    return forward


class _Multiply(torch.autograd.Function):
    """The product as torch sees it: reverse mode, forward mode and vmap."""

    @staticmethod
    @soon_bound
    def forward(dense: Tensor, matrix: SparseMatrix, transpose: bool) -> Tensor:
        return matrix.product(dense, transpose)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, SparseMatrix, bool], output: Tensor) -> None:
        _, ctx.matrix, ctx.transpose = inputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _Multiply.apply(gradients[0], ctx.matrix, not ctx.transpose), None, None  # type: ignore[no-untyped-call]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return _Multiply.apply(tangents[0], ctx.matrix, ctx.transpose)  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], dense: Tensor, matrix: SparseMatrix, transpose: bool) -> Any:
        batch = dense.movedim(in_dims[0] or 0, -1)
        flat = _Multiply.apply(batch.reshape(batch.shape[0], -1), matrix, transpose)  # type: ignore[no-untyped-call]
        return flat.reshape(-1, *batch.shape[1:]), batch.dim() - 1


def small_index(size: int) -> type[np.signedinteger]:
    """The integers that places up to `size` need; half the memory is half the time."""
    return np.int32 if size < 2**31 - 1 else np.int64


def _as_row_blocks(matrix: Rows, dtype: torch.dtype, device: torch.device) -> list[Rows]:
    """The matrix, and where there are threads, as many blocks of rows with about the same number of entries each."""
    numbers = np.float64 if dtype == torch.float64 else np.float32
    matrix = matrix.astype(numbers)
    threads = block_threads()
    if threads == 1:
        return [matrix]
    by_row = matrix.format == "csr"
    entries = np.diff(matrix.indptr) if by_row else np.bincount(matrix.indices, minlength=matrix.shape[0])
    cuts = np.searchsorted(np.cumsum(entries), np.linspace(0, matrix.nnz, threads + 1))
    cuts[0], cuts[-1] = 0, matrix.shape[0]
    return [matrix, *(matrix[a:b] for a, b in zip(cuts[:-1], cuts[1:], strict=True))]


def _multiply_blocks(blocks: list[Rows], dense: Tensor) -> Tensor:
    array = dense.detach().contiguous().numpy()
    whole, *pieces = blocks
    if not pieces or whole.nnz * (array.size // max(1, len(array))) < _MIN_PARALLEL_WORK:
        return torch.from_numpy(whole @ array)
    products = pool(len(pieces)).map(lambda piece: piece @ array, pieces)
    return torch.from_numpy(np.concatenate(list(products)))


def single_product(matrix: sp.csr_array | np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """v ↦ matrix @ v in single precision, without gradients, for several products with one matrix.

    Where torch has MKL its kernel takes about half of SciPy's time, if places are 32-bit numbers: others it turns into
    these at every product. Of wide v, sums over bags of rows take less still.

    >>> single_product(sp.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]])))(np.array([[1.0], [10.0]], dtype=np.float32))
    array([[ 1.],
           [32.]], dtype=float32)
    """
    matrix = matrix.astype(np.float32, copy=False)
    index = small_index(max(matrix.size, *matrix.shape))
    if isinstance(matrix, np.ndarray) or index is not np.int32 or not torch.backends.mkl.is_available():
        return matrix.__matmul__
    turned = as_torch_csr(matrix, torch.float32, torch.device("cpu"), index)
    bags: Any = turned.col_indices(), turned.crow_indices(), False, 0, False, turned.values(), True

    def product(dense: np.ndarray) -> np.ndarray:
        v = torch.from_numpy(dense)
        return np.asarray(torch.embedding_bag(v, *bags)[0] if v.shape[1] >= _WIDE else turned @ v)

    return product


def as_torch_csr(
    matrix: Rows, dtype: torch.dtype, device: torch.device, index: type[np.signedinteger] = np.int64
) -> Tensor:
    """A SciPy matrix as a torch CSR tensor."""
    matrix = matrix.tocsr()
    with warnings.catch_warnings():
        # torch says once per process that its CSR tensors are in beta; what we ask of them is tested.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state", UserWarning)
        # Older releases also say that the checks turned off below are off.
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(index, copy=False)),
            torch.from_numpy(matrix.indices.astype(index, copy=False)),
            torch.from_numpy(matrix.data).to(dtype),
            size=matrix.shape,
            device=device,
            check_invariants=False,  # SciPy's matrix already meets them
        )
