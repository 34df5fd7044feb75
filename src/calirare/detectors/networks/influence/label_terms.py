"""What each labelled node adds to the training loss: its curvature Λ_i and its gradient ρ_i, in contrasts of the logits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calirare.detectors.networks.influence.jacobian import contrast_basis

_SATURATION_FLOOR = 1e-12
"""Added to p(1-p) in the curvature only. It keeps S invertible where the softmax is saturated; the gradient stays
exact, so the answer tends to its true limit instead of 0/0."""


@dataclass(frozen=True)
class LabelTerms:
    """What each labelled node adds to the loss, in contrasts: Λ_i = S_i S_iᵀ as `factor`, ρ_i as `residual`."""

    factor: Tensor
    residual: Tensor

    @property
    def curvature(self) -> Tensor:
        return self.factor @ self.factor.mT

    @property
    def whitened(self) -> Tensor:
        """S_i⁻¹ ρ_i, `(n, contrasts)`."""
        return torch.linalg.solve_triangular(self.factor, self.residual[..., None], upper=False)[..., 0]

    def added(self, place: Tensor, count: int) -> LabelTerms:
        """The sums over labels of the same place, `(n,)` numbers below `count`."""
        d = self.residual.shape[1]
        curvature = self.residual.new_zeros(count, d, d).index_add(0, place, self.curvature)
        residual = self.residual.new_zeros(count, d).index_add(0, place, self.residual)
        return LabelTerms(torch.linalg.cholesky(curvature), residual)


def label_terms(logits: Tensor, y: Tensor, weights: Tensor) -> LabelTerms:
    """Λ_i = w_i Bᵀ(diag p_i - p_i p_iᵀ)B and ρ_i = w_i Bᵀ(p_i - y_i) for logits `(n, C)`, in float64."""
    logits, weights = logits.double(), weights.double()
    basis = contrast_basis(logits.shape[1]).to(logits)
    p = logits.softmax(dim=1)
    # B has columns that sum to zero, so one class can be subtracted: 1 - p is then never formed by cancellation.
    spread = torch.einsum("nc,cd,ce->nde", p, basis, basis)
    mean = p @ basis
    curvature = spread - mean[:, :, None] * mean[:, None, :]
    if logits.shape[1] == 2:
        curvature = 2.0 * (p[:, :1] * p[:, 1:])[..., None]
    floor = _SATURATION_FLOOR * torch.eye(basis.shape[1]).to(logits)
    target = torch.nn.functional.one_hot(y, logits.shape[1]).to(logits)
    factor = torch.linalg.cholesky(weights[:, None, None] * (curvature.clamp(min=-1) + floor))
    return LabelTerms(factor, weights[:, None] * ((p - target) @ basis))
