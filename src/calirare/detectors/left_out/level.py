"""The level of a left-out model, which is no evidence.

A model that missed a rare label has seen a smaller share of rare ones, so it says a little less of every node, this one
included; one that missed another label says a little more. Where the columns tell nothing that is all there is, and left-out
labels are ranked the wrong way round. So what a left-out model says of its label is judged against what it says of others:

    z_i(θ₋ᵢ) - (its level) + (the level of all labels' model).

With z_v(θ) = Σ_j K_vj a_j and random labels, whose a_j sum to zero, E[a_j | label i] = -a_i / (n - 1), hence

    E[z_i(θ₋ᵢ) | label i] = -a_i Σ_{j≠i} K_ij / (n - 1) = mean over j ≠ i of z_j(θ₋ᵢ) - z_j(θ) :

over the other labels the mean *change* is exactly what label i had no part in. The mean itself would not be, because the
others are trained on. Detectors that are refitted have no such change; their level is that of nodes that they were not
trained on, which none of the labels kept has a part in either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calirare.detectors.stored import need, numbers


def other_nodes(num_nodes: int, labelled: np.ndarray, seed: int) -> np.ndarray:
    """Up to 512 nodes without labels, drawn at random, to judge the level of a refitted model by.

    >>> other_nodes(5, np.array([0, 3]), seed=0).tolist()
    [1, 2, 4]
    """
    nodes = np.setdiff1d(np.arange(num_nodes), labelled)
    return np.sort(np.random.default_rng(seed).permutation(nodes)[:512])


def restore_shifts(state: dict[str, Any], shape: tuple[int, int]) -> np.ndarray:
    """The shifts to a common level as stored; models stored before there were any have none."""
    if "shifts" not in state:
        return np.zeros(shape)
    found = numbers(state, "shifts", 2, size=shape[0])
    need(found.shape == shape, "the shifts to a common level")
    return found
