"""What one network says in the words of another."""

from __future__ import annotations

import numpy as np
import pytest

from calirare.detectors.left_out.ranks import curve, same_rank


def test_ranks_stay_and_the_curve_becomes_the_others() -> None:
    rng = np.random.default_rng(0)
    own, other = np.exp(rng.normal(size=(400, 3))), rng.normal(size=(700, 3)) ** 3
    moved = same_rank(own, curve(own), curve(other))
    for c in range(3):
        said = (own - own.mean(axis=1, keepdims=True))[:, c]
        assert (np.diff(moved[np.argsort(said), c]) >= 0).all()
    np.testing.assert_allclose(np.quantile(moved, [0.1, 0.5, 0.9], axis=0), curve(other)[[10, 50, 90]], atol=0.02)


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-6])
def test_a_network_that_has_collapsed_is_not_made_loud_beyond_its_ranks(spread: float) -> None:
    rng = np.random.default_rng(0)
    own, other = curve(spread * rng.normal(size=(400, 2))), curve(rng.normal(size=(400, 2)))
    beyond = same_rank(np.array([[-0.1, 0.1], [0.1, -0.1]]), own, other)
    assert np.isfinite(beyond).all() and (np.abs(beyond) <= np.abs(other).max() + 3 * 0.1).all()
