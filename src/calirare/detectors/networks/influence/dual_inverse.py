"""The inverse of C + I for a large symmetric C without negative eigenvalues, in double or mostly in single precision.

In double precision by the inverse W of a Cholesky factor: (C + I)⁻¹ = WᵀW.

Single precision takes half of the time. It would lose what it cannot tell from C's few large directions, such as the one
that all labels share, so these are taken out first, in double precision: F, `(n, k)`, holds the columns of C's Cholesky
factor with the largest pivots, and with C - FFᵀ + I = (WᵀW)⁻¹, which is small, and E = WᵀWF,

    (C + I)⁻¹ = WᵀW - E (I + FᵀE)⁻¹ Eᵀ .
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.linalg import blas
from torch import Tensor

from calirare.detectors.networks.influence.factors import factorised, inverted, transposed_times

_FEW = 512
"""Up to this size everything is in double precision."""
_MOST_PIVOTS = 128
_SMALL, _LARGEST = 5.0, 30.0
"""On the diagonal of what is left for single precision: when it is enough, and when everything is in double precision."""


class DualInverse:
    """(C + I)⁻¹.

    Args:
        matrix: C, float64; may be written over.
        damping: What the identity stands for, which an error tells.
        single: Whether C itself is known in single precision only.
    """

    def __init__(self, matrix: Tensor, damping: float, single: bool) -> None:
        self.large, self.inner = matrix.new_empty(len(matrix), 0), matrix.new_empty(0, 0)
        taken = _large_directions(matrix.numpy()) if single and _fits(matrix) else None
        if taken is not None and taken.size:
            # One half is enough; of a symmetric matrix the transpose is the same, laid out as BLAS wants it.
            blas.dsyrk(-1.0, taken, beta=1.0, c=matrix.numpy().T, lower=1, overwrite_c=1)
        matrix = matrix if taken is None else matrix.float()
        matrix.diagonal().add_(1.0)
        self.half = inverted(factorised(matrix, damping))
        if taken is not None:
            given = torch.from_numpy(taken)
            self.large = (self.half.T @ (self.half @ given.float())).double()
            self.inner = torch.linalg.inv(torch.eye(given.shape[1]).to(given) + given.T @ self.large)

    def __len__(self) -> int:
        return len(self.half)

    @property
    def single(self) -> bool:
        """Whether answers have the precision of single numbers."""
        return self.half.dtype == torch.float32

    def blocks(self, num_contrasts: int) -> Tensor:
        """`(n, contrasts, contrasts)`: the blocks on the diagonal."""
        half = self.half.T.reshape(-1, num_contrasts, len(self))
        large = self.large.reshape(len(half), num_contrasts, -1)
        found = [
            (half[:, p] * half[:, q]).sum(dim=1).double() for p in range(num_contrasts) for q in range(num_contrasts)
        ]
        return torch.stack(found, dim=-1).reshape(-1, num_contrasts, num_contrasts) - large @ self.inner @ large.mT

    def columns(self, index: Tensor) -> Tensor:
        """`(n, len(index))`: some columns, float64."""
        found = transposed_times(self.half, self.half.T[index].T)
        return found.double() - self.large @ (self.inner @ self.large[index].T)

    def times(self, right: Tensor) -> Tensor:
        """The product with `right`, `(n, k)`, in the precision that there is."""
        found = (self.half.T @ (self.half @ right.to(self.half))).double()
        return found - self.large @ (self.inner @ (self.large.T @ right))


def _fits(matrix: Tensor) -> bool:
    return len(matrix) > _FEW and matrix.device.type == "cpu"


def _large_directions(matrix: np.ndarray) -> np.ndarray | None:
    """F, `(n, k)`, as columns; None where what they leave is too large for single precision."""
    left, count = matrix.diagonal().copy(), 0
    found = np.empty((_MOST_PIVOTS, len(matrix)))
    while count < _MOST_PIVOTS and left.max() > _SMALL:
        pivot = int(left.argmax())
        known = found[:count]
        found[count] = (matrix[pivot] - known[:, pivot] @ known) / np.sqrt(left[pivot])
        left -= found[count] ** 2
        count += 1
    return found[:count].T if left.max() <= _LARGEST else None
