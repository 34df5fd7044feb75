"""The level and the unit of a left-out model, which are no evidence.

A model that missed a rare label has seen a smaller share of rare ones, so it says a little less of every node, this one
included; one that missed another label says a little more. Where the columns tell nothing that is all there is, and left-out
labels are ranked the wrong way round. So what a left-out model says of its label is judged against what it says of others:

    z_i(θ₋ᵢ) - (its level) + (the level of all labels' model).

With z_v(θ) = Σ_j K_vj a_j and random labels, whose a_j sum to zero, E[a_j | label i] = -a_i / (n - 1), hence

    E[z_i(θ₋ᵢ) | label i] = -a_i Σ_{j≠i} K_ij / (n - 1) = mean over j ≠ i of z_j(θ₋ᵢ) - z_j(θ) :

over the other labels the mean *change* is exactly what label i had no part in. The mean itself would not be, because the
others are trained on. Detectors that are refitted have no such change; their level is that of nodes that they were not
trained on, which none of the labels kept has a part in either.

The unit is no evidence either. Networks that were trained on other labels may speak in other units, far larger ones at times
where they add up their neighbours. One map for all of them would count that as error, and it is the network of all labels that
the map is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calirare.detectors.stored import need, numbers

_LEAST_SPREAD = 1e-9
"""Logits with a smaller spread have no unit."""
_LOUDEST = 3.0
"""A model that hardly tells nodes apart has collapsed, and is not made louder than this."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Where the logits of a network lie, over nodes that it was not trained on, and how far apart.

    Both are told by ranks: where a network adds up its neighbours, a few hubs have logits in the hundreds.

    Args:
        level: `(C,)` medians.
        spread: From the first tenth to the last, of each class against the mean of all, root mean square over the classes.

    >>> one, other = (Scale.of(factor * np.array([[-4.0, 4.0], [-1.0, 1.0], [2.0, -2.0]]) + 1.0) for factor in (1.0, 5.0))
    >>> one.level.tolist(), round(other.factor_to(one), 6)
    ([0.0, 2.0], 0.2)
    >>> Scale(one.level, spread=1e-6).factor_to(one)  # collapsed
    3.0
    """

    level: np.ndarray
    spread: float

    @classmethod
    def of(cls, logits: np.ndarray) -> Self:
        """The scale of `(N, C)` logits."""
        low, high = np.quantile(logits - logits.mean(axis=1, keepdims=True), [0.1, 0.9], axis=0)
        return cls(np.median(logits, axis=0), float(np.sqrt(np.mean((high - low) ** 2))))

    @classmethod
    def middle_of(cls, scales: Sequence[Scale]) -> Self:
        """The mean of their levels, and the geometric mean of their spreads."""
        spreads = np.maximum([one.spread for one in scales], _LEAST_SPREAD)
        return cls(np.mean([one.level for one in scales], axis=0), float(np.exp(np.log(spreads).mean())))

    def factor_to(self, other: Scale) -> float:
        """What logits of this scale are multiplied by to have the other's unit; 1 where one of them has none."""
        if min(self.spread, other.spread) < _LEAST_SPREAD:
            return 1.0
        return min(other.spread / self.spread, _LOUDEST)


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
