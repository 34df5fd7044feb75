"""How far groups of nodes may lie from the one calibration map: those of degree 0, 1, 2 to 4, 5 to 9, 10 or more.

The map is learned where the labels are. Nodes of a degree that hardly any label has may be rarer or less rare than it says:
a mean over one neighbour is more extreme than any that the labels showed. Say that in group g the share of rare nodes is

    logit share_g(u) = logit share(u) + e_g ,      e_g − e_{g−1} ~ N(0, τ²) ,      Σ_g h_g e_g = 0 ,

a walk along the degree: groups that are next to each other are alike, and the farther a group lies from the labelled ones,
the less is known of it. Near a guess ê the labels of a group carry the information h_g = Σ p (1 − p), p being what the map
moved by ê says of them, and speak for e_g = r_g / h_g, where r_g = h_g ê_g + Σ (y − p). With K the covariance of the walk and
H = diag(h),

    e | labels ~ N( K (I + HK)⁻¹ r ,  K (I + HK)⁻¹ ) ,

and ê is where its mean is ê again. Where labels are many this is narrow; where there are none it is the walk. The step τ is
drawn from what the same labels leave open of it, beginning with a half-normal of deviation 0.4: such steps remain between
groups of unlabelled nodes on seven real graphs with ten rare labels, smaller ones with more labels, larger ones in generated
networks (`python benchmarks/by_degree.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from calirare.uncertainty.posterior import draw_by_weight

FIRST_DEGREES = (0, 1, 2, 5, 10)
"""Where each group begins."""
_STEP = 0.4
"""Deviation of the half-normal prior of τ."""
_NEWTON_STEPS, _CLOSE = 30, 1e-3
STEPS = np.linspace(0.05, 1.6, 32)
"""Those that τ is drawn from."""


def degree_group(degree: Any) -> np.ndarray:
    """The group of nodes with so many neighbours.

    >>> degree_group([0, 1, 2, 4, 5, 9, 10, 1_000]).tolist()
    [0, 1, 2, 2, 3, 3, 4, 4]
    """
    return np.searchsorted(FIRST_DEGREES, np.asarray(degree), side="right") - 1


def draw_effects(
    group: np.ndarray,
    logits: np.ndarray,
    rare: np.ndarray,
    evidence: float,
    num_draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """`(draws, groups)`: e of the top of this module.

    Args:
        group: `(n,)` of the labelled nodes.
        logits: `(n,)` what the map says of them.
        rare: `(n,)` what they are.
        evidence: What a label counts, measured in independent ones.
        num_draws: How many.
        rng: Of the draws.

    >>> rng = np.random.default_rng(0)
    >>> group, rare = np.repeat([3, 4], 1_000), rng.random(2_000) < 0.2
    >>> found = draw_effects(group, np.full(2_000, np.log(1 / 4)), rare, 1.0, 500, rng)
    >>> (np.diff(found.std(axis=0))[:3] < 0).tolist()  # known at degrees from 5 on, less and less below
    [True, True, True]
    """
    size = len(FIRST_DEGREES)
    p = expit(logits)
    walk = centred_walk(np.bincount(group, weights=p * (1 - p), minlength=size))
    information, excess = (evidence * part for part in _around_the_peak(group, logits, rare, evidence, walk))
    mean, root, likelihood = posterior(STEPS[:, None, None] ** 2 * walk, information, excess)
    weight = likelihood - 0.5 * (STEPS / _STEP) ** 2
    chosen = draw_by_weight(np.exp(weight - weight.max()), num_draws, rng)
    normal = rng.standard_normal((num_draws, size))
    return mean[chosen] + np.einsum("bij,bj->bi", root[chosen], normal)


def centred_walk(information: np.ndarray) -> np.ndarray:
    """K for τ = 1: of a walk less its mean, weighted by the information."""
    places = np.arange(information.size, dtype=np.float64)
    total = information.sum()
    weight = information / total if total > 0 else np.full(information.size, 1 / information.size)
    centre = np.eye(information.size) - weight
    return centre @ np.minimum.outer(places, places) @ centre.T


def _around_the_peak(
    group: np.ndarray, logits: np.ndarray, rare: np.ndarray, evidence: float, walk: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """h and r at the ê of the prior's own step, by Newton's method."""
    guess = np.zeros(len(walk))
    for _ in range(_NEWTON_STEPS):
        p = expit(logits + guess[group])
        information, more = (np.bincount(group, weights=part, minlength=len(walk)) for part in (p * (1 - p), rare - p))
        excess = information * guess + more
        step = posterior(_STEP**2 * walk, evidence * information, evidence * excess)[0] - guess
        if np.abs(step).max() < _CLOSE:
            break
        guess = guess + step / max(1.0, float(np.abs(step).max()))  # a whole step may overshoot
    return information, excess


def posterior(
    walk: np.ndarray, information: np.ndarray, excess: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, a root of the covariance, and the logarithm of how likely the labels are, of one K or several; K may lack a
    rank."""
    inner = np.eye(len(information)) + information[:, None] * walk
    covariance = np.linalg.solve(inner.swapaxes(-1, -2), walk.swapaxes(-1, -2)).swapaxes(-1, -2)
    values, vectors = np.linalg.eigh((covariance + covariance.swapaxes(-1, -2)) / 2)
    mean = covariance @ excess
    likelihood = 0.5 * (mean @ excess) - 0.5 * np.linalg.slogdet(inner)[1]
    return mean, vectors * np.sqrt(values.clip(min=0.0))[..., None, :], likelihood
