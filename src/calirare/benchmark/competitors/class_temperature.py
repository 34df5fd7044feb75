"""A temperature that knows how frequent each class is, after class-distribution-aware temperature scaling."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calirare.benchmark.competitors.calibrators import on_held_out
from calirare.calibration.base import Calibrator


class ClassTemperature(Calibrator):
    """softmax(z_c / T_c) with T_c = T · (n_c / max n)^γ, T and γ by the likelihood of the held-out labels.

    Source: key `islam2021`, where γ is a setting; here the labels choose it, so that it can only be nearer to them.
    """

    def _fit(self, logits: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        counts = np.bincount(y, minlength=logits.shape[1]) + 0.5
        share = np.log(counts / counts.max())

        def loss(theta: np.ndarray) -> float:
            scaled = logits * np.exp(-theta[0] - theta[1] * share)
            return float(-(weights * log_softmax(scaled, axis=1)[np.arange(len(y)), y]).sum() + 1e-4 * theta @ theta)

        found = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=[(-5, 5), (-3, 3)])
        self.sharpness_ = np.exp(-found.x[0] - found.x[1] * share)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return softmax(logits * self.sharpness_, axis=1)


COMPETITORS = on_held_out("class_temperature", "a temperature per class frequency", ClassTemperature, "islam2021")
