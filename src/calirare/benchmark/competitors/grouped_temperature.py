"""Learned groups with a temperature each, after semantic-aware grouping."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import softmax

from calirare.benchmark.competitors.calibrators import on_held_out
from calirare.calibration.base import Calibrator
from calirare.detectors.networks.fitting.loop import seeded
from calirare.detectors.networks.fitting.optimizers import minimise


class GroupedTemperature(Calibrator):
    """Mean over U partitions of Σ_k g_k(z) softmax(z / T_k), with g = softmax(z W + b) the soft groups.

    W, b and log T by the likelihood of the held-out labels, with a penalty on W; each partition starts elsewhere.
    Source: key `yang2023`; there g reads the features of the last layer, here, where a detector gives logits alone,
    the logits.

    Args:
        groups: Groups of a partition.
        partitions: How many are averaged.
        steps: Of Adam.
        penalty: On W.
        seed: Of the first W.
    """

    def __init__(
        self, groups: int = 2, partitions: int = 10, steps: int = 200, penalty: float = 0.1, seed: int = 0
    ) -> None:
        self.groups, self.partitions, self.steps, self.penalty, self.seed = groups, partitions, steps, penalty, seed

    def _fit(self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        self.scale_ = float(np.abs(logits).mean()) or 1.0
        z, classes, share = (torch.from_numpy(one) for one in (logits, y.astype(np.int64), weights))
        shape = (self.partitions, logits.shape[1] + 1, self.groups)
        with seeded(self.seed):
            turn = torch.randn(shape, dtype=torch.float64).requires_grad_()
        log_t = torch.zeros(self.partitions, self.groups, dtype=torch.float64, requires_grad=True)

        def loss() -> torch.Tensor:
            mixed = self._mixed(z, turn, log_t)
            likelihood = mixed[:, torch.arange(len(classes)), classes].clamp_min(1e-12).log()
            return -(share * likelihood).sum(dim=1).sum() + self.penalty * turn[:, :-1].square().mean()

        minimise(loss, [turn, log_t], steps=self.steps, lr=0.05)
        self.turn_, self.log_t_ = turn.detach().numpy(), log_t.detach().numpy()

    def _mixed(self, z: torch.Tensor, turn: torch.Tensor, log_t: torch.Tensor) -> torch.Tensor:
        """`(U, n, C)`: the mixture of each partition."""
        ones = torch.ones(len(z), 1, dtype=z.dtype)
        groups = F.softmax(torch.cat([z / self.scale_, ones], dim=1) @ turn, dim=2)
        by_group = F.softmax(z[None, :, None] / log_t.exp()[:, None, :, None], dim=3)
        return (groups[..., None] * by_group).sum(dim=2)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        z = np.hstack([logits / self.scale_, np.ones((len(logits), 1))])
        groups = softmax(np.einsum("nc,uck->unk", z, self.turn_), axis=2)
        found = np.zeros(logits.shape)
        for k in range(self.groups):
            for u in range(self.partitions):
                found += groups[u, :, k, None] * softmax(logits / np.exp(self.log_t_[u, k]), axis=1)
        return found / self.partitions


COMPETITORS = on_held_out("grouped_temperature", "learned groups, a temperature each", GroupedTemperature, "yang2023")
