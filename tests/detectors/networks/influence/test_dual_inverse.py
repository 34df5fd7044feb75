"""The inverse over the labels, in double and in single precision, against NumPy's."""

import numpy as np
import pytest
import torch

from calirare.detectors.networks.influence import dual_inverse
from calirare.detectors.networks.influence.dual_inverse import DualInverse

SIZE = 600


def with_large_directions(scale: float) -> np.ndarray:
    """Eigenvalues fall like those of a network's labels: one in the thousands, a few dozens, most below one."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((SIZE, SIZE)))[0]
    basis[:, 0] = 1 / np.sqrt(SIZE)  # what all labels share
    return np.asarray((basis * (scale / np.arange(1, SIZE + 1) ** 1.5)) @ basis.T)


@pytest.mark.parametrize(("scale", "single"), [(2e4, True), (1.0, True), (2e4, False), (1e8, True)])
def test_every_answer_is_that_of_the_inverse(scale: float, single: bool) -> None:
    matrix = with_large_directions(scale)
    wanted = np.linalg.inv(matrix + np.eye(SIZE))
    found = DualInverse(torch.from_numpy(matrix.copy()), 1e-3, single)
    assert found.single == (single and scale < 1e7), "what is left is too large for single precision"
    close = 2e-6 if found.single else 1e-9
    index, right = np.array([3, 500, 4]), np.random.default_rng(1).standard_normal((SIZE, 2))
    np.testing.assert_allclose(found.columns(torch.from_numpy(index)), wanted[:, index], atol=close)
    np.testing.assert_allclose(found.columns(torch.arange(SIZE)), wanted, atol=close)
    np.testing.assert_allclose(found.times(torch.from_numpy(right)), wanted @ right, atol=20 * close)
    for num_contrasts in (1, 3):
        blocks = np.stack([wanted[k : k + num_contrasts, k : k + num_contrasts] for k in range(0, SIZE, num_contrasts)])
        np.testing.assert_allclose(found.blocks(num_contrasts), blocks, atol=close)


def test_large_directions_are_what_single_precision_would_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = with_large_directions(2e4)
    wanted = np.diag(np.linalg.inv(matrix + np.eye(SIZE)))

    def error() -> float:
        found = DualInverse(torch.from_numpy(matrix.copy()), 1e-3, True).blocks(1).numpy().ravel()
        return float(np.abs(found - wanted).max())

    taken_out = error()
    monkeypatch.setattr(dual_inverse, "_large_directions", lambda matrix: np.zeros((SIZE, 1)))
    assert error() > 10 * taken_out
